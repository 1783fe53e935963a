// From statements to nodes.
#include "interpret/Compile.h"

#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::interpret {

using namespace ir;

namespace {

/// Whether threads of the block may wait for each other in it.
bool mayBlock(const Block &block) {
  bool found = false;
  walk(block, [&](const Stmt &s) {
    if (const auto *mbar = dynCast<MbarStmt>(&s))
      found |= mbar->op == MbarOp::Wait;
    if (const auto *barrier = dynCast<BarrierStmt>(&s))
      found |= barrier->scope == BarrierScope::Named;
    found |= isa<WhileStmt>(s);
    return !found;
  });
  return found;
}

} // namespace

NodeList Compiler::block(const Block &block) {
  std::uint32_t mark = slots->mark();
  NodeList list = open(block);
  slots->release(mark);
  return list;
}

NodeList Compiler::open(const Block &block) {
  NodeList list;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (isa<RoleStmt>(*block[i])) {
      auto node = std::make_unique<RolesNode>();
      node->stmt = block[i].get();
      for (; i < block.size() && isa<RoleStmt>(*block[i]); ++i) {
        const auto &role = cast<RoleStmt>(*block[i]);
        for (std::int64_t team = 0; team < role.teams; ++team)
          node->roles.push_back(
              {role.first + team * role.count, role.count, this->block(bodyOf(role, team)), &role});
      }
      --i;
      list.push_back(std::move(node));
    } else if (std::unique_ptr<Node> node = statement(*block[i])) {
      node->stmt = block[i].get();
      list.push_back(std::move(node));
    }
  }
  return list;
}

const Block &Compiler::bodyOf(const RoleStmt &role, std::int64_t team) {
  if (!role.team)
    return role.body;
  Block &body = program.teamBodies.emplace_back(role.body);
  const std::size_t known = program.teamBuffers.size();
  renewBuffers(body, program.teamBuffers);
  for (std::size_t i = known; i < program.teamBuffers.size(); ++i)
    if (Buffer &buffer = *program.teamBuffers[i]; buffer.sharedOffset >= 0)
      buffer.sharedOffset += team * buffer.teamBytes;
  substitute(body, {{role.team, role.team.context().int32(team)}});
  return body;
}

std::vector<std::pair<Ref, unsigned>> Compiler::Expressions::bases(const Buffer &b) {
  std::vector<std::pair<Ref, unsigned>> list;
  for (const Buffer *view = &b; view; view = view->base)
    if (view->baseOffset && !view->baseOffset.isConstant(0))
      list.push_back({scalar(view->baseOffset), view->dtype.bits()});
  return list;
}

ElementRef Compiler::Expressions::element(const Element &e) {
  ElementRef ref;
  ref.buffer = owner.machine.numberOf(e.buffer);
  ref.isPhysical = e.physical || owner.machine.isThreadPhase();
  for (Expr index : e.indices)
    ref.indices.push_back(scalar(index));
  ref.version = optional(e.version);
  ref.bases = bases(*e.buffer);
  if (owner.scope) {
    ref.isPerLane = owner.scope->own.count(e.buffer->storage());
    ref.isWatched = owner.scope->written.count(e.buffer->storage());
  }
  return ref;
}

RegionRef Compiler::Expressions::region(const Region &r, bool isLocal) {
  RegionRef ref;
  ref.buffer = owner.machine.numberOf(r.buffer);
  for (std::size_t d = 0; d < r.offsets.size(); ++d) {
    ref.offsets.push_back(scalar(r.offsets[d]));
    ref.extents.push_back(scalar(r.extents[d]));
  }
  ref.dropped = r.dropped;
  ref.version = optional(r.version);
  ref.bases = bases(*r.buffer);
  ref.isLocal = isLocal;
  return ref;
}

// ---- Statements of threads

std::unique_ptr<Node> Compiler::let(const LetStmt &s) {
  auto node = std::make_unique<LetNode>();
  Refs to = slots->newRefs(s.var.dtype(), false);
  Expressions x(*this, *node);
  Refs value = x.all(s.value);
  bool isUniform = std::all_of(value.begin(), value.end(), [](Ref r) { return r.isUniform(); });
  if (isUniform) {
    slots->bind(s.var, value);
  } else {
    x.into(s.value, to);
    slots->bind(s.var, to);
  }
  return node;
}

std::unique_ptr<Node> Compiler::alloc(const AllocStmt &s) {
  auto node = std::make_unique<AllocNode>();
  node->buffer = machine.numberOf(s.buffer);
  node->isView = s.buffer->base != nullptr;
  node->isPerLane = scope && s.buffer->scope == Scope::Local;
  // Each warp comes here in its own time; what the block starts with is undefined anyway.
  node->keepsContents = machine.isThreadPhase() && s.buffer->scope != Scope::Local;
  Expressions x(*this, *node);
  node->init = x.optional(s.init);
  return node;
}

std::unique_ptr<Node> Compiler::load(const LoadStmt &s) {
  auto node = std::make_unique<LoadNode>();
  node->to = slots->newRefs(s.var.dtype(), false);
  Expressions x(*this, *node);
  node->predicate = x.optional(s.predicate);
  node->source = x.element(s.source);
  node->otherwise = x.all(s.otherwise);
  slots->bind(s.var, node->to);
  return node;
}

