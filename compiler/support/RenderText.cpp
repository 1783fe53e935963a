#include "support/RenderText.h"

#include "support/Unicode.h"

#include <algorithm>
#include <map>

namespace tlc {
namespace {

constexpr unsigned tabWidth = 4;

enum class Paint { Plain, Bold, Error, Warning, Note, Frame, Help };

std::string painted(std::string_view text, Paint paint, const TextStyle &style) {
  static constexpr std::string_view codes[] = {
      "", "\033[1m", "\033[1;31m", "\033[1;33m", "\033[1;36m", "\033[1;34m", "\033[1;32m"};
  if (!style.color || paint == Paint::Plain || text.empty())
    return std::string(text);
  return std::string(codes[static_cast<int>(paint)]) + std::string(text) + "\033[0m";
}

/// What is underlined in one line: display columns [begin, end) from 0.
struct Mark {
  std::size_t begin, end;
  bool primary;
  std::string text;
};

/// A line as it is shown: tabs expanded, control characters made visible, and the display column of
/// every byte.
class ShownLine {
public:
  explicit ShownLine(std::string_view line) {
    columns.reserve(line.size() + 1);
    for (std::size_t at = 0; at < line.size();) {
      std::size_t begin = at;
      char32_t c = nextCharacter(line, at);
      columns.insert(columns.end(), at - begin, width);
      if (c == '\t')
        put(std::string(tabWidth - width % tabWidth, ' '), tabWidth - width % tabWidth);
      else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
        put("\xEF\xBF\xBD", 1);
      else if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069))
        put("\xEF\xBF\xBD", 1); // would reorder what is shown
      else if (c == 0xFFFD)
        put("\xEF\xBF\xBD", 1);
      else
        put(line.substr(begin, at - begin), displayWidth(c));
    }
    columns.push_back(width);
  }

  std::size_t column(std::size_t byte) const { return columns[std::min(byte, columns.size() - 1)]; }
  std::size_t size() const { return width; }

  /// Display columns [from, to).
  std::string cut(std::size_t from, std::size_t to) const {
    std::string out;
    for (const auto &[text, at] : pieces)
      if (at >= from && at < to)
        out += text;
    return out;
  }

private:
  void put(std::string_view text, std::size_t columnsWide) {
    pieces.emplace_back(std::string(text), width);
    width += columnsWide;
  }

  std::vector<std::pair<std::string, std::size_t>> pieces;
  std::vector<std::size_t> columns;
  std::size_t width = 0;
};

/// Draws the lines of one file that carry marks.
class Snippet {
public:
  Snippet(const SourceManager &sources, std::uint32_t file, const TextStyle &style)
      : sources(sources), file(file), style(style) {}

  void add(SourceRange range, bool primary, std::string text) {
    LineColumn begin = sources.begin(range), end = sources.end(range);
    // A range that ends with a line end ends in its line.
    if (end.line > begin.line && end.column == 1 && range.end > range.begin)
      end = sources.position(file, range.end - 1);
    if (begin.line == end.line)
      return addInLine(begin.line, range.begin, range.end, primary, std::move(text));
    // Over several lines: the rest of the first one, and the last one from its first character to
    // the end of the range.
    std::uint32_t firstStart = sources.lineStart(file, begin.line),
                  lastStart = sources.lineStart(file, end.line);
    addInLine(begin.line, range.begin, firstStart + bytes(begin.line), primary, "");
    std::size_t blank = sources.lineText(file, end.line).find_first_not_of(" \t");
    std::uint32_t from =
        lastStart + static_cast<std::uint32_t>(blank == std::string_view::npos ? 0 : blank);
    addInLine(end.line, std::min(from, range.end), range.end, primary, std::move(text));
  }

  std::uint32_t lastLine() const { return lines.empty() ? 0 : lines.rbegin()->first; }

  std::string draw(std::size_t gutter, Paint primaryPaint) const {
    std::string out = frame(gutter, "", "|") + "\n";
    std::uint32_t previous = 0;
    for (const auto &[line, marks] : lines) {
      if (previous && line == previous + 2)
        out += source(gutter, previous + 1, {});
      else if (previous && line > previous + 2)
        out += painted("...", Paint::Frame, style) + "\n";
      out += source(gutter, line, marks);
      out += underline(gutter, line, marks, primaryPaint);
      previous = line;
    }
    return out;
  }

private:
  std::uint32_t bytes(std::uint32_t line) const {
    return static_cast<std::uint32_t>(sources.lineText(file, line).size());
  }

