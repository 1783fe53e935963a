// Tile ops to nodes.
#include "interpret/Compile.h"

#include "ir/Walk.h"

#include <utility>

namespace tlc::interpret {

using namespace ir;

std::unique_ptr<Node> Compiler::map(const MapStmt &s) {
  auto node = std::make_unique<MapNode>(slots);
  Expressions x(*this, *node);
  for (Expr extent : s.extents)
    node->extents.push_back(x.scalar(extent));
  node->frame = program.maps++;

  MapScope inner;
  std::set<std::uint32_t> outer;
  std::vector<Expr> used;
  std::set<const ExprNode *> bound;
  for (Expr var : s.vars)
    bound.insert(var.get());
  auto collect = [&](Expr e) { collectVars(e, used); };
  walk(s.body, [&](const Stmt &each) {
    if (const auto *a = dynCast<AllocStmt>(&each);
        a && a->buffer->scope == Scope::Local && !a->buffer->base)
      inner.own.insert(a->buffer);
    forEachDefinition(each, [&](Expr var) { bound.insert(var.get()); });
    forEachExpr(each, collect);
    forEachUse(each, [&](const BufferUse &use) {
      for (const Buffer *view = use.buffer; view; view = view->base)
        if (view->baseOffset)
          collect(view->baseOffset);
    });
    return true;
  });
  walk(s.body, [&](const Stmt &each) {
    if (isa<AtomicStmt>(each) || isa<ReducerStmt>(each))
      return true;
    forEachUse(each, [&](const BufferUse &use) {
      const Buffer *owner = use.buffer->storage();
      if (use.access == Access::Read || inner.own.count(owner))
        return;
      inner.written.insert(owner);
      if (owner->scope == Scope::Local)
        outer.insert(machine.numberOf(owner));
    });
    return true;
  });
  node->isWatched = !inner.written.empty();
  node->outerLocals.assign(outer.begin(), outer.end());

  // Captured variables first: they live as long as the body's code runs.
  SlotTable *before = std::exchange(slots, &node->slots);
  MapScope *around = std::exchange(scope, &inner);
  for (Expr var : used)
    if (!bound.count(var.get()))
      slots->lookUp(var);
  for (Expr var : s.vars) {
    node->vars.push_back(slots->newVarying());
    node->types.push_back(var.dtype());
    slots->bind(var, {node->vars.back()});
  }
  node->body = block(s.body);
  slots = before;
  scope = around;
  return node;
}

std::unique_ptr<Node> Compiler::copy(const CopyStmt &s) {
  auto node = std::make_unique<CopyNode>();
  Expressions x(*this, *node);
  node->isPerThread = isLocal(s.source) || isLocal(s.target);
  // A bulk copy is started by whoever comes.
  node->isAnybody = s.copyKind == CopyKind::Tma || s.barrier.buffer;
  node->source = x.region(s.source, node->isPerThread);
  node->target = x.region(s.target, node->isPerThread);
  node->isAsync = s.async || s.barrier.buffer;
  node->hasBarrier = s.barrier.buffer;
  node->isMulticast = static_cast<bool>(s.multicast);
  if (s.barrier.buffer)
    node->barrier = x.element(s.barrier);
  noteStore(s.target.buffer);
  return node;
}

std::unique_ptr<Node> Compiler::gemm(const GemmStmt &s) {
  auto node = std::make_unique<GemmNode>();
  Expressions x(*this, *node);
  node->isPerThread = isLocal(s.c);
  node->a = x.region(s.a, node->isPerThread);
  node->b = x.region(s.b, node->isPerThread);
  node->c = x.region(s.c, node->isPerThread);
  node->transposeA = s.transposeA;
  node->transposeB = s.transposeB;
  node->clear = x.optional(s.clear);
  node->isAsync = s.async;
  node->hasBarrier = s.barrier.buffer;
  if (s.barrier.buffer)
    node->barrier = x.element(s.barrier);
  noteStore(s.c.buffer);
  return node;
}

std::unique_ptr<Node> Compiler::reducer(const ReducerStmt &s) {
  if (s.action == ReducerAction::Update) {
    auto node = std::make_unique<UpdateNode>();
    Expressions x(*this, *node);
    node->op = s.op;
    node->element = x.element(s.element);
    node->value = x.scalar(s.value);
    return node;
  }
  auto node = std::make_unique<ReducerNode>();
  Expressions x(*this, *node);
  node->op = s.op;
  node->isInit = s.action == ReducerAction::Init;
  node->reducer = x.region(wholeRegion(*machine.function.context, *s.reducer), false);
  node->value = x.optional(s.value);
  node->hasTarget = s.target.buffer != nullptr;
  if (node->hasTarget) {
    node->target = x.region(s.target, false);
    noteStore(s.target.buffer);
  }
  return node;
}

std::unique_ptr<Node> Compiler::tileOp(const Stmt &stmt) {
  if (const auto *s = dynCast<FillStmt>(&stmt)) {
    auto node = std::make_unique<FillNode>();
    Expressions x(*this, *node);
    node->isPerThread = isLocal(s->target);
    node->target = x.region(s->target, node->isPerThread);
    node->value = x.scalar(s->value);
    noteStore(s->target.buffer);
    return node;
  }
  if (const auto *s = dynCast<ReduceStmt>(&stmt)) {
    auto node = std::make_unique<ReduceNode>();
    Expressions x(*this, *node);
    node->isPerThread = isLocal(s->source) || isLocal(s->target);
    node->source = x.region(s->source, node->isPerThread);
    node->target = x.region(s->target, node->isPerThread);
    node->op = s->op;
    node->axis = s->axis;
    node->clear = s->clear;
    node->nanPropagate = s->nanPropagate;
    noteStore(s->target.buffer);
    return node;
  }
  if (const auto *s = dynCast<ScanStmt>(&stmt)) {
    auto node = std::make_unique<ScanNode>();
    Expressions x(*this, *node);
    node->isPerThread = isLocal(s->source) || isLocal(s->target);
    node->source = x.region(s->source, node->isPerThread);
    node->target = x.region(s->target, node->isPerThread);
    node->op = s->op;
    node->axis = s->axis;
    node->reverse = s->reverse;
    noteStore(s->target.buffer);
    return node;
  }
  if (const auto *s = dynCast<AtomicTileStmt>(&stmt)) {
    auto node = std::make_unique<AtomicTileNode>();
    Expressions x(*this, *node);
    node->isPerThread = isLocal(s->source);
    node->op = s->op;
    node->target = x.region(s->target, node->isPerThread);
    node->hasSource = s->source.buffer != nullptr;
    if (node->hasSource)
      node->source = x.region(s->source, node->isPerThread);
    else {
      node->value = x.scalar(s->value);
      node->valueType = s->value.dtype();
    }
    program.mayCommunicate |= s->target.buffer->scope == Scope::Global;
    return node;
  }
  const auto &s = cast<ConvertStmt>(stmt);
  auto node = std::make_unique<ConvertNode>();
  node->source = machine.numberOf(s.source);
  node->target = machine.numberOf(s.target);
  return node;
}

} // namespace tlc::interpret
