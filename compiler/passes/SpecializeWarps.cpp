// specialize-warps: one warp loads, the others compute.
//
//   for %k in 0 .. %T pipelined stages(4) {
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
// A tile that is computed from such tiles, as weights of few bits are, is the work of one more
// warpgroup, which consumes their rings and fills the one of the result:
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
// Why here: before pipeline, which would make the same loops wait for their own copies, and before
// layouts, as versions are no dims of a layout; after the plan, which says how many stages there
// are. Reasons to leave a launch alone are the plan's to report.
#include "analysis/Effects.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Channels.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/RoleRegisters.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

/// The barriers of a channel, and who stands where in its ring.
struct Ring {
  const Channel *channel = nullptr;
  Buffer *full = nullptr;
  Buffer *empty = nullptr;                  ///< null: filled once, never reused
  Buffer *slot = nullptr, *phase = nullptr; ///< of the side being built; null where constant
  Buffer *held =
      nullptr; ///< consumers that multiply behind their wait: the slot not yet given back
};

/// One step of a ring: which version, and the phase bit of its barriers.
struct Position {
  Expr slot, phase; ///< int32
};

class Specializer {
public:
  Specializer(Function &function, Launch &launch, PassContext &pass, ChannelPlan plan)
      : function(function), context(*function.context), launch(launch), pass(pass),
        plan(std::move(plan)) {}

  void run() {
    Block before, producer, converter, consumer;
    const std::int64_t computing = launch.threadCount(), group = pass.target.limits.groupThreads();
    const bool converts = !plan.converting.empty();
    const RoleRegisters registers = registersOf(launch, plan, pass.target);
    for (Channel &channel : plan.channels)
      makeRing(channel);
    hoistTiles(before);
    initialise(before);
    buildProducer(producer);
    if (converts)
      buildConverter(converter);
    buildConsumer(consumer);
    launch.extraThreads = converts ? 2 * group : group;
    launch.body = std::move(before);
    launch.body.push_back(role(computing, group, registers.producer, producer));
    if (converts)
      launch.body.push_back(role(computing + group, group, registers.converter, converter));
    launch.body.push_back(role(0, computing, registers.consumer, consumer));
  }

private:
  // ---- Rings

  void makeRing(const Channel &channel) {
    Ring ring;
    ring.channel = &channel;
    std::string name = channel.tiles.front()->name;
    SourceRange range =
        channel.copies.empty() ? channel.makers.front()->range : channel.copies.front()->range;
    Expr stages = context.int32(channel.stages);
    DType word(Scalar::UInt64);
    ring.full = &function.addBuffer(name + "_full", word, Scope::Barrier, {stages}, range);
    if (channel.repeats)
      ring.empty = &function.addBuffer(name + "_empty", word, Scope::Barrier, {stages}, range);
    for (Buffer *tile : channel.tiles)
      tile->versions = channel.stages;
    rings.push_back(ring);
  }

  /// Tiles of rings belong to both sides.
  void hoistTiles(Block &out) {
    std::unordered_set<const Buffer *> tiles;
    for (const Channel &channel : plan.channels)
      tiles.insert(channel.tiles.begin(), channel.tiles.end());
    rewrite(launch.body, [&](StmtPtr stmt, Block &kept) {
      auto *alloc = dynCast<AllocStmt>(stmt.get());
      bool hoist = alloc && tiles.count(alloc->buffer);
      (hoist ? out : kept).push_back(std::move(stmt));
    });
  }

  void initialise(Block &out) {
    Builder b(function, out);
    b.range = launch.range;
    for (Ring &ring : rings) {
      b.alloc(*ring.full);
      if (ring.empty)
        b.alloc(*ring.empty);
    }
    const Limits &limits = pass.target.limits;
    const std::int64_t ours = launch.threadCount() / limits.warp,
                       theirs = limits.groupThreads() / limits.warp;
    b.when(equals(launch.tid, 0), [&] {
      for (Ring &ring : rings)
        b.unrolled("i", ring.channel->stages, [&](Expr i) {
          mbar(b, MbarOp::Init, *ring.full, i, context.int32(arrivals(*ring.channel)));
          if (ring.empty)
            mbar(b, MbarOp::Init, *ring.empty, i,
                 blocksOf(ring) * (ring.channel->forConversion ? theirs : ours));
        });
      b.add<FenceStmt>().what = FenceKind::MbarInit;
    });
    BarrierStmt &ready = b.barrier();
    ready.userWritten = true; // what it orders are barriers, which insert-sync does not watch
    if (launch.clusterSize)
      ready.scope = BarrierScope::Cluster;
  }

