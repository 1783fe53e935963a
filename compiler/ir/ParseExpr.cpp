#include "ir/ParseExpr.h"

#include "ir/Parse.h"
#include "ir/Print.h"
#include "support/Check.h"

#include <algorithm>
#include <cmath>

namespace tlc::ir::text {

// ---- Tokens

bool ExprParser::take(std::string_view t) {
  bool is = at(t);
  if (is)
    lexer.next();
  return is;
}

void ExprParser::expected(std::string_view what) {
  const Token &t = lexer.peek();
  std::string found = t.kind == TokenKind::End      ? "the end of the text"
                      : t.kind == TokenKind::Int    ? "a number"
                      : t.kind == TokenKind::Float  ? "a number"
                      : t.kind == TokenKind::String ? "a string"
                      : t.kind == TokenKind::Bad    ? t.text
                      : t.kind == TokenKind::Name   ? "`%" + t.text + "`"
                      : t.kind == TokenKind::Symbol ? "`@" + t.text + "`"
                                                    : "`" + t.text + "`";
  diagnostics.report(diag::IrSyntax, here(), what, found);
  throw ParseStopped{};
}

void ExprParser::malformed(SourceRange range, std::string_view message) {
  diagnostics.report(diag::IrMalformed, range, message);
  throw ParseStopped{};
}

void ExprParser::expect(std::string_view t) {
  if (!take(t))
    expected("`" + std::string(t) + "`");
}

Token ExprParser::expect(TokenKind kind, std::string_view what) {
  if (!at(kind))
    expected(what);
  return lexer.next();
}

std::int64_t ExprParser::expectNumber() {
  bool isNegative = take("-");
  auto value = static_cast<std::int64_t>(expect(TokenKind::Int, "a number").integer);
  return isNegative ? -value : value;
}

DType ExprParser::expectDType() {
  if (at(TokenKind::Word))
    if (auto dtype = parseShortName(lexer.peek().text)) {
      lexer.next();
      return *dtype;
    }
  expected("a dtype");
}

// ---- Names

void ExprParser::leaveScope() {
  for (; undo.size() > scopes.back(); undo.pop_back())
    known.erase(undo.back());
  scopes.pop_back();
}

void ExprParser::define(const Token &name, Entry entry) {
  if (!known.emplace(name.text, entry).second)
    malformed(range(name), "`%" + name.text + "` is bound twice");
  undo.push_back(name.text);
}

ExprParser::Entry ExprParser::lookUp(const Token &name) {
  auto found = known.find(name.text);
  if (found == known.end()) {
    diagnostics.report(diag::IrUnknownName, range(name), "%" + name.text);
    throw ParseStopped{};
  }
  return found->second;
}

// ---- Expressions

/// Makes an expression; what Context refuses becomes an error of the text.
template <class F> Expr ExprParser::make(SourceRange where, F f) {
  try {
    return f();
  } catch (const InternalError &error) {
    malformed(where, error.message());
  }
}

Expr ExprParser::settle(const Operand &o, std::optional<DType> like) {
  if (!o.isBare)
    return o.e;
  DType dtype = like ? *like : DType(o.isReal ? Scalar::Float32 : Scalar::Int32);
  if (dtype.isFloat())
    return context.real(dtype, o.isReal ? o.real : static_cast<double>(o.integer));
  if (o.isReal || dtype.isBool())
    malformed(o.where, "this literal cannot be of dtype " + shortName(dtype));
  __int128 most = dtype.scalar == Scalar::UInt64 ? static_cast<__int128>(~std::uint64_t{0})
                                                 : static_cast<__int128>(maxInteger(dtype));
  if (o.integer < minInteger(dtype) || o.integer > most)
    malformed(o.where, "this number does not fit " + shortName(dtype));
  return context.integer(dtype, static_cast<std::int64_t>(o.integer));
}

Expr ExprParser::combine(BinaryOp op, const Operand &a, const Operand &b) {
  Expr x = settle(a, a.isBare && !b.isBare ? std::optional(b.e.dtype()) : std::nullopt);
  Expr y = settle(b, b.isBare && !a.isBare ? std::optional(a.e.dtype()) : std::nullopt);
  return make(join(a.where, b.where), [&] { return context.binary(op, x, y); });
}

namespace {

struct Level {
  std::vector<std::pair<std::string_view, BinaryOp>> ops;
  bool chains = true;
};

/// From the loosest to the tightest, as in PrintExpr.cpp.
const std::vector<Level> &levels() {
  using enum BinaryOp;
  static const std::vector<Level> table = {
      {{{"or", LogicalOr}}},
      {{{"and", LogicalAnd}}},
      {{{"==", Eq}, {"!=", Ne}, {"<", Lt}, {"<=", Le}, {">", Gt}, {">=", Ge}}, false},
      {{{"|", Or}}},
      {{{"^", Xor}}},
      {{{"&", And}}},
      {{{"<<", Shl}, {">>", Shr}}},
      {{{"+", Add}, {"-", Sub}}},
      {{{"*", Mul}, {"/", Div}, {"//", FloorDiv}, {"%", FloorMod}}}};
  return table;
}

} // namespace

Expr ExprParser::parseExpr(std::optional<DType> like) { return settle(parseLevel(0), like); }

ExprParser::Operand ExprParser::parseLevel(unsigned level) {
  if (level == levels().size())
    return parsePrefix();
  // `not` stands between `and` and comparisons.
  if (level == 2 && at("not")) {
    SourceRange where = range(lexer.next());
    Expr inner = settle(parseLevel(2), {});
    return {make(where, [&] { return context.unary(UnaryOp::Not, inner); }), {}, {}, {}, {}, where};
  }
  Operand left = parseLevel(level + 1);
  for (;;) {
    const Level &row = levels()[level];
    auto op = std::find_if(row.ops.begin(), row.ops.end(), [&](auto &o) { return at(o.first); });
    if (op == row.ops.end())
      return left;
    lexer.next();
    Operand right = parseLevel(level + 1);
    Operand both;
    both.e = combine(op->second, left, right);
    both.where = join(left.where, right.where);
    left = both;
    if (!row.chains)
      return left;
  }
}

ExprParser::Operand ExprParser::parseLiteral(bool isNegative) {
  Token t = lexer.next();
  Operand o;
  o.where = range(t);
  o.isBare = true;
  o.isReal = t.kind == TokenKind::Float;
  o.integer = isNegative ? -t.integer : t.integer;
  o.real = isNegative ? -t.real : t.real;
  if (!t.dtype)
    return o;
  Operand said;
  said.where = o.where;
  said.e = settle(o, t.dtype);
  return said;
}

ExprParser::Operand ExprParser::parsePrefix() {
  SourceRange where = here();
  if (take("-")) {
    if (at(TokenKind::Int) || at(TokenKind::Float))
      return parseLiteral(true);
    Expr inner = settle(parsePrefix(), {});
    return {make(where, [&] { return context.unary(UnaryOp::Neg, inner); }), {}, {}, {}, {}, where};
  }
  if (take("~")) {
    Expr inner = settle(parsePrefix(), {});
    return {
        make(where, [&] { return context.unary(UnaryOp::BitNot, inner); }), {}, {}, {}, {}, where};
  }
  return parsePrimary();
}

ExprParser::Operand ExprParser::parsePrimary() {
  if (at(TokenKind::Int) || at(TokenKind::Float))
    return parseLiteral(false);
  Operand o;
  o.where = here();
  if (at(TokenKind::Name)) {
    Token name = lexer.next();
    o.e = lookUp(name).var;
    if (!o.e)
      malformed(range(name),
                "`%" + name.text + "` is a buffer; only variables stand in expressions");
    return o;
  }
  if (take("(")) {
    o = parseLevel(0);
    expect(")");
    return o;
  }
  if (!at(TokenKind::Word))
    expected("an expression");
  Token name = lexer.next();
  if (name.text == "true" || name.text == "false") {
    o.e = context.boolean(name.text == "true");
    return o;
  }
  return parseCall(name);
}

std::vector<ExprParser::Operand> ExprParser::parseOperands() {
  std::vector<Operand> args;
  expect("(");
  if (take(")"))
    return args;
  do
    args.push_back(parseLevel(0));
  while (take(","));
  expect(")");
  return args;
}

Expr ExprParser::parseCast(std::string_view name, SourceRange where, bool &isCast) {
  std::string_view mode;
  std::string_view base = name;
  bool isBits = name.starts_with("bitcast.");
  if (isBits)
    base = name.substr(8);
  else if (std::size_t dot = name.find('.'); dot != name.npos) {
    mode = name.substr(dot + 1);
    base = name.substr(0, dot);
  }
  auto dtype = parseShortName(base);
  isCast = dtype && (mode.empty() || mode == "sat" || mode == "inf");
  if (!isCast)
    return {};
  std::vector<Operand> args = parseOperands();
  if (args.size() != 1)
    malformed(where, "a cast takes one operand");
  Expr value = settle(args[0], {});
  return make(where, [&] {
    return isBits         ? context.bitcast(*dtype, value)
           : mode.empty() ? context.cast(*dtype, value)
                          : context.cast(*dtype, value, mode == "sat");
  });
}

ExprParser::Operand ExprParser::parseCall(const Token &name) {
  Operand o;
  o.where = range(name);
  bool isCast = false;
  o.e = parseCast(name.text, o.where, isCast);
  if (isCast)
    return o;
  constexpr std::string_view known[] = {"min",    "max",       "truncdiv", "truncmod",
                                        "select", "broadcast", "vector",   "extract"};
  auto fn = mathByName(name.text);
  if (!fn && std::find(std::begin(known), std::end(known), name.text) == std::end(known))
    malformed(o.where, "there is no function `" + name.text + "`");
  std::vector<Operand> args = parseOperands();
  auto want = [&](std::size_t count) {
    if (args.size() != count)
      malformed(o.where, "`" + name.text + "` takes " + std::to_string(count) + " operands");
  };
  std::vector<Expr> values;
  if (fn || name.text == "vector" || name.text == "select")
    for (const Operand &a : args)
      values.push_back(settle(a, {}));
  if (fn) {
    o.e = make(o.where, [&] { return context.math(*fn, values); });
  } else if (name.text == "vector") {
    o.e = make(o.where, [&] { return context.vector(values); });
  } else if (name.text == "select") {
    want(3);
    o.e = make(o.where, [&] { return context.select(values[0], values[1], values[2]); });
  } else if (name.text == "broadcast" || name.text == "extract") {
    want(2);
    if (!args[1].isBare || args[1].isReal || args[1].integer < 0 || args[1].integer > 65535)
      malformed(args[1].where, "a number of lanes is wanted here");
    auto lane = static_cast<unsigned>(args[1].integer);
    Expr value = settle(args[0], {});
    o.e = make(o.where, [&] {
      return name.text == "extract" ? context.extract(value, lane) : context.broadcast(value, lane);
    });
  } else {
    want(2);
    BinaryOp op = name.text == "min"        ? BinaryOp::Min
                  : name.text == "max"      ? BinaryOp::Max
                  : name.text == "truncdiv" ? BinaryOp::TruncDiv
                                            : BinaryOp::TruncMod;
    o.e = combine(op, args[0], args[1]);
  }
  return o;
}

// ---- Buffers

Buffer *ExprParser::parseBuffer() {
  Token name = expect(TokenKind::Name, "a buffer");
  Buffer *buffer = lookUp(name).buffer;
  if (!buffer)
    malformed(range(name), "`%" + name.text + "` is a variable; a buffer is wanted here");
  return buffer;
}

Expr ExprParser::parseVersion() {
  if (!take("@"))
    return {};
  return settle(parsePrimary(), {});
}

Element ExprParser::parseElement() {
  Element element;
  element.buffer = parseBuffer();
  element.version = parseVersion();
  element.physical = take("!");
  expect("[");
  if (take("]"))
    return element;
  do
    element.indices.push_back(parseExpr());
  while (take(","));
  expect("]");
  return element;
}

Region ExprParser::parseRegion() {
  Buffer *buffer = parseBuffer();
  Expr version = parseVersion();
  Region region = wholeRegion(context, *buffer);
  region.version = version;
  if (!take("["))
    return region;
  region.offsets.clear();
  region.extents.clear();
  if (take("]"))
    return region;
  do {
    Expr offset = parseExpr();
    std::uint64_t bit = std::uint64_t{1} << region.offsets.size();
    region.offsets.push_back(offset);
    if (take(":")) {
      expect("+");
      region.extents.push_back(parseExpr(offset.dtype()));
      if (take("dropped"))
        region.dropped |= bit;
    } else {
      region.extents.push_back(context.integer(offset.dtype(), 1));
      region.dropped |= bit;
    }
  } while (take(","));
  expect("]");
  return region;
}

} // namespace tlc::ir::text
