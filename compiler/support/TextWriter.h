// Writes indented text.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace tlc {

/// Lines get their indentation when their first character is written, so empty lines stay empty.
///
///   TextWriter out;
///   out << "if (x) {" << '\n';
///   { auto inner = out.indent(); out.line("y = 1;"); }
///   out.line("}");
class TextWriter {
public:
  explicit TextWriter(unsigned width = 2) : width(width) {}

  TextWriter &operator<<(std::string_view part);
  TextWriter &operator<<(char c) { return *this << std::string_view(&c, 1); }
  template <std::integral T> TextWriter &operator<<(T value) {
    return *this << std::string_view(std::to_string(value));
  }

  /// Writes `text` and ends the line.
  TextWriter &line(std::string_view text = {}) { return *this << text << '\n'; }

  /// Indents until it is destroyed.
  class Indent {
  public:
    explicit Indent(TextWriter &writer) : writer(writer) { ++writer.level; }
    ~Indent() { --writer.level; }
    Indent(const Indent &) = delete;
    Indent &operator=(const Indent &) = delete;

  private:
    TextWriter &writer;
  };
  Indent indent() { return Indent(*this); }

  /// Characters that a line begins with at the present depth.
  std::size_t indentation() const { return std::size_t{width} * level; }
  /// Characters of the current line so far, indentation included.
  std::size_t column() const;
  const std::string &str() const { return text; }
  std::string take() { return std::move(text); }

private:
  std::string text;
  unsigned width, level = 0;
};

} // namespace tlc
