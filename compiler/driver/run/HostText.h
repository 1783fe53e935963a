// The text of the host program that makes one call.
#pragma once

#include "driver/run/Call.h"

namespace tlc::run {

/// C++ that includes `kernel.h` and runtime/run/driver.h, takes the arrays from the folder in its
/// first argument, makes the call and leaves the results and the outcome there.
std::string hostText(const Call &call, bool zeroedWorkspace);
/// The runtime file that it includes, "driver.h".
std::string_view hostRuntime();

} // namespace tlc::run
