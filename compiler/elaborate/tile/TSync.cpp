// Barriers, fences, and what the threads of a warp tell each other.
#include "elaborate/tile/TCall.h"
#include "ir/GridDependency.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

ir::BarrierStmt &barrier(TCall &c, ir::BarrierScope scope) {
  auto &stmt = c.builder().add<ir::BarrierStmt>();
  stmt.scope = scope;
  stmt.userWritten = true;
  return stmt;
}

bool outsideMap(TCall &c) { return c.tileOp(); }

bool barrierId(TCall &c, std::string_view parameter, Expr id) {
  std::optional<std::int64_t> n = id.constant();
  std::int64_t limit = c.e.target.limits.namedBarriers;
  if (!n || (*n >= 0 && *n < limit))
    return true;
  c.outOfRange(parameter, "a barrier from 0 to " + std::to_string(limit - 1), std::to_string(*n));
  return false;
}

Value syncThreads(TCall &c) {
  if (!outsideMap(c))
    return Value::none();
  Expr id = c.index("barrier_id"), count = c.index("arrive_count");
  if (!id) {
    barrier(c, ir::BarrierScope::Block);
    return Value::none();
  }
  if (!barrierId(c, "barrier_id", id))
    return Value::none();
  auto &stmt = barrier(c, ir::BarrierScope::Named);
  stmt.id = id;
  stmt.count = count ? count : c.context().int32(c.e.kernel->launch->threadCount());
  return Value::none();
}

Value namedArrive(TCall &c) {
  if (!outsideMap(c))
    return Value::none();
  Expr id = c.index("barrier_id"), count = c.index("thread_count");
  if (!id || !count || !barrierId(c, "barrier_id", id))
    return Value::none();
  auto &stmt = barrier(c, ir::BarrierScope::Named);
  stmt.mode = ir::BarrierMode::Arrive;
  stmt.id = id;
  stmt.count = count;
  return Value::none();
}

Value syncWarp(TCall &c) {
  if (outsideMap(c))
    barrier(c, ir::BarrierScope::Warp).mask = c.index("mask");
  return Value::none();
}

Value syncGrid(TCall &c) {
  if (!outsideMap(c))
    return Value::none();
  if (c.e.target.isGpu() && !c.e.target.has(Feature::CooperativeLaunch)) {
    c.e.report(diag::UnsupportedBuiltin, c.args.calleeRange, c.info.name,
               "needs a cooperative launch", c.e.target.name);
    return Value::none();
  }
  c.e.kernel->launch->cooperative = true;
  barrier(c, ir::BarrierScope::Grid);
  return Value::none();
}

Value storageSync(TCall &c) {
  if (!outsideMap(c))
    return Value::none();
  std::optional<std::size_t> i = c.choice("scope", {"shared", "shared.dyn", "warp", "global"}, "");
  if (i && *i == 3)
    return syncGrid(c);
  if (i)
    barrier(c, *i == 2 ? ir::BarrierScope::Warp : ir::BarrierScope::Block);
  return Value::none();
}

Value vote(TCall &c) {
  if (!outsideMap(c))
    return Value::error();
  Expr pred = toCondition(c.e, c.value("predicate"), c.rangeOf("predicate"));
  if (!pred)
    return Value::error();
  auto &stmt = barrier(c, ir::BarrierScope::Block);
  stmt.vote = c.info.id == Builtin::SyncthreadsCount ? ir::Vote::Count
              : c.info.id == Builtin::SyncthreadsAnd ? ir::Vote::And
                                                     : ir::Vote::Or;
  stmt.value = pred;
  stmt.result = c.context().var("vote", Scalar::Int32);
  return Value::expr(stmt.result);
}

// ---- mbarriers