std::unique_ptr<Node> Compiler::store(const StoreStmt &s) {
  auto node = std::make_unique<StoreNode>();
  Expressions x(*this, *node);
  node->predicate = x.optional(s.predicate);
  node->value = x.all(s.value);
  node->target = x.element(s.target);
  noteStore(s.target.buffer);
  return node;
}

std::unique_ptr<Node> Compiler::atomic(const AtomicStmt &s) {
  auto node = std::make_unique<AtomicNode>();
  if (s.result)
    node->result = newVar(s.result);
  Expressions x(*this, *node);
  node->op = s.op;
  node->predicate = x.optional(s.predicate);
  node->value = x.all(s.value);
  node->compare = x.all(s.compare);
  node->target = x.element(s.target);
  node->target.isWatched = false;
  program.mayCommunicate |= s.target.buffer->scope == Scope::Global;
  return node;
}

std::unique_ptr<Node> Compiler::move(const MoveStmt &s) {
  auto node = std::make_unique<MoveNode>();
  Expressions x(*this, *node);
  node->predicate = x.optional(s.predicate);
  node->fill = x.optional(s.fill);
  node->source = x.element(s.source);
  node->target = x.element(s.target);
  node->count = static_cast<unsigned>(s.count);
  node->isAsync = s.async;
  noteStore(s.target.buffer);
  return node;
}

std::unique_ptr<Node> Compiler::call(const CallStmt &s) {
  auto node = std::make_unique<CallNode>();
  node->call = &s;
  if (s.result)
    node->result = newVar(s.result);
  Expressions x(*this, *node);
  program.mayCommunicate |= s.isExtern || s.hasEffect;
  for (const ir::Argument &arg : s.args) {
    ArgumentRef &ref = node->args.emplace_back();
    if (const Expr *e = std::get_if<Expr>(&arg)) {
      ref.value = x.all(*e);
      ref.dtype = e->dtype();
    } else if (const Pointer *p = std::get_if<Pointer>(&arg)) {
      ref.isPointer = true;
      ref.element = x.element(p->element);
      ref.count = x.optional(p->count);
      ref.access = p->access;
      ref.dtype = p->element.buffer->dtype;
      if (p->access != Access::Read)
        noteStore(p->element.buffer);
    } else if (const TensorMap *m = std::get_if<TensorMap>(&arg)) {
      ref.element.buffer = machine.numberOf(m->tensor);
      ref.access = m->access;
      if (m->access != Access::Read)
        noteStore(m->tensor);
    }
  }
  for (const Pointer &p : s.touches)
    node->touches.push_back(machine.numberOf(p.element.buffer));
  return node;
}

std::unique_ptr<Node> Compiler::print(const PrintStmt &s) {
  auto node = std::make_unique<PrintNode>();
  Expressions x(*this, *node);
  node->value = x.all(s.value);
  node->index = x.all(s.index);
  if (s.value)
    node->dtype = s.value.dtype();
  node->hasBuffer = s.buffer != nullptr;
  if (s.buffer)
    node->buffer = machine.numberOf(s.buffer);
  return node;
}

// ---- Control

std::unique_ptr<Node> Compiler::branch(const IfStmt &s) {
  auto node = std::make_unique<IfNode>();
  {
    Expressions x(*this, *node);
    node->condition = x.scalar(s.condition);
  }
  node->then = block(s.then);
  node->otherwise = block(s.otherwise);
  node->forks = !machine.isThreadPhase() && !scope && !node->condition.isUniform() &&
                !s.otherwise.empty() && (mayBlock(s.then) || mayBlock(s.otherwise));
  return node;
}

std::unique_ptr<Node> Compiler::whileLoop(const WhileStmt &s) {
  auto node = std::make_unique<WhileNode>();
  std::uint32_t mark = slots->mark();
  node->conditionList = open(s.conditionBlock);
  {
    LetNode holder;
    Expressions x(*this, holder);
    node->condition = x.scalar(s.condition);
    node->conditionCode = std::move(holder.code);
  }
  node->body = block(s.body);
  slots->release(mark);
  return node;
}

std::unique_ptr<Node> Compiler::loop(const ForStmt &s) {
  auto node = std::make_unique<ForNode>();
  walk(s.body, [&](const Stmt &each) {
    node->stops |= isa<BreakStmt>(each) || isa<ContinueStmt>(each) || isa<ExitStmt>(each);
    return !node->stops;
  });
  program.usesThreadLoops |= s.kind == ForKind::Threads;
  std::uint32_t mark = slots->mark();
  Ref varying = slots->newVarying();
  {
    Expressions x(*this, *node);
    node->lo = x.scalar(s.lo);
    node->hi = x.scalar(s.hi);
    node->step = x.scalar(s.step);
  }
  bool isUniform = node->lo.isUniform() && node->hi.isUniform() && node->step.isUniform();
  node->var = isUniform ? slots->newUniform() : varying;
  slots->bind(s.var, {node->var});
  node->body = block(s.body);
  slots->release(mark);
  return node;
}

