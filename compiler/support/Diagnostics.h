// Diagnostics: what a room reports, how it is collected. Rendering is in RenderText.h and
// RenderJson.h.
//
//   diagnostics.report(diag::InnerDimsDiffer, call.range, "A", 64, "B", 32)
//       .primary("needs A[m, k] and B[k, n] with the same k")
//       .label(shape.range, "`B`'s first dimension is 32 here")
//       .note("for --target=sm90, k must also be a multiple of 16")
//       .fix("use the whole block", Applicability::Maybe, {{extent.range, "BK"}});
#pragma once

#include "support/SourceRange.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tlc {

namespace diag {
enum Id : std::uint16_t {
#define TLC_ERROR(Code, Name, Message, Explain) Name,
#define TLC_WARNING(Code, Name, Flag, Message, Explain) Name,
#define TLC_REMARK(Code, Name, Message, Explain) Name,
#include "support/Diagnostics.def"
  count
};
} // namespace diag

enum class Severity : std::uint8_t { Remark, Warning, Error };

/// What Diagnostics.def says about one id.
struct DiagnosticInfo {
  diag::Id id;
  std::string_view code; // "TL2103"
  std::string_view name; // "InnerDimsDiffer"
  Severity severity;
  std::string_view flag; // of warnings: "bank-conflict"
  std::string_view message;
  std::string_view explain;
};

const DiagnosticInfo &info(diag::Id id);
/// By code, in any case ("tl2103"); null if there is none.
const DiagnosticInfo *findDiagnostic(std::string_view code);
/// Every warning name, sorted, each once.
std::vector<std::string_view> warningFlags();

/// A secondary place that helps to understand the message.
struct DiagnosticLabel {
  SourceRange range;
  std::string text;
};

/// Without a range: a fact. With one: another place, shown with its own lines (an instantiation, a
/// call).
struct DiagnosticNote {
  SourceRange range;
  std::string text;
};

/// Machine: applying it gives what was meant. Placeholder: the user has to fill something in.
/// Maybe: a guess.
enum class Applicability : std::uint8_t { Machine, Placeholder, Maybe };

struct DiagnosticEdit {
  SourceRange range; // empty range: insert
  std::string replacement;
};

/// Advice; with edits it can be shown, and applied by `tlc check --fix`.
struct DiagnosticFix {
  std::string text;
  Applicability applicability = Applicability::Maybe;
  std::vector<DiagnosticEdit> edits;
};

struct Diagnostic {
  diag::Id id = diag::InternalError;
  Severity severity = Severity::Error; // after -Werror
  SourceRange range;
  std::string message;
  std::string primaryText; // beside the underlined range
  std::vector<DiagnosticLabel> labels;
  std::vector<DiagnosticNote> notes;
  std::vector<DiagnosticFix> fixes;
};

class DiagnosticEngine;

/// Adds detail to a diagnostic just reported. Cheap to copy, valid as long as the engine.
class DiagnosticBuilder {
public:
  explicit DiagnosticBuilder(Diagnostic *diagnostic) : diagnostic(diagnostic) {}

  DiagnosticBuilder &primary(std::string text);
  DiagnosticBuilder &label(SourceRange range, std::string text);
  DiagnosticBuilder &note(std::string text) { return note({}, std::move(text)); }
  DiagnosticBuilder &note(SourceRange range, std::string text);
  DiagnosticBuilder &help(std::string text) {
    return fix(std::move(text), Applicability::Maybe, {});
  }
  DiagnosticBuilder &fix(std::string text, Applicability applicability,
                         std::vector<DiagnosticEdit> edits);

private:
  Diagnostic *diagnostic; // null: the diagnostic is not shown
};

namespace detail {
std::string argument(std::string_view text);
std::string argument(bool value);
std::string argument(char value);
std::string argument(double value);
std::string argument(long long value);
std::string argument(unsigned long long value);
template <class T> std::string argumentOf(const T &value) {
  if constexpr (std::is_convertible_v<const T &, std::string_view>)
    return argument(std::string_view(value));
  else if constexpr (std::same_as<T, bool> || std::same_as<T, char>)
    return argument(value);
  else if constexpr (std::floating_point<T>)
    return argument(static_cast<double>(value));
  else if constexpr (std::signed_integral<T>)
    return argument(static_cast<long long>(value));
  else
    return argument(static_cast<unsigned long long>(value));
}
} // namespace detail

/// Collects diagnostics in the order of their report. A diagnostic equal to an earlier one (id,
/// range, message) is dropped, and so is what comes after the error limit; both still count as
/// errors.
class DiagnosticEngine {
public:
  /// Arguments fill {0}, {1}, ... ; anything that converts to string_view, and numbers, bools and
  /// chars.
  template <class... Args>
  DiagnosticBuilder report(diag::Id id, SourceRange range, const Args &...args) {
    return add(id, range, {detail::argumentOf(args)...});
  }
  /// The same with the arguments in a list.
  DiagnosticBuilder report(diag::Id id, SourceRange range, const std::vector<std::string> &args) {
    return add(id, range, args);
  }

  /// Everything reported while it lives gets a located note: "in the call of `f`", "instantiated
  /// here".
  class Context {
  public:
    Context(DiagnosticEngine &engine, SourceRange range, std::string text);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

  private:
    DiagnosticEngine &engine;
  };

  /// -W, -Wno-, -Werror=, -Wno-error= by warning name; false if there is no such name. The name
  /// "all" fits every warning.
  bool enableWarning(std::string_view flag, bool enable);
  bool warningAsError(std::string_view flag, bool isError);
  /// 0: no limit.
  void setErrorLimit(std::size_t limit) { errorLimit = limit; }

  std::size_t errorCount() const { return errors; }
  std::size_t warningCount() const { return warnings; }
  bool hasErrors() const { return errors > 0; }
  /// Nothing further will be shown: a room may stop.
  bool limitReached() const { return errorLimit && errors >= errorLimit; }
  std::size_t suppressedErrors() const { return suppressed; }

  const std::deque<Diagnostic> &diagnostics() const { return records; }
  /// In the order to be shown: by file and position; diagnostics without a place last; else as
  /// reported.
  std::vector<const Diagnostic *> sorted() const;

  /// What is reported between mark and rollback is forgotten, its counts too (for trying something
  /// out).
  struct Mark {
    std::size_t records, errors, warnings, suppressed;
  };
  Mark mark() const { return {records.size(), errors, warnings, suppressed}; }
  void rollback(const Mark &mark);

private:
  DiagnosticBuilder add(diag::Id id, SourceRange range, const std::vector<std::string> &args);

  std::deque<Diagnostic> records; // a deque, so that builders stay valid
  std::vector<DiagnosticNote> contexts;
  std::set<std::string, std::less<>> disabled, fatal, notFatal;
  bool allDisabled = false, allFatal = false;
  std::set<std::string, std::less<>> enabled;
  std::size_t errors = 0, warnings = 0, suppressed = 0, errorLimit = 100;
};

/// Fills {0}, {1}, ... of a message; "{{" stands for a brace.
std::string formatMessage(std::string_view message, const std::vector<std::string> &args);

} // namespace tlc
