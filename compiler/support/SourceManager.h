// The files of a compilation: their text, and what a byte offset means as line and column.
#pragma once

#include "support/SourceRange.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc {

/// Both count from 1; columns count characters (code points), not bytes.
struct LineColumn {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const LineColumn &) const = default;
};

/// Owns the text of every file read. Ids start at 1 and stay valid; 0 is "nowhere" (see
/// SourceRange).
class SourceManager {
public:
  /// Reads `path` ("-" is standard input). The same path read twice gives the same id. On failure
  /// returns nothing and puts the operating system's reason into `error`.
  std::optional<std::uint32_t> load(const std::string &path, std::string &error);

  /// Adds text that is not a file: a `-D` value, a test's input. `name` appears in messages.
  std::uint32_t addBuffer(std::string name, std::string text);

  std::uint32_t fileCount() const { return static_cast<std::uint32_t>(files.size()); }
  /// The whole text; byte offsets of ranges index it.
  const std::string &text(std::uint32_t file) const;
  /// The text under a range; empty for an invalid one.
  std::string_view text(SourceRange range) const;
  /// The path as it was given to load (for opening files beside it), and as messages and emitted
  /// text show it.
  const std::string &path(std::uint32_t file) const;
  std::string displayPath(std::uint32_t file) const;

  /// Only for the parser, which decodes the bytes (encoding, lone carriage returns) before anybody
  /// makes a range.
  void replaceText(std::uint32_t file, std::string text);
  /// replaceText was called: the text is UTF-8 with \n or \r\n as line ends.
  bool isDecoded(std::uint32_t id) const { return file(id).decoded; }

  LineColumn position(std::uint32_t file, std::uint32_t offset) const;
  LineColumn begin(SourceRange range) const { return position(range.file, range.begin); }
  LineColumn end(SourceRange range) const { return position(range.file, range.end); }
  /// Lines count from 1. The text of a line is without its line end.
  std::uint32_t lineCount(std::uint32_t file) const;
  std::uint32_t lineStart(std::uint32_t file, std::uint32_t line) const;
  std::string_view lineText(std::uint32_t file, std::uint32_t line) const;

  /// --path-prefix-map: display paths that start with `from` start with `to` instead. The last
  /// mapping that fits wins.
  void mapPathPrefix(std::string from, std::string to);

private:
  struct File {
    std::string path;
    std::string text;
    bool decoded = false;
    mutable std::vector<std::uint32_t> lineStarts{}; // made on first use
  };

  const File &file(std::uint32_t id) const;
  const std::vector<std::uint32_t> &lines(std::uint32_t id) const;

  struct Answer {
    std::uint32_t file = 0, line = 0, offset = 0, column = 0;
  };

  std::vector<std::unique_ptr<File>> files;
  mutable Answer last; // of position()
  std::vector<std::pair<std::string, std::string>> prefixes;
};

} // namespace tlc