  void addInLine(std::uint32_t line, std::uint32_t begin, std::uint32_t end, bool primary,
                 std::string text) {
    ShownLine shown(sources.lineText(file, line));
    std::uint32_t start = sources.lineStart(file, line);
    std::size_t from = shown.column(begin - start),
                to = shown.column(end > start ? end - start : 0);
    lines[line].push_back({from, std::max(to, from + 1), primary, std::move(text)});
  }

  std::string frame(std::size_t gutter, std::string_view number, std::string_view bar) const {
    std::string pad(gutter > number.size() ? gutter - number.size() : 0, ' ');
    return painted(std::string(number) + pad + " " + std::string(bar), Paint::Frame, style);
  }

  /// Of a long line, the first display column shown.
  std::size_t windowOf(const ShownLine &shown, const std::vector<Mark> &marks) const {
    if (shown.size() <= style.maxWidth)
      return 0;
    std::size_t first = shown.size();
    for (const Mark &mark : marks)
      if (mark.primary || first == shown.size())
        first = std::min(first, mark.begin);
    std::size_t before = style.maxWidth / 3;
    return marks.empty() || first <= style.maxWidth * 2 / 3 ? 0 : first - before;
  }

  std::string source(std::size_t gutter, std::uint32_t line, const std::vector<Mark> &marks) const {
    ShownLine shown(sources.lineText(file, line));
    std::size_t from = windowOf(shown, marks), to = from + style.maxWidth;
    std::string text = shown.cut(from, to);
    if (from > 0)
      text = "…" + text;
    if (to < shown.size())
      text += "…";
    std::string out = frame(gutter, std::to_string(line), "|");
    return text.empty() ? out + "\n" : out + " " + text + "\n";
  }

  std::string underline(std::size_t gutter, std::uint32_t line, std::vector<Mark> marks,
                        Paint primaryPaint) const {
    ShownLine shown(sources.lineText(file, line));
    std::size_t from = windowOf(shown, marks), shift = from > 0 ? 1 : 0, to = from + style.maxWidth;
    for (Mark &mark : marks) {
      mark.begin = std::clamp(mark.begin, from, to) - from + shift;
      mark.end = std::max(std::clamp(mark.end, from, to) - from + shift, mark.begin + 1);
    }
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark &a, const Mark &b) { return a.begin < b.begin; });
    std::size_t width = 0;
    for (const Mark &mark : marks)
      width = std::max(width, mark.end);
    // ' ' nothing, '-' secondary, '^' primary
    std::string row(width, ' ');
    for (bool primary : {false, true})
      for (const Mark &mark : marks)
        if (mark.primary == primary)
          std::fill(row.begin() + static_cast<std::ptrdiff_t>(mark.begin),
                    row.begin() + static_cast<std::ptrdiff_t>(mark.end), primary ? '^' : '-');
    std::vector<const Mark *> hanging;
    const Mark *inlined = nullptr;
    for (const Mark &mark : marks)
      if (!mark.text.empty())
        hanging.push_back(&mark);
    // The text of the last mark stands behind the row if nothing else is there.
    if (!hanging.empty() && hanging.back()->end == width) {
      inlined = hanging.back();
      hanging.pop_back();
    }
    std::string out = frame(gutter, "", "|") + " " + paintedRow(row, primaryPaint);
    if (inlined)
      out += " " + painted(inlined->text, inlined->primary ? primaryPaint : Paint::Frame, style);
    out += "\n";
    if (!hanging.empty())
      out += frame(gutter, "", "|") + " " + bars(hanging, hanging.size()) + "\n";
    for (std::size_t i = hanging.size(); i > 0; --i)
      out += frame(gutter, "", "|") + " " + bars(hanging, i - 1, hanging[i - 1]->begin) +
             painted(hanging[i - 1]->text, hanging[i - 1]->primary ? primaryPaint : Paint::Frame,
                     style) +
             "\n";
    return out;
  }

  /// '|' at the begins of the first `count` marks, padded to `width`.
  std::string bars(const std::vector<const Mark *> &marks, std::size_t count,
                   std::size_t width = 0) const {
    std::string row;
    for (std::size_t i = 0; i < count; ++i) {
      if (marks[i]->begin < row.size())
        continue;
      row.resize(marks[i]->begin, ' ');
      row += '|';
    }
    if (row.size() < width)
      row.resize(width, ' ');
    return painted(row, Paint::Frame, style);
  }

  std::string paintedRow(const std::string &row, Paint primaryPaint) const {
    if (!style.color)
      return row;
    std::string out;
    for (std::size_t i = 0; i < row.size();) {
      std::size_t j = row.find_first_not_of(row[i], i);
      j = j == row.npos ? row.size() : j;
      std::string part = row.substr(i, j - i);
      out +=
          row[i] == ' ' ? part : painted(part, row[i] == '^' ? primaryPaint : Paint::Frame, style);
      i = j;
    }
    return out;
  }

  const SourceManager &sources;
  const std::uint32_t file;
  const TextStyle &style;
  std::map<std::uint32_t, std::vector<Mark>> lines;
};

