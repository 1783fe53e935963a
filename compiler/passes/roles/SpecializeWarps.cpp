// specialize-warps: one warp loads, the others compute.
//
//   for %k in 0 .. %T pipelined stages(4) {          the program
//     copy %A[%k] -> %A_s
//     gemm %A_s, … -> %C
//   }
//     =>
//   alloc %A_s: … versions(4) ; alloc %full, %empty: barrier[4]
//   role 128 : +128 {                            the producer
//     role 0 : +1 {
//       for %k in 0 .. %T {
//         mbar wait %empty[%slot]
//         copy %A[%k] -> %A_s@%slot tma barrier(%full[%slot]) ; mbar arrive %full[%slot]
//   role 0 : +128 {                              the program's threads
//     for %k in 0 .. %T {
//       mbar wait %full[%slot]
//       gemm %A_s@%slot, … -> %C async
//       async wgmma wait(1) ; mbar arrive %empty[the slot before]
//
// The block gets a warpgroup more, of which one thread issues all tensor copies, as far ahead as
// the rings of tiles allow. Tiles whose rows start at no multiple of 16 bytes come by cp.async, of
// which all threads of that warpgroup issue their part and arrive when it is there:
//
//   role 128 : +128 {
//     for %k in 0 .. %T {
//       mbar wait %empty[%slot]
//       role 0 : +1 { copy %A[%k] -> %A_s@%slot tma barrier(%full[%slot]) ; mbar arrive … }
//       copy %B[%k] -> %B_s@%slot async
//       mbar cp_async_arrive %full[%slot]
//
// A tile that is computed from such tiles, as weights of few bits are, is the work of one or two
// more warpgroups, which consume their rings and fill the one of the result:
//
//   role 256 : +128 {
//     for %k in 0 .. %T {
//       mbar wait %packed_full[%slot] ; copy %packed@%slot -> %W_l ; mbar arrive %packed_empty[…]
//       map … %W_l …
//       mbar wait %W_empty[%slot] ; copy %W_l -> %W_s@%slot ; fence proxy_async ; mbar arrive …
//
// Either repeats the control flow and scalars that it needs (Channels.h); everything else stays
// with the program's own threads, whose indices do not change. Each ring has a position and a phase
// bit, which run on from loop to loop, so nothing is ever initialised twice: consumers wait on
// `full` with the bit, the producer on `empty` with its contrary, so that the first round finds the
// ring free. Where a loop does nothing with its tiles but multiply them, one product stays in
// flight while the tile before is given back.
//
// A chain of two products whose second one is wide is cut in two (SplitConsumers.h): one more
// warpgroup does what does not touch the wide sums, and hands what the others need through rings of
// shared memory, whose barriers are counted by the warps of both sides.
//
//   role 384 : +128 {                            the front
//     for %k in 0 .. %T {
//       mbar wait %K_full[%slot] ; gemm %Q_s, %K_s@%slot -> %S ; … ; mbar arrive %K_empty[%slot]
//       mbar wait %P_empty[0] ; copy %S -> %P_s ; mbar arrive %P_full[0]
//   role 0 : +256 {                              the back
//     for %k in 0 .. %T {
//       mbar wait %P_full[0] ; copy %P_s -> %P_l ; mbar arrive %P_empty[0]
//       mbar wait %K_full[%slot] ; gemm %P_l, %K_s@%slot -> %O ; mbar arrive %K_empty[%slot]
//
// Tiles that two warpgroups take in turns (alternate-tiles) have a role with two teams (Turns.h).
//
// Why here: before pipeline, which would make the same loops wait for their own copies, and before
// layouts, as versions are no dims of a layout; after the plan, which says how many stages there
// are. Reasons to leave a launch alone are the plan's to report.
#include "analysis/Copies.h"
#include "analysis/Effects.h"
#include "ir/Builder.h"
#include "ir/GridDependency.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/roles/ConsumerSides.h"
#include "passes/roles/RoleRegisters.h"
#include "passes/roles/Turns.h"
#include "support/Check.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

