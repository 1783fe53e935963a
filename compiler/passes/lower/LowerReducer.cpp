// Deferred accumulators as thread code.
//
//   alloc %r: fragment f32[64] layout reg(4:d0*16) thread(8 16:d0)       8 holders of each element
//   reducer init sum %r                                 store %r[k] = 0
//   map … { reducer update sum %r element(%r[%i])   =>  %r[k] = %r[k] + %x           its own part
//           value(%x) }
//   reducer finalize sum %r                             %r[k] = %r[k] + shfl_xor(%r[k], 1) ; … 2 ;
//   4
//
// Between init and finalize the copies of an element hold parts of its value instead of the same
// value; the first holder begins with the initial value and the others with the neutral one.
// Accumulators for which infer-layouts found no such layout lie in shared memory, where updates are
// atomic.
#include "passes/lower/LowerReducer.h"

#include "ir/Walk.h"
#include "passes/lower/LowerReduceOps.h"
#include "passes/lower/LowerReduceThreads.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// Thread digits that no output depends on: they tell the copies of an element apart.
std::vector<int> freeThreadDigits(const Layout &home) {
  DigitSet used = 0;
  for (const OutputAxis &o : home.outputs)
    for (const Term &t : o.terms)
      used |= t.digits;
  std::vector<int> digits;
  for (int d = 0; d < home.digitCount(); ++d)
    if (home.inputs[static_cast<std::size_t>(home.place(d).first)].name == "thread" &&
        !(used >> d & 1))
      digits.push_back(d);
  return digits;
}

void init(ReducerStmt &s, const Folder &folder, Builder &b, const RoleThreads &threads) {
  Context &context = b.context();
  Buffer &r = *s.reducer;
  Expr neutral = context.cast(r.dtype, folder.neutral());
  Expr value = s.value ? context.cast(r.dtype, s.value) : neutral;
  if (Expr first = firstHolder(*r.storage()->layout, threads.index); first && value != neutral)
    value = context.select(first, value, neutral);
  b.unrolled("r", registerCount(r), [&](Expr reg) { b.store(registerElement(r, reg), value); });
}

void finalize(ReducerStmt &s, const Folder &folder, Builder &b, const RoleThreads &threads,
              const Target &target) {
  TLC_CHECK(!s.target.buffer, "a reducer that is finalized into a tile");
  Context &context = b.context();
  Buffer &r = *s.reducer;
  const Layout &home = *r.storage()->layout;
  std::vector<int> parts = freeThreadDigits(home);
  if (parts.empty())
    return;
  ThreadFold fold(b, folder, threads, target);
  for (int d : parts)
    fold.over(home.place(d).second, home.radix(d));
  Index registers = registerCount(r);
  Buffer &acc = b.function.addBuffer("acc", folder.dtype(), Scope::Local,
                                     {context.int32(registers)}, s.range);
  b.alloc(acc);
  b.unrolled("r", registers, [&](Expr reg) {
    b.store(registerElement(acc, reg), folder.prepareOld(b.load("s", registerElement(r, reg))));
  });
  fold.run(acc, registers, home, {}, r.name);
  b.unrolled("r", registers, [&](Expr reg) {
    b.store(registerElement(r, reg), context.cast(r.dtype, b.load("s", registerElement(acc, reg))));
  });
}

AtomicOp atomicOf(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum:
    return AtomicOp::Add;
  case ReduceOp::Max:
    return AtomicOp::Max;
  case ReduceOp::Min:
    return AtomicOp::Min;
  case ReduceOp::And:
    return AtomicOp::And;
  case ReduceOp::Or:
    return AtomicOp::Or;
  case ReduceOp::Xor:
    return AtomicOp::Xor;
  case ReduceOp::AbsSum:
  case ReduceOp::AbsMax:
    break;
  }
  TLC_UNREACHABLE("no reducer combines by absolute values");
}

} // namespace

void lowerReducer(ReducerStmt &s, Builder &b, const RoleThreads &threads, const Target &target) {
  TLC_CHECK(s.reducer->storage()->scope == Scope::Fragment, "a reducer that is no fragment");
  Folder folder(b.context(), s.op, false, s.reducer->dtype);
  if (s.action == ReducerAction::Init)
    init(s, folder, b, threads);
  else
    finalize(s, folder, b, threads, target);
}

void lowerUpdate(const ReducerStmt &s, Builder &b, bool together, Expr holder) {
  Context &context = b.context();
  DType type = s.element.buffer->dtype;
  Expr value = context.cast(type, s.value);
  if (together && s.element.buffer->storage()->scope == Scope::Shared) {
    auto &atomic = b.add<AtomicStmt>();
    atomic.op = atomicOf(s.op);
    atomic.target = s.element;
    atomic.value = value;
    atomic.predicate = holder;
    atomic.scope = MemoryScope::Block;
    return;
  }
  Folder folder(context, s.op, false, type);
  Expr old = folder.prepareOld(b.load("old", s.element));
  b.store(s.element, context.cast(type, folder.combine(old, folder.prepareOld(value))), holder);
}

bool lowerUpdates(Function &function, Block &block, bool together, Expr holder) {
  bool found = false;
  rewrite(block, [&](StmtPtr stmt, Block &out) {
    auto *update = dynCast<ReducerStmt>(stmt.get());
    if (!update)
      return out.push_back(std::move(stmt));
    found = true;
    Builder b(function, out);
    b.range = update->range;
    lowerUpdate(*update, b, together, holder);
  });
  return found;
}

} // namespace tlc::passes
