// Sizes come first, because shapes depend on them:
//
//   kernel   gemm(A: f16[M, K], B: f16[K, N], C: f16[M, N])
//   given    M=256  --shape B=64x128  --input A=a.npy (256x64)
//   bound    M = 256 by "M=256", K = 64 and N = 128 by "--shape B", A's shape agrees
#include "driver/run/Call.h"

#include "driver/run/Array.h"
#include "support/Names.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tlc::run {
namespace {

using interpret::Tensor;

template <class T> std::optional<T> parse(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// "1024x512", "1024,512"; nothing if it is no list of extents.
std::optional<std::vector<std::int64_t>> parseShape(std::string text) {
  std::replace(text.begin(), text.end(), 'x', ',');
  std::vector<std::int64_t> out;
  for (const std::string &part : splitList(text)) {
    std::optional<std::int64_t> extent = parse<std::int64_t>(part);
    if (!extent || *extent < 0)
      return std::nullopt;
    out.push_back(*extent);
  }
  return out;
}

/// How far the storage of a tensor with strides reaches, in elements.
std::int64_t reach(const CallArgument &a) {
  std::int64_t last = 0, count = 1;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    count *= a.shape[d];
    last += (a.shape[d] - 1) * (a.strides.empty() ? 0 : a.strides[d]);
  }
  return a.strides.empty() ? count : count == 0 ? 0 : last + 1;
}

/// Calls `f(dense index, index in the storage)` for every element of a strided tensor.
template <class F> void forEachElement(const CallArgument &a, F f) {
  std::vector<std::int64_t> index(a.shape.size(), 0);
  std::int64_t count = 1, at = 0;
  for (std::int64_t extent : a.shape)
    count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    f(i, at);
    for (std::size_t d = a.shape.size(); d-- > 0;) {
      at += a.strides[d];
      if (++index[d] < a.shape[d])
        break;
      at -= index[d] * a.strides[d];
      index[d] = 0;
    }
  }
}

void copyElement(Tensor &to, std::int64_t i, const Tensor &from, std::int64_t j) {
  if (to.dtype.isFloat())
    to.set(i, from.real(j));
  else
    to.setInteger(i, from.integer(j));
}

/// What an output holds before the call: not a number where the dtype has that, else a pattern.
void poison(Tensor &tensor) {
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.dtype.isFloat())
      tensor.set(i, std::numeric_limits<double>::quiet_NaN());
    else
      tensor.setInteger(i, static_cast<std::int64_t>(0xa5a5a5a5a5a5a5a5u));
}

class Binder {
public:
  Binder(Session &session, const ir::Function &function) : session(session), function(function) {}

  std::optional<Call> bind() {
    emit::Options settings;
    settings.prefix = session.options.prefix;
    emit::Interface interface = emit::interfaceOf(function, settings);
    call.function = &function;
    call.symbol = interface.symbol;
    for (emit::CParam &param : interface.params)
      call.arguments.emplace_back().param = std::move(param);
    given.resize(call.arguments.size());
    readValues();
    readShapes();
    readInputs();
    checkOutputs();
    if (session.diagnostics.hasErrors())
      return std::nullopt;
    matchShapes();
    deriveStrides();
    requireAll();
    if (session.diagnostics.hasErrors())
      return std::nullopt;
    evaluateShapes();
    fillTensors();
    if (session.diagnostics.hasErrors())
      return std::nullopt;
    return std::move(call);
  }

private:
  /// What was said about an argument so far.
  struct Given {
    std::string by; ///< of values: the words that said it; empty: nothing yet
    std::optional<std::vector<std::int64_t>> shape;
    std::string shapeBy;
    std::optional<ArrayFile> file;
    std::string path;
  };

  bool isSize(std::size_t i) const {
    emit::ParamKind kind = call.arguments[i].param.kind;
    return kind == emit::ParamKind::Size || kind == emit::ParamKind::Stride;
  }