/// Draws one diagnostic.
class Renderer {
public:
  Renderer(const Diagnostic &diagnostic, const SourceManager &sources, const TextStyle &style)
      : it(diagnostic), sources(sources), style(style) {}

  std::string run() {
    Paint paint = it.severity == Severity::Error     ? Paint::Error
                  : it.severity == Severity::Warning ? Paint::Warning
                                                     : Paint::Note;
    const DiagnosticInfo &entry = info(it.id);
    std::string_view word = it.severity == Severity::Error     ? "error"
                            : it.severity == Severity::Warning ? "warning"
                                                               : "note";
    std::string out =
        painted(std::string(word) + "[" + std::string(entry.code) + "]", paint, style) +
        painted(": " + oneLine(it.message), Paint::Bold, style) + "\n";
    gutter = gutterWidth();
    if (it.range.valid())
      out += place(it.range, it.primaryText, &it.labels, paint);
    for (const DiagnosticNote &note : it.notes)
      if (!note.range.valid())
        out += detail("note", note.text);
    if (entry.flag.size())
      out +=
          detail("note", "this is -W" + std::string(entry.flag) +
                             (it.severity == Severity::Error ? ", made an error by -Werror" : ""));
    for (const DiagnosticNote &note : it.notes)
      if (note.range.valid()) {
        out += painted("note", Paint::Note, style) + ": " + oneLine(note.text) + "\n";
        out += place(note.range, "", nullptr, Paint::Note);
      }
    for (const DiagnosticFix &fix : it.fixes)
      out += help(fix);
    return out;
  }

private:
  static std::string oneLine(std::string_view text) {
    std::string out;
    for (char c : text)
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return out;
  }

  std::size_t gutterWidth() const {
    std::uint32_t most = 1;
    auto see = [&](SourceRange range) {
      if (range.valid())
        most = std::max(most, sources.end(range).line);
    };
    see(it.range);
    for (const DiagnosticLabel &label : it.labels)
      see(label.range);
    for (const DiagnosticNote &note : it.notes)
      see(note.range);
    for (const DiagnosticFix &fix : it.fixes)
      for (const DiagnosticEdit &edit : fix.edits)
        see(edit.range);
    return std::to_string(most).size();
  }

  std::string arrow(std::string_view sign, SourceRange range) const {
    LineColumn at = sources.begin(range);
    return std::string(gutter, ' ') + painted(sign, Paint::Frame, style) + " " +
           sources.displayPath(range.file) + ":" + std::to_string(at.line) + ":" +
           std::to_string(at.column) + "\n";
  }

  std::string place(SourceRange range, const std::string &text,
                    const std::vector<DiagnosticLabel> *labels, Paint paint) const {
    Snippet snippet(sources, range.file, style);
    snippet.add(range, true, oneLine(text));
    std::map<std::uint32_t, Snippet> others;
    std::map<std::uint32_t, SourceRange> firsts;
    for (std::size_t i = 0; labels && i < labels->size(); ++i) {
      const DiagnosticLabel &label = (*labels)[i];
      if (label.range.file == range.file) {
        snippet.add(label.range, false, oneLine(label.text));
      } else {
        others.try_emplace(label.range.file, sources, label.range.file, style)
            .first->second.add(label.range, false, oneLine(label.text));
        firsts.try_emplace(label.range.file, label.range);
      }
    }
    std::string out = arrow("-->", range) + snippet.draw(gutter, paint);
    for (const auto &[file, other] : others)
      out += arrow(":::", firsts.at(file)) + other.draw(gutter, paint);
    return out;
  }

