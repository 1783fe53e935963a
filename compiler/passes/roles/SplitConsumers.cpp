#include "passes/roles/SplitConsumers.h"

#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/plan/Footprint.h"
#include "target/Atoms.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

bool isControl(const Stmt &stmt) { return isa<ForStmt>(stmt) || isa<IfStmt>(stmt); }

/// Scalars and facts, which both sides keep.
bool isScalar(const Stmt &stmt) {
  return isa<LetStmt>(stmt) || isa<AssumeStmt>(stmt) || isa<AllocStmt>(stmt);
}

/// Tile ops of which is known what each side would have to do.
bool canHaveSide(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Map:
  case StmtKind::Copy:
  case StmtKind::Gemm:
  case StmtKind::Fill:
  case StmtKind::Reduce:
    return true;
  default:
    return false;
  }
}

using Storages = std::unordered_set<const Buffer *>;

class SplitFinder {
public:
  SplitFinder(const Launch &launch, const ChannelPlan &channels) : launch(launch) {
    for (const Channel &channel : channels.channels) {
      loaded.insert(channel.tiles.begin(), channel.tiles.end());
      copies.insert(channel.copies.begin(), channel.copies.end());
    }
  }

  ConsumerSplit run() {
    collect(launch.body);
    if (split.reason.empty())
      findWideProducts();
    if (split.reason.empty())
      divide();
    if (split.reason.empty())
      findHandovers();
    return std::move(split);
  }

private:
  struct Leaf {
    const Stmt *stmt = nullptr;
    analysis::Effects effects;
  };

  void refuse(std::string why) {
    if (split.reason.empty())
      split.reason = std::move(why);
  }

