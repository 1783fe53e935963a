// Internal consistency checks. A failed one is a fault of the compiler, never of the user's
// program.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tlc {

/// Thrown by TLC_CHECK and TLC_UNREACHABLE. The driver turns it into one line that names the pass
/// and the kernel, and exits 70. `file` is relative to the checkout ("compiler/ir/Expr.cpp").
class InternalError : public std::runtime_error {
public:
  InternalError(std::string_view message, std::string_view file, int line);

  const std::string &message() const { return text; }
  const std::string &file() const { return where; }
  int line() const { return lineNumber; }

private:
  std::string text, where;
  int lineNumber;
};

[[noreturn]] void internalError(std::string_view message, const char *file, int line);

} // namespace tlc

/// TLC_CHECK(condition, "what should have held"): always on, also in release builds. The message is
/// evaluated on failure only, so it may be put together with + .
#define TLC_CHECK(condition, message)                                                              \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::tlc::internalError((message), __FILE__, __LINE__);                                         \
  } while (false)

#define TLC_UNREACHABLE(message) ::tlc::internalError((message), __FILE__, __LINE__)