  std::string detail(std::string_view word, std::string_view text) const {
    return std::string(gutter, ' ') + " " + painted("=", Paint::Frame, style) + " " +
           painted(word, Paint::Bold, style) + ": " + oneLine(text) + "\n";
  }

  std::string help(const DiagnosticFix &fix) const {
    std::string guess =
        !fix.edits.empty() && fix.applicability == Applicability::Maybe ? " (maybe)" : "";
    if (fix.edits.empty())
      return detail("help", fix.text);
    std::string out = painted("help", Paint::Help, style) + ": " + oneLine(fix.text) + guess + "\n";
    // The lines of the first edit's file as they would be.
    std::vector<DiagnosticEdit> edits;
    for (const DiagnosticEdit &edit : fix.edits)
      if (edit.range.valid() && edit.range.file == fix.edits[0].range.file)
        edits.push_back(edit);
    if (edits.empty())
      return out;
    std::sort(edits.begin(), edits.end(), [](const DiagnosticEdit &a, const DiagnosticEdit &b) {
      return a.range.begin < b.range.begin;
    });
    std::uint32_t file = edits[0].range.file;
    for (std::size_t i = 0; i < edits.size();) {
      std::uint32_t first = sources.begin(edits[i].range).line, last = first;
      std::uint32_t at = sources.lineStart(file, first);
      std::string text;
      for (; i < edits.size() && sources.begin(edits[i].range).line <= last; ++i) {
        text += sources.text({file, at, std::max(at, edits[i].range.begin)});
        text += edits[i].replacement;
        at = std::max(at, edits[i].range.end);
        last = sources.end(edits[i].range).line;
      }
      std::string_view rest = sources.lineText(file, last);
      std::uint32_t done = at - sources.lineStart(file, last);
      text += rest.substr(std::min<std::size_t>(done, rest.size()));
      out += changed(first, text);
    }
    return out;
  }

  std::string changed(std::uint32_t line, std::string_view text) const {
    std::string out;
    while (!text.empty() && text.back() == '\n')
      text.remove_suffix(1);
    for (;;) {
      std::size_t end = text.find('\n');
      ShownLine shown(text.substr(0, end));
      std::string number = std::to_string(line++);
      number.resize(std::max(gutter, number.size()), ' ');
      out += painted(number + " |", Paint::Frame, style) + " " + shown.cut(0, style.maxWidth) +
             (shown.size() > style.maxWidth ? "…" : "") + "\n";
      if (end == text.npos)
        return out;
      text.remove_prefix(end + 1);
    }
  }

  const Diagnostic &it;
  const SourceManager &sources;
  const TextStyle &style;
  std::size_t gutter = 1;
};

std::string counted(std::size_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

} // namespace

std::string renderText(const Diagnostic &diagnostic, const SourceManager &sources,
                       const TextStyle &style) {
  return Renderer(diagnostic, sources, style).run();
}

std::string renderText(const DiagnosticEngine &engine, const SourceManager &sources,
                       const TextStyle &style) {
  std::string out;
  for (const Diagnostic *diagnostic : engine.sorted())
    out += renderText(*diagnostic, sources, style) + "\n";
  return out + renderSummary(engine);
}

std::string renderSummary(const DiagnosticEngine &engine) {
  std::size_t errors = engine.errorCount(), warnings = engine.warningCount();
  if (!errors && !warnings)
    return "";
  std::string out = errors ? counted(errors, "error") : "";
  if (warnings)
    out += (errors ? " and " : "") + counted(warnings, "warning");
  if (engine.suppressedErrors())
    out += " (" + std::to_string(engine.suppressedErrors()) + " not shown)";
  for (const Diagnostic *diagnostic : engine.sorted())
    if (diagnostic->severity == Severity::Error || !errors)
      return out + "; `tlc explain " + std::string(info(diagnostic->id).code) + "` tells more\n";
  return out + "\n";
}

} // namespace tlc
