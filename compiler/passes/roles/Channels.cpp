#include "passes/roles/Channels.h"

#include "analysis/Copies.h"
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/roles/Conversions.h"
#include "passes/roles/RoleRegisters.h"
#include "target/Atoms.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

/// Where a statement stands.
struct Site {
  Block *block = nullptr;
  std::size_t index = 0;  ///< in the block
  Stmt *parent = nullptr; ///< that owns the block; null: the launch
};

class ChannelFinder {
public:
  ChannelFinder(Function &function, Launch &launch, const Target &target, const LaunchPlan *plan,
                bool conversions)
      : launch(launch), target(target), planned(plan), conversions(conversions) {
    loops = plannedLoops(launch, plan);
    index(launch.body, nullptr);
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      if (!copy || copy->copyKind != CopyKind::Auto || copy->async || copy->barrier.buffer)
        return true;
      if (analysis::canUseTma(*copy, target, ranges))
        byTma.insert(copy);
      else if (inRing(*copy) && worthThreads(*copy, ranges))
        byThreads.insert(copy);
      return true;
    });
  }

  ChannelPlan run() {
    plan.reason = unfit();
    if (plan.reason.empty())
      findTiles();
    if (plan.reason.empty() && !feedsProducts())
      plan.reason = "no tile of a pipelined loop goes to the tensor cores straight from its copy";
    if (plan.reason.empty())
      slice();
    if (!plan.reason.empty()) {
      std::string reason = std::move(plan.reason);
      plan = {};
      plan.reason = std::move(reason);
    }
    return std::move(plan);
  }

