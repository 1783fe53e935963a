// The only judge of what a phase may contain.
#pragma once

#include "ir/Function.h"
#include "support/Diagnostics.h"

#include <string>
#include <vector>

namespace tlc::ir {

/// A rule of README.md that the function breaks.
struct Fault {
  SourceRange range;
  std::string message; ///< what is wrong, then the statement, named as print() names it alone
};

/// Everything that is wrong with `function` in its phase; empty if nothing is. What it does not
/// judge: whether barriers stand in divergent control and accesses are in range, which is for
/// analysis.
std::vector<Fault> faults(const Function &function);

/// Reports the faults as TL6101; true if there are none.
bool verify(const Function &function, DiagnosticEngine &diagnostics);

} // namespace tlc::ir
