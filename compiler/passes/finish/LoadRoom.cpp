// load-room: threads that never wait for others get registers for loads that are on their way.
//
//   launch @main grid(%n) threads(128) {     =>    launch @main … threads(128) min_blocks(4) {
//     for %k in 0 .. 16 {                              as before
//       move %A![… + %k * 32] -> %A_v![0] count(8)
//
// A loop's loads can all be asked for before the first of them is used, as far as there are
// registers to hold them. The assembler decides how many that are, and a kernel of which nobody
// says how many blocks a multiprocessor is to hold gets few registers, so that many blocks fit: it
// asks for three vectors at a time where sixteen are to come. That many blocks do not make up for
// it where memory is what limits: on an H200 `min_blocks` of 512 threads (128 registers for each)
// is worth up to 45 % where threads only load, compute and store. Where threads meet at barriers,
// blocks beside each other are what fills the time while one of them waits, and the same words cost
// up to 7 %; so those are left alone, as are matrix products, whose registers the planner counts.
//
// Where a thread's own arrays take more than half of its share, the blocks are as few as all the
// registers that a thread may have allow. --schedule=as-written says nothing, `min_blocks N` of a
// schedule, or of the program, is followed.
//
// Why here: barriers are there, and nothing behind it adds loads.
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/plan/Footprint.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Threads of a multiprocessor whose loads keep its share of the memory busy, with half of the
/// registers that each can have.
constexpr std::int64_t enoughThreads = 512;
/// Loads of a thread from which on it matters how many are on their way.
constexpr std::int64_t fewLoads = 4;
/// Of a loop whose trips are not known.
constexpr std::int64_t someTrips = 8;

bool loadsGlobal(const Stmt &stmt) {
  const auto *load = dynCast<LoadStmt>(&stmt);
  const auto *move = dynCast<MoveStmt>(&stmt);
  const Buffer *from = load ? load->source.buffer : move ? move->source.buffer : nullptr;
  return from && from->storage()->scope == Scope::Global;
}

bool exchanges(const Stmt &stmt) {
  const auto *call = dynCast<CallStmt>(&stmt);
  return call && call->collective != Collective::Thread;
}

bool contains(const Block &block, bool (*what)(const Stmt &)) {
  bool found = false;
  walk(block, [&](const Stmt &stmt) {
    found = found || what(stmt);
    return !found;
  });
  return found;
}

/// Whether a thread goes its way without waiting for another, or for what it has started.
bool waitsForNobody(const Launch &launch) {
  bool alone = launch.extraThreads == 0;
  walk(launch.body, [&](const Stmt &stmt) {
    const auto *barrier = dynCast<BarrierStmt>(&stmt);
    const auto *call = dynCast<CallStmt>(&stmt);
    const auto *move = dynCast<MoveStmt>(&stmt);
    alone = alone && !(barrier && barrier->scope != BarrierScope::Warp) && !isa<RoleStmt>(stmt) &&
            !isa<MbarStmt>(stmt) && !isa<AsyncStmt>(stmt) && !isa<WhileStmt>(stmt) &&
            !(move && move->async);
    // Matrix instructions take arrays, shuffles values.
    if (call && (call->isExtern || exchanges(stmt)))
      alone = alone && !call->isExtern && bool(call->result);
    if (const auto *loop = dynCast<ForStmt>(&stmt))
      alone = alone && !(contains(loop->body, loadsGlobal) && contains(loop->body, exchanges));
    return alone;
  });
  return alone;
}

/// Loads from global memory of a thread that goes through all loops.
std::int64_t globalLoads(const Block &block) {
  std::int64_t sum = 0;
  for (const StmtPtr &stmt : block) {
    std::int64_t times = 1;
    if (const auto *loop = dynCast<ForStmt>(stmt.get())) {
      auto lo = loop->lo.constant(), hi = loop->hi.constant();
      times = lo && hi ? std::clamp<std::int64_t>(*hi - *lo, 0, fewLoads) : someTrips;
    }
    sum += loadsGlobal(*stmt);
    std::int64_t inside = 0;
    forEachBlock(std::as_const(*stmt), [&](const Block &inner) { inside += globalLoads(inner); });
    sum += times * std::min(inside, fewLoads); // more makes no difference
  }
  return sum;
}

std::int64_t blocksFor(const Launch &launch, const Limits &limits) {
  const std::int64_t threads = launch.threadCount();
  const std::int64_t share = limits.registersPerSm / enoughThreads;
  const std::int64_t inUse = arrayRegisters(launch.body) > share / 2
                                 ? limits.registersPerSm / (limits.registersPerThread + 1)
                                 : enoughThreads;
  return std::clamp<std::int64_t>(inUse / threads, 1, limits.blocksPerSm);
}

} // namespace

void loadRoom(Function &function, PassContext &context) {
  if (!context.target.isCuda() || function.options.hintsAreBinding)
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    if (launch.minBlocksPerSm || !waitsForNobody(launch) || globalLoads(launch.body) < fewLoads)
      continue;
    launch.minBlocksPerSm = blocksFor(launch, context.target.limits);
    if (LaunchPlan *plan = context.schedule.launch(i)) {
      plan->minBlocks = launch.minBlocksPerSm;
      plan->minBlocksReason = "nobody waits for others: registers for loads on their way";
    }
  }
}

} // namespace tlc::passes
