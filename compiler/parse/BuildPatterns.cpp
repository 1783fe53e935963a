// The patterns of `case`.
#include "parse/BuildAST.h"

#include "parse/Literals.h"

namespace tlc::parsing {

using Rule = TlParser;

ast::Identifier BuildAST::capture(const Token &token) const {
  ast::Identifier name = identifier(token);
  if (name.id == "_")
    name.id.clear();
  return name;
}

// A sequence if there is a comma; else the only pattern, or a sequence of it if `list` (with
// brackets) demands one.
ast::Pattern *BuildAST::patterns(const Context &context, const SourceRange *list) {
  if (context.children.size() == 1 && !list)
    return pattern(contextOf(context.children[0]));
  auto *node = make<ast::MatchSequence>(list ? *list : range(context));
  for (const Tree *child : context.children)
    if (!isLeaf(child))
      node->patterns.push_back(pattern(contextOf(child)));
  return node;
}

ast::Pattern *BuildAST::pattern(const Context &context) {
  const Context &inner = contextOf(context.children[0]);
  if (inner.getRuleIndex() == Rule::RuleAs_pattern)
    return asPattern(inner);
  auto *node = make<ast::MatchStar>(range(context));
  node->name = capture(tokenOf(inner.children[1]));
  return node;
}

ast::Pattern *BuildAST::asPattern(const Context &context) {
  Deeper deeper(*this, context);
  const Context &choice = contextOf(context.children[0]);
  ast::Pattern *value = nullptr;
  if (choice.children.size() == 1) {
    value = closedPattern(contextOf(choice.children[0]));
  } else {
    auto *node = make<ast::MatchOr>(range(choice));
    for (const Tree *child : choice.children)
      if (!isLeaf(child))
        node->patterns.push_back(closedPattern(contextOf(child)));
    value = node;
  }
  if (context.children.size() == 1)
    return value;
  auto *node = make<ast::MatchAs>(range(context));
  node->pattern = value;
  node->name = identifier(tokenOf(context.children[2]));
  return node;
}

ast::Pattern *BuildAST::valuePattern(ast::Expr *value) {
  auto *node = make<ast::MatchValue>(value->range);
  node->value = value;
  return node;
}

ast::Pattern *BuildAST::closedPattern(const Context &context) {
  const Tree *child = context.children[0];
  if (isLeaf(child)) {
    auto *node = make<ast::MatchSingleton>(range(context));
    node->value = constant(tokenOf(child))->as<ast::Constant>();
    return node;
  }
  const Context &inner = contextOf(child);
  switch (inner.getRuleIndex()) {
  case Rule::RuleNumber_pattern:
    return valuePattern(numberPattern(inner));
  case Rule::RuleStrings:
    return valuePattern(strings(inner));
  case Rule::RuleName_or_class_pattern:
    return nameOrClass(inner);
  case Rule::RuleMapping_pattern:
    return mapping(inner);
  default: { // ( ... ) or [ ... ]
    SourceRange whole = range(inner);
    if (inner.children.size() == 2)
      return make<ast::MatchSequence>(whole);
    const Context &items = contextOf(inner.children[1]);
    bool group = inner.getRuleIndex() == Rule::RuleGroup_pattern && items.children.size() == 1;
    return patterns(items, group ? nullptr : &whole);
  }
  }
}

ast::Expr *BuildAST::numberPattern(const Context &context) {
  size_t sign = isToken(context.children[0], Rule::MINUS) ? 1 : 0;
  ast::Expr *value = constant(tokenOf(context.children[sign]));
  if (sign) {
    auto *node = make<ast::UnaryOp>(join(range(context.children[0]), range(context.children[1])));
    node->op = ast::UnaryOperator::USub;
    node->operand = value;
    value = node;
  }
  if (context.children.size() > sign + 1) {
    auto *node = make<ast::BinOp>(range(context));
    node->op = isToken(context.children[sign + 1], Rule::PLUS) ? ast::BinaryOperator::Add
                                                               : ast::BinaryOperator::Sub;
    node->opRange = range(context.children[sign + 1]);
    node->left = value;
    node->right = constant(tokenOf(context.children[sign + 2]));
    value = node;
  }
  return value;
}

ast::Expr *BuildAST::dottedExpr(const Context &context) {
  ast::Expr *value = constant(tokenOf(context.children[0]));
  Deeper deeper(*this, context, context.children.size() / 2);
  for (size_t i = 2; i < context.children.size(); i += 2) {
    auto *node = make<ast::Attribute>(join(range(context.children[0]), range(context.children[i])));
    node->value = value;
    node->attr = identifier(tokenOf(context.children[i]));
    value = node;
  }
  return value;
}

ast::Pattern *BuildAST::nameOrClass(const Context &context) {
  const Context &name = contextOf(context.children[0]);
  if (context.children.size() == 1) {
    if (name.children.size() > 1)
      return valuePattern(dottedExpr(name));
    auto *node = make<ast::MatchAs>(range(context));
    node->name = capture(*name.start);
    return node;
  }
  auto *node = make<ast::MatchClass>(range(context));
  node->cls = dottedExpr(name);
  if (!isRule(context.children[2], Rule::RulePattern_arguments))
    return node;
  for (const Tree *child : contextOf(context.children[2]).children) {
    if (isLeaf(child))
      continue;
    const Context &argument = contextOf(child);
    if (argument.children.size() == 1) {
      node->patterns.push_back(asPattern(contextOf(argument.children[0])));
    } else {
      node->keywordNames.push_back(identifier(*argument.start));
      node->keywordPatterns.push_back(asPattern(contextOf(argument.children[2])));
    }
  }
  return node;
}

ast::Pattern *BuildAST::mapping(const Context &context) {
  auto *node = make<ast::MatchMapping>(range(context));
  for (const Tree *child : context.children) {
    if (isLeaf(child))
      continue;
    const Context &item = contextOf(child);
    if (isToken(item.children[0], Rule::POWER)) {
      node->rest = identifier(tokenOf(item.children[1]));
    } else {
      node->keys.push_back(mappingKey(contextOf(item.children[0])));
      node->patterns.push_back(asPattern(contextOf(item.children[2])));
    }
  }
  return node;
}

ast::Expr *BuildAST::mappingKey(const Context &context) {
  const Tree *child = context.children[0];
  if (isLeaf(child))
    return constant(tokenOf(child));
  switch (ruleOf(child)) {
  case Rule::RuleNumber_pattern:
    return numberPattern(contextOf(child));
  case Rule::RuleStrings:
    return strings(contextOf(child));
  default:
    return dottedExpr(contextOf(child));
  }
}

} // namespace tlc::parsing