private:
  void index(Block &block, Stmt *parent) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      Stmt &stmt = *block[i];
      sites[&stmt] = {&block, i, parent};
      forEachDefinition(stmt, [&](Expr &var) { binders[var.get()] = &stmt; });
      if (auto *store = dynCast<StoreStmt>(&stmt))
        stores[store->target.buffer->storage()].push_back(&stmt);
      if (auto *alloc = dynCast<AllocStmt>(&stmt))
        allocs[alloc->buffer] = &stmt;
      forEachBlock(stmt, [&](Block &inner) { index(inner, &stmt); });
    }
  }

  /// What makes the launch as a whole no matter for a producer.
  std::string unfit() {
    const std::int64_t group = target.limits.groupThreads();
    if (!target.has(Feature::Tma) || !target.has(Feature::Wgmma))
      return "the target has no tensor copies or warpgroup products";
    if (launch.threadCount() % group ||
        launch.threadCount() + group > target.limits.threadsPerBlock)
      return "the threads are no whole number of warpgroups";
    std::string why;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      switch (stmt.kind) {
      case StmtKind::Barrier:
        if (isMeeting(stmt))
          break;
        [[fallthrough]];
      case StmtKind::Role:
      case StmtKind::Mbar:
      case StmtKind::Fence:
      case StmtKind::Async:
        why = "the program synchronises its threads itself";
        break;
      case StmtKind::Source:
      case StmtKind::Exit:
        why = "it has C text or exits that a producer cannot follow";
        break;
      default:
        break;
      }
      return why.empty();
    });
    return why;
  }

  /// The ancestor of `stmt`, or itself, that stands directly in `block`; null: none does.
  const Stmt *within(const Block *block, const Stmt *stmt) const {
    while (stmt && sites.at(stmt).block != block)
      stmt = sites.at(stmt).parent;
    return stmt;
  }

  /// Whether the copy's loop is planned with several stages.
  bool inRing(const CopyStmt &copy) const {
    const ForStmt *loop = innermostLoop(&copy);
    return std::any_of(loops.begin(), loops.end(), [&](const PlannedLoop &planned) {
      return planned.loop == loop && planned.stages > 1;
    });
  }

  /// Pieces of 4 bytes are so many that a warpgroup is longer busy with them than others with the
  /// products; the program's threads, which are more, do better. Only tensor maps unfold images.
  bool worthThreads(const CopyStmt &copy, const analysis::Ranges &ranges) const {
    return !copy.source.buffer->unfold && analysis::canCopyAsync(copy, target, ranges) &&
           analysis::copyPieceBytes(copy, ranges) >= 8;
  }

  struct Tile {
    std::vector<const CopyStmt *> writers;
    std::vector<const Stmt *> readers;
    bool foreign = false; ///< written by something that no producer can take over
  };

  void findTiles() {
    std::vector<Buffer *> order;
    std::unordered_map<Buffer *, Tile> tiles;
    walk(launch.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        Buffer *storage = use.buffer->storage();
        if (storage->scope != Scope::Shared)
          return;
        if (tiles.emplace(storage, Tile{}).second)
          order.push_back(storage);
        Tile &tile = tiles[storage];
        if (use.access == Access::Read)
          tile.readers.push_back(&stmt);
        else if ((byTma.count(&stmt) || byThreads.count(&stmt)) && use.buffer == storage)
          tile.writers.push_back(&cast<CopyStmt>(stmt));
        else
          tile.foreign = true;
      });
      return true;
    });
    for (Buffer *storage : order)
      if (const Tile &tile = tiles[storage]; !tile.writers.empty())
        addTile(storage, tile);
    if (conversions)
      for (Buffer *storage : order)
        if (tiles[storage].writers.empty())
          addConversion(*storage);
  }

  /// A tile that is computed in a pipelined loop, by statements that others than the program's
  /// threads can execute.
  void addConversion(Buffer &storage) {
    for (const PlannedLoop &loop : loops) {
      if (loop.stages < 2)
        continue;
      auto found = conversionOf(launch, loop.loop->body, storage);
      if (!found)
        continue;
      std::vector<Channel *> inputs;
      for (Channel &channel : plan.channels)
        if (channel.block == found->block && channel.repeats &&
            std::any_of(channel.tiles.begin(), channel.tiles.end(),
                        [&](Buffer *tile) { return found->inputs.count(tile); }))
          inputs.push_back(&channel);
      std::size_t covered = 0;
      for (const Channel *input : inputs)
        covered += input->tiles.size();
      if (covered != found->inputs.size())
        continue;
      for (Channel *input : inputs)
        input->forConversion = true;
      Channel &channel = channelOf(*found, loop.stages);
      channel.tiles.push_back(&storage);
      channel.makers.insert(channel.makers.end(), found->makers.begin(), found->makers.end());
      plan.converting.insert(found->statements.begin(), found->statements.end());
      plan.own.insert(found->own.begin(), found->own.end());
      return;
    }
  }

  /// The channel whose tiles are read together with the computed one; a new one if there is none.
  Channel &channelOf(const Conversion &conversion, std::int64_t stages) {
    for (Channel &channel : plan.channels)
      if (channel.block == conversion.block && channel.firstReader == conversion.firstReader &&
          channel.lastReader == conversion.lastReader)
        return channel;
    Channel channel;
    channel.block = conversion.block;
    channel.firstReader = conversion.firstReader;
    channel.lastReader = conversion.lastReader;
    channel.stages = stages;
    channel.repeats = true;
    plan.channels.push_back(std::move(channel));
    return plan.channels.back();
  }

  void addTile(Buffer *storage, const Tile &tile) {
    Block *block = sites.at(tile.writers.front()).block;
    std::size_t lastWrite = 0;
    bool together = !tile.foreign && !tile.readers.empty();
    for (const CopyStmt *writer : tile.writers) {
      together &= sites.at(writer).block == block;
      lastWrite = std::max(lastWrite, sites.at(writer).index);
    }
    const Stmt *first = nullptr, *last = nullptr;
    for (const Stmt *reader : tile.readers) {
      const Stmt *here = within(block, reader);
      together &= here && sites.at(here).index > lastWrite;
      if (!together)
        break;
      if (!first || sites.at(here).index < sites.at(first).index)
        first = here;
      if (!last || sites.at(here).index > sites.at(last).index)
        last = here;
    }
    const ForStmt *loop = innermostLoop(tile.writers.front());
    if (!together) {
      if (loop && loop->kind == ForKind::Pipelined)
        plan.reason = "`" + storage->name + "` is also written or read elsewhere";
      return;
    }
    for (Channel &channel : plan.channels)
      if (channel.block == block && channel.firstReader == first && channel.lastReader == last) {
        channel.tiles.push_back(storage);
        channel.copies.insert(channel.copies.end(), tile.writers.begin(), tile.writers.end());
        std::sort(channel.copies.begin(), channel.copies.end(),
                  [&](auto *a, auto *b) { return sites.at(a).index < sites.at(b).index; });
        markThreads(channel);
        return;
      }
    Channel channel;
    channel.block = block;
    channel.copies = tile.writers;
    channel.tiles = {storage};
    channel.firstReader = first;
    channel.lastReader = last;
    channel.repeats = loop || inWhile(tile.writers.front());
    if (channel.repeats && planned && planned->persistent.value_or(false))
      channel.stages = planned->tileStages; // unless its loop says more
    for (const PlannedLoop &planned : loops)
      if (planned.loop == loop)
        channel.stages = std::max<std::int64_t>(1, planned.stages);
    markThreads(channel);
    plan.channels.push_back(std::move(channel));
  }

  void markThreads(Channel &channel) const {
    for (const CopyStmt *copy : channel.copies)
      if (byThreads.count(copy))
        channel.byThreads.insert(copy);
  }

  const ForStmt *innermostLoop(const Stmt *stmt) const {
    while ((stmt = sites.at(stmt).parent))
      if (const auto *loop = dynCast<ForStmt>(stmt))
        return loop;
    return nullptr;
  }
  bool inWhile(const Stmt *stmt) const {
    while ((stmt = sites.at(stmt).parent))
      if (stmt->kind == StmtKind::While)
        return true;
    return false;
  }

  /// Some channel in a loop must feed a product, and no pipelined loop may be left with copies of
  /// its own: they would wait for themselves in each round.
  bool feedsProducts() {
    std::unordered_set<const Stmt *> taken;
    bool feeds = false;
    for (const Channel &channel : plan.channels) {
      taken.insert(channel.copies.begin(), channel.copies.end());
      if (channel.repeats && channel.stages > 1)
        walk(std::as_const(*channel.block), [&](const Stmt &stmt) {
          if (isWarpgroupGemm(stmt))
            forEachUse(stmt, [&](const BufferUse &use) {
              feeds |=
                  std::count(channel.tiles.begin(), channel.tiles.end(), use.buffer->storage()) > 0;
            });
          return true;
        });
    }
    for (const PlannedLoop &planned : loops)
      walk(std::as_const(planned.loop->body), [&](const Stmt &stmt) {
        if (analysis::isSharedLoad(stmt) && !taken.count(&stmt))
          plan.reason = "`" + cast<CopyStmt>(stmt).target.buffer->name +
                        "` can be loaded neither by tensor copies nor in pieces of 8 bytes";
        return true;
      });
    return feeds;
  }

  // ---- What the producer has to run

  void slice() {
    for (const Channel &channel : plan.channels)
      for (const CopyStmt *copy : channel.copies) {
        needUses(*copy);
        needParents(*copy);
      }
    for (const Stmt *stmt : plan.converting) {
      for (const ExprNode *var : analysis::effectsOf(*stmt).uses)
        needVar(Expr(var));
      walk(*stmt, [&](const Stmt &inner) {
        needViews(inner);
        return true;
      });
      needParents(*stmt);
    }
    // Jumps in loops that the producer runs decide how often it does.
    for (bool changed = true; std::exchange(changed, false) && plan.reason.empty();)
      for (auto &[stmt, site] : sites)
        if ((stmt->kind == StmtKind::Break || stmt->kind == StmtKind::Continue) &&
            !plan.control.count(stmt) && plan.control.count(loopOf(stmt))) {
          need(*stmt);
          changed = true;
          break;
        }
    if (plan.reason.empty())
      takeFacts();
  }

  /// What is known about the producer's scalars is known there, too.
  void takeFacts() {
    for (auto &[stmt, site] : sites) {
      const auto *fact = dynCast<AssumeStmt>(stmt);
      if (!fact || (site.parent && !plan.control.count(site.parent)))
        continue;
      std::vector<Expr> vars;
      collectVars(fact->condition, vars);
      auto has = [&](Expr var) {
        auto binder = binders.find(var.get());
        return !isThreadIndex(var) &&
               (binder == binders.end() || plan.control.count(binder->second));
      };
      if (std::all_of(vars.begin(), vars.end(), has))
        plan.control.insert(fact);
    }
  }

  bool isThreadIndex(Expr var) const {
    return var == launch.tid ||
           std::count(launch.threadVars.begin(), launch.threadVars.end(), var) > 0;
  }

  const Stmt *loopOf(const Stmt *stmt) const {
    do
      stmt = sites.at(stmt).parent;
    while (stmt && stmt->kind != StmtKind::For && stmt->kind != StmtKind::While);
    return stmt;
  }

  void need(const Stmt &stmt) {
    if (!plan.reason.empty() || !plan.control.insert(&stmt).second)
      return;
    needUses(stmt);
    needParents(stmt);
  }

  void needParents(const Stmt &stmt) {
    const Stmt *parent = sites.at(&stmt).parent;
    if (!parent || plan.control.count(parent))
      return;
    need(*parent);
    // What a while loop tests is computed in its own block.
    if (const auto *loop = dynCast<WhileStmt>(parent))
      for (const StmtPtr &inner : loop->conditionBlock)
        need(*inner);
  }

  void needUses(const Stmt &stmt) {
    forEachExpr(stmt, [&](Expr e) { needVars(e); });
    needViews(stmt);
    if (const auto *load = dynCast<LoadStmt>(&stmt))
      needMemory(*load->source.buffer->storage());
  }

  /// Names that the block gives to parts of tensors.
  void needViews(const Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      for (const Buffer *view = use.buffer; view->base; view = view->base)
        if (auto found = allocs.find(view);
            found != allocs.end() && view->storage()->scope == Scope::Global)
          need(*found->second);
    });
  }

  void needVars(Expr e) {
    std::vector<Expr> vars;
    collectVars(e, vars);
    for (Expr var : vars)
      needVar(var);
  }

  void needVar(Expr var) {
    if (isThreadIndex(var)) {
      plan.reason = "what is loaded depends on the thread";
      return;
    }
    auto binder = binders.find(var.get());
    if (binder == binders.end())
      return; // a parameter, a size, a block index
    StmtKind kind = binder->second->kind;
    if (kind == StmtKind::Let || kind == StmtKind::Load || kind == StmtKind::For)
      need(*binder->second);
    else
      plan.reason = "what is loaded depends on values that the block computes";
  }

  /// A scalar's memory: variables of the thread are kept by the producer too; global tensors must
  /// be constant during the launch.
  void needMemory(const Buffer &storage) {
    const bool own = storage.scope == Scope::Local;
    bool written = !own && storage.scope != Scope::Global;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        written |= use.access != Access::Read && analysis::mayAlias(*use.buffer, storage) &&
                   !(own && isa<StoreStmt>(stmt));
      });
      return !written;
    });
    if (written)
      plan.reason = "what is loaded depends on `" + storage.name + "`, which the block computes";
    if (!own || written)
      return;
    if (auto found = allocs.find(&storage); found != allocs.end())
      need(*found->second);
    for (const Stmt *store : stores[&storage])
      need(*store);
  }

  Launch &launch;
  const Target &target;
  const LaunchPlan *planned;
  const bool conversions; ///< whether warps of their own may compute tiles
  ChannelPlan plan;
  std::vector<PlannedLoop> loops;
  std::unordered_set<const Stmt *> byTma, byThreads; ///< copies, by how a producer makes them
  std::unordered_map<const Stmt *, Site> sites;
  std::unordered_map<const ExprNode *, const Stmt *> binders;
  std::unordered_map<const Buffer *, std::vector<const Stmt *>> stores;
  std::unordered_map<const Buffer *, const Stmt *> allocs;
};

} // namespace

bool ChannelPlan::byThreads() const {
  return std::any_of(channels.begin(), channels.end(),
                     [](const Channel &channel) { return !channel.byThreads.empty(); });
}

bool ChannelPlan::isOwn(const Stmt &stmt) const {
  const auto *alloc = dynCast<AllocStmt>(&stmt);
  return alloc && own.count(alloc->buffer->storage());
}

bool isMeeting(const Stmt &stmt) {
  const auto *barrier = dynCast<BarrierStmt>(&stmt);
  return barrier && barrier->scope == BarrierScope::Cluster && !barrier->userWritten;
}

bool isWarpgroupGemm(const Stmt &stmt) {
  const auto *gemm = dynCast<GemmStmt>(&stmt);
  return gemm && gemm->atom && gemm->atom->kind == AtomKind::WarpGroup;
}

ChannelPlan findChannels(Function &function, Launch &launch, const Target &target,
                         const LaunchPlan *plan) {
  if (leavesProductsRoom(launch, target)) {
    ChannelPlan found = ChannelFinder(function, launch, target, plan, true).run();
    if (found.reason.empty() || found.converting.empty())
      return found;
  }
  return ChannelFinder(function, launch, target, plan, false).run();
}

} // namespace tlc::passes
