// Statements.
#include "parse/BuildAST.h"

#include "support/Check.h"

namespace tlc::parsing {

using Rule = TlParser;

void BuildAST::buildModule(const Context &context) {
  try {
    for (const Tree *child : context.children)
      if (!isLeaf(child))
        statement(contextOf(child), module.body);
  } catch (SyntaxError &error) {
    parse.errors.push_back(std::move(error));
  }
}

void BuildAST::buildExpression(const Context &context) {
  try {
    ast::Expr *value = listOf(contextOf(context.children[0]));
    auto *node = make<ast::ExprStmt>(value->range);
    node->value = value;
    module.body.push_back(node);
  } catch (SyntaxError &error) {
    parse.errors.push_back(std::move(error));
  }
}

SourceRange BuildAST::statementRange(const Token &first, const Context &context) const {
  size_t index = context.stop->getTokenIndex();
  for (;; --index) {
    size_t type = tokens.get(index)->getType();
    if (type != Rule::NEWLINE && type != Rule::DEDENT)
      break;
  }
  return range(first, *tokens.get(index));
}

void BuildAST::statement(const Context &context, ast::Block &into) {
  const Context &inner = contextOf(context.children[0]);
  if (inner.getRuleIndex() == Rule::RuleSimple_statements)
    return simpleStatements(inner, into);
  Deeper deeper(*this, inner);
  ast::Stmt *made = nullptr;
  switch (inner.getRuleIndex()) {
  case Rule::RuleIf_stmt:
    made = ifStmt(inner);
    break;
  case Rule::RuleWhile_stmt:
    made = whileStmt(inner);
    break;
  case Rule::RuleFor_stmt:
    made = forStmt(inner, *inner.start, false);
    break;
  case Rule::RuleTry_stmt:
    made = tryStmt(inner);
    break;
  case Rule::RuleWith_stmt:
    made = withStmt(inner, *inner.start, false);
    break;
  case Rule::RuleMatch_stmt:
    made = matchStmt(inner);
    break;
  case Rule::RuleFunction_def:
    made = functionDef(inner, *inner.start, false);
    break;
  case Rule::RuleClass_def:
    made = classDef(inner);
    break;
  case Rule::RuleAsync_stmt:
    made = asyncStmt(inner);
    break;
  default:
    made = decorated(inner);
    break;
  }
  into.push_back(made);
}

void BuildAST::simpleStatements(const Context &context, ast::Block &into) {
  for (const Tree *child : context.children)
    if (!isLeaf(child))
      into.push_back(simpleStatement(contextOf(contextOf(child).children[0])));
}

std::vector<ast::Identifier> BuildAST::names(const Context &context) {
  std::vector<ast::Identifier> list;
  for (size_t i = 1; i < context.children.size(); i += 2)
    list.push_back(identifier(tokenOf(context.children[i])));
  return list;
}

ast::Stmt *BuildAST::simpleStatement(const Context &context) {
  switch (context.getRuleIndex()) {
  case Rule::RuleExpression_stmt:
    return expressionStmt(context);
  case Rule::RulePass_stmt:
    return make<ast::Pass>(range(context));
  case Rule::RuleBreak_stmt:
    return make<ast::Break>(range(context));
  case Rule::RuleContinue_stmt:
    return make<ast::Continue>(range(context));
  case Rule::RuleReturn_stmt: {
    auto *node = make<ast::Return>(range(context));
    if (context.children.size() > 1)
      node->value = listOf(contextOf(context.children[1]));
    return node;
  }
  case Rule::RuleRaise_stmt:
    return raiseStmt(context);
  case Rule::RuleAssert_stmt:
    return assertStmt(context);
  case Rule::RuleDel_stmt:
    return deleteStmt(context);
  case Rule::RuleGlobal_stmt: {
    auto *node = make<ast::Global>(range(context));
    node->names = names(context);
    return node;
  }
  case Rule::RuleNonlocal_stmt: {
    auto *node = make<ast::Nonlocal>(range(context));
    node->names = names(context);
    return node;
  }
  case Rule::RuleImport_stmt:
    return importStmt(context);
  case Rule::RuleImport_from:
    return importFrom(context);
  default:
    TLC_UNREACHABLE("no simple statement");
  }
}

ast::Stmt *BuildAST::expressionStmt(const Context &context) {
  const Context &left = contextOf(context.children[0]);
  ast::Expr *first = left.getRuleIndex() == Rule::RuleYield_expr ? yieldExpr(left) : listOf(left);
  if (context.children.size() == 1) {
    auto *node = make<ast::ExprStmt>(range(context));
    node->value = first;
    return node;
  }
  const Context &rest = contextOf(context.children[1]);
  switch (rest.getRuleIndex()) {
  case Rule::RuleAssign:
    return assign(context, first, rest);
  case Rule::RuleAnnotated_assign:
    return annotatedAssign(context, first, rest);
  default:
    return augmentedAssign(context, first, rest);
  }
}

ast::Stmt *BuildAST::assign(const Context &context, ast::Expr *first, const Context &rest) {
  auto *node = make<ast::Assign>(range(context));
  node->targets.push_back(first);
  for (size_t i = 1; i < rest.children.size(); i += 2) // '=' value '=' value
    node->targets.push_back(assignedValue(contextOf(rest.children[i])));
  node->value = node->targets.back();
  node->targets.pop_back();
  return node;
}

ast::Stmt *BuildAST::annotatedAssign(const Context &context, ast::Expr *target,
                                     const Context &rest) {
  auto *node = make<ast::AnnAssign>(range(context));
  node->target = target;
  node->simple = target->is<ast::Name>() && context.start->getType() == Rule::NAME;
  node->annotation = expression(rest.children[1]);
  if (rest.children.size() > 2)
    node->value = assignedValue(contextOf(rest.children[3]));
  return node;
}

ast::Stmt *BuildAST::augmentedAssign(const Context &context, ast::Expr *target,
                                     const Context &rest) {
  auto *node = make<ast::AugAssign>(range(context));
  node->target = target;
  node->opRange = range(rest.children[0]);
  std::string_view text = textOf(tokenOf(rest.children[0]));
  text.remove_suffix(1);
  for (unsigned i = 0; i <= static_cast<unsigned>(ast::BinaryOperator::BitAnd); ++i)
    if (ast::spelling(static_cast<ast::BinaryOperator>(i)) == text)
      node->op = static_cast<ast::BinaryOperator>(i);
  node->value = assignedValue(contextOf(rest.children[1]));
  return node;
}

ast::Stmt *BuildAST::deleteStmt(const Context &context) {
  auto *node = make<ast::Delete>(range(context));
  for (const Tree *child : contextOf(context.children[1]).children)
    if (!isLeaf(child))
      node->targets.push_back(starredOr(contextOf(child)));
  return node;
}

ast::Stmt *BuildAST::raiseStmt(const Context &context) {
  auto *node = make<ast::Raise>(range(context));
  if (context.children.size() > 1)
    node->exc = expression(context.children[1]);
  if (context.children.size() > 3)
    node->cause = expression(context.children[3]);
  return node;
}

ast::Stmt *BuildAST::assertStmt(const Context &context) {
  auto *node = make<ast::Assert>(range(context));
  node->test = expression(context.children[1]);
  if (context.children.size() > 3)
    node->msg = expression(context.children[3]);
  return node;
}

// ---- imports ----

ast::Stmt *BuildAST::importStmt(const Context &context) {
  auto *node = make<ast::Import>(range(context));
  for (const Tree *child : context.children) {
    if (isLeaf(child))
      continue;
    const Context &part = contextOf(child);
    ast::Alias &alias = node->names.emplace_back();
    alias.range = range(part);
    alias.name = dottedName(contextOf(part.children[0]));
    if (part.children.size() > 1)
      alias.asname = identifier(tokenOf(part.children[2]));
  }
  return node;
}

ast::Stmt *BuildAST::importFrom(const Context &context) {
  auto *node = make<ast::ImportFrom>(range(context));
  for (const Tree *child : context.children) {
    if (isRule(child, Rule::RuleDotted_name))
      node->module = dottedName(contextOf(child));
    else if (isRule(child, Rule::RuleImport_dots))
      for (const Tree *dot : contextOf(child).children)
        node->level += isToken(dot, Rule::DOT) ? 1 : 3;
  }
  for (const Tree *child : contextOf(context.children.back()).children) {
    if (isToken(child, Rule::STAR)) {
      ast::Alias &alias = node->names.emplace_back();
      alias.name = identifier(tokenOf(child));
      alias.range = alias.name.range;
    } else if (!isLeaf(child)) {
      const Context &part = contextOf(child);
      ast::Alias &alias = node->names.emplace_back();
      alias.range = range(part);
      alias.name = identifier(tokenOf(part.children[0]));
      if (part.children.size() > 1)
        alias.asname = identifier(tokenOf(part.children[2]));
    }
  }
  return node;
}

// ---- compound statements ----

ast::Block BuildAST::block(const Context &context) {
  ast::Block list;
  for (const Tree *child : context.children) {
    if (isLeaf(child))
      continue;
    const Context &inner = contextOf(child);
    if (inner.getRuleIndex() == Rule::RuleSimple_statements)
      simpleStatements(inner, list);
    else
      statement(inner, list);
  }
  return list;
}

// Of the `else` that ends `context`, if there is one.
ast::Block BuildAST::elseBlock(const Context &context) {
  for (const Tree *child : context.children)
    if (isRule(child, Rule::RuleElse_clause))
      return block(contextOf(contextOf(child).children.back()));
  return {};
}

ast::Stmt *BuildAST::ifStmt(const Context &context) {
  auto *top = make<ast::If>(statementRange(*context.start, context));
  top->test = expression(context.children[1]);
  top->body = block(contextOf(context.children[3]));
  Deeper deeper(*this, context,
                context.children.size()); // at most as many `elif`, each inside the one before
  ast::If *last = top;
  for (const Tree *child : context.children) {
    if (!isRule(child, Rule::RuleElif_clause))
      continue;
    const Context &clause = contextOf(child);
    auto *node = make<ast::If>(statementRange(*clause.start, context));
    node->isElif = true;
    node->test = expression(clause.children[1]);
    node->body = block(contextOf(clause.children[3]));
    last->orelse.push_back(node);
    last = node;
  }
  last->orelse = elseBlock(context);
  return top;
}

ast::Stmt *BuildAST::whileStmt(const Context &context) {
  auto *node = make<ast::While>(statementRange(*context.start, context));
  node->test = expression(context.children[1]);
  node->body = block(contextOf(context.children[3]));
  node->orelse = elseBlock(context);
  return node;
}

ast::Stmt *BuildAST::forStmt(const Context &context, const Token &first, bool isAsync) {
  auto *node = make<ast::For>(statementRange(first, context));
  node->isAsync = isAsync;
  node->target = listOf(contextOf(context.children[1]));
  node->iter = listOf(contextOf(context.children[3]));
  node->body = block(contextOf(context.children[5]));
  node->orelse = elseBlock(context);
  return node;
}

ast::Stmt *BuildAST::tryStmt(const Context &context) {
  auto *node = make<ast::Try>(statementRange(*context.start, context));
  node->body = block(contextOf(context.children[2]));
  for (const Tree *child : context.children) {
    if (isRule(child, Rule::RuleExcept_clause)) {
      node->isStar |= isToken(contextOf(child).children[1], Rule::STAR);
      node->handlers.push_back(exceptClause(contextOf(child)));
    } else if (isRule(child, Rule::RuleFinally_clause)) {
      node->finalbody = block(contextOf(contextOf(child).children.back()));
    }
  }
  node->orelse = elseBlock(context);
  return node;
}

ast::ExceptHandler BuildAST::exceptClause(const Context &context) {
  ast::ExceptHandler handler;
  handler.range = statementRange(*context.start, context);
  for (size_t i = 1; i + 1 < context.children.size(); ++i) {
    const Tree *child = context.children[i];
    if (isRule(child, Rule::RuleExpression))
      handler.type = expression(child);
    else if (isToken(child, Rule::NAME))
      handler.name = identifier(tokenOf(child));
  }
  handler.body = block(contextOf(context.children.back()));
  return handler;
}

ast::Stmt *BuildAST::withStmt(const Context &context, const Token &first, bool isAsync) {
  auto *node = make<ast::With>(statementRange(first, context));
  node->isAsync = isAsync;
  for (const Tree *child : context.children) {
    if (isRule(child, Rule::RuleWith_item))
      node->items.push_back(withItem(contextOf(child)));
    else if (isRule(child, Rule::RuleWith_group))
      withGroup(contextOf(child), node->items);
  }
  node->body = block(contextOf(context.children.back()));
  return node;
}

// A with_item or a with_group_item that is neither starred nor a walrus, or alone.
ast::WithItem BuildAST::withItem(const Context &context) {
  ast::WithItem item;
  item.range = range(context);
  item.contextExpr = starredOr(context);
  if (isRule(context.children.back(), Rule::RuleTarget))
    item.optionalVars = starredOr(contextOf(context.children.back()));
  return item;
}

// `with (...):`. Without any `as` the parentheses may belong to one expression, and do where items
// could not stand.
void BuildAST::withGroup(const Context &context, std::vector<ast::WithItem> &items) {
  std::vector<const Context *> parts;
  bool names = false, comprehension = false, expressionOnly = false;
  for (const Tree *child : context.children) {
    if (isRule(child, Rule::RuleComprehension_for))
      comprehension = true;
    if (!isRule(child, Rule::RuleWith_group_item))
      continue;
    const Context &part = contextOf(child);
    parts.push_back(&part);
    names |= isRule(part.children.back(), Rule::RuleTarget);
    bool walrus = isRule(part.children[0], Rule::RuleNamed_expr) &&
                  contextOf(part.children[0]).children.size() > 1;
    expressionOnly |= walrus || isToken(part.children[0], Rule::STAR);
  }
  bool tuple = !names && expressionOnly && context.children.size() > 3;
  if (!parts.empty() && !comprehension && !tuple) {
    for (const Context *part : parts)
      items.push_back(withItem(*part));
    return;
  }
  SourceRange whole = range(context);
  ast::Expr *value = nullptr;
  if (parts.empty() && context.children.size() == 3) {
    value = yieldExpr(contextOf(context.children[1]));
  } else if (comprehension) {
    auto *node = make<ast::GeneratorExp>(whole);
    node->element = starredOr(*parts[0]);
    node->generators = comprehensions(context);
    value = node;
  } else {
    auto *node = make<ast::Tuple>(whole);
    for (const Context *part : parts)
      node->elements.push_back(starredOr(*part));
    value = node;
  }
  items.push_back({whole, value, nullptr});
}

ast::FunctionDef *BuildAST::functionDef(const Context &context, const Token &first, bool isAsync) {
  auto *node = make<ast::FunctionDef>(statementRange(first, context));
  node->isAsync = isAsync;
  node->name = identifier(tokenOf(context.children[1]));
  for (const Tree *child : context.children) {
    if (isRule(child, Rule::RuleParameters))
      node->args = parameters(contextOf(child));
    else if (isRule(child, Rule::RuleExpression))
      node->returns = expression(child);
  }
  node->body = block(contextOf(context.children.back()));
  return node;
}

ast::ClassDef *BuildAST::classDef(const Context &context) {
  auto *node = make<ast::ClassDef>(statementRange(*context.start, context));
  node->name = identifier(tokenOf(context.children[1]));
  for (const Tree *child : context.children)
    if (isRule(child, Rule::RuleArguments))
      arguments(contextOf(child), range(child), node->bases, node->keywords);
  node->body = block(contextOf(context.children.back()));
  return node;
}

ast::Stmt *BuildAST::asyncStmt(const Context &context) {
  const Context &inner = contextOf(context.children[1]);
  switch (inner.getRuleIndex()) {
  case Rule::RuleFunction_def:
    return functionDef(inner, *context.start, true);
  case Rule::RuleWith_stmt:
    return withStmt(inner, *context.start, true);
  default:
    return forStmt(inner, *context.start, true);
  }
}

ast::Stmt *BuildAST::decorated(const Context &context) {
  ast::ExprList decorators;
  for (const Tree *child : context.children)
    if (isRule(child, Rule::RuleDecorator))
      decorators.push_back(expression(contextOf(child).children[1]));
  const Context &last = contextOf(context.children.back());
  if (last.getRuleIndex() == Rule::RuleClass_def) {
    auto *node = classDef(last);
    node->decorators = std::move(decorators);
    return node;
  }
  const Tree *before = context.children[context.children.size() - 2];
  bool isAsync = isToken(before, Rule::ASYNC);
  auto *node = functionDef(last, isAsync ? tokenOf(before) : *last.start, isAsync);
  node->decorators = std::move(decorators);
  return node;
}

ast::Stmt *BuildAST::matchStmt(const Context &context) {
  auto *node = make<ast::Match>(statementRange(*context.start, context));
  node->subject = listOf(contextOf(context.children[1]));
  for (const Tree *child : context.children) {
    if (!isRule(child, Rule::RuleCase_clause))
      continue;
    const Context &clause = contextOf(child);
    ast::MatchCase &added = node->cases.emplace_back();
    added.range = statementRange(*clause.start, clause);
    added.pattern = patterns(contextOf(clause.children[1]), nullptr);
    if (isRule(clause.children[2], Rule::RuleGuard))
      added.guard = expression(contextOf(clause.children[2]).children[1]);
    added.body = block(contextOf(clause.children.back()));
  }
  return node;
}

} // namespace tlc::parsing
