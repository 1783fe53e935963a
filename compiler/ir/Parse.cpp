// Statements from their text.
#include "ir/Reader.h"
#include "target/Atoms.h"

namespace tlc::ir::text {
namespace {

template <class E, class F> bool forNamed(std::string_view name, Names names, F f) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return false;
  f(static_cast<E>(found - names.begin()));
  return true;
}

/// `read %a![0] : 4`; none, and nothing read, if there is no such word.
std::optional<Pointer> parsePointer(ExprParser &in) {
  Pointer pointer;
  bool isPointer = in.at(TokenKind::Word) &&
                   forNamed<int>(in.lexer.peek().text, accesses,
                                 [&](int i) { pointer.access = static_cast<Access>(i + 1); });
  if (!isPointer)
    return std::nullopt;
  in.lexer.next();
  pointer.element = in.parseElement();
  if (in.take(":"))
    pointer.count = in.parseExpr();
  return pointer;
}

} // namespace

void Reader::arguments(std::vector<Argument> &args) {
  in.expect("(");
  if (in.take(")"))
    return;
  do {
    if (in.at(TokenKind::String)) {
      args.emplace_back(in.lexer.next().text);
      continue;
    }
    if (std::optional<TensorMap> map = tensorMap())
      args.emplace_back(std::move(*map));
    else if (std::optional<Pointer> pointer = parsePointer(in))
      args.emplace_back(*pointer);
    else
      args.emplace_back(in.parseExpr());
  } while (in.take(","));
  in.expect(")");
}

/// `read map(%A box(64, 128) swizzle(128))`.
std::optional<TensorMap> Reader::tensorMap() {
  TensorMap map;
  Lexer start = in.lexer;
  bool isMemory = in.at(TokenKind::Word) &&
                  forNamed<int>(in.lexer.next().text, accesses,
                                [&](int i) { map.access = static_cast<Access>(i + 1); });
  if (!isMemory || !in.take("map")) {
    in.lexer = start;
    return std::nullopt;
  }
  in.expect("(");
  buffer(map.tensor);
  options([&] {
    integers("box", map.box);
    integer("swizzle", map.swizzleBytes, 0);
    unfold("unfold", map.unfold);
  });
  in.expect(")");
  return map;
}

void Reader::pointers(std::string_view name, std::vector<Pointer> &list) {
  if (!open(name))
    return;
  do {
    std::optional<Pointer> pointer = parsePointer(in);
    if (!pointer)
      in.malformed(in.range(in.lexer.peek()), "expected read, write or readwrite");
    list.push_back(*pointer);
  } while (in.take(","));
  in.expect(")");
}

void Reader::templateArguments(std::vector<DType> &types, std::vector<std::int64_t> &values) {
  if (!in.take("<"))
    return;
  do {
    if (in.at(TokenKind::Word))
      types.push_back(in.expectDType());
    else
      values.push_back(in.expectNumber());
  } while (in.take(","));
  in.expect(">");
}

void Reader::mapVars(std::vector<Expr> &vars, std::vector<Expr> &extents) {
  std::vector<Name> names;
  do {
    Expr none;
    names.push_back(define(none, 0));
    in.expect("in");
    extents.push_back(in.parseExpr(names.back().dtype));
  } while (in.take(","));
  for (std::size_t i = 0; i < names.size(); ++i)
    bind(names[i], vars.emplace_back(), extents[i].dtype());
}

void Reader::atom(std::string_view name, const Atom *&a) {
  if (!open(name))
    return;
  Family family = Family::Cuda;
  constexpr std::array<std::string_view, 3> families = {"cuda", "hip", "cpu"};
  word(family, families);
  Token row = in.expect(TokenKind::Word, "the name of an atom");
  for (const Target &target : allTargets())
    if (!a && target.family == family)
      a = findAtom(target, row.text);
  if (!a)
    in.malformed(in.range(row), "there is no atom `" + row.text + "`");
  in.expect(")");
}

StmtPtr Reader::statement() {
  std::uint32_t op = 0;
  if (in.take("op")) {
    op = static_cast<std::uint32_t>(in.expectNumber());
    in.expect(":");
    function->lastOp = std::max(function->lastOp, op);
  }
  Token keyword = in.lexer.peek();
  StmtPtr stmt;
  if (keyword.kind == TokenKind::Word) {
#define TLC_STMT(NAME, TEXT, PHASES)                                                               \
  if (keyword.text == TEXT)                                                                        \
    stmt = std::make_unique<NAME##Stmt>();
#include "ir/Nodes.def"
  }
  if (!stmt)
    in.expected("a statement");
  in.lexer.next();
  dispatch(*stmt, [&](auto &known) { describe(*this, known); });
  stmt->range = in.range(keyword);
  stmt->range.end = in.lexer.lastEnd();
  stmt->op = op;
  return stmt;
}

} // namespace tlc::ir::text