Value mbar(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  std::optional<ir::Element> element = c.barrier(c.info.parameters[0].name);
  if (!element)
    return Value::none();
  ir::MbarOp op = ir::MbarOp::Arrive;
  std::string_view value, cta;
  switch (c.info.id) {
  case Builtin::MbarrierWaitParity:
    op = ir::MbarOp::Wait;
    value = "parity";
    break;
  case Builtin::MbarrierExpectTx:
    op = ir::MbarOp::Expect;
    value = "tx";
    break;
  case Builtin::MbarrierArriveExpectTx:
    op = ir::MbarOp::ArriveExpect;
    value = "tx";
    break;
  case Builtin::PtxInitBarrierThreadCount:
    op = ir::MbarOp::Init;
    value = "count";
    break;
  case Builtin::CpAsyncBarrierNoinc:
    op = ir::MbarOp::CpAsyncArrive;
    break;
  default:
    cta = "cta_id";
    break;
  }
  Expr v = value.empty() ? Expr() : c.index(value);
  if (!value.empty() && !v)
    return Value::none();
  Expr remote = cta.empty() ? Expr() : c.index(cta);
  auto &stmt = c.builder().add<ir::MbarStmt>();
  stmt.op = op;
  stmt.barrier = *element;
  stmt.value = v;
  stmt.cta = remote;
  return Value::none();
}

Value fence(TCall &c) {
  if (c.tileOp())
    c.builder().add<ir::FenceStmt>().what = c.info.id == Builtin::PtxFenceBarrierInit
                                                ? ir::FenceKind::MbarInit
                                                : ir::FenceKind::ProxyAsync;
  return Value::none();
}

Value cluster(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  ir::BarrierMode mode = c.info.id == Builtin::ClusterSync   ? ir::BarrierMode::Both
                         : c.info.id == Builtin::ClusterWait ? ir::BarrierMode::Wait
                                                             : ir::BarrierMode::Arrive;
  barrier(c, ir::BarrierScope::Cluster).mode = mode;
  return Value::none();
}

/// A register budget: of the role it stands in, else where it stands.
Value maxRegisters(TCall &c) {
  std::optional<std::int64_t> n = c.integer("reg_count");
  if (!n || !c.tileOp())
    return Value::none();
  if (*n < 24 || *n > 256 || *n % 8) {
    c.outOfRange("reg_count", "a multiple of 8 from 24 to 256 registers", std::to_string(*n));
    return Value::none();
  }
  if (ir::RoleStmt *role = state(c.e).role) {
    role->registers = *n;
    return Value::none();
  }
  bool up =
      c.info.id == Builtin::IncMaxNreg || (c.info.id == Builtin::SetMaxNreg && c.flag("is_inc"));
  auto &call = c.builder().add<ir::CallStmt>();
  call.callee = up ? "setmaxnreg_inc" : "setmaxnreg_dec";
  call.templateArgs = {*n};
  call.collective = ir::Collective::WarpGroup;
  call.hasEffect = true;
  return Value::none();
}

/// Kernels that overlap. Where they cannot, those of a stream follow each other anyway.
Value dependency(TCall &c) {
  const Target &target = c.e.target;
  if (!c.statement() || !target.isCuda() || target.architecture < 90)
    return Value::none();
  auto &call = c.builder().add<ir::CallStmt>();
  call.callee = c.info.id == Builtin::PdlSync ? ir::gridWait : ir::gridLaunch;
  call.hasEffect = true;
  return Value::none();
}

// ---- Warps

Value warpCall(TCall &c, std::string callee, DType type, std::vector<ir::Argument> args,
               ir::Collective collective = ir::Collective::Warp) {
  auto &call = c.builder().add<ir::CallStmt>();
  call.callee = std::move(callee);
  call.args = std::move(args);
  call.collective = collective;
  call.result = c.context().var(c.info.name, type);
  return Value::expr(call.result);
}

