#include "driver/run/Findings.h"

#include <charconv>
#include <filesystem>

namespace tlc::run {
namespace {

struct Place {
  std::string emitted, user;
};

struct Finding {
  bool isError = true;
  std::string kind, text;
  std::vector<Place> places;
};

std::vector<Finding> parse(std::string_view text) {
  std::vector<Finding> out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string_view word = line.substr(0, line.find(' '));
    std::string_view rest = line.substr(std::min(word.size() + 1, line.size()));
    if (word == "error" || word == "warning") {
      out.push_back({word == "error", std::string(rest), "", {}});
    } else if (!out.empty() && word == "text") {
      out.back().text += (out.back().text.empty() ? "" : "\n") + std::string(rest);
    } else if (!out.empty() && word == "place") {
      std::size_t tab = rest.find('\t');
      out.back().places.push_back(
          {std::string(rest.substr(0, tab)),
           std::string(tab == rest.npos ? std::string_view("?") : rest.substr(tab + 1))});
    }
  }
  return out;
}

std::string fileAndLine(const std::string &place) {
  return std::filesystem::path(place).filename().string();
}

std::string messageOf(const Finding &finding) {
  std::string out = finding.text;
  for (std::size_t i = 0; i < finding.places.size(); ++i) {
    const Place &place = finding.places[i];
    std::string mark = "{" + std::to_string(i) + "}";
    std::string shown = fileAndLine(place.user == "?" ? place.emitted : place.user);
    for (std::size_t at = 0; (at = out.find(mark, at)) != out.npos; at += shown.size())
      out.replace(at, mark.size(), shown);
  }
  return out;
}

} // namespace

SourceRange lineRange(const SourceManager &sources, std::string_view place) {
  std::size_t colon = place.rfind(':');
  std::uint32_t line = 0;
  if (colon == place.npos ||
      std::from_chars(place.data() + colon + 1, place.data() + place.size(), line).ec !=
          std::errc{})
    return {};
  for (std::uint32_t file = 1; file <= sources.fileCount(); ++file) {
    if (sources.displayPath(file) != place.substr(0, colon) || line == 0 ||
        line > sources.lineCount(file))
      continue;
    std::string_view text = sources.lineText(file, line);
    std::uint32_t begin = sources.lineStart(file, line);
    auto indent = static_cast<std::uint32_t>(std::min(text.find_first_not_of(" \t"), text.size()));
    return {file, begin + indent, begin + static_cast<std::uint32_t>(text.size())};
  }
  return {};
}

bool reportFindings(Session &session, std::string_view text) {
  bool hasErrors = false;
  for (const Finding &finding : parse(text)) {
    hasErrors |= finding.isError;
    SourceRange range =
        finding.places.empty() ? SourceRange{} : lineRange(session.sources, finding.places[0].user);
    auto builder = session.diagnostics.report(finding.isError ? diag::RunFault : diag::RunDoubt,
                                              range, finding.kind, messageOf(finding));
    for (std::size_t i = 1; i < finding.places.size(); ++i) {
      SourceRange other = lineRange(session.sources, finding.places[i].user);
      if (other.valid() && !(other == range))
        builder.label(other, "the other access");
    }
    std::string emitted;
    for (const Place &place : finding.places)
      emitted += (emitted.empty() ? "" : ", ") + fileAndLine(place.emitted);
    if (!emitted.empty() && !session.options.run.keepDir.empty())
      builder.note("in the emitted file: " + emitted);
  }
  return hasErrors;
}

} // namespace tlc::run
