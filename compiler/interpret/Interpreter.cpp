// Arguments, memory and launches.
#include "interpret/Interpreter.h"

#include "interpret/Launcher.h"
#include "ir/Unfold.h"
#include "support/Check.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tlc::interpret {

std::string_view reportName(ReportKind kind) {
  constexpr std::string_view names[] = {
      "race",     "undefined read", "out of range", "not complete", "divergence",
      "deadlock", "assertion",      "arguments",    "unsupported",  "unfinished"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Result::text() const {
  std::string out;
  for (const Report &r : reports)
    out += std::string(reportName(r.kind)) + ": " + r.message + "\n";
  return out;
}

std::uint32_t Machine::numberOf(const ir::Buffer *b) {
  if (auto found = numbers.find(b); found != numbers.end())
    return found->second;
  if (b->base)
    numberOf(b->base);
  auto number = static_cast<std::uint32_t>(buffers.size());
  numbers.emplace(b, number);
  buffers.push_back(b);
  return number;
}

void Machine::report(ReportKind kind, const std::string &message, SourceRange range,
                     const void *key) {
  if (!reported.insert({key, static_cast<int>(kind)}).second ||
      result.reports.size() >= options.maxReports)
    return;
  result.reports.push_back({kind, message, range});
}

std::uint32_t Machine::takeStamps(std::uint32_t count) {
  if (stamps > ~0u - count - 1) {
    auto clear = [](Storage &s) {
      std::fill(s.writer.begin(), s.writer.end(), 0);
      std::fill(s.reader.begin(), s.reader.end(), 0);
    };
    for (Storage &s : globals)
      clear(s);
    for (BlockState *block : allBlocks)
      for (Storage &s : block->storages)
        clear(s);
    stamps = 1;
  }
  return std::exchange(stamps, stamps + count);
}

namespace {

/// The run's arguments put in place, and its launches one after the other.
class Runner {
public:
  Runner(const ir::Function &function, const std::vector<Argument> &args, const Options &options)
      : function(function), args(args), machine(function, options) {}

  Result run(const std::vector<std::int64_t> &dims) {
    if (bindArguments(dims) && bindTensors() && checkConstraints()) {
      machine.result.finished = true;
      for (const auto &launch : function.launches)
        if (!Launcher(machine, *launch).run()) {
          machine.result.finished = false;
          break;
        }
    }
    collectCounts();
    return std::move(machine.result);
  }

private:
  bool wrong(const std::string &message) {
    machine.report(ReportKind::Arguments, "kernel @" + function.name + ": " + message,
                   function.range, nullptr);
    return false;
  }

  bool bindArguments(const std::vector<std::int64_t> &dims);
  void inferDims(std::vector<std::optional<std::int64_t>> &values);
  void bindConstants();
  bool bindTensors();
  bool bindTensor(const ir::Buffer &b, Tensor *tensor);
  bool checkConstraints();
  void collectCounts();

  const ir::Function &function;
  const std::vector<Argument> &args;
  Machine machine;
};

void Runner::inferDims(std::vector<std::optional<std::int64_t>> &values) {
  auto setIf = [&](ir::Expr e, std::int64_t value) {
    for (std::size_t d = 0; d < function.dims.size(); ++d)
      if (function.dims[d].var == e && !values[d])
        values[d] = value;
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Buffer *b = function.params[i].buffer;
    if (!b || !args[i].tensor || b->shape.size() != args[i].tensor->shape.size())
      continue;
    std::int64_t pitch = 1;
    for (std::size_t d = b->shape.size(); d-- > 0;) {
      setIf(b->shape[d], args[i].tensor->shape[d]);
      if (!b->strides.empty())
        setIf(b->strides[d], pitch);
      pitch *= args[i].tensor->shape[d];
    }
  }
}

bool Runner::bindArguments(const std::vector<std::int64_t> &dims) {
  if (args.size() != function.params.size())
    return wrong("takes " + std::to_string(function.params.size()) + " arguments, not " +
                 std::to_string(args.size()));
  std::vector<std::optional<std::int64_t>> values(function.dims.size());
  for (std::size_t d = 0; d < std::min(dims.size(), values.size()); ++d)
    values[d] = dims[d];
  inferDims(values);
  for (std::size_t d = 0; d < values.size(); ++d) {
    if (!values[d])
      return wrong("no value for dim " + function.dims[d].name);
    machine.arguments[function.dims[d].var.get()] = {.i = *values[d]};
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Param &p = function.params[i];
    if (p.buffer && !args[i].tensor)
      return wrong("argument " + p.name + " is no tensor");
    if (!p.scalar)
      continue;
    DType type = p.scalar.dtype();
    if (type.isFloat()) // an infinity stays one where the format has it
      machine.arguments[p.scalar.get()] = {.f = std::isinf(args[i].real)
                                                    ? roundFloat(type, args[i].real, false)
                                                    : roundTo(type, args[i].real)};
    else
      machine.arguments[p.scalar.get()] = {.i = wrapInteger(type, args[i].integer)};
  }
  bindConstants();
  return true;
}

/// Those that are computed from integers that are known by now.
void Runner::bindConstants() {
  ir::Substitution known;
  for (const ir::LaunchConstant &c : function.launchConstants) {
    std::int64_t value = c.what == ir::LaunchConstant::What::WorkspaceBytes
                             ? machine.options.workspaceBytes
                             : machine.options.multiprocessors;
    if (c.what == ir::LaunchConstant::What::Computed) {
      std::vector<ir::Expr> vars;
      ir::collectVars(c.value, vars);
      for (ir::Expr var : vars)
        known.emplace_back(var,
                           var.context().integer(var.dtype(), machine.arguments.at(var.get()).i));
      value = *ir::substitute(c.value, known).constant();
    }
    machine.arguments[c.var.get()] = {.i = value};
  }
}

bool Runner::bindTensor(const ir::Buffer &b, Tensor *tensor) {
  std::uint32_t number = machine.numberOf(&b);
  machine.globalViews.resize(machine.buffers.size());
  View &v = machine.globalViews[number];
  Storage &s = machine.globals.emplace_back();
  s.name = b.name;
  s.scope = ir::Scope::Global;
  v.buffer = &b;
  v.storage = &s;
  v.codec = &codec(b.dtype.scalar);
  v.dtype = b.dtype.element();
  std::int64_t pitch = 1, last = 0;
  for (ir::Expr extent : b.shape)
    v.shape.push_back(evaluate(machine, extent).i);
  v.strides.resize(v.shape.size());
  for (std::size_t d = v.shape.size(); d-- > 0;) {
    v.strides[d] = b.strides.empty() ? pitch : evaluate(machine, b.strides[d]).i;
    pitch *= v.shape[d];
    last += (v.shape[d] - 1) * v.strides[d];
  }
  v.count = pitch == 0 ? 0 : last + 1;
  if (b.safeValue)
    v.safeValue = evaluate(machine, b.safeValue);
  std::int64_t bytes = storageBytes(b.dtype, v.count);
  if (!tensor) {
    s.allocate(static_cast<std::size_t>(bytes), !b.zeroInitialised);
    return true;
  }
  if (tensor->dtype != b.dtype)
    return wrong("argument " + b.name + " has dtype " + tensor->dtype.str() + " instead of " +
                 b.dtype.str());
  if (tensor->shape != v.shape)
    return wrong("argument " + b.name + " has another shape than declared");
  if (static_cast<std::int64_t>(tensor->data.size()) < bytes)
    return wrong("argument " + b.name + " is too short for its strides");
  s.data = tensor->data.data();
  s.size = tensor->data.size();
  return true;
}

bool Runner::bindTensors() {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (function.params[i].buffer && !bindTensor(*function.params[i].buffer, args[i].tensor))
      return false;
  for (const ir::Buffer *b : function.workspace)
    bindTensor(*b, nullptr);
  return true;
}

bool Runner::checkConstraints() {
  bool hold = true;
  for (const ir::Constraint &c : function.constraints)
    if (!evaluate(machine, c.condition).i) {
      machine.report(ReportKind::Assertion,
                     "kernel @" + function.name + ": the launcher's check fails: " + c.text,
                     c.range, &c);
      hold = false;
    }
  return hold;
}

void Runner::collectCounts() {
  std::vector<StatementCounts> &counts = machine.result.counts;
  for (auto &[stmt, c] : machine.counts) {
    if (!stmt || !(c.globalRead | c.globalWritten | c.sharedRead | c.sharedWritten | c.products |
                   c.barriers))
      continue;
    c.range = stmt->range;
    counts.push_back(c);
  }
  std::sort(counts.begin(), counts.end(), [](const StatementCounts &a, const StatementCounts &b) {
    return std::tie(a.range.file, a.range.begin, a.range.end) <
           std::tie(b.range.file, b.range.begin, b.range.end);
  });
}

} // namespace

Value evaluate(Machine &machine, ir::Expr e) {
  SlotTable slots;
  for (const auto &[var, value] : machine.arguments) {
    Ref r = slots.newUniform();
    slots.bind(ir::Expr(var), {r});
    slots.constants.push_back({r, value});
  }
  Code code;
  Ref r = ExprCompiler(slots, code).scalar(e);
  std::vector<Value> uniform(slots.uniformCount());
  for (auto [ref, value] : slots.constants)
    uniform[ref.number()] = value;
  Lanes lanes;
  lanes.uniform = uniform.data();
  lanes.width = 1;
  lanes.setActive({0});
  execute(code, lanes);
  return lanes.get(r, 0);
}

Result run(const ir::Function &function, const std::vector<Argument> &args,
           std::vector<std::int64_t> dims, const Options &options) {
  if (ir::hasUnfolded(function)) {
    std::unique_ptr<ir::Function> plain = ir::clone(function);
    ir::expandUnfolded(*plain, [](const ir::CopyStmt &) { return false; });
    return Runner(*plain, args, options).run(dims);
  }
  return Runner(function, args, options).run(dims);
}

} // namespace tlc::interpret
