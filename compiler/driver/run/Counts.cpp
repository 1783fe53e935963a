#include "driver/run/Counts.h"

#include "driver/run/Findings.h"
#include "support/RenderJson.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

namespace tlc::run {
namespace {

constexpr std::size_t counters = static_cast<std::size_t>(Counter::count);
constexpr std::array<std::string_view, counters> fileNames = {
#define TLC_COUNTER(NAME, FILE, HEADING) FILE,
#include "driver/run/Counter.def"
};
constexpr std::array<std::string_view, counters> headings = {
#define TLC_COUNTER(NAME, FILE, HEADING) HEADING,
#include "driver/run/Counter.def"
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    out.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(out.back().size() + 1, text.size()));
  }
  return out;
}

/// "gemm.tl:26" taken apart; line 0 if it names none.
std::pair<std::string, std::uint32_t> fileAndLine(const std::string &place) {
  std::size_t colon = place.rfind(':');
  std::uint32_t line = 0;
  if (colon != place.npos)
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  return {place.substr(0, line ? colon : place.size()), line};
}

void sortByPlace(std::vector<LineCounts> &counts) {
  std::sort(counts.begin(), counts.end(), [](const LineCounts &a, const LineCounts &b) {
    return fileAndLine(a.place) < fileAndLine(b.place);
  });
}

LineCounts totalOf(const std::vector<LineCounts> &counts) {
  LineCounts total;
  for (const LineCounts &line : counts)
    for (std::size_t c = 0; c < counters; ++c)
      total.values[c] += line.values[c];
  return total;
}

/// The kinds of column: counters, and the ratio that readers look for.
struct Column {
  std::string heading;
  std::vector<std::string> cells;
};

std::string ratio(const LineCounts &line) {
  if (!line[Counter::GlobalRequests])
    return "";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f",
                static_cast<double>(line[Counter::GlobalSectors]) /
                    static_cast<double>(line[Counter::GlobalRequests]));
  return buffer;
}

std::string membersOf(const LineCounts &line) {
  std::string out;
  for (std::size_t c = 0; c < counters; ++c)
    out += std::string(c ? "," : "") + "\"" + std::string(fileNames[c]) +
           "\":" + std::to_string(line.values[c]);
  return out;
}

} // namespace

bool wantsCounts(const RunOptions &options) {
  return options.counts || !options.countsFile.empty();
}

std::vector<LineCounts> readCounts(std::string_view text) {
  std::vector<LineCounts> out;
  std::vector<std::string_view> columns;
  for (std::string_view row : split(text, '\n')) {
    std::vector<std::string_view> cells = split(row, '\t');
    if (columns.empty()) {
      columns = std::move(cells);
      continue;
    }
    LineCounts &line = out.emplace_back();
    for (std::size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) {
      auto found = std::find(fileNames.begin(), fileNames.end(), columns[i]);
      if (columns[i] == "place")
        line.place = cells[i];
      else if (found != fileNames.end())
        std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(),
                        line.values[static_cast<std::size_t>(found - fileNames.begin())]);
    }
  }
  return out;
}

std::string countsTable(const Session &session, std::vector<LineCounts> counts) {
  sortByPlace(counts);
  LineCounts total = totalOf(counts);
  total.place = "sum";
  counts.push_back(total);
  std::vector<Column> columns(1);
  columns[0].heading = "line";
  for (const LineCounts &line : counts)
    columns[0].cells.push_back(std::filesystem::path(line.place).filename().string());
  for (std::size_t c = 0; c < counters; ++c) {
    bool isShown = total.values[c] || (c == static_cast<std::size_t>(Counter::BankConflicts) &&
                                       total[Counter::SharedWavefronts]);
    if (!isShown)
      continue;
    Column &column = columns.emplace_back();
    column.heading = headings[c];
    for (const LineCounts &line : counts)
      column.cells.push_back(line.values[c] ? std::to_string(line.values[c]) : "");
    if (c != static_cast<std::size_t>(Counter::GlobalSectors))
      continue;
    Column &perRequest = columns.emplace_back();
    perRequest.heading = "a request";
    for (const LineCounts &line : counts)
      perRequest.cells.push_back(ratio(line));
  }
  std::string out;
  auto pad = [&](const Column &column, const std::string &cell) {
    std::size_t width = column.heading.size();
    for (const std::string &other : column.cells)
      width = std::max(width, other.size());
    std::string space(width - cell.size(), ' ');
    out += &column == columns.data() ? cell + space : "  " + space + cell;
  };
  for (const Column &column : columns)
    pad(column, column.heading);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    out += '\n';
    for (const Column &column : columns)
      pad(column, column.cells[row]);
    if (SourceRange range = lineRange(session.sources, counts[row].place); range.valid())
      out += "  " + std::string(session.sources.text(range));
  }
  return out + "\n";
}

std::string countsJson(const Session &session, std::string_view kernel, std::string_view target,
                       std::vector<LineCounts> counts) {
  sortByPlace(counts);
  std::string lines;
  for (const LineCounts &line : counts) {
    auto [file, number] = fileAndLine(line.place);
    SourceRange range = lineRange(session.sources, line.place);
    lines += std::string(lines.empty() ? "\n" : ",\n") +
             "{\"file\":" + (number ? jsonString(file) : std::string("null")) +
             ",\"line\":" + std::to_string(number) + ",\"text\":" +
             jsonString(range.valid() ? session.sources.text(range) : std::string_view()) + "," +
             membersOf(line) + "}";
  }
  return "{\"schema\":1,\"kernel\":" + jsonString(kernel) + ",\"target\":" + jsonString(target) +
         ",\"lines\":[" + lines + "],\n\"total\":{" + membersOf(totalOf(counts)) + "}}\n";
}

} // namespace tlc::run
