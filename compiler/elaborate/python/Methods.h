// Methods of Python's own types.
#pragma once

#include "elaborate/Parts.h"

namespace tlc::elaborate {

using Method = Value (*)(Elaborator &, const Value &self, CallArgs &);
using Methods = std::map<std::string_view, Method>;

extern const Methods strMethods;
extern const Methods dtypeMethods; ///< what a dtype has beyond a str

} // namespace tlc::elaborate
