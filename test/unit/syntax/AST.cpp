#include "syntax/AST.h"

#include "support/SourceManager.h"
#include "syntax/PrintAST.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tlc;
using namespace tlc::ast;

TEST_CASE("nodes know their kind") {
  Module module;
  Expr *expr = module.make<Call>({1, 0, 3});
  CHECK(expr->is<Call>());
  CHECK(expr->as<Call>() == expr);
  CHECK(expr->as<Name>() == nullptr);
  CHECK(expr->range == SourceRange{1, 0, 3});
  Stmt *stmt = module.make<Pass>({});
  CHECK(stmt->kind == StmtKind::Pass);
  CHECK_FALSE(stmt->is<Break>());
  Pattern *pattern = module.make<MatchOr>({});
  CHECK(pattern->is<MatchOr>());
}

TEST_CASE("every kind and operator has a name of its own") {
  std::set<std::string_view> names, words;
  for (unsigned i = 0; i <= static_cast<unsigned>(ExprKind::YieldFrom); ++i) {
    names.insert(className(static_cast<ExprKind>(i)));
    words.insert(describe(static_cast<ExprKind>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(StmtKind::Match); ++i) {
    names.insert(className(static_cast<StmtKind>(i)));
    CHECK(describe(static_cast<StmtKind>(i)).size() > 3);
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(PatternKind::MatchOr); ++i)
    names.insert(className(static_cast<PatternKind>(i)));
  CHECK(names.size() == 27 + 23 + 8);
  CHECK(words.size() == 27);
  std::set<std::string_view> operators;
  for (unsigned i = 0; i <= static_cast<unsigned>(BinaryOperator::BitAnd); ++i)
    operators.insert(spelling(static_cast<BinaryOperator>(i)));
  CHECK(operators.size() == 13);
  CHECK(spelling(BinaryOperator::BitAnd) == "&");
  CHECK(spelling(BinaryOperator::FloorDiv) == "//");
  CHECK(spelling(CompareOperator::NotIn) == "not in");
  CHECK(spelling(CompareOperator::NotEq) == "!=");
  CHECK(spelling(UnaryOperator::USub) == "-");
  CHECK(spelling(BoolOperator::Or) == "or");
}

TEST_CASE("a chain of any length is destroyed without recursion") {
  Module module;
  Expr *value = module.make<Name>({});
  for (int i = 0; i < 1000000; ++i) {
    auto *node = module.make<UnaryOp>({});
    node->operand = value;
    value = node;
  }
  CHECK(value->is<UnaryOp>());
}

TEST_CASE("texts in the printed tree are escaped") {
  SourceManager sources;
  std::uint32_t file = sources.addBuffer("t", "x");
  Module module;
  auto *text = module.make<Constant>({file, 0, 1});
  text->type = ConstantType::Str;
  text->text = "a\"\\\n\x01é";
  CHECK(print(*text, sources) == "Constant 1:1-1:2 str \"a\\\"\\\\\\n\\x01é\"\n");
  text->type = ConstantType::Bytes;
  text->text = "\xff";
  CHECK(print(*text, sources) == "Constant 1:1-1:2 bytes b\"\\xff\"\n");
  text->type = ConstantType::Int;
  text->intValue = static_cast<Int128>(1) << 100;
  CHECK(print(*text, sources) == "Constant 1:1-1:2 int 1267650600228229401496703205376\n");
}