class Specializer {
public:
  Specializer(Function &function, Launch &launch, PassContext &pass, ChannelPlan plan,
              std::optional<ConsumerSplit> split)
      : function(function), context(*function.context), launch(launch), pass(pass),
        plan(std::move(plan)), split(std::move(split)), rings(function, launch, pass.target) {}

  void run() {
    Block before, producer, second, consumer;
    const std::int64_t computing = launch.threadCount(), group = pass.target.limits.groupThreads();
    const RoleRegisters registers = registersOf(launch, plan, split.has_value(), pass.target);
    converters = registers.converting * group;
    std::optional<ConsumerSides> sides;
    if (launch.alternates)
      turns.emplace(function, launch, pass.target, rings);
    if (split)
      sides.emplace(function, launch, pass.target, rings, plan, *split);
    else
      makeRings();
    rings.hoistTiles(before);
    if (turns)
      turns->initialise(before);
    rings.initialise(before);
    // All sides need it, and none can begin earlier than the first of them.
    if (removeGridWaits(launch.body)) {
      auto &wait = Builder(function, before).add<CallStmt>();
      wait.callee = gridWait;
      wait.hasEffect = true;
    }
    buildProducer(producer);
    if (converters)
      second = partOf(Side::Converts, [&](Builder &b) { converterBlock(launch.body, b); });
    if (sides) {
      second = sides->build(false);
      consumer = sides->build(true);
    } else {
      buildConsumer(consumer);
    }
    const std::int64_t all = launch.computingThreads(), more = sides ? group : converters;
    launch.extraThreads = all - computing + group + more;
    launch.body = std::move(before);
    launch.body.push_back(role(all, group, registers.producer, producer));
    if (more)
      launch.body.push_back(
          role(all + group, more, sides ? registers.front : registers.converter, second));
    launch.body.push_back(role(0, computing, registers.consumer, consumer));
    if (turns) {
      auto &both = cast<RoleStmt>(*launch.body.back());
      both.teams = all / computing;
      both.team = turns->team();
    }
  }

private:
  // ---- Rings

  void makeRings() {
    const Limits &limits = pass.target.limits;
    const std::int64_t ours = launch.threadCount() / limits.warp, theirs = converters / limits.warp;
    for (const Channel &channel : plan.channels)
      rings.make(channel, context.int32(arrivals(channel)), channel.forConversion ? theirs : ours);
  }

  enum class Side : std::uint8_t { Loads, Converts, Computes };

  static bool takesPart(const Channel &channel, Side side) {
    switch (side) {
    case Side::Loads:
      return !channel.copies.empty();
    case Side::Converts:
      return channel.forConversion || !channel.makers.empty();
    case Side::Computes:
      return !channel.forConversion;
    }
    return false;
  }

  /// The side's own copies of the positions in its rings.
  void begin(Builder &b, Side side) {
    rings.beginSide(
        b, [&](const Channel &channel) { return takesPart(channel, side); },
        [&](const Channel &channel) { return side == Side::Computes && multipliesOnly(channel); });
  }

  // ---- The producer

  /// A side's part of the launch, with names of its own.
  Block partOf(Side side, const std::function<void(Builder &)> &build) {
    Block body;
    Builder b(function, body);
    b.range = launch.range;
    begin(b, side);
    build(b);
    Substitution renamed;
    return freshCopy(function, body, renamed);
  }

  void buildProducer(Block &out) {
    Block fresh = partOf(Side::Loads, [&](Builder &b) { producerBlock(launch.body, b); });
    if (plan.byThreads())
      out = std::move(fresh);
    else
      out.push_back(role(0, 1, 0, fresh));
    meet(out);
  }

  /// Where the program's threads meet those of other blocks, all of a block are wanted: the
  /// producer's come when they have loaded everything.
  void meet(Block &out) {
    Builder b(function, out);
    b.range = launch.range;
    for (const StmtPtr &stmt : launch.body)
      if (isMeeting(*stmt)) {
        b.barrier().scope = BarrierScope::Warp; // behind what one lane has done
        b.add(cloneStmt(*stmt));
      }
  }

