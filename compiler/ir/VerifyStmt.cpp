// The rules of single statements.
#include "ir/Print.h"
#include "ir/VerifyState.h"

namespace tlc::ir {
namespace {

bool sameElement(Expr e, const Buffer &b) { return e.dtype().element() == b.dtype.element(); }

void let(VerifyState &v, const LetStmt &s) {
  if (v.expr(s.value, "the value") && s.var)
    v.need(s.var.dtype() == s.value.dtype(), "the variable has another dtype than its value");
}

void load(VerifyState &v, const LoadStmt &s) {
  v.condition(s.predicate, "the predicate", true);
  if (v.element(s.source, "the source") && s.var)
    v.need(sameElement(s.var, *s.source.buffer), "the variable has another dtype than the buffer");
  v.optional(s.otherwise, "the value otherwise");
  if (s.otherwise && s.var)
    v.need(s.otherwise.dtype() == s.var.dtype(), "the value otherwise has another dtype");
}

void store(VerifyState &v, const StoreStmt &s) {
  v.condition(s.predicate, "the predicate", true);
  bool hasValue = v.expr(s.value, "the value");
  if (v.element(s.target, "the target") && hasValue)
    v.need(sameElement(s.value, *s.target.buffer), "the value has another dtype than the buffer");
  if (s.target.buffer)
    v.need(s.target.buffer->writable,
           [&] { return "%" + s.target.buffer->name + " is read only"; });
}

void atomic(VerifyState &v, const AtomicStmt &s) {
  v.condition(s.predicate, "the predicate", true);
  bool hasBuffer = v.element(s.target, "the target");
  if (hasBuffer)
    v.need(s.target.buffer->scope == Scope::Global || s.target.buffer->scope == Scope::Shared,
           "atomics work on global and shared memory");
  for (auto [operand, isWanted, name] :
       {std::tuple(s.value, s.op != AtomicOp::Load, "the value"),
        {s.compare, s.op == AtomicOp::CompareExchange, "the value to compare with"}}) {
    if (!isWanted)
      v.need(!operand, [&] { return std::string(name) + " has no meaning here"; });
    else if (v.expr(operand, name) && hasBuffer)
      v.need(sameElement(operand, *s.target.buffer),
             [&] { return std::string(name) + " has another dtype"; });
  }
}

void move(VerifyState &v, const MoveStmt &s) {
  v.condition(s.predicate, "the predicate", true);
  v.optional(s.fill, "the fill value");
  bool both = v.element(s.source, "the source") & v.element(s.target, "the target");
  if (both)
    v.need(s.source.buffer->dtype.bits() == s.target.buffer->dtype.bits(),
           "source and target differ in the width of their elements");
  v.need(s.count > 0, "the count is not positive");
}

void tensorMap(VerifyState &v, const TensorMap &m) {
  if (!v.buffer(m.tensor, "a tensor map"))
    return;
  const std::string name = "the map of %" + m.tensor->name;
  v.need(m.tensor->scope == Scope::Global, name + " is not of a global tensor");
  if (!v.need(m.box.size() == m.tensor->rank() && !m.box.empty() && m.box.size() <= 5,
              name + " has a box of another rank, or one that no map can have"))
    return;
  for (std::int64_t extent : m.box)
    v.need(extent >= 1 && extent <= 256, name + " has a box of more than 256 elements in a dim");
  std::int64_t bytes = storageBytes(m.tensor->dtype, m.box.back());
  v.need(bytes % 16 == 0, name + " has rows that are no multiple of 16 bytes");
  v.need(m.swizzleBytes == 0 || m.swizzleBytes == 32 || m.swizzleBytes == 64 ||
             m.swizzleBytes == 128,
         name + " has an unknown swizzle");
  v.need(m.swizzleBytes == 0 || bytes <= m.swizzleBytes, name + " has rows wider than its swizzle");
}

void call(VerifyState &v, const CallStmt &s) {
  v.need(!s.callee.empty(), "the call has no name");
  for (const Argument &arg : s.args) {
    if (const Expr *e = std::get_if<Expr>(&arg)) {
      v.expr(*e, "an argument");
    } else if (const Pointer *p = std::get_if<Pointer>(&arg)) {
      v.element(p->element, "an argument");
      if (p->count)
        v.integer(p->count, "a count");
    } else if (const TensorMap *m = std::get_if<TensorMap>(&arg)) {
      tensorMap(v, *m);
    }
  }
  for (const Pointer &p : s.touches) {
    v.element(p.element, "what the call touches");
    if (p.count)
      v.integer(p.count, "a count");
  }
}

void loop(VerifyState &v, const ForStmt &s) {
  for (auto [e, name] :
       {std::pair(s.lo, "the lower bound"), {s.hi, "the upper bound"}, {s.step, "the step"}}) {
    v.integer(e, name);
    if (e && s.var)
      v.need(e.dtype() == s.var.dtype(),
             [&] { return std::string(name) + " has another dtype than the variable"; });
  }
  v.need(!s.step || !s.step.isConstant(0), "the step is 0");
}

void barrier(VerifyState &v, const BarrierStmt &s) {
  v.optional(s.id, "the id");
  v.optional(s.count, "the count");
  v.optional(s.mask, "the mask");
  if (s.scope == BarrierScope::Named)
    v.need(s.id && s.count, "a named barrier needs an id and a count");
  if (s.vote == Vote::None)
    return;
  v.condition(s.value, "the value of the vote", false);
  if (s.result)
    v.need(s.result.dtype() == DType(s.vote == Vote::Count ? Scalar::Int32 : Scalar::Bool) ||
               s.result.dtype() == DType(Scalar::Int32),
           "the result of the vote has another dtype");
}

void mbar(VerifyState &v, const MbarStmt &s) {
  if (v.element(s.barrier, "the barrier"))
    v.need(s.barrier.buffer->scope == Scope::Barrier,
           [&] { return "%" + s.barrier.buffer->name + " is no barrier"; });
  v.optional(s.value, "the value");
  v.optional(s.cta, "the block");
  bool wantsValue = s.op != MbarOp::Arrive && s.op != MbarOp::CpAsyncArrive;
  v.need(!wantsValue || s.value, "the value is missing");
}

void alloc(VerifyState &v, const AllocStmt &s) {
  if (!v.need(s.buffer != nullptr, "the buffer is missing"))
    return;
  const Buffer &b = *s.buffer;
  v.need(b.scope != Scope::Global || b.base,
         [&] { return "%" + b.name + " is global; only views of it are allocated"; });
  if (b.base)
    v.buffer(b.base, "the base");
  v.optional(s.init, "the initial value");
  if (s.init)
    v.need(s.init.dtype() == b.dtype, "the initial value has another dtype");
  v.buffer(b);
  bool needsLayout = b.scope == Scope::Fragment || b.scope == Scope::Shared;
  v.need(!v.isScheduled() || !needsLayout || b.base || b.layout,
         [&] { return "%" + b.name + " has no layout"; });
  v.need(!v.isThread() || b.scope != Scope::Fragment,
         [&] { return "%" + b.name + " is still a fragment"; });
}

} // namespace

void verifyStmt(VerifyState &v, const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Alloc:
    return alloc(v, cast<AllocStmt>(stmt));
  case StmtKind::Let:
    return let(v, cast<LetStmt>(stmt));
  case StmtKind::Load:
    return load(v, cast<LoadStmt>(stmt));
  case StmtKind::Store:
    return store(v, cast<StoreStmt>(stmt));
  case StmtKind::Atomic:
    return atomic(v, cast<AtomicStmt>(stmt));
  case StmtKind::Move:
    return move(v, cast<MoveStmt>(stmt));
  case StmtKind::Call:
    return call(v, cast<CallStmt>(stmt));
  case StmtKind::If:
    return v.condition(cast<IfStmt>(stmt).condition, "the condition", false);
  case StmtKind::For:
    return loop(v, cast<ForStmt>(stmt));
  case StmtKind::Barrier:
    return barrier(v, cast<BarrierStmt>(stmt));
  case StmtKind::Mbar:
    return mbar(v, cast<MbarStmt>(stmt));
  case StmtKind::Print: {
    const auto &s = cast<PrintStmt>(stmt);
    v.optional(s.value, "the value");
    v.optional(s.index, "the number of the element");
    if (s.buffer)
      v.buffer(s.buffer, "what is printed");
    return;
  }
  case StmtKind::Assert:
    return v.condition(cast<AssertStmt>(stmt).condition, "the condition", false);
  case StmtKind::Assume:
    return v.condition(cast<AssumeStmt>(stmt).condition, "the condition", false);
  default:
    if (isTileOp(stmt.kind))
      verifyTileOp(v, stmt);
  }
}

} // namespace tlc::ir
