// Names as Python compares them: in Unicode's normal form NFKC.
#pragma once

#include <string>
#include <string_view>

namespace tlc::parsing {

/// The normal form of a name, which is valid UTF-8 and whose characters may stand in names.
std::string normalized(std::string_view name);

} // namespace tlc::parsing