  MbarStmt &mbar(Builder &b, MbarOp op, Buffer &barrier, Expr index, Expr value = {}) {
    auto &stmt = b.add<MbarStmt>();
    stmt.op = op;
    stmt.barrier = {&barrier, {index}, {}};
    stmt.value = value;
    return stmt;
  }

  /// Blocks whose consumers must be done with a tile before it is filled again: all of the cluster
  /// if one loads for all.
  Expr blocksOf(const Ring &ring) const {
    const auto &copies = ring.channel->copies;
    bool together = std::any_of(copies.begin(), copies.end(),
                                [](const CopyStmt *copy) { return bool(copy->multicast); });
    return together && launch.clusterSize ? launch.clusterSize : context.int32(1);
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

  /// The side's own copies of a ring's position, before its first use.
  void begin(Builder &b, Side side) {
    for (Ring &ring : rings) {
      ring.slot = ring.phase = ring.held = nullptr;
      if (!takesPart(*ring.channel, side))
        continue;
      DType i32(Scalar::Int32);
      std::string name = ring.channel->tiles.front()->name;
      auto variable = [&](const char *suffix, std::int64_t initial) {
        Buffer &buffer = function.addBuffer(name + suffix, i32, Scope::Local, {});
        b.alloc(buffer).init = context.int32(initial);
        return &buffer;
      };
      bool repeats = ring.channel->repeats;
      ring.slot = repeats && ring.channel->stages > 1 ? variable("_slot", 0) : nullptr;
      ring.phase = repeats ? variable("_phase", 0) : nullptr;
      if (side == Side::Computes && repeats && multipliesOnly(*ring.channel))
        ring.held = variable("_held", -1);
    }
  }

  Position position(Builder &b, const Ring &ring) {
    auto read = [&](Buffer *variable, const char *name) {
      return variable ? b.load(name, *variable, {}) : context.int32(0);
    };
    return {read(ring.slot, "slot"), read(ring.phase, "phase")};
  }

  void advance(Builder &b, const Ring &ring, Position at) {
    if (!ring.phase)
      return;
    Expr flipped = context.int32(1) - at.phase;
    if (!ring.slot) {
      b.store(*ring.phase, {}, flipped);
      return;
    }
    Expr next = at.slot + 1, wraps = equals(next, ring.channel->stages);
    b.store(*ring.phase, {}, context.select(wraps, flipped, at.phase));
    b.store(*ring.slot, {}, context.select(wraps, context.int32(0), next));
  }

  Expr version(const Ring &ring, Position at) const { return ring.slot ? at.slot : Expr(); }

  // ---- The producer

  void buildProducer(Block &out) {
    Block body;
    Builder b(function, body);
    b.range = launch.range;
    begin(b, Side::Loads);
    producerBlock(launch.body, b);
    Substitution renamed;
    Block fresh = freshCopy(function, body, renamed);
    if (plan.byThreads())
      out = std::move(fresh);
    else
      out.push_back(role(0, 1, 0, fresh));
  }

  /// Arrivals that fill a tile: of each thread that copies, of the one that issues tensor copies,
  /// and of the warps that compute.
  std::int64_t arrivals(const Channel &channel) const {
    const std::int64_t group = pass.target.limits.groupThreads();
    bool tensors = channel.byThreads.size() < channel.copies.size();
    return (tensors ? 1 : 0) + (channel.byThreads.empty() ? 0 : group) +
           (channel.makers.empty() ? 0 : group / pass.target.limits.warp);
  }

  /// What the producer runs of a block, appended to the builder's.
  void producerBlock(const Block &block, Builder &b) {
    std::unordered_map<const Ring *, Position> open;
    for (const StmtPtr &stmt : block) {
      b.range = stmt->range;
      if (Ring *ring = ringOf(*stmt)) {
        if (open.emplace(ring, Position{}).second) {
          open[ring] = position(b, *ring);
          if (ring->empty)
            mbar(b, MbarOp::Wait, *ring->empty, open[ring].slot,
                 context.int32(1) - open[ring].phase);
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
    StmtPtr copy = cloneStmt(stmt);
    std::vector<const Block *> sources;
    forEachBlock(std::as_const(stmt), [&](const Block &inner) { sources.push_back(&inner); });
    std::size_t next = 0;
    forEachBlock(*copy, [&](Block &inner) {
      inner.clear();
      b.in(inner, [&] { inside(*sources[next++]); });
    });
    if (auto *loop = dynCast<ForStmt>(copy.get()))
      makeSerial(*loop);
    b.add(std::move(copy));
  }

  Ring *ringOf(const Stmt &stmt) {
    for (Ring &ring : rings)
      for (const CopyStmt *copy : ring.channel->copies)
        if (copy == &stmt)
          return &ring;
    return nullptr;
  }

  void load(Builder &b, const CopyStmt &source, Ring &ring, Position at) {
    const Channel &channel = *ring.channel;
    if (&source != channel.copies.back())
      return; // all at once, where everything is known that they depend on
    Block tensors, pieces;
    for (const CopyStmt *copy : channel.copies)
      (channel.byThreads.count(copy) ? pieces : tensors).push_back(started(*copy, ring, at));
    if (!tensors.empty()) // they announce their bytes themselves
      b.in(tensors, [&] { mbar(b, MbarOp::Arrive, *ring.full, at.slot); });
    if (plan.byThreads() && !tensors.empty())
      b.add(role(0, 1, 0, tensors));
    else
      std::move(tensors.begin(), tensors.end(), std::back_inserter(b.block()));
    if (!pieces.empty()) {
      std::move(pieces.begin(), pieces.end(), std::back_inserter(b.block()));
      mbar(b, MbarOp::CpAsyncArrive, *ring.full, at.slot);
    }
    advance(b, ring, at);
  }

  /// The copy as the producer starts it.
  StmtPtr started(const CopyStmt &source, const Ring &ring, Position at) const {
    StmtPtr stmt = cloneStmt(source);
    auto &copy = cast<CopyStmt>(*stmt);
    copy.async = true;
    copy.target.version = version(ring, at);
    if (!ring.channel->byThreads.count(&source)) {
      copy.copyKind = CopyKind::Tma;
      copy.barrier = {ring.full, {at.slot}, {}};
    }
    return stmt;
  }

  static void makeSerial(ForStmt &loop) {
    if (loop.kind != ForKind::Pipelined)
      return;
    loop.kind = ForKind::Serial;
    loop.stages = 0;
    loop.order.clear();
    loop.stage.clear();
    loop.group.clear();
  }

  // ---- Those who compute tiles

  void buildConverter(Block &out) {
    Block body;
    Builder b(function, body);
    b.range = launch.range;
    begin(b, Side::Converts);
    converterBlock(launch.body, b);
    Substitution renamed;
    out = freshCopy(function, body, renamed);
  }

  void converterBlock(const Block &block, Builder &b) {
    std::unordered_map<const Ring *, Position> open;
    auto enter = [&](Ring &ring, MbarOp op, Buffer &barrier, bool contrary) {
      Position at = open[&ring] = position(b, ring);
      mbar(b, op, barrier, at.slot, contrary ? context.int32(1) - at.phase : at.phase);
    };
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
        if (channel.forConversion && channel.firstReader == here)
          enter(ring, MbarOp::Wait, *ring.full, false);
        if (!channel.makers.empty() && channel.makers.front() == here)
          enter(ring, MbarOp::Wait, *ring.empty, true);
      }
      StmtPtr copy = cloneStmt(*here);
      for (auto &[ring, at] : open)
        useVersion(*copy, *ring, at);
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
          giveBack(b, ring, at.slot, {});
        else
          handOn(b, *ring.full, at.slot);
        advance(b, ring, at);
        open.erase(&ring);
      }
    }
  }

  /// One lane of each warp arrives, when all of it is done.
  void handOn(Builder &b, Buffer &barrier, Expr slot) {
    b.add<BarrierStmt>().scope = BarrierScope::Warp;
    b.when(equals(floorMod(launch.tid, pass.target.limits.warp), 0),
           [&] { mbar(b, MbarOp::Arrive, barrier, slot); });
  }

  // ---- The consumers

  void buildConsumer(Block &out) {
    Builder b(function, out);
    b.range = launch.range;
    begin(b, Side::Computes);
    Block body = std::move(launch.body);
    consumerBlock(body);
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
      if (ringOf(*here) || plan.converting.count(here) || plan.isOwn(*here))
        continue;
      for (Ring &ring : rings)
        if (ring.channel->firstReader == here) {
          open[&ring] = position(b, ring);
          mbar(b, MbarOp::Wait, *ring.full, open[&ring].slot, open[&ring].phase);
        }
      for (auto &[ring, at] : open)
        useVersion(*stmt, *ring, at);
      bool drains = endsMultiplying(*stmt);
      forEachBlock(*stmt, [&](Block &inner) { consumerBlock(inner); });
      if (auto *loop = dynCast<ForStmt>(stmt.get()))
        makeSerial(*loop);
      b.add(std::move(stmt));
      // The last tile is given back in the first round after it: a branch between this wait and
      // what reads the result would make the assembler serialise the products (its C7514).
      if (drains)
        b.wait(0, AsyncKind::Wgmma);
      for (Ring &ring : rings)
        if (ring.channel->lastReader == here) {
          release(b, ring, open.at(&ring), *here);
          advance(b, ring, open.at(&ring));
          open.erase(&ring);
        }
    }
    block = std::move(out);
  }

