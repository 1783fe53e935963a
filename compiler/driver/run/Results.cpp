#include "driver/run/Results.h"

#include "driver/Outputs.h"
#include "driver/run/Array.h"
#include "interpret/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tlc::run {
namespace {

using interpret::Tensor;

std::string numberText(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string elementText(const Tensor &tensor, std::int64_t i) {
  if (tensor.dtype.isFloat())
    return numberText(tensor.real(i));
  return tensor.dtype.scalar == Scalar::UInt64
             ? std::to_string(static_cast<std::uint64_t>(tensor.integer(i)))
             : std::to_string(tensor.integer(i));
}

/// FNV-1a of the elements' bytes.
std::string checksum(const Tensor &tensor) {
  std::uint32_t hash = 2166136261u;
  auto bytes = static_cast<std::size_t>(storageBytes(tensor.dtype, tensor.count()));
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<std::uint32_t>(tensor.data[i])) * 16777619u;
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%08x", static_cast<unsigned>(hash));
  return buffer;
}

std::string describe(const Tensor &tensor) {
  double sum = 0;
  std::int64_t numbers = 0, smallest = -1, largest = -1;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    double value = tensor.at(i);
    if (std::isnan(value))
      continue;
    ++numbers;
    sum += value;
    if (smallest < 0 || value < tensor.at(smallest))
      smallest = i;
    if (largest < 0 || value > tensor.at(largest))
      largest = i;
  }
  std::string out = tensor.dtype.str() + " " + shapeText(tensor.shape);
  if (numbers)
    out += ", from " + elementText(tensor, smallest) + " to " + elementText(tensor, largest) +
           ", mean " + numberText(sum / static_cast<double>(numbers));
  if (std::int64_t nans = tensor.count() - numbers)
    out += ", " + std::to_string(nans) + " NaN";
  return out + ", checksum " + checksum(tensor);
}

/// Of the finite elements.
double largestOf(const Tensor &tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    if (double value = std::fabs(tensor.at(i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

std::string indexText(std::int64_t i, const std::vector<std::int64_t> &shape) {
  std::string out;
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d])
    out = std::to_string(i % shape[d]) + (out.empty() ? "" : ", ") + out;
  return out;
}

/// The float type of the call's tensors that rounds most; that of an output if none is narrower.
DType coarsest(const Call &call, DType output) {
  DType out = output;
  for (const CallArgument &a : call.arguments)
    if (a.isTensor() && a.param.buffer->dtype.isFloat() &&
        a.param.buffer->dtype.mantissaBits() < out.mantissaBits())
      out = a.param.buffer->dtype;
  return out;
}

} // namespace

std::string summary(const Call &call, const Outcome &outcome) {
  std::string out;
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (const CallArgument &a = call.arguments[i]; a.isWritten())
      out += a.param.name + ": " + describe(a.dense(outcome.storages[i])) + "\n";
  return out;
}

void writeResults(Session &session, const Call &call, const Outcome &outcome) {
  std::vector<Output> outputs;
  for (const std::string &text : session.options.run.outputs) {
    std::optional<Setting> setting = splitSetting(session, text, "--output");
    for (std::size_t i = 0; setting && i < call.arguments.size(); ++i)
      if (const CallArgument &a = call.arguments[i]; a.isTensor() && a.isCalled(setting->name))
        outputs.push_back(
            {setting->value, arrayText(setting->value, a.dense(outcome.storages[i]))});
  }
  writeOutputs(session, outputs);
}

std::string compareResults(Session &session, const Call &call, const Outcome &expected,
                           const Outcome &got) {
  std::string out;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const CallArgument &a = call.arguments[i];
    if (!a.isWritten())
      continue;
    Tensor right = a.dense(expected.storages[i]), ours = a.dense(got.storages[i]);
    double tolerance = session.options.run.tolerance.value_or(interpret::tolerance(right.dtype));
    // The order of sums is free, and their rounding is that of the terms: even where they cancel.
    double allowed = tolerance * (1 + largestOf(right));
    interpret::Disagreement wrong = interpret::disagreement(right, ours, allowed, 0);
    if (wrong.count) {
      auto builder = session.diagnostics.report(
          diag::RunDiffers, a.param.buffer->range, a.param.name, wrong.count, right.count(),
          indexText(wrong.first, right.shape), elementText(ours, wrong.first),
          elementText(right, wrong.first));
      builder.note("the largest difference is " + numberText(wrong.largest) + "; allowed is " +
                   numberText(allowed) + ": " + numberText(tolerance) +
                   " times 1 + the largest number");
      DType rounding = right.dtype.isFloat() ? coarsest(call, right.dtype) : right.dtype;
      double wider = interpret::tolerance(rounding);
      if (rounding != right.dtype && wrong.largest <= wider * (1 + largestOf(right)))
        builder.help("a kernel that rounds to " + rounding.str() +
                     " on its way may differ so much: --tolerance=" + numberText(wider));
      continue;
    }
    out += a.param.name + ": agrees with the interpreter, largest difference " +
           numberText(wrong.largest) + "\n";
  }
  return out;
}

} // namespace tlc::run
