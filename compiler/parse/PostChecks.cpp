#include "parse/PostChecks.h"

#include "parse/ParseTree.h"
#include "parse/StringChecks.h"

namespace tlc::parsing {
namespace {

using antlr4::ParserRuleContext;
using antlr4::Token;
using antlr4::tree::ParseTree;
using antlr4::tree::TerminalNode;
using Rule = TlParser;

ParserRuleContext *ruleOf(ParseTree *tree) { return dynamic_cast<ParserRuleContext *>(tree); }

const Token *tokenOf(ParseTree *tree) {
  auto *leaf = dynamic_cast<TerminalNode *>(tree);
  return leaf ? leaf->getSymbol() : nullptr;
}

bool isRule(ParseTree *tree, size_t rule) {
  auto *context = ruleOf(tree);
  return context && context->getRuleIndex() == rule;
}

bool isToken(ParseTree *tree, size_t type) {
  auto *token = tokenOf(tree);
  return token && token->getType() == type;
}

bool hasToken(const ParserRuleContext &context, size_t type) {
  for (auto *child : context.children)
    if (isToken(child, type))
      return true;
  return false;
}

bool hasRule(const ParserRuleContext &context, size_t rule) {
  for (auto *child : context.children)
    if (isRule(child, rule))
      return true;
  return false;
}

// The primary that an expression consists of, or nullptr if there is an operator around it.
ParserRuleContext *solePrimary(ParserRuleContext *context) {
  while (context && context->getRuleIndex() != Rule::RulePrimary)
    context = context->children.size() == 1 ? ruleOf(context->children[0]) : nullptr;
  return context;
}

// The name that an expression consists of, without parentheses.
const Token *soleName(ParserRuleContext *context) {
  ParserRuleContext *primary = solePrimary(context);
  if (!primary || primary->children.size() != 1)
    return nullptr;
  const Token *token = tokenOf(primary->children[0]);
  return token && token->getType() == Rule::NAME ? token : nullptr;
}

class PostChecks {
public:
  explicit PostChecks(Parse &parse) : parse(parse) {}

  void check(ParserRuleContext &root);

private:
  // What may be on the left: of `=` and behind `for` and `as`; of an annotation or `+=`; behind
  // `del`.
  enum class Place { Assign, Single, Delete };

  void checkOne(ParserRuleContext &context);
  void expressionStatement(ParserRuleContext &context);
  void targets(ParserRuleContext &list, Place place);
  void targetItem(ParserRuleContext &item, Place place);
  void target(ParserRuleContext *expression, Place place, ParserRuleContext &where);
  void display(ParserRuleContext &content, Place place, ParserRuleContext &where);
  void walrus(ParserRuleContext &context);
  void parameters(ParserRuleContext &context);
  void arguments(ParserRuleContext &context);
  void comprehensionElement(ParserRuleContext &display, ParserRuleContext &element);
  void paren(ParserRuleContext &context);
  void braces(ParserRuleContext &context);
  void withGroup(ParserRuleContext &context);
  void tryStatement(ParserRuleContext &context);
  void patterns(ParserRuleContext &context);
  void patternArguments(ParserRuleContext &context);
  void mappingPattern(ParserRuleContext &context);
  void numberPattern(ParserRuleContext &context);
  void strings(ParserRuleContext &context);

  void error(const Token &first, const Token &last, diag::Id id,
             std::vector<std::string> args = {}) {
    size_t begin = first.getStartIndex();
    parse.errors.push_back(
        {id, begin, std::max(last.getStopIndex() + 1, begin + 1), std::move(args)});
  }
  void error(ParserRuleContext &at, diag::Id id, std::vector<std::string> args = {}) {
    error(*at.start, *at.stop, id, std::move(args));
  }

