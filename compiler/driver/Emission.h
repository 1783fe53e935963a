// From compiled units to the text of the files that a verb writes.
#pragma once

#include "driver/Outputs.h"
#include "driver/Pipeline.h"
#include "emit/Emit.h"

#include <span>

namespace tlc {

/// Prints the kernels of `units`, one unit a target, as the options say. `names` decides how the
/// files speak of each other.
emit::EmittedFiles emitUnits(Session &session, std::span<const CompiledUnit> units,
                             const OutputNames &names);

} // namespace tlc
