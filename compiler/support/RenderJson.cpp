#include "support/RenderJson.h"

#include "support/RenderText.h"
#include "support/Unicode.h"

#include <cstdio>

namespace tlc {
namespace {

std::string place(SourceRange range, const SourceManager &sources) {
  if (!range.valid())
    return "\"file\":null";
  LineColumn begin = sources.begin(range), end = sources.end(range);
  auto number = [](const char *name, std::uint32_t value) {
    return ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  return "\"file\":" + jsonString(sources.displayPath(range.file)) + number("line", begin.line) +
         number("column", begin.column) + number("end_line", end.line) +
         number("end_column", end.column) + number("byte_start", range.begin) +
         number("byte_end", range.end);
}

std::string_view severityName(Severity severity) {
  return severity == Severity::Error ? "error" : severity == Severity::Warning ? "warning" : "note";
}

std::string_view applicabilityName(Applicability applicability) {
  return applicability == Applicability::Machine       ? "machine"
         : applicability == Applicability::Placeholder ? "placeholder"
                                                       : "maybe";
}

template <class List, class Item> std::string array(const List &list, Item item) {
  std::string out = "[";
  for (const auto &element : list)
    out += (out.size() > 1 ? "," : "") + item(element);
  return out + "]";
}

} // namespace

std::string jsonString(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = at;
    char32_t c = nextCharacter(text, at);
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (c < 0x20 || c == 0x7F) {
        char buffer[8];
        std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
        out += buffer;
      } else if (c == 0xFFFD) {
        out += "\\ufffd";
      } else {
        out += text.substr(begin, at - begin);
      }
    }
  }
  return out + "\"";
}

std::string renderJson(const Diagnostic &diagnostic, const SourceManager &sources) {
  const DiagnosticInfo &entry = info(diagnostic.id);
  std::string out =
      "{\"schema\":1,\"code\":" + jsonString(entry.code) + ",\"name\":" + jsonString(entry.name) +
      ",\"severity\":" + jsonString(severityName(diagnostic.severity)) +
      ",\"flag\":" + (entry.flag.empty() ? "null" : jsonString(entry.flag)) +
      ",\"message\":" + jsonString(diagnostic.message) + "," + place(diagnostic.range, sources) +
      ",\"primary\":" + jsonString(diagnostic.primaryText);
  out +=
      ",\"labels\":" + array(diagnostic.labels, [&](const DiagnosticLabel &label) {
        return "{" + place(label.range, sources) + ",\"message\":" + jsonString(label.text) + "}";
      });
  out += ",\"notes\":" + array(diagnostic.notes, [&](const DiagnosticNote &note) {
           return "{" + (note.range.valid() ? place(note.range, sources) + "," : "") +
                  "\"message\":" + jsonString(note.text) + "}";
         });
  out += ",\"fixes\":" + array(diagnostic.fixes, [&](const DiagnosticFix &fix) {
           return "{\"message\":" + jsonString(fix.text) +
                  ",\"applicability\":" + jsonString(applicabilityName(fix.applicability)) +
                  ",\"edits\":" +
                  array(fix.edits,
                        [&](const DiagnosticEdit &edit) {
                          return "{" + place(edit.range, sources) +
                                 ",\"replacement\":" + jsonString(edit.replacement) + "}";
                        }) +
                  "}";
         });
  return out + ",\"rendered\":" + jsonString(renderText(diagnostic, sources)) + "}\n";
}

std::string renderJson(const DiagnosticEngine &engine, const SourceManager &sources) {
  std::string out;
  for (const Diagnostic *diagnostic : engine.sorted())
    out += renderJson(*diagnostic, sources);
  return out + "{\"schema\":1,\"summary\":{\"errors\":" + std::to_string(engine.errorCount()) +
         ",\"warnings\":" + std::to_string(engine.warningCount()) +
         ",\"suppressed_errors\":" + std::to_string(engine.suppressedErrors()) + "}}\n";
}

} // namespace tlc