/// Registers move in words of 32 bits: bools and narrow ints travel as int32.
Value shuffle(TCall &c) {
  if (!c.statement())
    return Value::error();
  Expr value = c.scalar("value");
  Expr lane = c.index(c.info.index("srcLane") >= 0   ? "srcLane"
                      : c.info.index("warp_id") >= 0 ? "warp_id"
                      : c.info.index("offset") >= 0  ? "offset"
                                                     : "delta");
  std::optional<std::int64_t> width = c.integer("width", 32);
  if (!value || !lane || !width)
    return Value::error();
  std::int64_t warp = c.e.target.limits.warp;
  if (*width < 1 || *width > warp || (*width & (*width - 1))) {
    c.outOfRange("width", "a power of two up to " + std::to_string(warp), std::to_string(*width));
    return Value::error();
  }
  if (value.dtype().isBool())
    value = convert(c.e, value, Scalar::Int32);
  std::string callee;
  switch (c.info.id) {
  case Builtin::ShflXor:
    callee = "shfl_xor";
    break;
  case Builtin::ShflDown:
  case Builtin::TvmWarpShuffleDown:
    callee = "shfl_down";
    break;
  case Builtin::ShflUp:
  case Builtin::TvmWarpShuffleUp:
    callee = "shfl_up";
    break;
  default:
    callee = "shfl";
    break;
  }
  return warpCall(c, callee, value.dtype(), {value, lane, c.context().int32(*width)});
}

Value predicateVote(TCall &c) {
  if (!c.statement())
    return Value::error();
  Expr pred = toCondition(c.e, c.value("predicate"), c.rangeOf("predicate"));
  if (!pred)
    return Value::error();
  switch (c.info.id) {
  case Builtin::AnySync:
    return warpCall(c, "any", Scalar::Int32, {pred});
  case Builtin::AllSync:
    return warpCall(c, "all", Scalar::Int32, {pred});
  default:
    return warpCall(c, "ballot", Scalar::UInt64, {pred});
  }
}

Value activeMask(TCall &c) {
  return c.statement() ? warpCall(c, "active_mask", Scalar::UInt64, {}, ir::Collective::Thread)
                       : Value::error();
}

Value match(TCall &c) {
  if (!c.statement())
    return Value::error();
  Expr value = c.scalar("value");
  if (!value)
    return Value::error();
  return warpCall(c, c.info.id == Builtin::MatchAnySync ? "match_any" : "match_all", Scalar::UInt32,
                  {value});
}

Value warpReduce(TCall &c) {
  if (!c.statement())
    return Value::error();
  Expr value = c.scalar("value");
  if (!value)
    return Value::error();
  if (value.dtype().isBool())
    value = convert(c.e, value, Scalar::Int32);
  bool bits = c.info.id == Builtin::WarpReduceBitAnd || c.info.id == Builtin::WarpReduceBitOr;
  if (bits && value.dtype().isFloat()) {
    c.wrong("value", "an integer");
    return Value::error();
  }
  const char *callee = c.info.id == Builtin::WarpReduceSum      ? "warp_reduce_sum"
                       : c.info.id == Builtin::WarpReduceMax    ? "warp_reduce_max"
                       : c.info.id == Builtin::WarpReduceMin    ? "warp_reduce_min"
                       : c.info.id == Builtin::WarpReduceBitAnd ? "warp_reduce_and"
                                                                : "warp_reduce_or";
  return warpCall(c, callee, value.dtype(), {value});
}

/// Position of the n-th set bit: n counted from `base`, forwards or backwards.
Value findNthSet(TCall &c) {
  if (!c.statement())
    return Value::error();
  Expr mask = c.index("mask"), base = c.index("base"), offset = c.index("offset");
  if (!mask || !base || !offset)
    return Value::error();
  return warpCall(c, "find_nth_set", Scalar::Int32,
                  {c.context().cast(Scalar::UInt32, mask), base, offset}, ir::Collective::Thread);
}

