#include "support/Diagnostics.h"

#include "support/Check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace tlc {
namespace {

constexpr DiagnosticInfo table[] = {
#define TLC_ERROR(Code, Name, Message, Explain)                                                    \
  {diag::Name, #Code, #Name, Severity::Error, "", Message, Explain},
#define TLC_WARNING(Code, Name, Flag, Message, Explain)                                            \
  {diag::Name, #Code, #Name, Severity::Warning, Flag, Message, Explain},
#define TLC_REMARK(Code, Name, Message, Explain)                                                   \
  {diag::Name, #Code, #Name, Severity::Remark, "", Message, Explain},
#include "support/Diagnostics.def"
};

bool isFlag(std::string_view flag) {
  return std::any_of(std::begin(table), std::end(table), [&](const DiagnosticInfo &entry) {
    return entry.severity == Severity::Warning && entry.flag == flag;
  });
}

} // namespace

const DiagnosticInfo &info(diag::Id id) {
  TLC_CHECK(id < diag::count, "no such diagnostic");
  return table[id];
}

const DiagnosticInfo *findDiagnostic(std::string_view code) {
  for (const DiagnosticInfo &entry : table)
    if (entry.code.size() == code.size() &&
        std::equal(code.begin(), code.end(), entry.code.begin(),
                   [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; }))
      return &entry;
  return nullptr;
}

std::vector<std::string_view> warningFlags() {
  std::vector<std::string_view> flags;
  for (const DiagnosticInfo &entry : table)
    if (entry.severity == Severity::Warning)
      flags.push_back(entry.flag);
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

std::string detail::argument(std::string_view text) { return std::string(text); }
std::string detail::argument(bool value) { return value ? "True" : "False"; }
std::string detail::argument(char value) { return std::string(1, value); }
std::string detail::argument(long long value) { return std::to_string(value); }
std::string detail::argument(unsigned long long value) { return std::to_string(value); }

std::string detail::argument(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

std::string formatMessage(std::string_view message, const std::vector<std::string> &args) {
  std::string out;
  for (size_t i = 0; i < message.size(); ++i) {
    if ((message[i] == '{' || message[i] == '}') && i + 1 < message.size() &&
        message[i + 1] == message[i]) {
      out += message[i++];
    } else if (message[i] == '{' && i + 2 < message.size() && message[i + 2] == '}') {
      size_t index = static_cast<size_t>(message[i + 1] - '0');
      TLC_CHECK(index < args.size(), "message without argument: " + std::string(message));
      out += args[index];
      i += 2;
    } else {
      out += message[i];
    }
  }
  return out;
}

DiagnosticBuilder &DiagnosticBuilder::primary(std::string text) {
  if (diagnostic)
    diagnostic->primaryText = std::move(text);
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::label(SourceRange range, std::string text) {
  if (diagnostic && range.valid())
    diagnostic->labels.push_back({range, std::move(text)});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::note(SourceRange range, std::string text) {
  if (diagnostic)
    diagnostic->notes.push_back({range, std::move(text)});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::fix(std::string text, Applicability applicability,
                                          std::vector<DiagnosticEdit> edits) {
  if (diagnostic)
    diagnostic->fixes.push_back({std::move(text), applicability, std::move(edits)});
  return *this;
}

DiagnosticEngine::Context::Context(DiagnosticEngine &engine, SourceRange range, std::string text)
    : engine(engine) {
  engine.contexts.push_back({range, std::move(text)});
}

DiagnosticEngine::Context::~Context() { engine.contexts.pop_back(); }

bool DiagnosticEngine::enableWarning(std::string_view flag, bool enable) {
  if (flag == "all") {
    allDisabled = !enable;
    disabled.clear();
    enabled.clear();
    return true;
  }
  if (!isFlag(flag))
    return false;
  (enable ? disabled : enabled).erase(std::string(flag));
  (enable ? enabled : disabled).insert(std::string(flag));
  return true;
}

bool DiagnosticEngine::warningAsError(std::string_view flag, bool isError) {
  if (flag == "all") {
    allFatal = isError;
    return true;
  }
  if (!isFlag(flag))
    return false;
  (isError ? notFatal : fatal).erase(std::string(flag));
  (isError ? fatal : notFatal).insert(std::string(flag));
  return true;
}

DiagnosticBuilder DiagnosticEngine::add(diag::Id id, SourceRange range,
                                        const std::vector<std::string> &args) {
  const DiagnosticInfo &entry = info(id);
  Severity severity = entry.severity;
  if (severity == Severity::Warning) {
    if (disabled.contains(entry.flag) || (allDisabled && !enabled.contains(entry.flag)))
      return DiagnosticBuilder(nullptr);
    if (fatal.contains(entry.flag) || (allFatal && !notFatal.contains(entry.flag)))
      severity = Severity::Error;
  }
  std::string message = formatMessage(entry.message, args);
  for (const Diagnostic &earlier : records)
    if (earlier.id == id && earlier.range == range && earlier.message == message)
      return DiagnosticBuilder(nullptr);
  if (limitReached()) {
    bool isError = severity == Severity::Error;
    errors += isError;
    suppressed += isError;
    return DiagnosticBuilder(nullptr);
  }
  errors += severity == Severity::Error;
  warnings += severity == Severity::Warning;
  Diagnostic &added = records.emplace_back();
  added.id = id;
  added.severity = severity;
  added.range = range;
  added.message = std::move(message);
  // The innermost first: it is the nearest to the fault.
  if (severity != Severity::Remark)
    added.notes.assign(contexts.rbegin(), contexts.rend());
  return DiagnosticBuilder(&added);
}

std::vector<const Diagnostic *> DiagnosticEngine::sorted() const {
  std::vector<const Diagnostic *> list;
  for (const Diagnostic &diagnostic : records)
    list.push_back(&diagnostic);
  std::stable_sort(list.begin(), list.end(), [](const Diagnostic *a, const Diagnostic *b) {
    std::uint32_t fileA = a->range.file - 1, fileB = b->range.file - 1; // "nowhere" becomes last
    return fileA != fileB ? fileA < fileB : a->range.begin < b->range.begin;
  });
  return list;
}

void DiagnosticEngine::rollback(const Mark &mark) {
  records.resize(mark.records);
  errors = mark.errors;
  warnings = mark.warnings;
  suppressed = mark.suppressed;
}

} // namespace tlc
