#include "interpret/Compare.h"

#include "interpret/Launcher.h"

#include <algorithm>
#include <cmath>

namespace tlc::interpret {

Inputs makeInputs(const ir::Function &function, const CompareOptions &options) {
  Inputs inputs;
  Machine machine(function, options.before); // only to evaluate shapes
  inputs.dims = options.dims;
  for (std::size_t d = 0; d < function.dims.size(); ++d)
    machine.arguments[function.dims[d].var.get()] = {.i = d < options.dims.size() ? options.dims[d]
                                                                                  : 0};
  std::size_t scalars = 0;
  for (const ir::Param &p : function.params)
    if (p.scalar) {
      double value = scalars < options.scalars.size() ? options.scalars[scalars] : 1;
      ++scalars;
      machine.arguments[p.scalar.get()] = p.scalar.dtype().isFloat()
                                              ? Value{.f = value}
                                              : Value{.i = static_cast<std::int64_t>(value)};
    }
  std::uint64_t seed = options.seed * 1000;
  scalars = 0;
  for (const ir::Param &p : function.params) {
    if (p.scalar) {
      inputs.args.emplace_back(scalars < options.scalars.size() ? options.scalars[scalars] : 1.0);
      ++scalars;
      continue;
    }
    std::vector<std::int64_t> shape;
    for (ir::Expr extent : p.buffer->shape)
      shape.push_back(evaluate(machine, extent).i);
    Tensor &tensor = inputs.tensors.emplace_back(p.buffer->dtype, shape);
    tensor.fillRandom(++seed);
    // Given strides may reach beyond the dense size.
    std::int64_t last = 0;
    for (std::size_t d = 0; d < p.buffer->strides.size(); ++d)
      last += (shape[d] - 1) * evaluate(machine, p.buffer->strides[d]).i;
    std::int64_t bytes = storageBytes(p.buffer->dtype, last + 1);
    if (bytes > static_cast<std::int64_t>(tensor.data.size()))
      tensor.data.resize(static_cast<std::size_t>(bytes));
    inputs.args.emplace_back(tensor);
  }
  return inputs;
}

double tolerance(DType dtype) {
  return dtype.isFloat()
             ? 4 * std::ldexp(1.0, -static_cast<int>(std::min(dtype.mantissaBits(), 20u)) - 1)
             : 0;
}

Disagreement disagreement(const Tensor &expected, const Tensor &got, double absolute,
                          double relative) {
  Disagreement out;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    double a = expected.at(i), b = got.at(i);
    bool bothNumbers = std::isfinite(a) && std::isfinite(b);
    // Wide integers as they are: a double has 53 bits.
    bool same = expected.dtype.isFloat() ? a == b || (std::isnan(a) && std::isnan(b))
                                         : expected.integer(i) == got.integer(i);
    if (bothNumbers)
      out.largest = std::max(out.largest, std::fabs(a - b));
    double allowed = absolute + relative * std::fabs(a);
    if (same || (bothNumbers && allowed > 0 && std::fabs(a - b) <= allowed))
      continue;
    if (out.count++ == 0)
      out.first = i;
  }
  return out;
}

namespace {

std::string difference(const std::string &name, const Tensor &expected, const Tensor &got,
                       double allowed) {
  if (allowed < 0)
    allowed = tolerance(expected.dtype);
  Disagreement wrong = disagreement(expected, got, allowed, allowed);
  if (wrong.count == 0)
    return "";
  std::string index;
  std::int64_t left = wrong.first;
  for (std::size_t d = expected.shape.size(); d-- > 0; left /= expected.shape[d])
    index = std::to_string(left % expected.shape[d]) + (index.empty() ? "" : ", ") + index;
  return name + "[" + index + "] is " + std::to_string(got.at(wrong.first)) + " instead of " +
         std::to_string(expected.at(wrong.first)) + ", and " + std::to_string(wrong.count - 1) +
         " more of " + std::to_string(expected.count()) + "\n";
}

} // namespace

std::string compare(const ir::Function &before, const ir::Function &after,
                    const CompareOptions &options) {
  Inputs first = makeInputs(before, options);
  if (options.prepare)
    options.prepare(first);
  Inputs second = first;
  // The copy's arguments still name the first tensors.
  for (std::size_t i = 0, t = 0; i < second.args.size(); ++i)
    if (second.args[i].tensor)
      second.args[i].tensor = &second.tensors[t++];
  Result a = run(before, first.args, first.dims, options.before);
  Result b = run(after, second.args, second.dims, options.after);
  std::string text;
  if (!a.ok())
    text += "before:\n" + a.text() + (a.finished ? "" : "not finished\n");
  if (!b.ok())
    text += "after:\n" + b.text() + (b.finished ? "" : "not finished\n");
  std::size_t t = 0;
  for (const ir::Param &p : before.params)
    if (p.buffer) {
      text += difference(p.name, first.tensors[t], second.tensors[t], options.tolerance);
      ++t;
    }
  // One thread prints; which one is the phase's business.
  if (before.phase == after.phase && a.printed != b.printed)
    text += "they print differently:\n" + a.printed + "---\n" + b.printed;
  return text;
}

} // namespace tlc::interpret
