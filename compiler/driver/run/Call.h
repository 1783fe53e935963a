// One call of a kernel: what each argument of its C function gets, from the command line, from
// files and at random.
#pragma once

#include "driver/Session.h"
#include "emit/Interface.h"
#include "interpret/Interpreter.h"
#include "ir/Function.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::run {

/// One argument with its value. What does not apply is empty.
struct CallArgument {
  emit::CParam param;
  std::int64_t integer = 0;          ///< of sizes, strides, integer and bool scalars
  double real = 0;                   ///< of scalars
  std::vector<std::int64_t> shape;   ///< of tensors
  std::vector<std::int64_t> strides; ///< of tensors with declared strides, in elements
  interpret::Tensor storage;         ///< of tensors: as they lie in memory

  /// As the source calls it, or as the C function does where that name is taken in C.
  bool isCalled(std::string_view name) const;
  bool isTensor() const { return param.buffer != nullptr; }
  bool isWritten() const { return isTensor() && !param.input; }
  /// The elements in row-major order without gaps.
  interpret::Tensor dense() const { return dense(storage); }
  interpret::Tensor dense(const interpret::Tensor &stored) const;
};

struct Call {
  const ir::Function *function = nullptr;
  std::string symbol;                  ///< the C function
  std::vector<CallArgument> arguments; ///< in the order of the C function

  /// The values of Function::dims.
  std::vector<std::int64_t> dims() const;
};

/// Binds the arguments of `function` as the options say: sizes by NAME=VALUE, by --shape and by the
/// shapes of input files; contents from files, else at random by --seed; outputs are poisoned.
/// Nothing after an error (reported).
std::optional<Call> bindCall(Session &session, const ir::Function &function);

/// "1024x512"; of no dims: "scalar".
std::string shapeText(const std::vector<std::int64_t> &shape);

/// Splits "NAME=VALUE"; nothing (reported, naming `option`) if it has another form.
struct Setting {
  std::string name, value;
};
std::optional<Setting> splitSetting(Session &session, const std::string &text,
                                    std::string_view option);

} // namespace tlc::run
