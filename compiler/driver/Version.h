// What tlc calls itself.
#pragma once

#include <string>

namespace tlc {

/// "0.1.0", as in headers and metadata.
std::string versionNumber();
/// The text of --version, with a newline at its end; the first line is "tlc 0.1.0".
std::string versionText();

} // namespace tlc
