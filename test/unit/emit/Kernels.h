// Small functions of the thread phase, built by hand, for the printers' tests.
#pragma once

#include "ir/Builder.h"
#include "target/Target.h"

#include <memory>

namespace tlc::emit::test {

/// A function that owns its context.
struct Kernel {
  std::unique_ptr<ir::Context> context = std::make_unique<ir::Context>();
  std::unique_ptr<ir::Function> function;

  explicit Kernel(std::string name);
  ir::Buffer &tensor(std::string name, DType dtype, std::vector<ir::Expr> shape, bool output);
  ir::Expr dim(std::string name, Scalar scalar = Scalar::Int32);
  ir::Expr scalar(std::string name, DType dtype);
  /// One launch; on a CPU nothing is said of threads.
  ir::Launch &launch(std::vector<ir::Expr> grid, std::int64_t threads);
};

/// C[i] = A[i] + B[i] of `dtype`, four elements at a time where N % 4 == 0 (GPU), or one by one.
Kernel vectorAdd(Family family, DType dtype);
/// Y[r, :] = softmax(X[r, :]) of 64 columns: a warp per row, or a block per row on a CPU.
Kernel softmax(Family family);
/// C = A B^T of f16 into f32, 64x64x32 tiles, 4 warps, three stages of cp.async; K % 32 == 0.
Kernel gemm();
/// Every statement and expression that the printers know, in one function that is only compiled.
Kernel everything(const Target &target);

} // namespace tlc::emit::test
