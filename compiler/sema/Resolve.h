// Arguments of a call to the parameters of a builtin: names, numbers and keywords, before any
// handler runs.
#pragma once

#include "sema/Builtins.h"
#include "support/Diagnostics.h"

#include <string_view>
#include <vector>

namespace tlc::sema {

/// The arguments of a call after `*args` and `**kwargs` were spread, by position in one list:
/// first the positional ones, then the keywords.
struct CallShape {
  SourceRange call;   ///< the whole call
  SourceRange callee; ///< `T.copy`
  std::vector<SourceRange> positional;
  struct Keyword {
    std::string_view name;
    SourceRange nameRange, valueRange;
  };
  std::vector<Keyword> keywords;
};

/// For each parameter which argument it got (an index into positional, then keywords), or -1; a
/// variadic parameter's arguments are in `rest`.
struct BoundArguments {
  std::vector<int> slots;
  std::vector<int> rest;
};

/// Reports and returns false if the arguments do not fit the parameters: too many (TL1502), a
/// missing one (TL1503), an unknown keyword (TL1504), one given twice (TL1505).
bool bindArguments(const BuiltinInfo &builtin, const CallShape &call, DiagnosticEngine &diagnostics,
                   BoundArguments &bound);

/// Reports TL1501 and returns false if the builtin cannot be compiled for the target.
bool checkSupport(const BuiltinInfo &builtin, SourceRange callee, std::string_view targetName,
                  bool isGpu, bool isCuda, int architecture, DiagnosticEngine &diagnostics);

} // namespace tlc::sema
