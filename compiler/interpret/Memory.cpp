#include "interpret/Memory.h"

#include <algorithm>

namespace tlc::interpret {

void Storage::allocate(std::size_t bytes, bool tracksState) {
  own.assign(bytes + 8, std::byte{0}); // narrow elements may be read a byte beyond
  data = own.data();
  size = bytes;
  if (tracksState)
    state.assign(bytes + 8, NeverWritten);
}

void Storage::setState(std::size_t begin, std::size_t bytes, State to) {
  if (state.empty() || begin >= size)
    return;
  auto first = state.begin() + static_cast<std::ptrdiff_t>(begin);
  std::fill(first, first + static_cast<std::ptrdiff_t>(std::min(bytes, size - begin)), to);
}

} // namespace tlc::interpret
