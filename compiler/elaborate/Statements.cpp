// Executing statements.
#include "elaborate/Parts.h"
#include "elaborate/Runtime.h"
#include "support/Names.h"

namespace tlc::elaborate {

Flow Elaborator::execBlock(const ast::Block &block) {
  for (const ast::Stmt *stmt : block) {
    Flow flow = exec(*stmt);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

namespace {

// ---- Loops

bool runtimeControl(Elaborator &e) { return e.kernel && e.regions.size() > e.frame().firstRegion; }

void bindErrors(Elaborator &e, const ast::Block &block) {
  std::unordered_set<std::string> names;
  collectBoundNames(block, names);
  for (const std::string &name : names) {
    Slot *slot = e.frame().scope->find(name);
    if (!slot || !slot->bound)
      e.bindName(name, Value::error(), {});
  }
}

Flow runItems(Elaborator &e, const ast::For &loop, IteratorObject &iterator) {
  Frame &frame = e.frame();
  std::size_t depth = frame.loops.size();
  frame.loops.push_back({false, e.regions.size()});
  bool broken = false;
  while (auto item = iterator.next()) {
    e.charge(1, loop.iter->range);
    e.assign(*loop.target, *item, loop.iter->range);
    Flow flow = e.execBlock(loop.body);
    if (flow == Flow::Break) {
      broken = true;
      break;
    }
    if (flow == Flow::Return) {
      frame.loops.resize(depth);
      return flow;
    }
  }
  frame.loops.resize(depth);
  return broken ? Flow::Next : e.execBlock(loop.orelse);
}

Flow nativeFor(Elaborator &e, const ast::For &loop, const Value &iterable) {
  auto &native = static_cast<NativeObject &>(*iterable.asObject());
  if (e.inKernel() && native.runFor(e, loop))
    return Flow::Next;
  if (auto items = native.items(e)) {
    auto *list = e.heap.make<ListObject>();
    list->items = std::move(*items);
    if (IteratorObject *it = e.iterate(Value::object(list), loop.iter->range))
      return runItems(e, loop, *it);
    return Flow::Next;
  }
  if (!e.inKernel() && e.frame().function)
    e.report(diag::RuntimeLoopInFunction, loop.iter->range, native.typeName(),
             e.frame().function->name);
  else
    e.report(diag::NotIterable, loop.iter->range, typeNameWithArticle(iterable));
  return Flow::Next;
}

Flow execFor(Elaborator &e, const ast::For &loop) {
  if (loop.isAsync) {
    e.report(diag::NotAtCompileTime, loop.range, "an `async for`");
    return Flow::Next;
  }
  Value iterable = e.eval(*loop.iter);
  if (iterable.isError()) {
    // One round, so that what is wrong in the body is reported in the same run.
    e.assign(*loop.target, Value::error(), loop.iter->range);
    if (e.inKernel())
      e.runtimeLoop([&] { e.execBlock(loop.body); });
    else
      bindErrors(e, loop.body);
    return Flow::Next;
  }
  if (e.inKernel())
    if (auto *range = iterable.as<RangeObject>()) {
      kernelFor(e, loop, *range);
      return Flow::Next;
    }
  if (iterable.is(ValueKind::Native))
    return nativeFor(e, loop, iterable);
  IteratorObject *iterator = e.iterate(iterable, loop.iter->range);
  if (!iterator) {
    e.assign(*loop.target, Value::error(), loop.iter->range);
    bindErrors(e, loop.body);
    return Flow::Next;
  }
  return runItems(e, loop, *iterator);
}

Flow execWhile(Elaborator &e, const ast::While &loop) {
  if (e.inKernel())
    return kernelWhile(e, loop);
  Frame &frame = e.frame();
  std::size_t depth = frame.loops.size();
  frame.loops.push_back({false, e.regions.size()});
  while (true) {
    e.charge(1, loop.test->range);
    auto condition = e.evalCondition(*loop.test);
    if (!condition)
      bindErrors(e, loop.body);
    if (!condition || !*condition)
      break;
    Flow flow = e.execBlock(loop.body);
    if (flow == Flow::Break || flow == Flow::Return) {
      frame.loops.resize(depth);
      return flow == Flow::Return ? flow : Flow::Next;
    }
  }
  frame.loops.resize(depth);
  return e.execBlock(loop.orelse);
}

Flow leaveLoop(Elaborator &e, const ast::Stmt &stmt, Flow flow) {
  Frame &frame = e.frame();
  if (frame.loops.empty())
    return flow;
  const Frame::Loop &loop = frame.loops.back();
  if (loop.runtime) {
    if (flow == Flow::Break)
      runtimeBreak(e, stmt.range);
    else
      runtimeContinue(e, stmt.range);
    return flow;
  }
  if (e.regions.size() > loop.region) {
    e.report(diag::RuntimeConditionHere, stmt.range,
             flow == Flow::Break ? "`break` out of a compile-time loop"
                                 : "`continue` of a compile-time loop");
    return Flow::Next;
  }
  return flow;
}

// ---- If

Flow execIf(Elaborator &e, const ast::If &stmt) {
  Value condition = e.eval(*stmt.test);
  if (condition.isError()) {
    bindErrors(e, stmt.body);
    bindErrors(e, stmt.orelse);
    return Flow::Next;
  }
  auto decided = e.truth(condition, stmt.test->range);
  if (decided)
    return e.execBlock(*decided ? stmt.body : stmt.orelse);
  if (condition.isRuntime()) {
    if (e.inKernel()) {
      runtimeIf(e, stmt, condition);
      return Flow::Next;
    }
    if (e.frame().function)
      e.report(diag::RuntimeConditionInFunction, stmt.test->range, e.frame().function->name);
    else
      e.report(diag::RuntimeConditionHere, stmt.test->range, "this `if`");
  }
  bindErrors(e, stmt.body);
  bindErrors(e, stmt.orelse);
  return Flow::Next;
}

// ---- With

Flow execWithItems(Elaborator &e, const ast::With &stmt, std::size_t first) {
  if (first == stmt.items.size())
    return e.execBlock(stmt.body);
  const ast::WithItem &item = stmt.items[first];
  Value context = e.eval(*item.contextExpr);
  Flow flow = Flow::Next;
  auto bind = [&](const Value &value) {
    if (item.optionalVars)
      e.assign(*item.optionalVars, value, item.contextExpr->range);
  };
  auto body = [&] { flow = execWithItems(e, stmt, first + 1); };
  if (context.is(ValueKind::Native) &&
      static_cast<NativeObject *>(context.asObject())->runWith(e, item, bind, body))
    return flow;
  if (context.is(ValueKind::Instance)) {
    if (auto entered = callSpecial(e, context, "__enter__", {}, item.contextExpr->range)) {
      bind(*entered);
      body();
      Value none = Value::none();
      callSpecial(e, context, "__exit__", {none, none, none}, item.contextExpr->range);
      return flow;
    }
  }
  if (context.isPoison() && !e.inKernel()) {
    bind(context);
    body();
    return flow;
  }
  if (!context.isError()) {
    if (context.isPoison())
      e.poisonError(context, item.contextExpr->range, "what `with` does cannot be told");
    else
      e.report(diag::WrongType, item.contextExpr->range, "what follows `with`", "a context manager",
               typeNameWithArticle(context));
  }
  bind(Value::error());
  body();
  return flow;
}

// ---- Assignments

void execAssign(Elaborator &e, const ast::Assign &stmt) {
  std::string hint;
  if (auto *name = stmt.targets[0]->as<ast::Name>())
    hint = name->id;
  Value value = e.evalPinned(*stmt.value, hint);
  for (const ast::Expr *target : stmt.targets)
    e.assign(*target, value, stmt.value->range);
}

void augAssignName(Elaborator &e, const ast::AugAssign &stmt, const ast::Name &name) {
  Slot *slot = e.frame().scope->find(name.id);
  Value old = e.lookup(name.id, name.range);
  Value right = e.eval(*stmt.value);
  if (stmt.op == ast::BinaryOperator::Add && old.is(ValueKind::List) && !right.isError()) {
    if (auto more = e.items(right, stmt.value->range)) {
      auto &items = old.as<ListObject>()->items;
      items.insert(items.end(), more->begin(), more->end());
    }
    return;
  }
  if (stmt.op == ast::BinaryOperator::BitOr && old.is(ValueKind::Set) && right.is(ValueKind::Set)) {
    right.as<SetObject>()->table.forEach([&](const Value &key, const Value &) {
      old.as<SetObject>()->table.set(key, Value::none());
    });
    return;
  }
  if (stmt.op == ast::BinaryOperator::BitOr && old.is(ValueKind::Dict) &&
      right.is(ValueKind::Dict)) {
    right.as<DictObject>()->table.forEach(
        [&](const Value &key, const Value &value) { old.as<DictObject>()->table.set(key, value); });
    return;
  }
  Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
  if (slot && slot->bound && slot->value.isCell()) {
    if (!result.isError())
      storeCell(e, *slot->value.asBuffer(), result, stmt.range);
    return;
  }
  e.bindName(name.id, pin(e, result, name.id, stmt.range), name.range);
}

void execAugAssign(Elaborator &e, const ast::AugAssign &stmt) {
  if (auto *name = stmt.target->as<ast::Name>())
    return augAssignName(e, stmt, *name);
  if (auto *attr = stmt.target->as<ast::Attribute>()) {
    Value base = e.eval(*attr->value);
    Value old = e.attribute(base, attr->attr.id, attr->attr.range, attr->range);
    Value right = e.eval(*stmt.value);
    Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
    e.setAttribute(base, attr->attr.id, pin(e, result, attr->attr.id, stmt.range),
                   stmt.target->range);
    return;
  }
  auto *sub = stmt.target->as<ast::Subscript>();
  if (!sub)
    return;
  Value base = e.eval(*sub->value);
  Value index = e.eval(*sub->slice);
  Value old = e.subscript(base, index, *sub);
  Value right = e.eval(*stmt.value);
  if (old.isError() || right.isError())
    return;
  Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
  if (!result.isError())
    e.setSubscript(base, index, result, *sub, stmt.range);
}

void execAnnAssign(Elaborator &e, const ast::AnnAssign &stmt) {
  auto *name = stmt.target->as<ast::Name>();
  bool inKernel = e.inKernel();
  if (!name || !stmt.simple || !inKernel) {
    // Outside kernels annotations say nothing.
    if (stmt.value)
      e.assign(*stmt.target, e.evalPinned(*stmt.value, name ? name->id : ""), stmt.value->range);
    return;
  }
  Value value;
  if (stmt.value)
    value = e.eval(*stmt.value);
  if (!annotationRootedInT(e, *stmt.annotation)) {
    if (stmt.value)
      e.assign(*stmt.target, pin(e, value, name->id, stmt.value->range), stmt.value->range);
    return;
  }
  Value annotation = e.eval(*stmt.annotation);
  if (annotation.isError()) {
    e.bindName(name->id, Value::error(), name->range);
    return;
  }
  Slot *slot = e.frame().scope->find(name->id);
  if (stmt.value && slot && slot->bound && slot->value.isCell())
    return e.assign(*name, value, stmt.value->range);
  Value bound = annotateName(e, name->id, annotation, stmt.value ? &value : nullptr, name->range,
                             stmt.annotation->range);
  e.bindName(name->id, bound, name->range);
}

// ---- Exceptions

Value exceptionValue(Elaborator &e, const Value &value, SourceRange range) {
  if (auto *cls = value.as<ClassObject>()) {
    CallArgs none;
    none.range = none.calleeRange = range;
    none.callee = cls->name;
    return instantiate(e, *cls, none);
  }
  return value;
}

[[noreturn]] void throwException(Elaborator &e, const Value &exception, SourceRange range,
                                 diag::Id id, std::string_view text) {
  if (e.parts->tryDepth > 0)
    throw RaisedException{exception, range};
  e.report(id, range, text);
  throw AbortUnit();
}

void execRaise(Elaborator &e, const ast::Raise &stmt) {
  if (!stmt.exc) {
    e.report(diag::BadValue, stmt.range, "there is no exception to raise again");
    throw AbortUnit();
  }
  Value exception = e.eval(*stmt.exc);
  if (exception.isError())
    throw AbortUnit();
  exception = exceptionValue(e, exception, stmt.range);
  std::string text = typeName(exception);
  if (auto *poison = exception.as<PoisonObject>())
    text = poison->origin;
  else if (std::string message = str(exception); !message.empty())
    text += ": " + message;
  throwException(e, exception, stmt.range, diag::ExceptionRaised, text);
}

void execAssert(Elaborator &e, const ast::Assert &stmt) {
  Value condition = e.eval(*stmt.test);
  if (condition.isError())
    return;
  if (condition.isPoison() && !e.inKernel() && !e.frame().function)
    return; // host code at module level
  auto holds = e.truth(condition, stmt.test->range);
  if (!holds) {
    if (!condition.isRuntime())
      return;
    Value message = stmt.msg ? e.eval(*stmt.msg) : Value::none();
    if (e.kernel)
      runtimeAssert(e, condition, message, stmt.range);
    return;
  }
  if (*holds)
    return;
  std::string text;
  if (stmt.msg) {
    Value message = e.eval(*stmt.msg);
    if (!message.isError())
      text = ": " + str(message);
  }
  ClassObject *cls = exceptionClass(e, "AssertionError");
  throwException(e, exceptionValue(e, Value::object(cls), stmt.range), stmt.test->range,
                 diag::AssertionFailed, text);
}

// The class of Python's exception that an error stands for, for `except`.
std::string_view exceptionOf(diag::Id id) {
  switch (id) {
  case diag::UndefinedName:
    return "NameError";
  case diag::UnboundLocal:
    return "UnboundLocalError";
  case diag::NoAttribute:
    return "AttributeError";
  case diag::DivisionByZero:
    return "ZeroDivisionError";
  case diag::IntegerOverflow:
    return "OverflowError";
  case diag::IndexOutOfRange:
    return "IndexError";
  case diag::KeyNotFound:
    return "KeyError";
  case diag::BadValue:
  case diag::UnpackCount:
  case diag::BadShift:
    return "ValueError";
  case diag::ImportedNameMissing:
    return "ImportError";
  default:
    return "TypeError";
  }
}

const ast::ExceptHandler *findHandler(Elaborator &e, const ast::Try &stmt,
                                      const RaisedException &raised) {
  for (const ast::ExceptHandler &handler : stmt.handlers) {
    if (!handler.type)
      return &handler;
    Value type = e.eval(*handler.type);
    for (const Value &one : e.toList(type))
      if (one.is(ValueKind::Class) && isInstance(e, raised.exception, one, handler.range))
        return &handler;
  }
  return nullptr;
}

Flow execTry(Elaborator &e, const ast::Try &stmt) {
  std::optional<RaisedException> raised;
  Flow flow = Flow::Next;
  std::size_t frameCount = e.frames.size(), loops = e.frame().loops.size();
  std::size_t regions = e.regions.size();
  ++e.parts->tryDepth;
  try {
    for (const ast::Stmt *s : stmt.body) {
      auto mark = e.diagnostics.mark();
      flow = e.exec(*s);
      if (e.diagnostics.errorCount() > mark.errors && !stmt.handlers.empty()) {
        const Diagnostic &first = e.diagnostics.diagnostics()[mark.records];
        RaisedException exception{
            exceptionValue(e, Value::object(exceptionClass(e, exceptionOf(first.id))), first.range),
            first.range};
        e.diagnostics.rollback(mark);
        throw exception;
      }
      if (flow != Flow::Next)
        break;
    }
  } catch (const RaisedException &exception) {
    raised = exception;
  } catch (...) {
    --e.parts->tryDepth;
    throw;
  }
  --e.parts->tryDepth;
  if (raised) {
    e.frames.resize(frameCount);
    e.frame().loops.resize(loops);
    e.regions.resize(regions);
    const ast::ExceptHandler *handler = findHandler(e, stmt, *raised);
    if (!handler) {
      e.execBlock(stmt.finalbody);
      std::string text = typeName(raised->exception);
      if (std::string message = str(raised->exception); !message.empty())
        text += ": " + message;
      throwException(e, raised->exception, raised->range, diag::ExceptionRaised, text);
    }
    if (!handler->name.empty())
      e.bindName(handler->name.id, raised->exception, handler->name.range);
    flow = e.execBlock(handler->body);
  } else if (flow == Flow::Next)
    flow = e.execBlock(stmt.orelse);
  Flow last = e.execBlock(stmt.finalbody);
  return last == Flow::Next ? flow : last;
}

// ---- Others

void execDelete(Elaborator &e, const ast::Delete &stmt) {
  for (const ast::Expr *target : stmt.targets) {
    if (auto *name = target->as<ast::Name>()) {
      Slot *slot = e.frame().scope->find(name->id);
      if (slot && slot->bound)
        slot->bound = false;
      else
        e.lookup(name->id, name->range); // reports
    } else if (auto *sub = target->as<ast::Subscript>()) {
      Value base = e.eval(*sub->value), index = e.eval(*sub->slice);
      if (auto *dict = base.as<DictObject>()) {
        if (hashable(index) && !dict->table.erase(index))
          e.report(diag::KeyNotFound, sub->slice->range, repr(index));
      } else if (auto *list = base.as<ListObject>(); list && index.isIntegral()) {
        auto at = index.asInt() < 0 ? index.asInt() + Int(list->items.size()) : index.asInt();
        if (at < 0 || at >= Int(list->items.size()))
          e.report(diag::IndexOutOfRange, sub->slice->range, decimal(index.asInt()), "a list",
                   list->items.size());
        else
          list->items.erase(list->items.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (!base.isError() && !base.isPoison())
        e.report(diag::BadAssignmentTarget, target->range, typeNameWithArticle(base));
    }
  }
}

// `global x`: the names of the module; `nonlocal x`: of the nearest enclosing function.
void execGlobal(Elaborator &e, const std::vector<ast::Identifier> &names, bool global) {
  Scope *here = e.frame().scope;
  for (const ast::Identifier &name : names) {
    for (Scope *scope = here->parent; scope; scope = scope->parent) {
      bool isModule = scope->module && scope->module->globals == scope;
      if (global ? isModule : scope->find(name.id) != nullptr) {
        here->elsewhere[name.id] = &scope->slot(name.id);
        break;
      }
    }
  }
}

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

Flow execReturn(Elaborator &e, const ast::Return &stmt) {
  Frame &frame = e.frame();
  if (runtimeControl(e)) {
    e.report(diag::ReturnInRuntimeRegion, stmt.range);
    return Flow::Return;
  }
  frame.returned = stmt.value ? e.evalPinned(*stmt.value) : Value::none();
  frame.returnRange = stmt.value ? stmt.value->range : stmt.range;
  return Flow::Return;
}

void execExprStmt(Elaborator &e, const ast::ExprStmt &stmt) {
  if (stmt.value->is<ast::Constant>())
    return; // docstrings, `...`
  Value value = e.eval(*stmt.value);
  if (e.kernel && value.isRuntime())
    runtimeDiscard(e, value, stmt.range);
}

} // namespace

Flow Elaborator::exec(const ast::Stmt &stmt) {
  charge(1, stmt.range);
  SourceRange before = currentRange;
  currentRange = stmt.range;
  if (kernel)
    kernel->builder.range = stmt.range;
  struct Restore {
    Elaborator &e;
    SourceRange range;
    ~Restore() {
      e.currentRange = range;
      if (e.kernel)
        e.kernel->builder.range = range;
    }
  } restore{*this, before};
  switch (stmt.kind) {
  case ast::StmtKind::FunctionDef: {
    auto &def = *stmt.as<ast::FunctionDef>();
    bindName(def.name.id, defineFunction(*this, def), def.name.range);
    return Flow::Next;
  }
  case ast::StmtKind::ClassDef: {
    auto &def = *stmt.as<ast::ClassDef>();
    bindName(def.name.id, defineClass(*this, def), def.name.range);
    return Flow::Next;
  }
  case ast::StmtKind::Return:
    return execReturn(*this, *stmt.as<ast::Return>());
  case ast::StmtKind::Delete:
    execDelete(*this, *stmt.as<ast::Delete>());
    return Flow::Next;
  case ast::StmtKind::Assign:
    execAssign(*this, *stmt.as<ast::Assign>());
    return Flow::Next;
  case ast::StmtKind::AugAssign:
    execAugAssign(*this, *stmt.as<ast::AugAssign>());
    return Flow::Next;
  case ast::StmtKind::AnnAssign:
    execAnnAssign(*this, *stmt.as<ast::AnnAssign>());
    return Flow::Next;
  case ast::StmtKind::For:
    return execFor(*this, *stmt.as<ast::For>());
  case ast::StmtKind::While:
    return execWhile(*this, *stmt.as<ast::While>());
  case ast::StmtKind::If:
    return execIf(*this, *stmt.as<ast::If>());
  case ast::StmtKind::With: {
    auto &with = *stmt.as<ast::With>();
    if (with.isAsync) {
      report(diag::NotAtCompileTime, stmt.range, "an `async with`");
      return Flow::Next;
    }
    return execWithItems(*this, with, 0);
  }
  case ast::StmtKind::Raise:
    execRaise(*this, *stmt.as<ast::Raise>());
    return Flow::Next;
  case ast::StmtKind::Try:
    return execTry(*this, *stmt.as<ast::Try>());
  case ast::StmtKind::Assert:
    execAssert(*this, *stmt.as<ast::Assert>());
    return Flow::Next;
  case ast::StmtKind::Import:
    execImport(*this, *stmt.as<ast::Import>());
    return Flow::Next;
  case ast::StmtKind::ImportFrom:
    execImportFrom(*this, *stmt.as<ast::ImportFrom>());
    return Flow::Next;
  case ast::StmtKind::Global:
    execGlobal(*this, stmt.as<ast::Global>()->names, true);
    return Flow::Next;
  case ast::StmtKind::Nonlocal:
    execGlobal(*this, stmt.as<ast::Nonlocal>()->names, false);
    return Flow::Next;
  case ast::StmtKind::ExprStmt:
    execExprStmt(*this, *stmt.as<ast::ExprStmt>());
    return Flow::Next;
  case ast::StmtKind::Pass:
    return Flow::Next;
  case ast::StmtKind::Break:
    return leaveLoop(*this, stmt, Flow::Break);
  case ast::StmtKind::Continue:
    return leaveLoop(*this, stmt, Flow::Continue);
  case ast::StmtKind::Match:
    return execMatch(*this, *stmt.as<ast::Match>());
  }
  return Flow::Next;
}

// ---- Assigning

static void assignSequence(Elaborator &e, const ast::ExprList &targets, const Value &value,
                           SourceRange valueRange, SourceRange targetRange) {
  std::size_t star = targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i]->is<ast::Starred>())
      star = i;
  auto assignAll = [&](const Value &v) {
    for (const ast::Expr *t : targets)
      e.assign(t->is<ast::Starred>() ? *t->as<ast::Starred>()->value : *t, v, valueRange);
  };
  if (value.isError())
    return assignAll(Value::error());
  if (auto *poison = value.as<PoisonObject>()) {
    for (const ast::Expr *t : targets)
      e.assign(t->is<ast::Starred>() ? *t->as<ast::Starred>()->value : *t,
               e.makePoison(poison->origin, poison->range, poison->reason), valueRange);
    return;
  }
  auto items = e.items(value, valueRange);
  if (!items)
    return assignAll(Value::error());
  bool fits = star == targets.size() ? items->size() == targets.size()
                                     : items->size() + 1 >= targets.size();
  if (!fits) {
    e.report(diag::UnpackCount, targetRange, items->size(), targets.size())
        .label(valueRange, "these are " + std::to_string(items->size()));
    return assignAll(Value::error());
  }
  if (star == targets.size()) {
    for (std::size_t i = 0; i < targets.size(); ++i)
      e.assign(*targets[i], (*items)[i], valueRange);
    return;
  }
  std::size_t tail = targets.size() - star - 1;
  for (std::size_t i = 0; i < star; ++i)
    e.assign(*targets[i], (*items)[i], valueRange);
  e.assign(*targets[star]->as<ast::Starred>()->value,
           e.heap.list({items->begin() + static_cast<std::ptrdiff_t>(star),
                        items->end() - static_cast<std::ptrdiff_t>(tail)}),
           valueRange);
  for (std::size_t i = 0; i < tail; ++i)
    e.assign(*targets[star + 1 + i], (*items)[items->size() - tail + i], valueRange);
}

void Elaborator::assign(const ast::Expr &target, Value value, SourceRange valueRange) {
  switch (target.kind) {
  case ast::ExprKind::Name: {
    auto &name = *target.as<ast::Name>();
    Slot *slot = frame().scope->find(name.id);
    // An alloc_var is a place: its name stays bound to it.
    if (slot && slot->bound && slot->value.isCell() && !value.isCell() && kernel) {
      if (!value.isError())
        storeCell(*this, *slot->value.asBuffer(), value, valueRange);
      return;
    }
    if (!frame().function && frame().scope->module &&
        frame().scope->module->globals == frame().scope)
      value = overrideGlobal(name.id, value);
    bindName(name.id, value, name.range);
    return;
  }
  case ast::ExprKind::Tuple:
    return assignSequence(*this, target.as<ast::Tuple>()->elements, value, valueRange,
                          target.range);
  case ast::ExprKind::List:
    return assignSequence(*this, target.as<ast::List>()->elements, value, valueRange, target.range);
  case ast::ExprKind::Starred:
    return assign(*target.as<ast::Starred>()->value, value, valueRange);
  case ast::ExprKind::Attribute: {
    auto &attr = *target.as<ast::Attribute>();
    return setAttribute(eval(*attr.value), attr.attr.id, pin(*this, value, "", valueRange),
                        target.range);
  }
  case ast::ExprKind::Subscript: {
    auto &sub = *target.as<ast::Subscript>();
    Value base = eval(*sub.value), index = eval(*sub.slice);
    if (!base.isError() && !index.isError() && !value.isError())
      setSubscript(base, index, value, sub, valueRange);
    return;
  }
  default:
    report(diag::BadAssignmentTarget, target.range, std::string(ast::describe(target.kind)));
  }
}

} // namespace tlc::elaborate
