// What each line of the source did while it ran: read from the emulator or the interpreter, shown
// as a table and as JSON.
#pragma once

#include "driver/Session.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::run {

enum class Counter : std::uint8_t {
#define TLC_COUNTER(NAME, FILE, HEADING) NAME,
#include "driver/run/Counter.def"
  count
};

struct LineCounts {
  std::string place; ///< "gemm.tl:26" with its path; "?": no line is known
  std::array<std::uint64_t, static_cast<std::size_t>(Counter::count)> values{};

  std::uint64_t &operator[](Counter c) { return values[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](Counter c) const { return values[static_cast<std::size_t>(c)]; }
};

bool wantsCounts(const RunOptions &options);

/// Reads what the emulator wrote to EMU_COUNTS: a line of tab-separated names, "place" first, then
/// a line of values for each place.
std::vector<LineCounts> readCounts(std::string_view text);

/// One row a line in the order of the source, then the sum; columns that are all zero are left out.
std::string countsTable(const Session &session, std::vector<LineCounts> counts);
/// {"schema":1,"kernel":"gemm","target":"sm80","lines":[{"file":…,"line":26,"text":…,
/// "global_read_bytes":…}],"total":{…}}
std::string countsJson(const Session &session, std::string_view kernel, std::string_view target,
                       std::vector<LineCounts> counts);

} // namespace tlc::run
