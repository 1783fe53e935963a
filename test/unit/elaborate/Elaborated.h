// Elaborates a text, for tests of the run-time half.
#pragma once

#include "elaborate/Elaborate.h"
#include "ir/Print.h"
#include "ir/Verify.h"
#include "ir/Walk.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::test {

class Elaborated {
public:
  /// A whole file.
  explicit Elaborated(std::string text, std::string_view target = "sm80",
                      std::vector<std::string> defines = {});

  SourceManager sources;
  DiagnosticEngine diagnostics;
  ir::Context context;
  ElaborateResult result;

  /// The IR of all kernels as text; verified, with faults as text in place of it.
  std::string ir();
  /// "TL2040 message" of each diagnostic, one a line.
  std::string messages() const;
  /// The codes in order, separated by spaces.
  std::string codes() const;
  /// The text under the first diagnostic.
  std::string underlined() const;
  ir::Function &only();

  /// The first statement of kind T.
  template <class T> T *find() {
    T *found = nullptr;
    for (auto &function : result.functions)
      for (auto &launch : function->launches)
        ir::walk(launch->body, [&](ir::Stmt &s) {
          if (!found)
            found = ir::dynCast<T>(&s);
          return true;
        });
    return found;
  }
  template <class T> int count() {
    int n = 0;
    for (auto &function : result.functions)
      for (auto &launch : function->launches)
        ir::walk(launch->body, [&](ir::Stmt &s) {
          n += ir::isa<T>(s);
          return true;
        });
    return n;
  }
};

/// A kernel with the parameters given whose body, indented here, is the text. `A`, `B`, `C` are
/// float16 tensors of 64 x 64, `V` float32 of 64, `I` int32 of 64; n, m int32 scalars, x float32.
/// Blocks bx, by (4 x 4), 128 threads; tx is the thread index.
std::string kernelWith(std::string_view body);

/// The value stored by `I[0] = expr` or `V[0] = expr`, printed; diagnostics instead if there are
/// any.
std::string stored(std::string_view lhs, std::string_view expr);

} // namespace tlc::test