  void useVersion(Stmt &stmt, const Ring &ring, Position at) {
    Expr chosen = version(ring, at);
    if (!chosen)
      return;
    auto choose = [&](Stmt &inner) {
      forEachUse(inner, [&](const BufferUse &use) {
        if (!std::count(ring.channel->tiles.begin(), ring.channel->tiles.end(),
                        use.buffer->storage()))
          return;
        if (use.element)
          use.element->version = chosen;
        else if (use.region)
          use.region->version = chosen;
      });
    };
    choose(stmt);
    forEachBlock(stmt, [&](Block &block) {
      walk(block, [&](Stmt &inner) {
        choose(inner);
        return true;
      });
    });
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
      bool another = isa<GemmStmt>(*stmt);
      forEachBlock(std::as_const(*stmt), [&](const Block &inner) {
        walk(inner, [&](const Stmt &deep) { return !(another |= isa<GemmStmt>(deep)); });
      });
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
      return giveBack(b, ring, at.slot, {});
    auto &gemm = cast<GemmStmt>(const_cast<Stmt &>(reader));
    gemm.async = true;
    b.wait(1, AsyncKind::Wgmma);
    Expr held = b.load("held", *ring.held, {});
    giveBack(b, ring, held, lessEqual(context.int32(0), held));
    b.store(*ring.held, {}, at.slot);
  }

  /// One lane of each warp arrives, when all of it is done; one for each block that waits for it.
  void giveBack(Builder &b, const Ring &ring, Expr slot, Expr condition) {
    b.add<BarrierStmt>().scope = BarrierScope::Warp;
    Expr lane = floorMod(launch.tid, pass.target.limits.warp), blocks = blocksOf(ring);
    bool alone = blocks.isConstant(1);
    Expr chosen = alone ? equals(lane, 0) : lessThan(lane, blocks);
    b.when(logicalAnd(chosen, condition), [&] {
      MbarStmt &arrival = mbar(b, MbarOp::Arrive, *ring.empty, slot);
      if (!alone)
        arrival.cta = lane;
    });
  }

  /// Whether products of a loop are still in flight behind it.
  bool endsMultiplying(const Stmt &stmt) const {
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
  std::vector<Ring> rings;
};

} // namespace

void specializeWarps(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    const LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || !plan->specialize.value_or(false))
      continue;
    ChannelPlan channels = findChannels(function, launch, context.target, plan);
    if (channels.reason.empty())
      Specializer(function, launch, context, std::move(channels)).run();
  }
}

} // namespace tlc::passes
