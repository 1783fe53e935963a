// The match statement at compile time.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

namespace tlc::elaborate {

namespace {

bool matches(Elaborator &e, const ast::Pattern &pattern, const Value &value);

bool matchesSequence(Elaborator &e, const std::vector<ast::Pattern *> &patterns,
                     const Value &value) {
  if (!value.is(ValueKind::Tuple) && !value.is(ValueKind::List))
    return false;
  std::vector<Value> items = e.toList(value);
  std::size_t star = patterns.size();
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (patterns[i]->is<ast::MatchStar>())
      star = i;
  if (star == patterns.size() ? items.size() != patterns.size()
                              : items.size() + 1 < patterns.size())
    return false;
  std::size_t tail = star == patterns.size() ? 0 : patterns.size() - star - 1;
  for (std::size_t i = 0; i < star; ++i)
    if (!matches(e, *patterns[i], items[i]))
      return false;
  if (star == patterns.size())
    return true;
  auto *rest = patterns[star]->as<ast::MatchStar>();
  if (!rest->name.empty())
    e.bindName(rest->name.id,
               e.heap.list({items.begin() + static_cast<std::ptrdiff_t>(star),
                            items.end() - static_cast<std::ptrdiff_t>(tail)}),
               rest->range);
  for (std::size_t i = 0; i < tail; ++i)
    if (!matches(e, *patterns[star + 1 + i], items[items.size() - tail + i]))
      return false;
  return true;
}

bool matchesMapping(Elaborator &e, const ast::MatchMapping &pattern, const Value &value) {
  auto *dict = value.as<DictObject>();
  if (!dict)
    return false;
  Value rest = Value::object(e.heap.make<DictObject>());
  rest.as<DictObject>()->table = dict->table;
  for (std::size_t i = 0; i < pattern.keys.size(); ++i) {
    Value key = e.eval(*pattern.keys[i]);
    const Value *item = hashable(key) ? dict->table.find(key) : nullptr;
    if (!item || !matches(e, *pattern.patterns[i], *item))
      return false;
    rest.as<DictObject>()->table.erase(key);
  }
  if (!pattern.rest.empty())
    e.bindName(pattern.rest.id, rest, pattern.rest.range);
  return true;
}

bool matchesClass(Elaborator &e, const ast::MatchClass &pattern, const Value &value) {
  Value cls = e.eval(*pattern.cls);
  if (cls.isError() || !isInstance(e, value, cls, pattern.range))
    return false;
  std::vector<std::string> fields;
  if (auto *object = cls.as<ClassObject>())
    fields = object->fields;
  if (fields.empty() && pattern.patterns.size() == 1)
    return matches(e, *pattern.patterns[0], value); // int(x)
  for (std::size_t i = 0; i < pattern.patterns.size(); ++i) {
    if (i >= fields.size())
      return false;
    auto part = e.findAttribute(value, fields[i]);
    if (!part || !matches(e, *pattern.patterns[i], *part))
      return false;
  }
  for (std::size_t i = 0; i < pattern.keywordNames.size(); ++i) {
    auto part = e.findAttribute(value, pattern.keywordNames[i].id);
    if (!part || !matches(e, *pattern.keywordPatterns[i], *part))
      return false;
  }
  return true;
}

bool matches(Elaborator &e, const ast::Pattern &pattern, const Value &value) {
  switch (pattern.kind) {
  case ast::PatternKind::MatchValue:
    return equal(e.eval(*pattern.as<ast::MatchValue>()->value), value);
  case ast::PatternKind::MatchSingleton:
    return e.eval(*pattern.as<ast::MatchSingleton>()->value).identical(value);
  case ast::PatternKind::MatchSequence:
    return matchesSequence(e, pattern.as<ast::MatchSequence>()->patterns, value);
  case ast::PatternKind::MatchMapping:
    return matchesMapping(e, *pattern.as<ast::MatchMapping>(), value);
  case ast::PatternKind::MatchClass:
    return matchesClass(e, *pattern.as<ast::MatchClass>(), value);
  case ast::PatternKind::MatchStar:
    return false; // only inside sequences
  case ast::PatternKind::MatchAs: {
    auto *as = pattern.as<ast::MatchAs>();
    if (as->pattern && !matches(e, *as->pattern, value))
      return false;
    if (!as->name.empty())
      e.bindName(as->name.id, value, as->name.range);
    return true;
  }
  case ast::PatternKind::MatchOr:
    for (const ast::Pattern *p : pattern.as<ast::MatchOr>()->patterns)
      if (matches(e, *p, value))
        return true;
    return false;
  }
  return false;
}

} // namespace

Flow execMatch(Elaborator &e, const ast::Match &stmt) {
  Value subject = e.evalPinned(*stmt.subject);
  if (!subject.isRuntime() && !e.usable(subject, stmt.subject->range, "no case can be chosen"))
    return Flow::Next;
  if (subject.isRuntime()) {
    e.report(diag::RuntimeConditionHere, stmt.subject->range, "`match`");
    return Flow::Next;
  }
  for (const ast::MatchCase &c : stmt.cases) {
    if (!matches(e, *c.pattern, subject))
      continue;
    if (c.guard) {
      auto guard = e.evalCondition(*c.guard);
      if (!guard)
        return Flow::Next;
      if (!*guard)
        continue;
    }
    return e.execBlock(c.body);
  }
  return Flow::Next;
}

} // namespace tlc::elaborate
