#include "sema/Resolve.h"

#include "support/Names.h"

namespace tlc::sema {

namespace {

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::size_t positionalLimit(const BuiltinInfo &builtin) {
  std::size_t n = 0;
  for (const Parameter &p : builtin.parameters) {
    if (p.variadic)
      return static_cast<std::size_t>(-1);
    if (!p.keywordOnly)
      ++n;
  }
  return n;
}

bool bindKeyword(const BuiltinInfo &builtin, const CallShape &call, std::size_t k,
                 DiagnosticEngine &diagnostics, BoundArguments &bound) {
  const CallShape::Keyword &keyword = call.keywords[k];
  int index = builtin.index(keyword.name);
  if (index < 0 || builtin.parameters[static_cast<std::size_t>(index)].variadic) {
    std::vector<std::string_view> names;
    for (const Parameter &p : builtin.parameters)
      if (!p.variadic)
        names.push_back(p.name);
    diagnostics
        .report(diag::UnknownKeyword, keyword.nameRange, builtin.name, keyword.name,
                didYouMeanText(keyword.name, names))
        .note("it is " + quoted(builtin.usage()));
    return false;
  }
  int &slot = bound.slots[static_cast<std::size_t>(index)];
  if (slot >= 0) {
    diagnostics.report(diag::ArgumentTwice, keyword.nameRange, builtin.name, keyword.name);
    return false;
  }
  slot = static_cast<int>(call.positional.size() + k);
  return true;
}

} // namespace

bool bindArguments(const BuiltinInfo &builtin, const CallShape &call, DiagnosticEngine &diagnostics,
                   BoundArguments &bound) {
  bound.slots.assign(builtin.parameters.size(), -1);
  bound.rest.clear();
  bool good = true;
  std::size_t limit = positionalLimit(builtin);
  for (std::size_t i = 0; i < call.positional.size(); ++i) {
    if (i >= limit) {
      diagnostics
          .report(diag::TooManyArguments, call.positional[i], builtin.name, limit,
                  call.positional.size())
          .note("it is " + quoted(builtin.usage()));
      good = false;
      break;
    }
    // Parameters before a variadic one take their positions first.
    if (i < builtin.parameters.size() && !builtin.parameters[i].variadic &&
        !builtin.parameters[i].keywordOnly)
      bound.slots[i] = static_cast<int>(i);
    else
      bound.rest.push_back(static_cast<int>(i));
  }
  for (std::size_t k = 0; k < call.keywords.size(); ++k)
    good = bindKeyword(builtin, call, k, diagnostics, bound) && good;
  if (!good)
    return false;
  for (std::size_t i = 0; i < builtin.parameters.size(); ++i) {
    const Parameter &p = builtin.parameters[i];
    if (p.required && bound.slots[i] < 0) {
      diagnostics.report(diag::MissingArgument, call.callee, builtin.name, p.name)
          .note("it is " + quoted(builtin.usage()));
      good = false;
    }
  }
  return good;
}

bool checkSupport(const BuiltinInfo &builtin, SourceRange callee, std::string_view targetName,
                  bool isGpu, bool isCuda, int architecture, DiagnosticEngine &diagnostics) {
  std::string reason = unsupportedReason(builtin, isGpu, isCuda, architecture);
  if (reason.empty())
    return true;
  auto report =
      diagnostics.report(diag::UnsupportedBuiltin, callee, builtin.name, reason, targetName);
  if (!builtin.hint.empty())
    report.help(std::string(builtin.hint));
  return false;
}

} // namespace tlc::sema