/// Indices within a block, from the linear thread index.
Value warpIndex(TCall &c) {
  if (!requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  std::optional<std::int64_t> warp = c.integer("warp_size", c.e.target.limits.warp);
  if (!warp || *warp < 1)
    return Value::error();
  Expr tid = c.e.kernel->launch->tid;
  if (c.info.id == Builtin::GetLaneIdx)
    return Value::expr(ir::floorMod(tid, *warp));
  if (c.info.id != Builtin::GetWarpGroupIdx)
    return Value::expr(ir::floorDiv(tid, *warp));
  std::optional<std::int64_t> group = c.integer("warps_per_group", c.e.target.limits.warpsPerGroup);
  return group && *group > 0 ? Value::expr(ir::floorDiv(tid, *warp * *group)) : Value::error();
}

/// True in one thread of each `thread_extent`; 0: of the block.
Value elect(TCall &c) {
  std::optional<std::int64_t> n = c.integer("thread_extent");
  if (!n || !requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  Expr tid = c.e.kernel->launch->tid;
  return Value::expr(ir::equals(*n > 0 ? ir::floorMod(tid, *n) : tid, 0));
}

Value clusterRank(TCall &c) {
  return c.statement() ? warpCall(c, "cluster_rank", Scalar::Int32, {}, ir::Collective::Thread)
                       : Value::error();
}

} // namespace

void addSync(Handlers &t) {
  handle(t, Builtin::SyncThreads, syncThreads);
  handle(t, Builtin::NamedBarrierArrive, namedArrive);
  handle(t, Builtin::SyncWarp, syncWarp);
  handle(t, Builtin::SyncGrid, syncGrid);
  handle(t, Builtin::SyncGlobal, syncGrid);
  handle(t, Builtin::TvmStorageSync, storageSync);
  for (Builtin id : {Builtin::SyncthreadsCount, Builtin::SyncthreadsAnd, Builtin::SyncthreadsOr})
    handle(t, id, vote);
  for (Builtin id :
       {Builtin::MbarrierWaitParity, Builtin::MbarrierArrive, Builtin::MbarrierExpectTx,
        Builtin::MbarrierArriveExpectTx, Builtin::PtxInitBarrierThreadCount,
        Builtin::PtxArriveClusterBarrier, Builtin::CpAsyncBarrierNoinc})
    handle(t, id, mbar);
  handle(t, Builtin::PtxFenceBarrierInit, fence);
  handle(t, Builtin::FenceProxyAsync, fence);
  for (Builtin id : {Builtin::ClusterSync, Builtin::ClusterArrive, Builtin::ClusterArriveRelaxed,
                     Builtin::ClusterWait})
    handle(t, id, cluster);
  for (Builtin id : {Builtin::SetMaxNreg, Builtin::IncMaxNreg, Builtin::DecMaxNreg})
    handle(t, id, maxRegisters);
  handle(t, Builtin::BlockRankInCluster, clusterRank);
  handle(t, Builtin::PdlTrigger, dependency);
  handle(t, Builtin::PdlSync, dependency);
}

void addWarp(Handlers &t) {
  for (Builtin id :
       {Builtin::ShflSync, Builtin::ShflXor, Builtin::ShflDown, Builtin::ShflUp,
        Builtin::TvmWarpShuffle, Builtin::TvmWarpShuffleUp, Builtin::TvmWarpShuffleDown})
    handle(t, id, shuffle);
  for (Builtin id : {Builtin::AnySync, Builtin::AllSync, Builtin::BallotSync, Builtin::Ballot})
    handle(t, id, predicateVote);
  handle(t, Builtin::ActiveMask, activeMask);
  handle(t, Builtin::MatchAnySync, match);
  handle(t, Builtin::MatchAllSync, match);
  for (Builtin id : {Builtin::WarpReduceSum, Builtin::WarpReduceMax, Builtin::WarpReduceMin,
                     Builtin::WarpReduceBitAnd, Builtin::WarpReduceBitOr})
    handle(t, id, warpReduce);
  handle(t, Builtin::Fns, findNthSet);
  for (Builtin id : {Builtin::GetLaneIdx, Builtin::GetWarpIdx, Builtin::GetWarpIdxSync,
                     Builtin::GetWarpGroupIdx})
    handle(t, id, warpIndex);
  handle(t, Builtin::ShuffleElect, elect);
}

} // namespace tlc::elaborate
