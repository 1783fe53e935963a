// Who executes collective statements. See LowerRole.h.
#include "passes/lower/LowerRole.h"

#include "ir/Walk.h"
#include "passes/infer/LayoutExpr.h"

namespace tlc::passes {

using namespace ir;

namespace {

using Lower = std::function<bool(StmtPtr &, Builder &, const RoleThreads &)>;

void lowerBlock(Function &function, Block &block, const Target &target, Expr index, Index threads,
                bool wholeBlock, const Lower &lower) {
  Block out;
  Builder builder(function, out);
  for (StmtPtr &stmt : block) {
    builder.range = stmt->range;
    Index count = target.collectiveThreads(threads);
    if (lower(stmt, builder, {count == 1 ? function.context->int32(0) : index, count, wholeBlock}))
      continue;
    auto *role = dynCast<RoleStmt>(stmt.get());
    forEachBlock(*stmt, [&](Block &b) {
      lowerBlock(function, b, target, role ? indexInRole(*role, index) : index,
                 role ? role->count : threads, wholeBlock && !role, lower);
    });
    out.push_back(std::move(stmt));
  }
  block = std::move(out);
}

} // namespace

Expr indexInRole(const RoleStmt &role, Expr outer) {
  const Expr index = outer - role.first;
  return role.teams > 1 ? floorMod(index, role.count) : index;
}

void lowerInRoles(Function &function, const Target &target, const Lower &lower) {
  for (auto &launch : function.launches)
    lowerBlock(function, launch->body, target, launch->tid, launch->threadCount(), true, lower);
}

Expr firstHolder(const Layout &fragment, Expr thread) {
  DigitSet used = 0;
  for (const OutputAxis &o : fragment.outputs)
    for (const Term &t : o.terms)
      used |= t.digits;
  Expr guard;
  for (int d = 0; d < fragment.digitCount(); ++d) {
    auto [axis, place] = fragment.place(d);
    const InputAxis &input = fragment.inputs[static_cast<std::size_t>(axis)];
    if (input.name != "thread" || (used >> d & 1))
      continue;
    Expr digit = floorDiv(thread, place);
    if (place * fragment.radix(d) < input.size())
      digit = floorMod(digit, fragment.radix(d));
    guard = logicalAnd(guard, equals(digit, 0));
  }
  return guard;
}

Expr insideTile(const Layout &fragment, std::span<const Index> shape, Expr reg, Expr thread) {
  Expr guard;
  std::vector<Expr> inputs;
  for (const InputAxis &a : fragment.inputs)
    inputs.push_back(a.name == "reg" ? reg : thread);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const OutputAxis &o = fragment.outputs.at(d);
    if (o.size > shape[d])
      guard = logicalAnd(guard, lessThan(layoutExpr(fragment, o, inputs), shape[d]));
  }
  return guard;
}

} // namespace tlc::passes
