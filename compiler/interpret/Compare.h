// Two functions on the same inputs: how tests of passes say that nothing changed.
#pragma once

#include "interpret/Interpreter.h"

#include <deque>
#include <functional>

namespace tlc::interpret {

/// Arguments for a function, owned.
struct Inputs {
  std::deque<Tensor> tensors;
  std::vector<Argument> args;
  std::vector<std::int64_t> dims;
};

struct CompareOptions {
  /// One value per dim, in order of declaration; strides that are missing are dense.
  std::vector<std::int64_t> dims;
  /// One value per scalar parameter, in order; those that are missing are 1.
  std::vector<double> scalars;
  std::uint64_t seed = 1;
  /// Allowed difference of floats: absolute + relative * |expected|. Negative: chosen by the dtype
  /// of the output (4 units of it, as the order of sums is free).
  double tolerance = -1;
  /// Changes what was filled at random, before both runs.
  std::function<void(Inputs &)> prepare;
  Options before, after;
};

/// Random tensors of the shapes that the function declares.
Inputs makeInputs(const ir::Function &function, const CompareOptions &options);

/// What is allowed for a dtype, as `CompareOptions::tolerance`: 4 units in the last place of
/// floats, as the order of sums is free; 0 for integers.
double tolerance(DType dtype);

/// Where two tensors of one dtype and shape differ. NaN equals NaN.
struct Disagreement {
  std::int64_t count = 0; ///< elements further apart than `absolute + relative * |expected|`
  std::int64_t first = 0; ///< row-major index of the first of them
  double largest = 0;     ///< difference of any two elements that are both finite
};
Disagreement disagreement(const Tensor &expected, const Tensor &got, double absolute,
                          double relative);

/// Runs both and compares all tensors, and workspaces not. Empty if they agree and nothing is
/// reported; else the reports or the first difference of each tensor, for people.
std::string compare(const ir::Function &before, const ir::Function &after,
                    const CompareOptions &options = {});

} // namespace tlc::interpret
