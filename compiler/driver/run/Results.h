// What a call computed: shown as a summary, written to files, held against another result.
#pragma once

#include "driver/run/Execute.h"

namespace tlc::run {

/// A line for each tensor that the call may have written:
///   C: float16 256x128, from -9.39 to 8.8, mean 0.00134, checksum 5f0c2a9b
std::string summary(const Call &call, const Outcome &outcome);

/// The files that --output names.
void writeResults(Session &session, const Call &call, const Outcome &outcome);

/// Reports every tensor that differs from the expected one by more than the tolerance; returns a
/// line for each that does not.
std::string compareResults(Session &session, const Call &call, const Outcome &expected,
                           const Outcome &got);

} // namespace tlc::run
