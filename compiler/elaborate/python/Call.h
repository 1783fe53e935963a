// The arguments of one call, and binding them to parameters.
#pragma once

#include "elaborate/Value.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc::elaborate {

struct CallArg {
  Value value;
  SourceRange range;
  const ast::Expr *expr = nullptr; ///< null if it did not stand in the source (a partial's, `*x`)
};
struct KeywordArg {
  std::string name;
  SourceRange nameRange;
  Value value;
  SourceRange range;
  const ast::Expr *expr = nullptr;
};

/// Evaluated arguments, in source order. Values are as evaluated: elements of buffers and cells
/// are not read yet (Elaborator::pin reads).
struct CallArgs {
  std::vector<CallArg> positional;
  std::vector<KeywordArg> keywords;
  SourceRange range;       ///< the whole call
  SourceRange calleeRange; ///< what is called
  std::string callee;      ///< its name as written, for messages
};

/// A parameter list given as text, for functions written in C++:
///   "src, dst, *, coalesced_width=, disable_tma="   `=` : may be left out
///   "*args", "**kwargs"                             : take the rest
/// A name before "/" cannot be given by keyword.
class Binding {
public:
  /// Reports missing, unknown (with did-you-mean), doubled and superfluous arguments; then ok is
  /// false.
  Binding(Elaborator &elaborator, CallArgs &args, std::string_view signature);

  bool ok = true;
  /// The argument of parameter `i`; null if it was left out.
  const CallArg *at(std::size_t i) const { return given[i] ? &values[i] : nullptr; }
  const CallArg *at(std::string_view parameter) const;
  Value value(std::string_view parameter, Value otherwise = Value::none()) const;
  /// Where the argument stands; the whole call if it was left out.
  SourceRange range(std::string_view parameter) const;

  std::vector<CallArg> rest;        ///< of *args
  std::vector<KeywordArg> keywords; ///< of **kwargs

private:
  std::size_t indexOf(std::string_view parameter) const;
  std::vector<std::string> names;
  std::vector<CallArg> values;
  std::vector<bool> given;
  SourceRange callRange;
};

} // namespace tlc::elaborate
