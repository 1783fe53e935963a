// Operators: precedence is decided here, for the grammar has two flat lists.
#include "parse/BuildAST.h"

#include "support/Check.h"

namespace tlc::parsing {

using Rule = TlParser;

// ---- or, and, not, comparisons: one flat list ----

ast::Expr *BuildAST::boolExpr(const Context &context) {
  Deeper deeper(*this, context, 2); // `or` over `and`; comparisons and `not` count their own
  size_t next = 0;
  return boolChain(context, next, Rule::OR);
}

ast::Expr *BuildAST::boolChain(const Context &context, size_t &next, size_t op) {
  auto operand = [&] {
    return op == Rule::OR ? boolChain(context, next, Rule::AND) : negation(context, next);
  };
  const size_t begin = next;
  ast::Expr *first = operand();
  if (next == context.children.size() || !isToken(context.children[next], op))
    return first;
  ast::ExprList values{first};
  while (next < context.children.size() && isToken(context.children[next], op)) {
    ++next;
    values.push_back(operand());
  }
  auto *node =
      make<ast::BoolOp>(join(range(context.children[begin]), range(context.children[next - 1])));
  node->op = op == Rule::OR ? ast::BoolOperator::Or : ast::BoolOperator::And;
  node->values = std::move(values);
  return node;
}

ast::Expr *BuildAST::negation(const Context &context, size_t &next) {
  const size_t begin = next;
  while (isToken(context.children[next], Rule::NOT))
    ++next;
  const size_t count = next - begin;
  Deeper deeper(*this, context, count);
  ast::Expr *value = comparison(context, next);
  for (size_t i = count; i > 0; --i) {
    auto *node = make<ast::UnaryOp>(
        join(range(context.children[begin + i - 1]), range(context.children[next - 1])));
    node->op = ast::UnaryOperator::Not;
    node->operand = value;
    value = node;
  }
  return value;
}

static ast::CompareOperator compareOperator(const antlr4::ParserRuleContext &context) {
  auto *first = static_cast<antlr4::tree::TerminalNode *>(context.children[0])->getSymbol();
  bool two = context.children.size() > 1;
  switch (first->getType()) {
  case Rule::LESS:
    return ast::CompareOperator::Lt;
  case Rule::GREATER:
    return ast::CompareOperator::Gt;
  case Rule::EQUAL:
    return ast::CompareOperator::Eq;
  case Rule::GREATER_EQUAL:
    return ast::CompareOperator::GtE;
  case Rule::LESS_EQUAL:
    return ast::CompareOperator::LtE;
  case Rule::NOT_EQUAL:
    return ast::CompareOperator::NotEq;
  case Rule::IN:
    return ast::CompareOperator::In;
  case Rule::NOT:
    return ast::CompareOperator::NotIn;
  default:
    return two ? ast::CompareOperator::IsNot : ast::CompareOperator::Is;
  }
}

ast::Expr *BuildAST::comparison(const Context &context, size_t &next) {
  const auto &children = context.children;
  const size_t begin = next;
  ast::Expr *left = expression(children[next++]);
  if (next == children.size() || isLeaf(children[next]))
    return left;
  Deeper deeper(*this, context);
  std::vector<ast::CompareOperator> ops;
  ast::ExprList comparators;
  for (; next < children.size() && !isLeaf(children[next]); next += 2) {
    ops.push_back(compareOperator(contextOf(children[next])));
    comparators.push_back(expression(children[next + 1]));
  }
  auto *node = make<ast::Compare>(join(range(children[begin]), range(children[next - 1])));
  node->left = left;
  node->ops = std::move(ops);
  node->comparators = std::move(comparators);
  return node;
}

// ---- arithmetic: another flat list; precedence climbing ----

namespace {

int strength(size_t type) {
  switch (type) {
  case Rule::PIPE:
    return 0;
  case Rule::CARET:
    return 1;
  case Rule::AMPERSAND:
    return 2;
  case Rule::SHIFT_LEFT:
  case Rule::SHIFT_RIGHT:
    return 3;
  case Rule::PLUS:
  case Rule::MINUS:
    return 4;
  default:
    return 5;
  }
}

ast::BinaryOperator binaryOperator(std::string_view text) {
  for (unsigned i = 0; i <= static_cast<unsigned>(ast::BinaryOperator::BitAnd); ++i)
    if (ast::spelling(static_cast<ast::BinaryOperator>(i)) == text)
      return static_cast<ast::BinaryOperator>(i);
  TLC_UNREACHABLE("no binary operator");
}

} // namespace

ast::Expr *BuildAST::binaryExpr(const Context &context) {
  Deeper deeper(*this, context, context.children.size() / 2);
  size_t next = 0;
  return binaryChain(context, next, 0);
}

ast::Expr *BuildAST::binaryChain(const Context &context, size_t &next, int weakest) {
  const auto &children = context.children;
  const size_t begin = next;
  ast::Expr *left = expression(children[next++]);
  while (next < children.size() && strength(tokenOf(children[next]).getType()) >= weakest) {
    const Token &op = tokenOf(children[next++]);
    ast::Expr *right = binaryChain(context, next, strength(op.getType()) + 1);
    auto *node = make<ast::BinOp>(join(range(children[begin]), range(children[next - 1])));
    node->op = binaryOperator(textOf(op));
    node->opRange = range(op, op);
    node->left = left;
    node->right = right;
    left = node;
  }
  return left;
}

ast::Expr *BuildAST::unaryExpr(const Context &context) {
  const auto &children = context.children;
  size_t signs = 0;
  while (isLeaf(children[signs]))
    ++signs;
  Deeper deeper(*this, context, signs);
  ast::Expr *value = expression(children[signs]);
  if (signs + 1 < children.size()) {
    Deeper power(*this, context);
    const Token &op = tokenOf(children[signs + 1]);
    auto *node = make<ast::BinOp>(join(range(children[signs]), range(children.back())));
    node->op = ast::BinaryOperator::Pow;
    node->opRange = range(op, op);
    node->left = value;
    node->right = expression(children[signs + 2]);
    value = node;
  }
  for (size_t i = signs; i > 0; --i) {
    const Token &sign = tokenOf(children[i - 1]);
    auto *node = make<ast::UnaryOp>(join(range(sign, sign), range(context)));
    node->op = sign.getType() == Rule::PLUS    ? ast::UnaryOperator::UAdd
               : sign.getType() == Rule::MINUS ? ast::UnaryOperator::USub
                                               : ast::UnaryOperator::Invert;
    node->operand = value;
    value = node;
  }
  return value;
}

} // namespace tlc::parsing