  /// The number of the argument that `name` names; none (reported) if there is none of that kind.
  std::optional<std::size_t> find(const std::string &name, bool tensor) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      if (call.arguments[i].isTensor() != tensor)
        continue;
      if (call.arguments[i].isCalled(name))
        return i;
      names.push_back(call.arguments[i].param.name);
    }
    auto builder = session.diagnostics.report(diag::RunUnknownArgument, {}, function.name,
                                              tensor ? "tensor" : "size, stride or scalar", name);
    if (std::string_view near = didYouMean(name, names); !near.empty()) {
      builder.help("did you mean `" + std::string(near) + "`?");
      return std::nullopt;
    }
    std::string all;
    for (std::string_view one : names)
      all += (all.empty() ? "" : ", ") + std::string(one);
    builder.note(all.empty() ? "it has none; a value known at compile time is given by -D"
                             : "it has " + all);
    return std::nullopt;
  }

  void setSize(std::size_t i, std::int64_t value, const std::string &by) {
    CallArgument &a = call.arguments[i];
    if (!given[i].by.empty() && a.integer != value)
      session.diagnostics.report(diag::RunConflict, {}, a.param.name, a.integer, given[i].by, value,
                                 by);
    if (given[i].by.empty())
      a.integer = value, given[i].by = by;
  }

  void readValues() {
    for (const std::string &text : session.options.run.values) {
      std::optional<Setting> setting = splitSetting(session, text, "run");
      std::optional<std::size_t> i = setting ? find(setting->name, false) : std::nullopt;
      if (!i)
        continue;
      CallArgument &a = call.arguments[*i];
      DType type = isSize(*i) ? DType(Scalar::Int64) : a.param.var.dtype();
      std::optional<std::int64_t> integer = parse<std::int64_t>(setting->value);
      std::optional<double> real = parse<double>(setting->value);
      if (type.isBool() && (setting->value == "true" || setting->value == "True"))
        integer = 1;
      if (type.isBool() && (setting->value == "false" || setting->value == "False"))
        integer = 0;
      bool fits = type.isFloat()
                      ? real.has_value()
                      : integer && *integer >= minInteger(type) && *integer <= maxInteger(type) &&
                            (!isSize(*i) || *integer >= 0);
      if (!fits) {
        session.diagnostics.report(diag::BadOptionValue, {}, setting->value,
                                   "`" + setting->name + "`, " +
                                       (isSize(*i) ? "a size" : "of type " + type.str()));
      } else if (type.isFloat()) {
        a.real = *real, given[*i].by = text;
      } else {
        setSize(*i, *integer, text);
        a.real = static_cast<double>(*integer);
      }
    }
  }

  void readShapes() {
    for (const std::string &text : session.options.run.shapes) {
      std::optional<Setting> setting = splitSetting(session, text, "--shape");
      std::optional<std::size_t> i = setting ? find(setting->name, true) : std::nullopt;
      if (!i)
        continue;
      given[*i].shape = parseShape(setting->value);
      given[*i].shapeBy = "--shape " + text;
      if (!given[*i].shape)
        session.diagnostics.report(diag::BadOptionValue, {}, setting->value, "--shape")
            .note("a shape is written 1024x512");
    }
  }

  void readInputs() {
    for (const std::string &text : session.options.run.inputs) {
      std::optional<Setting> setting = splitSetting(session, text, "--input");
      std::optional<std::size_t> i = setting ? find(setting->name, true) : std::nullopt;
      if (!i)
        continue;
      std::string error;
      bool missing = false;
      given[*i].path = setting->value;
      given[*i].file = readArray(setting->value, error, missing);
      if (!given[*i].file && missing)
        session.diagnostics.report(diag::CannotRead, {}, setting->value, error);
      else if (!given[*i].file)
        session.diagnostics.report(diag::RunBadArray, {}, setting->value, setting->name, error);
      // Several elements to a byte: NumPy's shape is of bytes.
      else if (given[*i].file->shape && !given[*i].shape &&
               !call.arguments[*i].param.buffer->dtype.isSubByte())
        given[*i].shape = given[*i].file->shape, given[*i].shapeBy = "--input " + text;
    }
  }

  void checkOutputs() {
    for (const std::string &text : session.options.run.outputs)
      if (std::optional<Setting> setting = splitSetting(session, text, "--output"))
        find(setting->name, true);
  }

  /// Sizes that are an extent of a tensor whose shape was given.
  void matchShapes() {
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const ir::Buffer *buffer = call.arguments[i].param.buffer;
      if (!buffer || !given[i].shape)
        continue;
      if (given[i].shape->size() != buffer->shape.size()) {
        wrongShape(i, *given[i].shape);
        continue;
      }
      for (std::size_t d = 0; d < buffer->shape.size(); ++d)
        for (std::size_t s = 0; s < call.arguments.size(); ++s)
          if (call.arguments[s].param.var && call.arguments[s].param.var == buffer->shape[d])
            setSize(s, (*given[i].shape)[d], given[i].shapeBy);
    }
  }

  /// Strides that were not given are those of a tensor without gaps.
  void deriveStrides() {
    for (CallArgument &a : call.arguments) {
      if (!a.isTensor() || a.param.buffer->strides.empty())
        continue;
      std::optional<std::int64_t> pitch = 1;
      for (std::size_t d = a.param.buffer->shape.size(); d-- > 0 && pitch;) {
        for (std::size_t s = 0; s < call.arguments.size(); ++s)
          if (call.arguments[s].param.kind == emit::ParamKind::Stride && given[s].by.empty() &&
              call.arguments[s].param.var == a.param.buffer->strides[d])
            setSize(s, *pitch, "the shape of " + a.param.name);
        std::optional<std::int64_t> extent = value(a.param.buffer->shape[d]);
        pitch = extent ? std::optional(*pitch * *extent) : std::nullopt;
      }
    }
  }

  void requireAll() {
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const emit::CParam &param = call.arguments[i].param;
      if (param.buffer || !given[i].by.empty())
        continue;
      constexpr const char *kinds[] = {"tensor", "size", "stride", "scalar"};
      auto builder =
          session.diagnostics.report(diag::RunMissingValue, {}, function.name,
                                     kinds[static_cast<unsigned>(param.kind)], param.name);
      std::string help = "say " + param.name + "=" + (isSize(i) ? "1000" : "1");
      for (const CallArgument &a : call.arguments)
        if (a.isTensor() && param.kind == emit::ParamKind::Size &&
            std::count(a.param.buffer->shape.begin(), a.param.buffer->shape.end(), param.var)) {
          std::string example;
          for (ir::Expr extent : a.param.buffer->shape)
            example +=
                (example.empty() ? "" : "x") + std::to_string(extent.constant().value_or(1000));
          help += ", or --shape " + a.param.name + "=" + example + " for its " + a.param.shape;
          break;
        }
      builder.help(help);
    }
  }

  /// An extent or a stride in numbers, as far as the sizes are known.
  std::optional<std::int64_t> value(ir::Expr e) const {
    ir::Substitution map;
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      if (ir::Expr var = call.arguments[i].param.var; var && !given[i].by.empty())
        map.emplace_back(var,
                         var.dtype().isFloat()
                             ? function.context->real(var.dtype(), call.arguments[i].real)
                             : function.context->integer(var.dtype(), call.arguments[i].integer));
    return ir::substitute(e, map).constant();
  }

  void wrongShape(std::size_t i, const std::vector<std::int64_t> &expected) {
    const emit::CParam &param = call.arguments[i].param;
    auto builder =
        session.diagnostics.report(diag::RunWrongShape, {}, param.name, shapeText(*given[i].shape),
                                   given[i].shapeBy, param.shape);
    if (expected != *given[i].shape)
      builder.note("with these sizes that is " + shapeText(expected));
    if (param.buffer->range.valid())
      builder.note(param.buffer->range, "declared here");
  }

  void evaluateShapes() {
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      CallArgument &a = call.arguments[i];
      if (!a.isTensor())
        continue;
      for (ir::Expr extent : a.param.buffer->shape)
        a.shape.push_back(std::max<std::int64_t>(0, value(extent).value_or(0)));
      for (ir::Expr stride : a.param.buffer->strides)
        a.strides.push_back(value(stride).value_or(0));
      if (given[i].shape && *given[i].shape != a.shape)
        wrongShape(i, a.shape);
    }
  }

  void fillTensors() {
    if (session.diagnostics.hasErrors())
      return;
    std::uint64_t seed = session.options.run.seed * 1000;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      CallArgument &a = call.arguments[i];
      if (!a.isTensor())
        continue;
      Tensor dense(a.param.buffer->dtype, a.shape);
      if (given[i].file) {
        std::string error;
        std::optional<Tensor> read =
            asTensor(*given[i].file, a.param.buffer->dtype, a.shape, error);
        if (!read) {
          session.diagnostics.report(diag::RunBadArray, {}, given[i].path, a.param.name, error);
          continue;
        }
        dense = std::move(*read);
      } else if (a.param.output) {
        poison(dense);
      } else {
        dense.fillRandom(seed + i + 1);
      }
      if (a.strides.empty()) {
        a.storage = std::move(dense);
        continue;
      }
      a.storage = Tensor(a.param.buffer->dtype, {reach(a)});
      poison(a.storage); // what lies between the elements is nobody's
      forEachElement(
          a, [&](std::int64_t from, std::int64_t to) { copyElement(a.storage, to, dense, from); });
      a.storage.shape = a.shape;
    }
  }

  Session &session;
  const ir::Function &function;
  Call call;
  std::vector<Given> given; ///< by argument
};

} // namespace

