// Making a call: by the interpreter, or by a compiled program on the CPU or the emulator.
#pragma once

#include "driver/Pipeline.h"
#include "driver/run/Call.h"
#include "driver/run/Counts.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tlc::run {

/// What a call left behind.
struct Outcome {
  std::vector<interpret::Tensor> storages; ///< by argument; of those that are no tensors: empty
  std::vector<LineCounts> counts;          ///< if asked for
};

enum class Prints : std::uint8_t { Shown, Hidden }; ///< of T.print

/// Interprets the call's function. Faults are reported; nothing if it did not get to its end.
std::optional<Outcome> interpretCall(Session &session, const Call &call, Prints prints);

/// Emits the kernels of `unit`, whose passes have run, compiles them with a host program for the
/// call and runs that: on the emulator if the unit's target is a GPU. Faults are reported.
std::optional<Outcome> executeCall(Session &session, const Call &call, const CompiledUnit &unit);

} // namespace tlc::run