  /// Arrivals that fill a tile: of each thread that copies, of the one that issues tensor copies,
  /// and of the warps that compute.
  std::int64_t arrivals(const Channel &channel) const {
    const std::int64_t group = pass.target.limits.groupThreads();
    bool tensors = channel.byThreads.size() < channel.copies.size();
    return (tensors ? 1 : 0) + (channel.byThreads.empty() ? 0 : group) +
           (channel.makers.empty() ? 0 : converters / pass.target.limits.warp);
  }

  /// What the producer runs of a block, appended to the builder's.
  void producerBlock(const Block &block, Builder &b) {
    std::unordered_map<const Ring *, Position> open;
    for (const StmtPtr &stmt : block) {
      b.range = stmt->range;
      if (Ring *ring = rings.filledBy(*stmt)) {
        if (open.emplace(ring, Position{}).second) {
          open[ring] = rings.position(b, *ring);
          rings.waitEmpty(b, *ring, open[ring]);
        }
        load(b, cast<CopyStmt>(*stmt), *ring, open[ring]);
      } else if (plan.control.count(stmt.get())) {
        repeat(*stmt, b, [&](const Block &inner) { producerBlock(inner, b); });
      }
    }
  }

  /// A statement of the program's control, with what `inside` makes of its blocks.
  static void repeat(const Stmt &stmt, Builder &b,
                     const std::function<void(const Block &)> &inside) {
    StmtPtr copy = refilled(stmt, b, inside);
    if (auto *loop = dynCast<ForStmt>(copy.get()))
      makeSerial(*loop);
    b.add(std::move(copy));
  }

  void load(Builder &b, const CopyStmt &source, Ring &ring, Position at) {
    const Channel &channel = *ring.channel;
    if (&source != channel.copies.back())
      return; // all at once, where everything is known that they depend on
    Block tensors, pieces;
    for (std::int64_t part = 0; part < ring.parts; ++part) {
      for (const CopyStmt *copy : channel.copies)
        (channel.byThreads.count(copy) ? pieces : tensors)
            .push_back(started(*copy, ring, at, part));
      if (!tensors.empty()) // they announce their bytes themselves
        b.in(tensors, [&] { rings.mbar(b, MbarOp::Arrive, rings.full(ring, at, part)); });
    }
    if (plan.byThreads() && !tensors.empty())
      b.add(role(0, 1, 0, tensors));
    else
      std::move(tensors.begin(), tensors.end(), std::back_inserter(b.block()));
    if (!pieces.empty()) {
      std::move(pieces.begin(), pieces.end(), std::back_inserter(b.block()));
      rings.mbar(b, MbarOp::CpAsyncArrive, rings.full(ring, at));
    }
    rings.advance(b, ring, at);
  }

  /// The copy as the producer starts it.
  StmtPtr started(const CopyStmt &source, const Ring &ring, Position at, std::int64_t part) const {
    StmtPtr stmt = cloneStmt(source);
    auto &copy = cast<CopyStmt>(*stmt);
    copy.async = true;
    if (ring.parts > 1) {
      copy.source = Rings::partOf(copy.source, part, ring.parts);
      copy.target = Rings::partOf(copy.target, part, ring.parts);
    }
    copy.target.version = rings.version(ring, at);
    if (!ring.channel->byThreads.count(&source)) {
      copy.copyKind = CopyKind::Tma;
      copy.barrier = rings.full(ring, at, part);
    }
    return stmt;
  }

  // ---- Those who compute tiles

