// Which instruction does a product.
#pragma once

#include "passes/Pass.h"
#include "passes/plan/GemmLayouts.h"

namespace tlc::passes {

/// That by which `threads` threads, the first of a block, will do a product of this shape with the
/// operands of `gemm`, whatever tiles those have now; null: there is none.
const Atom *atomFor(const ir::Function &function, PassContext &context, const ir::GemmStmt &gemm,
                    const GemmShape &shape, Index threads);

} // namespace tlc::passes
