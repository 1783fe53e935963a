#include "support/Check.h"

namespace tlc {
namespace {

// The path from compiler/ on, so that the message does not depend on where the compiler was built.
std::string relative(std::string_view file) {
  size_t at = file.rfind("compiler/");
  return std::string(at == file.npos ? file : file.substr(at));
}

} // namespace

InternalError::InternalError(std::string_view message, std::string_view file, int line)
    : std::runtime_error(std::string(message) + " (" + relative(file) + ":" + std::to_string(line) +
                         ")"),
      text(message), where(relative(file)), lineNumber(line) {}

void internalError(std::string_view message, const char *file, int line) {
  throw InternalError(message, file, line);
}

} // namespace tlc
