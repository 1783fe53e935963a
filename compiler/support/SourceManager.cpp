#include "support/SourceManager.h"

#include "support/Check.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

namespace tlc {
namespace {

bool readAll(std::FILE *stream, std::string &bytes) {
  char buffer[65536];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, stream)) > 0;)
    bytes.append(buffer, n);
  return !std::ferror(stream);
}

} // namespace

std::optional<std::uint32_t> SourceManager::load(const std::string &path, std::string &error) {
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i]->path == path)
      return static_cast<std::uint32_t>(i + 1);
  std::string bytes;
  errno = 0;
  bool ok = false;
  if (path == "-") {
    ok = readAll(stdin, bytes);
  } else if (std::FILE *stream = std::fopen(path.c_str(), "rb")) {
    ok = readAll(stream, bytes);
    int reason = errno; // a directory opens, and fails on reading
    std::fclose(stream);
    errno = reason;
  }
  if (!ok) {
    error = errno ? std::strerror(errno) : "cannot be read";
    return std::nullopt;
  }
  if (bytes.size() >= std::numeric_limits<std::uint32_t>::max()) {
    error = "larger than 4 GiB";
    return std::nullopt;
  }
  files.push_back(std::make_unique<File>(File{path, std::move(bytes)}));
  return fileCount();
}

std::uint32_t SourceManager::addBuffer(std::string name, std::string text) {
  TLC_CHECK(text.size() < std::numeric_limits<std::uint32_t>::max(), "buffer larger than 4 GiB");
  files.push_back(std::make_unique<File>(File{std::move(name), std::move(text)}));
  return fileCount();
}

const SourceManager::File &SourceManager::file(std::uint32_t id) const {
  TLC_CHECK(id >= 1 && id <= files.size(), "no such source file");
  return *files[id - 1];
}

const std::string &SourceManager::text(std::uint32_t id) const { return file(id).text; }
const std::string &SourceManager::path(std::uint32_t id) const { return file(id).path; }

std::string_view SourceManager::text(SourceRange range) const {
  if (!range.valid())
    return {};
  std::string_view all = file(range.file).text;
  size_t begin = std::min<size_t>(range.begin, all.size());
  return all.substr(begin, range.end > begin ? range.end - begin : 0);
}

void SourceManager::replaceText(std::uint32_t id, std::string text) {
  file(id);
  files[id - 1]->text = std::move(text);
  files[id - 1]->lineStarts.clear();
  files[id - 1]->decoded = true;
  last = {};
}

std::string SourceManager::displayPath(std::uint32_t id) const {
  const std::string &path = file(id).path;
  if (path == "-")
    return "<stdin>";
  for (auto it = prefixes.rbegin(); it != prefixes.rend(); ++it)
    if (path.compare(0, it->first.size(), it->first) == 0)
      return it->second + path.substr(it->first.size());
  return path;
}

void SourceManager::mapPathPrefix(std::string from, std::string to) {
  prefixes.emplace_back(std::move(from), std::move(to));
}

const std::vector<std::uint32_t> &SourceManager::lines(std::uint32_t id) const {
  const File &f = file(id);
  if (f.lineStarts.empty()) {
    f.lineStarts.push_back(0);
    for (size_t at = f.text.find('\n'); at != f.text.npos; at = f.text.find('\n', at + 1))
      f.lineStarts.push_back(static_cast<std::uint32_t>(at + 1));
  }
  return f.lineStarts;
}

std::uint32_t SourceManager::lineCount(std::uint32_t id) const {
  return static_cast<std::uint32_t>(lines(id).size());
}

std::uint32_t SourceManager::lineStart(std::uint32_t id, std::uint32_t line) const {
  const auto &starts = lines(id);
  TLC_CHECK(line >= 1, "lines count from 1");
  return line <= starts.size() ? starts[line - 1] : static_cast<std::uint32_t>(text(id).size());
}

std::string_view SourceManager::lineText(std::uint32_t id, std::uint32_t line) const {
  std::uint32_t begin = lineStart(id, line), end = lineStart(id, line + 1);
  std::string_view all = std::string_view(text(id)).substr(begin, end - begin);
  while (!all.empty() && (all.back() == '\n' || all.back() == '\r'))
    all.remove_suffix(1);
  return all;
}

LineColumn SourceManager::position(std::uint32_t id, std::uint32_t offset) const {
  const auto &starts = lines(id);
  const std::string &all = text(id);
  offset = std::min(offset, static_cast<std::uint32_t>(all.size()));
  auto line = static_cast<std::uint32_t>(std::upper_bound(starts.begin(), starts.end(), offset) -
                                         starts.begin());
  // In a line of a megabyte, neighbours must not cost a megabyte each: count from the last answer.
  std::uint32_t from = starts[line - 1], column = 1;
  if (last.file == id && last.line == line) {
    from = last.offset;
    column = last.column;
  }
  auto isFirstByte = [&](std::uint32_t i) {
    return (static_cast<unsigned char>(all[i]) & 0xC0) != 0x80;
  };
  for (; from < offset; ++from)
    column += isFirstByte(from);
  for (; from > offset; --from)
    column -= isFirstByte(from - 1);
  last = {id, line, offset, column};
  return {line, column};
}

} // namespace tlc
