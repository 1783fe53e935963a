// T.comm_reducer and T.tvm_thread_allreduce: a value of each thread combined over one axis of the
// block.
#include "elaborate/tile/TLoops.h"
#include "elaborate/tile/TTiles.h"

namespace tlc::elaborate {

using ir::Expr;
using ir::ReduceOp;
using sema::Builtin;

namespace {

/// Which reduction a function of two values is: told from what it makes of two variables.
Value commReducer(TCall &c) {
  Expr x = c.context().var("x", Scalar::Float32), y = c.context().var("y", Scalar::Float32);
  Value result =
      c.e.callWith(c.value("combiner"), {Value::expr(x), Value::expr(y)}, c.rangeOf("combiner"));
  if (result.isError())
    return result;
  if (result.isExpr())
    for (ReduceOp op : {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min})
      if (result.asExpr() == combineValues(c.context(), op, x, y) ||
          result.asExpr() == combineValues(c.context(), op, y, x)) {
        auto *object = c.e.heap.make<CommReducer>();
        object->op = op;
        return Value::object(object);
      }
  c.wrong("combiner", "a sum, maximum or minimum of two values");
  return Value::error();
}

/// Butterflies within groups of `extent` neighbouring lanes.
Expr byShuffles(TCall &c, ReduceOp op, Expr value, std::int64_t extent) {
  for (std::int64_t distance = extent / 2; distance > 0; distance /= 2) {
    auto &call = c.builder().add<ir::CallStmt>();
    call.callee = "shfl_xor";
    call.args = {value, c.context().int32(distance), c.context().int32(extent)};
    call.collective = ir::Collective::Warp;
    call.result = c.context().var("other", value.dtype());
    value = combineValues(c.context(), op, value, call.result);
  }
  return value;
}

/// Each thread puts its value into shared memory and adds up its row.
Expr byMemory(TCall &c, ReduceOp op, Expr value, unsigned axis) {
  ir::Launch &launch = *c.e.kernel->launch;
  ir::Context &ctx = c.context();
  std::int64_t stride = 1;
  for (unsigned d = 0; d < axis; ++d)
    stride *= launch.threads[d];
  ir::Buffer &slots = c.e.kernel->function.addBuffer("partial", value.dtype(), ir::Scope::Shared,
                                                     {ctx.int32(launch.threadCount())}, c.range);
  ir::Buffer &sum =
      c.e.kernel->function.addBuffer("combined", value.dtype(), ir::Scope::Local, {}, c.range);
  c.builder().alloc(slots);
  c.builder().store(slots, {launch.tid}, value);
  c.builder().barrier();
  Expr first = launch.tid - threadIndex(c.e, axis, c.range) * stride;
  c.builder().alloc(sum).init = c.builder().load("partial", slots, {first});
  c.builder().loop("k", ctx.int32(1), ctx.int32(launch.threads[axis]), ir::ForKind::Serial,
                   [&](Expr k) {
                     Expr x = c.builder().load("partial", slots, {first + k * stride});
                     Expr before = c.builder().load("combined", sum, {});
                     c.builder().store(sum, {}, combineValues(ctx, op, before, x));
                   });
  c.builder().barrier();
  return c.builder().load("combined", sum, {});
}

/// tvm_thread_allreduce(size, value, condition, result[0], thread): every thread of the axis gets
/// the combination.
Value threadAllreduce(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  std::optional<ReduceOp> op = state(c.e).threadReduction;
  if (!op) {
    c.e.report(diag::NoReducer, c.range);
    return Value::none();
  }
  std::optional<ir::Element> target = c.element("result");
  std::vector<CallArg> threads = c.rest();
  Expr thread =
      threads.size() == 1 ? toIndex(c.e, threads[0].value, threads[0].range, "a thread") : Expr();
  if (!target)
    return Value::none();
  ir::Launch &launch = *c.e.kernel->launch;
  unsigned axis = 3;
  for (unsigned d = 0; d < 3 && thread; ++d)
    if (threadIndex(c.e, d, c.range) == thread)
      axis = std::min(axis, d);
  if (axis == 3) {
    c.wrong("threads", "one thread index of the kernel",
            threads.empty() ? Value::none() : threads[0].value, c.range);
    return Value::none();
  }
  Expr value = toExpr(c.e, c.value("value"), target->buffer->dtype, c.rangeOf("value"));
  if (!value)
    return Value::none();
  std::int64_t extent = launch.threads[axis];
  bool butterfly = c.e.target.isGpu() && axis == 0 && (extent & (extent - 1)) == 0 &&
                   extent <= c.e.target.limits.warp && value.dtype().bits() >= 16;
  Expr combined = butterfly ? byShuffles(c, *op, value, extent) : byMemory(c, *op, value, axis);
  store(c.e, *target, Value::expr(combined), c.range);
  return Value::none();
}

} // namespace

void addThreadReductions(Handlers &t) {
  handle(t, Builtin::CommReducer, commReducer);
  handle(t, Builtin::TvmThreadAllreduce, threadAllreduce);
}

} // namespace tlc::elaborate
