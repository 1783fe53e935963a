// The rows of each family, unchecked; Atoms.h is the way in.
#pragma once

#include "layout/Algebra.h"
#include "target/Atoms.h"

#include <vector>

namespace tlc::detail {

std::vector<Atom> cudaAtoms();
std::vector<Atom> cpuAtoms();

} // namespace tlc::detail