// ---- Synchronisation

std::unique_ptr<Node> Compiler::barrier(const BarrierStmt &s) {
  auto node = std::make_unique<BarrierNode>();
  node->barrier = &s;
  program.isResident |= s.scope == BarrierScope::Grid;
  program.mayCommunicate |= s.scope == BarrierScope::Grid;
  if (s.result)
    node->result = newVar(s.result)[0];
  Expressions x(*this, *node);
  node->id = x.optional(s.id);
  node->count = x.optional(s.count);
  node->mask = x.optional(s.mask);
  node->value = x.optional(s.value);
  return node;
}

std::unique_ptr<Node> Compiler::mbar(const MbarStmt &s) {
  auto node = std::make_unique<MbarNode>();
  Expressions x(*this, *node);
  node->op = s.op;
  node->barrier = x.element(s.barrier);
  node->value = x.optional(s.value);
  node->cta = x.optional(s.cta);
  return node;
}

std::unique_ptr<Node> Compiler::statement(const Stmt &s) {
  auto killing = [](LaneState how) {
    auto node = std::make_unique<KillNode>();
    node->how = how;
    return node;
  };
  switch (s.kind) {
  case StmtKind::Alloc:
    return alloc(cast<AllocStmt>(s));
  case StmtKind::Let:
    return let(cast<LetStmt>(s));
  case StmtKind::Load:
    return load(cast<LoadStmt>(s));
  case StmtKind::Store:
    return store(cast<StoreStmt>(s));
  case StmtKind::Atomic:
    return atomic(cast<AtomicStmt>(s));
  case StmtKind::Move:
    return move(cast<MoveStmt>(s));
  case StmtKind::Call:
    return call(cast<CallStmt>(s));
  case StmtKind::If:
    return branch(cast<IfStmt>(s));
  case StmtKind::While:
    return whileLoop(cast<WhileStmt>(s));
  case StmtKind::For:
    return loop(cast<ForStmt>(s));
  case StmtKind::Break:
    return killing(Broken);
  case StmtKind::Continue:
    return killing(Continued);
  case StmtKind::Exit:
    return killing(Exited);
  case StmtKind::Barrier:
    return barrier(cast<BarrierStmt>(s));
  case StmtKind::Mbar:
    return mbar(cast<MbarStmt>(s));
  case StmtKind::Async: {
    auto node = std::make_unique<AsyncNode>();
    node->what = cast<AsyncStmt>(s).what;
    node->commit = cast<AsyncStmt>(s).commit;
    node->pending = static_cast<std::size_t>(cast<AsyncStmt>(s).pending);
    return node;
  }
  case StmtKind::Fence:
    return nullptr;
  case StmtKind::Print:
    return print(cast<PrintStmt>(s));
  case StmtKind::Assert:
  case StmtKind::Assume: {
    auto node = std::make_unique<AssertNode>();
    Expressions x(*this, *node);
    node->isAssumption = isa<AssumeStmt>(s);
    node->condition = x.scalar(node->isAssumption ? cast<AssumeStmt>(s).condition
                                                  : cast<AssertStmt>(s).condition);
    if (!node->isAssumption)
      node->message = cast<AssertStmt>(s).message;
    return node;
  }
  case StmtKind::Source: {
    auto node = std::make_unique<UnsupportedNode>();
    node->message = "C text of the user is not interpreted";
    return node;
  }
  case StmtKind::Map:
    return map(cast<MapStmt>(s));
  case StmtKind::Copy:
    return copy(cast<CopyStmt>(s));
  case StmtKind::Gemm:
    return gemm(cast<GemmStmt>(s));
  case StmtKind::Reducer:
    return reducer(cast<ReducerStmt>(s));
  default:
    return tileOp(s);
  }
}

std::unique_ptr<Program> compile(Machine &machine, const ir::Launch &launch) {
  auto program = std::make_unique<Program>();
  program->launch = &launch;
  SlotTable &slots = program->slots;
  // What is fixed for the whole run has uniform slots, filled at the start.
  for (const auto &[var, value] : machine.arguments) {
    Ref r = slots.newUniform();
    slots.bind(ir::Expr(var), {r});
    slots.constants.push_back({r, value});
  }
  {
    ExprCompiler grid(slots, program->gridCode);
    for (ir::Expr extent : launch.grid)
      program->grid.push_back(grid.scalar(extent));
  }
  for (ir::Expr var : launch.blockVars) {
    program->blockVars.push_back(slots.newUniform());
    slots.bind(var, {program->blockVars.back()});
  }
  for (std::size_t d = 0; d < 3; ++d)
    if (launch.threadVars[d]) {
      program->threadVars[d] = slots.newVarying();
      slots.bind(launch.threadVars[d], {program->threadVars[d]});
    }
  program->tid = slots.newVarying();
  slots.bind(launch.tid, {program->tid});
  program->isResident = launch.cooperative;
  program->body = Compiler(machine, *program, slots).block(launch.body);
  return program;
}

} // namespace tlc::interpret