  void collect(const Block &block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const Stmt &stmt = *block[i];
      place[&stmt] = {&block, i};
      forEachExpr(stmt, [&](Expr e) {
        if (e && usesThread(launch, e))
          refuse("the program asks for its threads");
      });
      if (isControl(stmt)) {
        split.both.insert(&stmt);
        forEachBlock(stmt, [&](const Block &inner) {
          parent[&inner] = &stmt;
          collect(inner);
        });
      } else if (isScalar(stmt)) {
        split.both.insert(&stmt);
        const auto *alloc = dynCast<AllocStmt>(&stmt);
        if (alloc && alloc->buffer->scope == Scope::Local)
          refuse("`" + alloc->buffer->name + "` is a variable of each thread");
      } else if (!canHaveSide(stmt)) {
        refuse("it does more than tile operations");
      } else if (!copies.count(&stmt)) {
        leaves.push_back({&stmt, analysis::effectsOf(stmt)});
      }
    }
  }

  /// Products of one warpgroup's rows whose columns several warpgroups share, from what the block
  /// itself has computed, behind a narrower product of the same loop.
  void findWideProducts() {
    const GemmStmt *first = nullptr;
    const Block *where = nullptr;
    for (const Leaf &leaf : leaves) {
      const auto *gemm = dynCast<GemmStmt>(leaf.stmt);
      if (!gemm)
        continue;
      if (!isWarpgroupGemm(*gemm))
        return refuse("a product is not one of warpgroups");
      const Block *block = place.at(gemm).first;
      const Buffer *operand = gemm->a.buffer->storage();
      bool made = operand->scope == Scope::Shared && !loaded.count(operand);
      bool wide =
          gemm->warpsM == 1 && gemm->warpsN > 1 && made && gemm->b.buffer->dtype.bits() == 16;
      if (wide && first && where == block)
        backStorages.insert(gemm->c.buffer->storage());
      else if (!made && loaded.count(gemm->b.buffer->storage()) &&
               gemm->a.buffer->storage()->scope == Scope::Shared) {
        first = gemm;
        where = block;
      } else
        return refuse("its products are no chain of a narrow one and a wide one");
    }
    if (backStorages.empty() || !parent.count(where) || !isa<ForStmt>(*parent.at(where)))
      refuse("no product is so wide that warpgroups share its columns");
  }

  static bool isLocal(const Buffer &storage) {
    return storage.scope == Scope::Fragment || storage.scope == Scope::Shared;
  }

  /// The back takes what touches its accumulators, and whatever that changes.
  void divide() {
    for (bool changed = true; std::exchange(changed, false);)
      for (const Leaf &leaf : leaves) {
        bool touches = std::any_of(
            leaf.effects.memory.begin(), leaf.effects.memory.end(),
            [&](const analysis::MemoryAccess &a) { return backStorages.count(a.storage()); });
        if (!touches || !split.back.insert(leaf.stmt).second)
          continue;
        changed = true;
        for (const analysis::MemoryAccess &access : leaf.effects.memory)
          if (access.writes() && isLocal(*access.storage()))
            backStorages.insert(access.storage());
      }
    bool multiplies = false;
    for (const Leaf &leaf : leaves)
      if (!split.back.count(leaf.stmt)) {
        split.front.insert(leaf.stmt);
        multiplies |= isa<GemmStmt>(*leaf.stmt);
      }
    if (!multiplies)
      refuse("all products need the wide accumulator");
    requireOneSidedTensors();
  }

  /// No tensor that one side writes and the other accesses: nothing would order the two.
  void requireOneSidedTensors() {
    for (const Leaf &writer : leaves)
      for (const analysis::MemoryAccess &write : writer.effects.memory) {
        if (!write.writes() || isLocal(*write.storage()))
          continue;
        for (const Leaf &other : leaves)
          for (const analysis::MemoryAccess &access : other.effects.memory)
            if (split.back.count(writer.stmt) != split.back.count(other.stmt) &&
                analysis::mayAlias(*write.storage(), *access.storage()))
              refuse("both sides use `" + access.storage()->name + "`");
      }
  }

  void findHandovers() {
    std::vector<Buffer *> order;
    std::unordered_map<const Buffer *, std::vector<const Stmt *>> readers, writers;
    for (const Leaf &leaf : leaves)
      for (const analysis::MemoryAccess &access : leaf.effects.memory) {
        Buffer *storage = access.use.buffer->storage();
        if (!isLocal(*storage) || loaded.count(storage) || backStorages.count(storage))
          continue;
        if (split.front.count(leaf.stmt)) {
          if (access.writes())
            writers[storage].push_back(leaf.stmt);
          continue;
        }
        if (!readers.count(storage))
          order.push_back(storage);
        readers[storage].push_back(leaf.stmt);
        if (access.use.buffer != storage)
          refuse("`" + storage->name + "` is used by another name");
        if (storage->scope == Scope::Shared && !isFirstOperand(*leaf.stmt, *storage))
          refuse("`" + storage->name + "` is more than the first operand of products");
      }
    for (Buffer *value : order)
      addHandover(*value, writers[value], readers[value]);
  }

  /// Whether the tile is read whole, as the left operand of a product: then registers can hold it.
  static bool isFirstOperand(const Stmt &stmt, const Buffer &tile) {
    const auto *gemm = dynCast<GemmStmt>(&stmt);
    return gemm && gemm->a.buffer == &tile && gemm->b.buffer->storage() != &tile &&
           !gemm->transposeA && gemm->a.wholeBuffer();
  }

  /// The ancestor of `stmt`, or itself, that stands directly in `block`; null: none does.
  const Stmt *within(const Block *block, const Stmt *stmt) const {
    while (place.at(stmt).first != block) {
      auto up = parent.find(place.at(stmt).first);
      if (up == parent.end())
        return nullptr;
      stmt = up->second;
    }
    return stmt;
  }

  void addHandover(Buffer &value, const std::vector<const Stmt *> &writers,
                   const std::vector<const Stmt *> &readers) {
    Handover handover{&value, {}};
    auto index = [&](const Stmt *stmt) { return place.at(stmt).second; };
    std::unordered_set<const Stmt *> placed;
    for (const Stmt *reader : readers) {
      const Block *block = place.at(reader).first;
      auto known = std::find_if(handover.sites.begin(), handover.sites.end(),
                                [&](const HandoverSite &s) { return s.block == block; });
      if (known != handover.sites.end()) {
        if (index(reader) < index(known->firstReader))
          known->firstReader = reader;
        continue;
      }
      handover.sites.push_back({block, nullptr, nullptr, reader});
    }
    for (HandoverSite &site : handover.sites)
      for (const Stmt *writer : writers) {
        const Stmt *here = within(site.block, writer);
        if (!here)
          continue;
        placed.insert(writer);
        if (index(here) >= index(site.firstReader))
          return refuse("`" + value.name + "` is carried from round to round between the sides");
        if (!site.firstWriter || index(here) < index(site.firstWriter))
          site.firstWriter = here;
        if (!site.lastWriter || index(here) > index(site.lastWriter))
          site.lastWriter = here;
      }
    bool complete = std::all_of(handover.sites.begin(), handover.sites.end(),
                                [](const HandoverSite &s) { return s.firstWriter; });
    if (!complete || (value.scope == Scope::Shared && placed.size() != writers.size()))
      return refuse("`" + value.name + "` is not made where it is used");
    split.handovers.push_back(std::move(handover));
  }

  const Launch &launch;
  ConsumerSplit split;
  Storages loaded, backStorages;
  std::unordered_set<const Stmt *> copies;
  std::vector<Leaf> leaves; ///< in program order, without what the producer loads
  std::unordered_map<const Stmt *, std::pair<const Block *, std::size_t>> place;
  std::unordered_map<const Block *, const Stmt *> parent;
};

} // namespace

ConsumerSplit findConsumerSplit(const Launch &launch, const ChannelPlan &channels) {
  return SplitFinder(launch, channels).run();
}

std::int64_t backRegisters(const ConsumerSplit &split, std::int64_t threads) {
  Storages sums;
  std::int64_t registers = 0;
  for (const Stmt *stmt : split.back)
    if (const auto *gemm = dynCast<GemmStmt>(stmt)) {
      if (sums.insert(gemm->c.buffer->storage()).second)
        registers += bytesOf(*gemm->c.buffer->storage()) / 4 / threads;
      if (sums.insert(gemm->a.buffer->storage()).second) // each group has all of it
        registers += bytesOf(*gemm->a.buffer->storage()) * gemm->warpsN / 4 / threads;
    }
  return registers;
}

std::int64_t handoverVersions(const Handover &handover) {
  return handover.value->scope == Scope::Fragment ? 2 : 1;
}

std::int64_t handoverBytes(const ConsumerSplit &split) {
  std::int64_t sum = 0;
  for (const Handover &handover : split.handovers)
    if (handover.value->scope == Scope::Fragment)
      sum += bytesOf(*handover.value) * handoverVersions(handover);
  return sum;
}

} // namespace tlc::passes
