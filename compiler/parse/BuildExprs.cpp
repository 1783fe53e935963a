// Expressions; the operators with precedence are in BuildOperators.cpp.
#include "parse/BuildAST.h"

#include "parse/Literals.h"
#include "parse/Normalize.h"
#include "support/Check.h"

namespace tlc::parsing {

using Rule = TlParser;

BuildAST::Deeper::Deeper(BuildAST &build, const Context &where, size_t levels)
    : build(build), levels(static_cast<unsigned>(levels)) {
  build.depth += this->levels;
  if (build.depth > maxDepth) {
    size_t begin = where.start->getStartIndex();
    throw SyntaxError{diag::NestedTooDeeply,
                      begin,
                      begin + 1,
                      {"more than " + std::to_string(maxDepth) + " operations inside each other"}};
  }
}

std::string_view BuildAST::textOf(const Token &token) const {
  return std::string_view(parse.source.text)
      .substr(token.getStartIndex(), token.getStopIndex() + 1 - token.getStartIndex());
}

ast::Identifier BuildAST::identifier(const Token &token) const {
  return {normalized(textOf(token)), range(token, token)};
}

ast::Identifier BuildAST::dottedName(const Context &context) const {
  ast::Identifier name{"", range(context)};
  for (const Tree *child : context.children)
    name.id += normalized(textOf(tokenOf(child)));
  return name;
}

ast::Expr *BuildAST::expression(const Context &whole) {
  // Rules without an operator only pass on what is below them; a frame of the stack for each would
  // add up.
  const Context *inner = &whole;
  while (inner->children.size() == 1 && inner->getRuleIndex() != Rule::RulePrimary)
    inner = &contextOf(inner->children[0]);
  const Context &context = *inner;
  switch (context.getRuleIndex()) {
  case Rule::RuleNamed_expr:
    return namedExpr(context);
  case Rule::RuleExpression:
    return conditional(context);
  case Rule::RuleLambda_expr:
    return lambda(context);
  case Rule::RuleBool_expr:
    return boolExpr(context);
  case Rule::RuleBinary_expr:
    return binaryExpr(context);
  case Rule::RuleUnary_expr:
    return unaryExpr(context);
  case Rule::RulePrimary:
    return primary(context);
  default:
    TLC_UNREACHABLE("no expression");
  }
}

ast::Expr *BuildAST::conditional(const Context &context) {
  Deeper deeper(*this, context);
  auto *node = make<ast::IfExp>(range(context)); // body if test else orelse
  node->body = expression(context.children[0]);
  node->test = expression(context.children[2]);
  node->orelse = expression(context.children[4]);
  return node;
}

ast::Expr *BuildAST::lambda(const Context &context) {
  Deeper deeper(*this, context);
  auto *node = make<ast::Lambda>(range(context));
  if (isRule(context.children[1], Rule::RuleLambda_parameters))
    node->args = parameters(contextOf(context.children[1]));
  node->body = expression(context.children.back());
  return node;
}

ast::Expr *BuildAST::namedExpr(const Context &context) {
  Deeper deeper(*this, context);
  auto *node = make<ast::NamedExpr>(range(context));
  node->target = expression(context.children[0])->as<ast::Name>();
  node->value = expression(context.children[2]);
  return node;
}

// ---- primaries ----

ast::Expr *BuildAST::primary(const Context &context) {
  const auto &children = context.children;
  bool awaits = isToken(children[0], Rule::AWAIT);
  size_t start = awaits ? 1 : 0;
  if (start + 1 == children.size() && !awaits)
    return atom(children[0]);
  Deeper deeper(*this, context, children.size() - 1);
  ast::Expr *value = atom(children[start]);
  const Token &first =
      isLeaf(children[start]) ? tokenOf(children[start]) : *contextOf(children[start]).start;
  for (size_t i = start + 1; i < children.size(); ++i)
    value = trailer(first, value, contextOf(children[i]));
  if (awaits) {
    auto *node = make<ast::Await>(range(context));
    node->value = value;
    value = node;
  }
  return value;
}

ast::Expr *BuildAST::trailer(const Token &first, ast::Expr *value, const Context &context) {
  SourceRange whole = range(first, *context.stop);
  switch (context.getRuleIndex()) {
  case Rule::RuleAttribute: {
    auto *node = make<ast::Attribute>(whole);
    node->value = value;
    node->attr = identifier(tokenOf(context.children[1]));
    return node;
  }
  case Rule::RuleCall:
    return call(whole, value, context);
  default:
    return subscript(whole, value, context);
  }
}

ast::Expr *BuildAST::call(SourceRange whole, ast::Expr *function, const Context &context) {
  auto *node = make<ast::Call>(whole);
  node->func = function;
  if (isRule(context.children[1], Rule::RuleArguments))
    arguments(contextOf(context.children[1]), range(context), node->args, node->keywords);
  return node;
}

void BuildAST::arguments(const Context &context, SourceRange parens, ast::ExprList &args,
                         std::vector<ast::Keyword> &keywords) {
  for (const Tree *child : context.children) {
    if (isLeaf(child))
      continue;
    const Context &argument = contextOf(child);
    const auto &parts = argument.children;
    if (isToken(parts[0], Rule::STAR)) {
      auto *node = make<ast::Starred>(range(argument));
      node->value = expression(parts[1]);
      args.push_back(node);
    } else if (isToken(parts[0], Rule::POWER)) {
      keywords.push_back({range(argument), {}, expression(parts[1])});
    } else if (parts.size() > 1 && isToken(parts[1], Rule::ASSIGN)) {
      keywords.push_back({range(argument), identifier(*argument.start), expression(parts[2])});
    } else {
      ast::Expr *value = nullptr;
      if (parts.size() > 1 && isToken(parts[1], Rule::WALRUS)) {
        auto *node = make<ast::NamedExpr>(join(range(parts[0]), range(parts[2])));
        node->target = expression(parts[0])->as<ast::Name>();
        node->value = expression(parts[2]);
        value = node;
      } else {
        value = expression(parts[0]);
      }
      if (isRule(parts.back(), Rule::RuleComprehension_for)) {
        auto *node = make<ast::GeneratorExp>(parens);
        node->element = value;
        node->generators = comprehensions(argument);
        value = node;
      }
      args.push_back(value);
    }
  }
}

ast::Expr *BuildAST::subscript(SourceRange whole, ast::Expr *value, const Context &context) {
  auto *node = make<ast::Subscript>(whole);
  node->value = value;
  const Context &slices = contextOf(context.children[1]);
  const Context &first = contextOf(slices.children[0]);
  if (slices.children.size() == 1 && !isToken(first.children[0], Rule::STAR)) {
    node->slice = sliceItem(first);
    return node;
  }
  auto *tuple = make<ast::Tuple>(range(slices));
  for (const Tree *child : slices.children)
    if (!isLeaf(child))
      tuple->elements.push_back(sliceItem(contextOf(child)));
  node->slice = tuple;
  return node;
}

ast::Expr *BuildAST::sliceItem(const Context &context) {
  const auto &parts = context.children;
  if (isToken(parts[0], Rule::STAR)) {
    auto *node = make<ast::Starred>(range(context));
    node->value = expression(parts[1]);
    return node;
  }
  if (!isRule(parts.back(), Rule::RuleSlice_end)) {
    ast::Expr *left = expression(parts[0]);
    if (parts.size() == 1)
      return left;
    auto *node = make<ast::NamedExpr>(range(context));
    node->target = left->as<ast::Name>();
    node->value = expression(parts[2]);
    return node;
  }
  auto *slice = make<ast::Slice>(range(context));
  if (parts.size() > 1)
    slice->lower = expression(parts[0]);
  int colons = 0;
  for (const Tree *child : contextOf(parts.back()).children)
    if (isLeaf(child))
      ++colons;
    else
      (colons == 1 ? slice->upper : slice->step) = expression(child);
  return slice;
}

ast::Expr *BuildAST::atom(const Tree *tree) {
  if (isLeaf(tree))
    return constant(tokenOf(tree));
  const Context &context = contextOf(tree);
  switch (context.getRuleIndex()) {
  case Rule::RuleStrings:
    return strings(context);
  case Rule::RuleParen:
    return paren(context);
  case Rule::RuleList_display:
    return listDisplay(context);
  default:
    return braceDisplay(context);
  }
}

ast::Expr *BuildAST::constant(const Token &token) {
  if (token.getType() == Rule::NAME) {
    auto *name = make<ast::Name>(range(token, token));
    name->id = identifier(token).id;
    return name;
  }
  auto *node = make<ast::Constant>(range(token, token));
  switch (token.getType()) {
  case Rule::NUMBER:
    setNumber(*node, textOf(token));
    break;
  case Rule::NONE:
    node->type = ast::ConstantType::None;
    break;
  case Rule::ELLIPSIS:
    node->type = ast::ConstantType::Ellipsis;
    break;
  default:
    node->type = ast::ConstantType::Bool;
    node->boolValue = token.getType() == Rule::TRUE;
    break;
  }
  return node;
}

ast::Expr *BuildAST::paren(const Context &context) {
  if (context.children.size() == 2)
    return make<ast::Tuple>(range(context));
  return parenContent(contextOf(context.children[1]), range(context));
}

// `whole` includes the parentheses.
ast::Expr *BuildAST::parenContent(const Context &content, SourceRange whole) {
  const auto &children = content.children;
  if (isRule(children[0], Rule::RuleYield_expr))
    return yieldExpr(contextOf(children[0]));
  ast::Expr *first = starredOr(contextOf(children[0]));
  if (children.size() == 1)
    return first;
  if (isRule(children[1], Rule::RuleComprehension_for)) {
    auto *node = make<ast::GeneratorExp>(whole);
    node->element = first;
    node->generators = comprehensions(content);
    return node;
  }
  auto *tuple = make<ast::Tuple>(whole);
  tuple->elements.push_back(first);
  for (size_t i = 1; i < children.size(); ++i)
    if (!isLeaf(children[i]))
      tuple->elements.push_back(starredOr(contextOf(children[i])));
  return tuple;
}

ast::Expr *BuildAST::listDisplay(const Context &context) {
  const auto &children = context.children;
  if (children.size() > 3 && isRule(children[2], Rule::RuleComprehension_for)) {
    auto *node = make<ast::ListComp>(range(context));
    node->element = starredOr(contextOf(children[1]));
    node->generators = comprehensions(context);
    return node;
  }
  auto *node = make<ast::List>(range(context));
  for (const Tree *child : children)
    if (!isLeaf(child))
      node->elements.push_back(starredOr(contextOf(child)));
  return node;
}

ast::Expr *BuildAST::braceDisplay(const Context &context) {
  const auto &children = context.children;
  if (children.size() == 2)
    return make<ast::Dict>(range(context));
  // The value of one item of a set.
  auto element = [&](const Context &item) -> ast::Expr * {
    if (item.children.size() == 1)
      return expression(item.children[0]);
    if (isToken(item.children[0], Rule::STAR)) {
      auto *node = make<ast::Starred>(range(item));
      node->value = expression(item.children[1]);
      return node;
    }
    auto *node = make<ast::NamedExpr>(range(item));
    node->target = expression(item.children[0])->as<ast::Name>();
    node->value = expression(item.children[2]);
    return node;
  };
  const Context &first = contextOf(children[1]);
  bool comprehension = isRule(children[2], Rule::RuleComprehension_for);
  bool dict = isToken(first.children[0], Rule::POWER) ||
              (first.children.size() == 3 && isToken(first.children[1], Rule::COLON));
  if (comprehension && dict) {
    auto *node = make<ast::DictComp>(range(context));
    node->key = expression(first.children[0]);
    node->value = expression(first.children[2]);
    node->generators = comprehensions(context);
    return node;
  }
  if (comprehension) {
    auto *node = make<ast::SetComp>(range(context));
    node->element = element(first);
    node->generators = comprehensions(context);
    return node;
  }
  if (!dict) {
    auto *node = make<ast::Set>(range(context));
    for (const Tree *child : children)
      if (!isLeaf(child))
        node->elements.push_back(element(contextOf(child)));
    return node;
  }
  auto *node = make<ast::Dict>(range(context));
  for (const Tree *child : children) {
    if (isLeaf(child))
      continue;
    const Context &item = contextOf(child);
    node->keys.push_back(isToken(item.children[0], Rule::POWER) ? nullptr
                                                                : expression(item.children[0]));
    node->values.push_back(expression(item.children.back()));
  }
  return node;
}

std::vector<ast::Comprehension> BuildAST::comprehensions(const Context &context) {
  std::vector<ast::Comprehension> list;
  for (const Tree *child : context.children) {
    if (!isRule(child, Rule::RuleComprehension_for))
      continue;
    const Context &part = contextOf(child);
    ast::Comprehension &added = list.emplace_back();
    added.range = range(part);
    size_t at = isToken(part.children[0], Rule::ASYNC) ? 1 : 0; // for target in iter if...
    added.isAsync = at == 1;
    added.target = listOf(contextOf(part.children[at + 1]));
    added.iter = expression(part.children[at + 3]);
    for (size_t i = at + 4; i < part.children.size(); ++i)
      added.ifs.push_back(expression(contextOf(part.children[i]).children[1]));
  }
  return list;
}

ast::Expr *BuildAST::yieldExpr(const Context &context) {
  if (context.children.size() > 1 && isToken(context.children[1], Rule::FROM)) {
    auto *node = make<ast::YieldFrom>(range(context));
    node->value = expression(context.children[2]);
    return node;
  }
  auto *node = make<ast::Yield>(range(context));
  if (context.children.size() > 1)
    node->value = listOf(contextOf(context.children[1]));
  return node;
}

ast::Expr *BuildAST::starredOr(const Context &context) {
  if (!isToken(context.children[0], Rule::STAR))
    return expression(
        context.getRuleIndex() == Rule::RuleNamed_expr ? context : contextOf(context.children[0]));
  auto *node = make<ast::Starred>(range(context));
  node->value = expression(context.children[1]);
  return node;
}

ast::Expr *BuildAST::listOf(const Context &context) {
  const auto &children = context.children;
  if (children.size() == 1)
    return starredOr(contextOf(children[0]));
  auto *tuple = make<ast::Tuple>(range(context));
  for (const Tree *child : children)
    if (!isLeaf(child))
      tuple->elements.push_back(starredOr(contextOf(child)));
  return tuple;
}

ast::Expr *BuildAST::assignedValue(const Context &context) {
  const Context &value = contextOf(context.children[0]);
  return value.getRuleIndex() == Rule::RuleYield_expr ? yieldExpr(value) : listOf(value);
}

// ---- parameters ----

// A parameter whose name is the child `name`; annotation and default may follow.
ast::Arg BuildAST::parameter(const Context &context, size_t name) {
  const auto &parts = context.children;
  ast::Arg arg;
  arg.name = identifier(tokenOf(parts[name]));
  arg.range = arg.name.range;
  for (size_t i = name + 1; i + 1 < parts.size(); i += 2) {
    const Context &value = contextOf(parts[i + 1]);
    if (isToken(parts[i], Rule::COLON)) {
      arg.annotation = value.getRuleIndex() == Rule::RuleStarred_or_expression ? starredOr(value)
                                                                               : expression(value);
      arg.range = join(arg.range, range(value));
    } else {
      arg.defaultValue = expression(value);
    }
  }
  return arg;
}

ast::Arguments BuildAST::parameters(const Context &context) {
  ast::Arguments all;
  all.range = range(context);
  bool star = false;
  for (const Tree *child : context.children) {
    if (isLeaf(child))
      continue;
    const Context &part = contextOf(child);
    switch (part.start->getType()) {
    case Rule::SLASH:
      all.posOnly = std::move(all.args);
      all.args.clear();
      break;
    case Rule::STAR:
      star = true;
      if (part.children.size() > 1)
        all.vararg = parameter(part, 1);
      break;
    case Rule::POWER:
      all.kwarg = parameter(part, 1);
      break;
    default:
      (star ? all.kwOnly : all.args).push_back(parameter(part, 0));
      break;
    }
  }
  return all;
}

} // namespace tlc::parsing
