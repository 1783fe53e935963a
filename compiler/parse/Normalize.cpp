#include "parse/Normalize.h"

#include "support/Check.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace tlc::parsing {

std::string normalized(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; }))
    return std::string(name);
  utf8proc_uint8_t *form = nullptr;
  utf8proc_ssize_t bytes = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t *>(name.data()),
      static_cast<utf8proc_ssize_t>(name.size()), &form,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(form, &std::free);
  TLC_CHECK(bytes >= 0, "a name that is not valid UTF-8");
  return {reinterpret_cast<const char *>(form), static_cast<std::size_t>(bytes)};
}

} // namespace tlc::parsing
