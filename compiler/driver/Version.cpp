#include "driver/Version.h"

#include "target/Target.h"

namespace tlc {

std::string versionNumber() { return TLC_VERSION; }

std::string versionText() {
  return "tlc " + versionNumber() + "\nABI 1, CMake package " + versionNumber() +
         "\ntargets: " + supportedTargetNames() + "\n";
}

} // namespace tlc
