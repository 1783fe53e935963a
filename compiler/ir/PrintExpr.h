// Names and expressions of the text form; for Print.cpp only.
#pragma once

#include "ir/Function.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tlc::ir::text {

/// Hands out one name per variable and buffer, in order of first mention.
class NameTable {
public:
  const std::string &of(Expr var);
  const std::string &of(const Buffer *buffer);

private:
  std::string unique(std::string_view hint);

  std::unordered_map<const void *, std::string> names;
  std::unordered_set<std::string> used;
  std::unordered_map<std::string, unsigned> next;
};

/// Text of expressions. A literal says its dtype unless that is `like`, or, where nothing is
/// expected, int32, float32 or bool.
class ExprPrinter {
public:
  explicit ExprPrinter(NameTable &names) : names(names) {}
  std::string print(Expr e, std::optional<DType> like = {});

private:
  std::string print(Expr e, int precedence, std::optional<DType> like);
  std::string literal(Expr e, std::optional<DType> like);
  std::string binary(Expr e, int precedence);
  std::string call(std::string name, Expr e);

  NameTable &names;
};

/// `text` between quotes, with what is not printable escaped.
std::string quoted(std::string_view text);

} // namespace tlc::ir::text