  void converterBlock(const Block &block, Builder &b) {
    std::unordered_map<const Ring *, Position> open;
    for (const StmtPtr &stmt : block) {
      b.range = stmt->range;
      const Stmt *here = stmt.get();
      if (!plan.converting.count(here)) {
        if (plan.isOwn(*here))
          b.add(cloneStmt(*here));
        else if (plan.control.count(here))
          repeat(*here, b, [&](const Block &inner) { converterBlock(inner, b); });
        continue;
      }
      for (Ring &ring : rings) {
        const Channel &channel = *ring.channel;
        bool reads = channel.forConversion && channel.firstReader == here;
        bool makes = !channel.makers.empty() && channel.makers.front() == here;
        if (!reads && !makes)
          continue;
        Position at = open[&ring] = rings.position(b, ring);
        if (reads)
          rings.waitFull(b, ring, at);
        else
          rings.waitEmpty(b, ring, at);
      }
      StmtPtr copy = cloneStmt(*here);
      for (auto &[ring, at] : open)
        rings.useVersion(*copy, *ring, at);
      b.add(std::move(copy));
      for (Ring &ring : rings) {
        const Channel &channel = *ring.channel;
        bool read = channel.forConversion && channel.lastReader == here;
        bool made = !channel.makers.empty() && channel.makers.back() == here;
        if (!read && !made)
          continue;
        Position at = open.at(&ring);
        if (made) // for products, which read another way
          b.add<FenceStmt>().what = FenceKind::ProxyAsync;
        if (read)
          rings.giveBack(b, ring, at.slot);
        else
          rings.announce(b, ring, at.slot);
        rings.advance(b, ring, at);
        open.erase(&ring);
      }
    }
  }

  // ---- The consumers

  void buildConsumer(Block &out) {
    Builder b(function, out);
    b.range = launch.range;
    begin(b, Side::Computes);
    if (turns)
      turns->begin(b, roundsOfTile());
    Block body = std::move(launch.body);
    consumerBlock(body);
    if (turns)
      turns->takeEveryOther(body);
    for (StmtPtr &stmt : body)
      out.push_back(std::move(stmt));
  }

  void consumerBlock(Block &block) {
    Block out;
    Builder b(function, out);
    std::unordered_map<const Ring *, Position> open;
    for (StmtPtr &stmt : block) {
      b.range = stmt->range;
      const Stmt *here = stmt.get();
      if (rings.filledBy(*here) || plan.converting.count(here) || plan.isOwn(*here))
        continue;
      for (Ring &ring : rings)
        if (ring.channel->firstReader == here) {
          open[&ring] = rings.position(b, ring);
          rings.waitFull(b, ring, open[&ring]);
        }
      for (auto &[ring, at] : open)
        rings.useVersion(*stmt, *ring, at);
      bool drains = endsMultiplying(*stmt);
      auto *loop = dynCast<ForStmt>(stmt.get());
      const bool turn = turns && loop && readsRings(*loop);
      forEachBlock(*stmt, [&](Block &inner) { consumerBlock(inner); });
      if (loop)
        makeSerial(*loop);
      const Expr trips = turn ? tripCount(*loop) : Expr();
      if (turn)
        turns->wait(b);
      b.add(std::move(stmt));
      if (turn)
        turns->pass(b);
      // The last tile is given back in the first round after it: a branch between this wait and
      // what reads the result would make the assembler serialise the products (its C7514).
      if (drains)
        b.wait(0, AsyncKind::Wgmma);
      if (turn)
        turns->finish(b, trips);
      for (Ring &ring : rings)
        if (ring.channel->lastReader == here) {
          release(b, ring, open.at(&ring), *here);
          rings.advance(b, ring, open.at(&ring));
          open.erase(&ring);
        }
    }
    block = std::move(out);
  }

