// Copies of a fragment to shared memory by matrix stores.
#pragma once

#include "passes/lower/LowerMap.h"

#include "ir/Builder.h"
#include "target/Target.h"

namespace tlc::passes {

/// Appends stmatrix instructions that make the copy, if the target has them and the fragment lies
/// in 8x8 matrices of 16-bit elements whose rows (or columns: `.trans`) are 16 aligned bytes of the
/// tile. False, and nothing is appended, otherwise.
bool storeMatrices(ir::Builder &builder, const ir::CopyStmt &copy, const Target &target,
                   const MapThread &thread);

} // namespace tlc::passes
