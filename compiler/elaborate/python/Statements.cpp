// Executing statements.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
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
  else if (e.inKernel() && value.isPoison())
    e.poisonError(value, stmt.range, "what it does in the kernel would be missing");
}

Flow execWith(Elaborator &e, const ast::With &stmt) {
  if (!stmt.isAsync)
    return execWithItems(e, stmt, 0);
  e.report(diag::NotAtCompileTime, stmt.range, "an `async with`");
  return Flow::Next;
}

void execDefinition(Elaborator &e, const ast::Stmt &stmt) {
  if (auto *def = stmt.as<ast::FunctionDef>())
    e.bindName(def->name.id, defineFunction(e, *def), def->name.range);
  else if (auto *def = stmt.as<ast::ClassDef>())
    e.bindName(def->name.id, defineClass(e, *def), def->name.range);
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
  case ast::StmtKind::FunctionDef:
  case ast::StmtKind::ClassDef:
    execDefinition(*this, stmt);
    return Flow::Next;
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
  case ast::StmtKind::With:
    return execWith(*this, *stmt.as<ast::With>());
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

} // namespace tlc::elaborate