  /// Whether the only statement that reads the channel's tiles is a product of warpgroups in a loop
  /// that does nothing else with its result: then the wait for it can lag by one round.
  bool multipliesOnly(const Channel &channel) {
    if (channel.firstReader != channel.lastReader || !isWarpgroupGemm(*channel.firstReader))
      return false;
    const auto &gemm = cast<GemmStmt>(*channel.firstReader);
    if (gemm.async || gemm.a.buffer->storage()->scope != Scope::Shared)
      return false;
    const Stmt *loop = loopAround(*channel.block);
    if (!loop || channel.stages < 2)
      return false;
    const Buffer *result = gemm.c.buffer->storage();
    for (const StmtPtr &stmt : *channel.block) {
      if (stmt.get() == &gemm)
        continue;
      analysis::Effects effects = analysis::effectsOf(*stmt);
      if (effects.breaks || effects.continues || effects.readsStorage(result) ||
          effects.writesStorage(result))
        return false;
      bool another = false;
      walk(std::as_const(*stmt),
           [&](const Stmt &deep) { return !(another |= isa<GemmStmt>(deep)); });
      if (another)
        return false;
    }
    return true;
  }

  /// The loop whose body is `block`; null: it is no loop's.
  const Stmt *loopAround(const Block &block) {
    const Stmt *found = nullptr;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (const auto *loop = dynCast<ForStmt>(&stmt); loop && &loop->body == &block)
        found = loop;
      return !found;
    });
    return found;
  }

  void release(Builder &b, Ring &ring, Position at, const Stmt &reader) {
    if (!ring.empty)
      return;
    if (!ring.held)
      return rings.giveBack(b, ring, at.slot);
    auto &gemm = cast<GemmStmt>(const_cast<Stmt &>(reader));
    gemm.async = true;
    b.wait(1, AsyncKind::Wgmma);
    rings.giveBackHeld(b, ring, at.slot);
  }

  /// Whether tiles are read in each round of a loop.
  bool readsRings(const ForStmt &loop) {
    return std::any_of(rings.begin(), rings.end(),
                       [&](const Ring &ring) { return ring.channel->block == &loop.body; });
  }

  /// Of the only loop that reads tiles.
  Expr roundsOfTile() {
    Expr trips;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (const auto *loop = dynCast<ForStmt>(&stmt); loop && readsRings(*loop))
        trips = tripCount(*loop);
      return !trips;
    });
    return trips;
  }

  /// Whether products of a loop are still in flight behind it.
  bool endsMultiplying(const Stmt &stmt) {
    const auto *loop = dynCast<ForStmt>(&stmt);
    return loop && std::any_of(rings.begin(), rings.end(), [&](const Ring &ring) {
             return ring.held && ring.channel->block == &loop->body;
           });
  }

  // ---- Roles

  StmtPtr role(std::int64_t first, std::int64_t count, std::int64_t registers, Block &body) {
    auto stmt = std::make_unique<RoleStmt>(launch.range);
    stmt->first = first;
    stmt->count = count;
    stmt->registers = registers;
    stmt->body = std::move(body);
    return stmt;
  }

  Function &function;
  Context &context;
  Launch &launch;
  PassContext &pass;
  ChannelPlan plan;
  std::optional<ConsumerSplit> split;
  std::int64_t converters = 0; ///< threads that compute tiles
  Rings rings;
  std::optional<Turns> turns; ///< if the launch alternates
};

/// What was planned for roles does not happen; blocks still walk over tiles.
void leaveWhole(Launch &launch, LaunchPlan &plan, const std::string &reason) {
  plan.specialize = plan.alternates = launch.alternates = false;
  plan.specializeReason = reason;
  plan.sharedAxis.reset();
  plan.persistentReason.clear();
}

} // namespace

void specializeWarps(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || !plan->specialize.value_or(false))
      continue;
    ChannelPlan channels = findChannels(function, launch, context.target, plan);
    if (!channels.reason.empty()) { // since fit had stages given up
      leaveWhole(launch, *plan, channels.reason);
      continue;
    }
    std::optional<ConsumerSplit> split;
    if (plan->split)
      split = findConsumerSplit(launch, channels);
    TLC_CHECK(!split || split->reason.empty(), "a planned split that cannot be made");
    const bool few = needsFewRegisters(launch, channels, *plan, context.target);
    Specializer(function, launch, context, std::move(channels), std::move(split)).run();
    if (few)
      launch.minBlocksPerSm = std::max<std::int64_t>(1, launch.minBlocksPerSm);
  }
}

} // namespace tlc::passes