bool CallArgument::isCalled(std::string_view name) const {
  return name == param.name || name == (param.buffer ? param.buffer->name : param.var->name);
}

Tensor CallArgument::dense(const Tensor &stored) const {
  if (strides.empty())
    return stored;
  Tensor out(stored.dtype, shape);
  forEachElement(*this,
                 [&](std::int64_t to, std::int64_t from) { copyElement(out, to, stored, from); });
  return out;
}

std::vector<std::int64_t> Call::dims() const {
  std::vector<std::int64_t> out;
  for (const ir::Dim &dim : function->dims)
    for (const CallArgument &a : arguments)
      if (a.param.var && a.param.var == dim.var)
        out.push_back(a.integer);
  return out;
}

std::optional<Call> bindCall(Session &session, const ir::Function &function) {
  return Binder(session, function).bind();
}

std::string shapeText(const std::vector<std::int64_t> &shape) {
  std::string out;
  for (std::int64_t extent : shape)
    out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out.empty() ? "scalar" : out;
}

std::optional<Setting> splitSetting(Session &session, const std::string &text,
                                    std::string_view option) {
  std::size_t equals = text.find('=');
  if (equals != text.npos && equals > 0 && equals + 1 < text.size())
    return Setting{text.substr(0, equals), text.substr(equals + 1)};
  session.diagnostics.report(diag::BadOptionValue, {}, text, option).note("it takes NAME=VALUE");
  return std::nullopt;
}

} // namespace tlc::run
