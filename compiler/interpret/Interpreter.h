// Runs a function of the tile IR on host arrays, in any phase: the oracle for everything after the
// elaborator. README.md says how, and what is reported.
#pragma once

#include "ir/Function.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::interpret {

/// A host array. `data` holds the elements in row-major order (sub-byte ones packed); for a
/// parameter with strides, whatever the strides reach.
struct Tensor {
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  Tensor() = default;
  /// Zeros.
  Tensor(DType dtype, std::vector<std::int64_t> shape);

  std::int64_t count() const;
  double real(std::int64_t index) const;          ///< of float dtypes
  std::int64_t integer(std::int64_t index) const; ///< of integers and bools
  /// As a double, whatever the dtype.
  double at(std::int64_t index) const;
  void set(std::int64_t index, double value); ///< rounds; of integers: truncates
  void setInteger(std::int64_t index, std::int64_t value);
  /// Pseudo-random contents that are the same everywhere for a seed: floats in [-1, 1), integers
  /// over a small range.
  void fillRandom(std::uint64_t seed);
};

/// One argument per Param of the function, in its order.
struct Argument {
  Tensor *tensor = nullptr; ///< changed in place
  std::int64_t integer = 0; ///< of integer and bool scalars
  double real = 0;          ///< of float scalars

  Argument(Tensor &tensor) : tensor(&tensor) {}
  Argument(std::int64_t value) : integer(value), real(static_cast<double>(value)) {}
  Argument(int value) : Argument(static_cast<std::int64_t>(value)) {}
  Argument(double value) : integer(static_cast<std::int64_t>(value)), real(value) {}
};

enum class ReportKind : std::uint8_t {
  Race,        ///< two unordered accesses to one element, one a write
  Undefined,   ///< a read of what was never written
  OutOfRange,  ///< outside a buffer; of global ones only in the thread phase
  NotComplete, ///< a touch of what an asynchronous operation still writes
  Divergence,  ///< threads do not reach a collective together, or with different operands
  Deadlock,    ///< nobody can go on
  Assertion,   ///< a failed assert, assume or constraint
  Arguments,   ///< arguments do not fit the function
  Unsupported, ///< not interpreted: vendor code, unknown runtime functions
  Unfinished,  ///< more steps than allowed
};
std::string_view reportName(ReportKind kind);

/// Something that is wrong with the program.
struct Report {
  ReportKind kind = ReportKind::Race;
  /// Complete for people: kernel, block, threads, statement.
  std::string message;
  SourceRange range; ///< of the statement
};

/// What one statement did, all threads and rounds together.
struct StatementCounts {
  SourceRange range;
  std::uint64_t globalRead = 0, globalWritten = 0; ///< bits
  std::uint64_t sharedRead = 0, sharedWritten = 0; ///< bits
  std::uint64_t products = 0;     ///< matrix products: tile operations or instructions
  std::uint64_t multiplyAdds = 0; ///< of these
  std::uint64_t barriers = 0;     ///< completed; implicit ones have no statement
};

struct Options {
  /// Further reports are dropped. The same finding at one statement is reported once.
  std::size_t maxReports = 20;
  /// Statements executed, counted once per group of threads; more are reported as Unfinished.
  std::uint64_t maxSteps = 2'000'000'000;
  /// Order in which warps and blocks that could go on do so; 0: in turn.
  std::uint64_t seed = 0;
  /// Values of the launch constants.
  std::int64_t multiprocessors = 4;
  std::int64_t workspaceBytes = std::int64_t{1} << 40;
  /// Thread phase: the program is one thread's and does all the work (CPU targets without thread
  /// indices).
  bool oneThread = false;
  /// Fill Result::counts.
  bool counts = false;
};

struct Result {
  std::vector<Report> reports;
  std::vector<StatementCounts> counts; ///< of statements that did any of it, in order of their text
  bool finished = false;               ///< all launches ran to their end
  std::string printed;                 ///< by print statements
  bool ok() const { return finished && reports.empty(); }
  /// All messages, one a line.
  std::string text() const;
};

/// Runs all launches in order. `dims`: one value per Dim; dims that are missing are taken from the
/// shapes and, for strides, from dense tensors.
Result run(const ir::Function &function, const std::vector<Argument> &args,
           std::vector<std::int64_t> dims = {}, const Options &options = {});

} // namespace tlc::interpret
