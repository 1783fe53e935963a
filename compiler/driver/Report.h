// `tlc report`: what was decided for each launch, and what it costs.
#pragma once

#include "driver/Pipeline.h"

namespace tlc {

/// The schedules of a compiled unit with, as comments, the resources of each launch. The text is a
/// schedule file.
std::string reportText(const CompiledUnit &unit);

} // namespace tlc