  Parse &parse;
};

// From top to bottom and left to right, without recursion: trees are up to 6000 rules deep.
void PostChecks::check(ParserRuleContext &root) {
  std::vector<ParserRuleContext *> open{&root};
  while (!open.empty()) {
    ParserRuleContext &context = *open.back();
    open.pop_back();
    checkOne(context);
    for (auto it = context.children.rbegin(); it != context.children.rend(); ++it)
      if (!(*it)->children.empty()) // much cheaper than a dynamic_cast, and a leaf has none
        open.push_back(static_cast<ParserRuleContext *>(*it));
  }
}

void PostChecks::checkOne(ParserRuleContext &context) {
  switch (context.getRuleIndex()) {
  case Rule::RuleExpression_stmt:
    return expressionStatement(context);
  case Rule::RuleDel_stmt:
    return targets(*ruleOf(context.children[1]), Place::Delete);
  case Rule::RuleFor_stmt:
    return targets(*ruleOf(context.children[1]), Place::Assign);
  case Rule::RuleComprehension_for:
    return targets(*static_cast<Rule::Comprehension_forContext &>(context).target_list(),
                   Place::Assign);
  case Rule::RuleWith_item:
  case Rule::RuleWith_group_item:
    if (isRule(context.children.back(), Rule::RuleTarget))
      targetItem(*ruleOf(context.children.back()), Place::Assign);
    return;
  case Rule::RuleNamed_expr:
  case Rule::RuleArgument:
  case Rule::RuleSlice_item:
  case Rule::RuleBrace_item:
    return walrus(context);
  case Rule::RuleParameters:
  case Rule::RuleLambda_parameters:
    return parameters(context);
  case Rule::RuleArguments:
    return arguments(context);
  case Rule::RuleParen:
  case Rule::RuleReplacement_field:
    return paren(context);
  case Rule::RuleList_display:
    if (context.children.size() > 2)
      comprehensionElement(context, *ruleOf(context.children[1]));
    return;
  case Rule::RuleBrace_display:
    return braces(context);
  case Rule::RuleWith_group:
    return withGroup(context);
  case Rule::RuleTry_stmt:
    return tryStatement(context);
  case Rule::RuleSubject:
    if (context.children.size() == 1 &&
        isToken(ruleOf(context.children[0])->children[0], Rule::STAR))
      error(context, diag::MisplacedStar,
            {"a starred expression needs a list around it: add a `,`"});
    return;
  case Rule::RulePatterns:
    return patterns(context);
  case Rule::RuleAs_pattern:
    if (context.children.size() > 1 && context.stop->getText() == "_")
      error(*context.stop, *context.stop, diag::BadPattern,
            {"`_` matches everything and is no name here"});
    return;
  case Rule::RuleName_or_class_pattern:
    if (context.start->getText() == "_" && context.stop != context.start)
      error(context, diag::BadPattern, {"`_` matches everything; nothing can follow it"});
    return;
  case Rule::RulePattern_arguments:
    return patternArguments(context);
  case Rule::RuleMapping_pattern:
    return mappingPattern(context);
  case Rule::RuleMapping_key:
    if (isRule(context.children[0], Rule::RuleDotted_name) &&
        ruleOf(context.children[0])->children.size() == 1)
      error(context, diag::BadPattern, {"a key in a pattern is a literal or a dotted name"});
    return;
  case Rule::RuleNumber_pattern:
    return numberPattern(context);
  case Rule::RuleStrings:
    return strings(context);
  default:
    return;
  }
}

void PostChecks::expressionStatement(ParserRuleContext &context) {
  if (context.children.size() < 2)
    return;
  ParserRuleContext &left = *ruleOf(context.children[0]), &rest = *ruleOf(context.children[1]);
  if (rest.getRuleIndex() != Rule::RuleAssign)
    return targets(left, Place::Single);
  targets(left, Place::Assign);
  for (size_t i = 1; i + 2 < rest.children.size(); i += 2) { // '=' value '=' value
    ParserRuleContext &value = *ruleOf(ruleOf(rest.children[i])->children[0]);
    if (value.getRuleIndex() == Rule::RuleYield_expr)
      error(value, diag::CannotAssign, {"assign to", "`yield`"});
    else
      targets(value, Place::Assign);
  }
}

// `list` is an expression_list or a target_list.
void PostChecks::targets(ParserRuleContext &list, Place place) {
  if (place == Place::Single && list.children.size() > 1)
    return error(list, diag::SingleTarget);
  for (auto *child : list.children)
    if (auto *item = ruleOf(child))
      targetItem(*item, place);
}

// `item` is a starred_or_expression, a starred_or_named or a target.
void PostChecks::targetItem(ParserRuleContext &item, Place place) {
  bool star = isToken(item.children[0], Rule::STAR);
  if (star && place != Place::Assign)
    return error(item, diag::MisplacedStar,
                 {place == Place::Delete
                      ? "a starred expression cannot be deleted"
                      : "a starred expression cannot be annotated or updated in place"});
  target(ruleOf(item.children.back()), place, item);
}

void PostChecks::target(ParserRuleContext *expression, Place place, ParserRuleContext &where) {
  const std::string verb = place == Place::Delete ? "delete" : "assign to";
  ParserRuleContext *primary = solePrimary(expression);
  if (!primary)
    return error(where, diag::CannotAssign, {verb, "an expression"});
  if (isToken(primary->children[0], Rule::AWAIT))
    return error(where, diag::CannotAssign, {verb, "an `await` expression"});
  if (primary->children.size() > 1) {
    if (isRule(primary->children.back(), Rule::RuleCall))
      error(where, diag::CannotAssign, {verb, "the result of a call"});
    return;
  }
  ParseTree *atom = primary->children[0];
  if (auto *token = tokenOf(atom)) {
    if (token->getType() != Rule::NAME)
      error(where, diag::CannotAssign, {verb, inTicks(token->getText())});
    return;
  }
  ParserRuleContext &inner = *ruleOf(atom);
  if (inner.getRuleIndex() == Rule::RuleList_display && place != Place::Single)
    return display(inner, place, where);
  if (inner.getRuleIndex() != Rule::RuleParen)
    return error(where, diag::CannotAssign,
                 {verb, inner.getRuleIndex() == Rule::RuleStrings ? "a string" : "a display"});
  if (inner.children.size() == 2) {
    if (place == Place::Single)
      error(where, diag::CannotAssign, {verb, "an empty tuple here"});
    return;
  }
  ParserRuleContext &content = *ruleOf(inner.children[1]);
  bool group = content.children.size() == 1;
  if (place == Place::Single && !group)
    return error(where, diag::SingleTarget);
  if (group && isRule(content.children[0], Rule::RuleYield_expr))
    return error(where, diag::CannotAssign, {verb, "`yield`"});
  display(content, place, where);
}

// `content` holds the items of a tuple or list.
void PostChecks::display(ParserRuleContext &content, Place place, ParserRuleContext &where) {
  if (hasRule(content, Rule::RuleComprehension_for))
    return error(where, diag::CannotAssign,
                 {place == Place::Delete ? "delete" : "assign to", "a comprehension"});
  for (auto *child : content.children)
    if (auto *item = ruleOf(child))
      targetItem(*item, place);
}

void PostChecks::walrus(ParserRuleContext &context) {
  if (context.children.size() < 3)
    return;
  bool walrus = isToken(context.children[1], Rule::WALRUS);
  bool keyword = isToken(context.children[1], Rule::ASSIGN);
  if ((walrus || keyword) && !soleName(ruleOf(context.children[0])))
    error(*ruleOf(context.children[0]), walrus ? diag::WalrusTarget : diag::KeywordArgumentName);
}

void PostChecks::parameters(ParserRuleContext &context) {
  bool slash = false, star = false, bareStar = false, doubleStar = false, defaulted = false,
       any = false;
  for (auto *child : context.children) {
    auto *parameter = ruleOf(child);
    if (!parameter)
      continue;
    const Token &first = *parameter->start;
    bool named = first.getType() == Rule::NAME;
    if (doubleStar)
      return error(*parameter, diag::ParameterOrder, {"no parameter can follow `**`"});
    if (bareStar && !named)
      return error(*parameter, diag::ParameterOrder, {"after `*` there must be a named parameter"});
    if (first.getType() == Rule::SLASH) {
      if (slash || star || !any)
        return error(*parameter, diag::ParameterOrder,
                     {star    ? "`/` must stand before `*`"
                      : slash ? "a second `/`"
                              : "`/` needs a parameter before it"});
      slash = true;
    } else if (first.getType() == Rule::STAR) {
      if (star)
        return error(*parameter, diag::ParameterOrder, {"a second `*`"});
      star = true;
      bareStar = parameter->children.size() == 1;
    } else if (first.getType() == Rule::POWER) {
      doubleStar = true;
    } else {
      bool hasDefault = hasToken(*parameter, Rule::ASSIGN);
      if (!hasDefault && defaulted && !star)
        return error(*parameter, diag::ParameterOrder,
                     {"a parameter without a default follows one with a default"});
      defaulted |= hasDefault;
      bareStar = false;
    }
    any = true;
  }
  if (bareStar)
    error(context, diag::ParameterOrder, {"after `*` there must be a named parameter"});
}

void PostChecks::arguments(ParserRuleContext &context) {
  bool keyword = false, doubleStar = false;
  for (auto *child : context.children) {
    auto *argument = ruleOf(child);
    if (!argument)
      continue;
    size_t first = argument->start->getType();
    if (hasRule(*argument, Rule::RuleComprehension_for) &&
        (context.children.size() > 1 || isRule(context.parent, Rule::RuleClass_def)))
      return error(*argument, diag::GeneratorArgument);
    if (first == Rule::POWER && isToken(argument->children[0], Rule::POWER)) {
      doubleStar = true;
    } else if (isToken(argument->children[0], Rule::STAR)) {
      if (doubleStar)
        return error(*argument, diag::ArgumentOrder,
                     {"an argument with `*` follows one with `**`"});
    } else if (argument->children.size() > 1 && isToken(argument->children[1], Rule::ASSIGN)) {
      keyword = true;
    } else if (keyword || doubleStar) {
      return error(*argument, diag::ArgumentOrder,
                   {"a positional argument follows a keyword argument"});
    }
  }
}

void PostChecks::comprehensionElement(ParserRuleContext &display, ParserRuleContext &element) {
  if (hasRule(display, Rule::RuleComprehension_for) && isToken(element.children[0], Rule::STAR))
    error(element, diag::MisplacedStar, {"`*` cannot stand in a comprehension"});
}

// A paren, or the same inside an f-string.
void PostChecks::paren(ParserRuleContext &context) {
  ParserRuleContext *content = nullptr;
  for (auto *child : context.children)
    content = isRule(child, Rule::RuleParen_content) ? ruleOf(child) : content;
  if (!content || isRule(content->children[0], Rule::RuleYield_expr))
    return;
  ParserRuleContext &first = *ruleOf(content->children[0]);
  comprehensionElement(*content, first);
  if (content->children.size() == 1 && isToken(first.children[0], Rule::STAR))
    error(first, diag::MisplacedStar, {"a starred expression needs a tuple around it: add a `,`"});
}

void PostChecks::braces(ParserRuleContext &context) {
  enum { Unknown, Set, Dict } kind = Unknown;
  bool comprehension = hasRule(context, Rule::RuleComprehension_for);
  for (auto *child : context.children) {
    if (!isRule(child, Rule::RuleBrace_item))
      continue;
    ParserRuleContext &item = *ruleOf(child);
    bool unpacks = isToken(item.children[0], Rule::STAR) || isToken(item.children[0], Rule::POWER);
    auto own = isToken(item.children[0], Rule::POWER) || hasToken(item, Rule::COLON) ? Dict : Set;
    if (comprehension && unpacks)
      return error(item, diag::MisplacedStar, {"`*` and `**` cannot stand in a comprehension"});
    if (kind != Unknown && kind != own)
      return error(item, diag::MixedDisplay,
                   {kind == Dict ? "expected `key: value` as in the rest of this dict"
                                 : "the rest of this set has no `:`"});
    kind = own;
  }
}

// `with (a, b as c):`. Without any `as` the parentheses may as well belong to one expression.
void PostChecks::withGroup(ParserRuleContext &context) {
  bool names = false;
  ParserRuleContext *first = nullptr;
  for (auto *child : context.children)
    if (isRule(child, Rule::RuleWith_group_item)) {
      first = first ? first : ruleOf(child);
      names |= hasToken(*ruleOf(child), Rule::AS);
    }
  if (!first)
    return;
  comprehensionElement(context, *first);
  if (!names && context.children.size() == 3 && isToken(first->children[0], Rule::STAR))
    error(*first, diag::MisplacedStar, {"a starred expression needs a tuple around it: add a `,`"});
  if (!names)
    return;
  if (hasRule(context, Rule::RuleComprehension_for))
    return error(context, diag::BadWithItem, {"a generator expression cannot be named here"});
  for (auto *child : context.children) {
    if (!isRule(child, Rule::RuleWith_group_item))
      continue;
    ParserRuleContext &item = *ruleOf(child);
    bool walrus = isRule(item.children[0], Rule::RuleNamed_expr) &&
                  ruleOf(item.children[0])->children.size() > 1;
    if (isToken(item.children[0], Rule::STAR) || walrus)
      error(item, diag::BadWithItem, {"expected an expression, or an expression `as` a name"});
  }
}

void PostChecks::tryStatement(ParserRuleContext &context) {
  int plain = 0, group = 0;
  for (auto *child : context.children)
    if (isRule(child, Rule::RuleExcept_clause)) {
      (hasToken(*ruleOf(child), Rule::STAR) ? group : plain) += 1;
      if (plain && group)
        return error(*ruleOf(child)->start, *ruleOf(child)->start, diag::MixedExcept);
    }
}

void PostChecks::patterns(ParserRuleContext &context) {
  bool inList = isRule(context.parent, Rule::RuleList_pattern);
  ParserRuleContext &first = *ruleOf(context.children[0]);
  if (!inList && context.children.size() == 1 && isRule(first.children[0], Rule::RuleStar_pattern))
    error(context, diag::BadPattern, {"a starred pattern needs a sequence around it: add a `,`"});
}

void PostChecks::patternArguments(ParserRuleContext &context) {
  bool keyword = false;
  for (auto *child : context.children) {
    auto *argument = ruleOf(child);
    if (!argument)
      continue;
    if (argument->children.size() == 1) {
      if (keyword)
        return error(*argument, diag::BadPattern,
                     {"a positional pattern follows a keyword pattern"});
      continue;
    }
    keyword = true;
    if (argument->start->getType() != Rule::NAME ||
        ruleOf(argument->children[0])->stop != argument->start)
      return error(*ruleOf(argument->children[0]), diag::BadPattern,
                   {"the name of a keyword pattern must be a plain name"});
  }
}

void PostChecks::mappingPattern(ParserRuleContext &context) {
  bool rest = false;
  for (auto *child : context.children) {
    if (!isRule(child, Rule::RuleMapping_item))
      continue;
    ParserRuleContext &item = *ruleOf(child);
    if (rest)
      return error(item, diag::BadPattern, {"nothing can follow `**` in a pattern"});
    rest = isToken(item.children[0], Rule::POWER);
    if (rest && item.stop->getText() == "_")
      return error(item, diag::BadPattern, {"`_` is no name here"});
  }
}

void PostChecks::numberPattern(ParserRuleContext &context) {
  auto imaginary = [](const Token &token) { return tolower(token.getText().back()) == 'j'; };
  size_t sign = isToken(context.children[0], Rule::MINUS) ? 1 : 0;
  if (context.children.size() < sign + 3)
    return;
  const Token &real = *tokenOf(context.children[sign]),
              &other = *tokenOf(context.children[sign + 2]);
  if (imaginary(real))
    error(real, real, diag::BadPattern, {"the first part of a complex number must be real"});
  if (!imaginary(other))
    error(other, other, diag::BadPattern,
          {"the second part of a complex number must be imaginary"});
}

void PostChecks::strings(ParserRuleContext &context) {
  size_t bytes = 0;
  for (auto *child : context.children) {
    const Token &string = *tokenOf(child);
    bytes += StringToken(string, parse.source.text).bytes;
    checkString(parse, string);
  }
  if (bytes != 0 && bytes != context.children.size())
    error(context, diag::BytesAndText);
}

} // namespace

void checkTree(Parse &parse, ParserRuleContext &tree) { PostChecks(parse).check(tree); }

} // namespace tlc::parsing
