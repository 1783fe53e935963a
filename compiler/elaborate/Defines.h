// Values from the command line.
#pragma once

#include "elaborate/Parts.h"

namespace tlc::elaborate {

/// Reads options.defines; reports those that are malformed.
void readDefines(Elaborator &e);
/// Each -D has to have been asked for.
void reportUnusedDefines(Elaborator &e);

} // namespace tlc::elaborate
