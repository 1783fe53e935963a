#include "passes/roles/Conversions.h"

#include "analysis/Copies.h"
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/roles/Channels.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

class ConversionFinder {
public:
  ConversionFinder(Launch &launch, Block &block, Buffer &tile) : block(block) {
    found.block = &block;
    found.tile = &tile;
    std::unordered_map<const Stmt *, std::size_t> childOf;
    for (std::size_t i = 0; i < block.size(); ++i) {
      effects.push_back(analysis::effectsOf(*block[i]));
      childOf[block[i].get()] = i;
      forEachBlock(std::as_const(*block[i]), [&](const Block &inner) {
        walk(inner, [&](const Stmt &stmt) {
          childOf[&stmt] = i;
          return true;
        });
      });
    }
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      auto child = childOf.find(&stmt);
      forEachUse(stmt, [&](const BufferUse &use) {
        Users &users = usersOf[use.buffer->storage()];
        if (child != childOf.end())
          users.children.insert(child->second);
        else
          users.others = true;
        users.written |= use.access != Access::Read;
      });
      return true;
    });
  }

  bool run() {
    const Users &users = usersOf[found.tile];
    if (users.others)
      return false;
    for (std::size_t i : users.children)
      if (effects[i].writesStorage(found.tile))
        chosen.insert(i);
      else if (!isWarpgroupGemm(*block[i]))
        return false;
      else
        addReader(i);
    if (chosen.empty() || !found.firstReader || *chosen.rbegin() > firstReader)
      return false;
    for (std::size_t i : chosen)
      found.makers.push_back(block[i].get());
    if (!close())
      return false;
    for (std::size_t i : chosen)
      found.statements.push_back(block[i].get());
    return !found.inputs.empty() &&
           std::all_of(found.inputs.begin(), found.inputs.end(),
                       [&](const Buffer *input) { return onlyWeRead(input); });
  }

  Conversion found;

private:
  /// Who uses a storage; allocations do not.
  struct Users {
    std::set<std::size_t> children; ///< of the block
    bool others = false;            ///< outside of it
    bool written = false;
  };

  void addReader(std::size_t i) {
    if (!found.firstReader) {
      found.firstReader = block[i].get();
      firstReader = i;
    }
    found.lastReader = block[i].get();
  }

  /// Adds whatever shares fragments and variables with what is chosen.
  bool close() {
    std::vector<std::size_t> open(chosen.begin(), chosen.end());
    while (!open.empty()) {
      std::size_t i = open.back();
      open.pop_back();
      const Stmt &stmt = *block[i];
      const analysis::Effects &does = effects[i];
      bool plain = isa<CopyStmt>(stmt) || isa<MapStmt>(stmt) || isa<FillStmt>(stmt);
      if (!plain || analysis::isSharedLoad(stmt) || does.synchronises || does.opaque)
        return false;
      for (const analysis::MemoryAccess &access : does.memory) {
        if (access.atomic || !mayUse(access))
          return false;
        const Buffer *storage = access.storage();
        if (!found.own.count(storage))
          continue;
        for (std::size_t other : usersOf[storage].children)
          if (chosen.insert(other).second)
            open.push_back(other);
      }
    }
    return true;
  }

  bool mayUse(const analysis::MemoryAccess &access) {
    auto *storage = const_cast<Buffer *>(access.storage());
    switch (storage->scope) {
    case Scope::Fragment:
    case Scope::Local:
      found.own.insert(storage);
      return !usersOf[storage].others;
    case Scope::Shared:
      if (storage == found.tile)
        return !access.reads();
      found.inputs.insert(storage);
      return !access.writes();
    case Scope::Global:
      return !usersOf[storage].written;
    default:
      return false;
    }
  }

  bool onlyWeRead(const Buffer *input) {
    const Users &users = usersOf[input];
    return !users.others &&
           std::all_of(users.children.begin(), users.children.end(), [&](std::size_t i) {
             return chosen.count(i) || !effects[i].readsStorage(input);
           });
  }

  Block &block;
  std::vector<analysis::Effects> effects; ///< of the block's statements
  std::unordered_map<const Buffer *, Users> usersOf;
  std::set<std::size_t> chosen;
  std::size_t firstReader = 0;
};

} // namespace

std::optional<Conversion> conversionOf(Launch &launch, Block &block, Buffer &tile) {
  ConversionFinder finder(launch, block, tile);
  if (!finder.run())
    return std::nullopt;
  return std::move(finder.found);
}

} // namespace tlc::passes
