// The rows of each family, unchecked; Atoms.h is the way in.
#pragma once

#include "layout/Algebra.h"
#include "target/Atoms.h"

#include <string>
#include <vector>

namespace tlc::detail {

std::vector<Atom> cudaAtoms();
/// "mma_m16n8k16_f16_f16_f32": how runtime functions are called.
std::string matrixName(const char *instruction, Index m, Index n, Index k, DType a, DType b,
                       DType c);
std::vector<Atom> cpuAtoms();

} // namespace tlc::detail
