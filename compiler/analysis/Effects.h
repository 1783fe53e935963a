// What a statement does, nested statements included: the memory it reads and writes, the variables
// it uses and binds, and what ties it to its place.
#pragma once

#include "ir/Walk.h"

#include <unordered_set>
#include <vector>

namespace tlc::analysis {

using ExprSet = std::unordered_set<const ir::ExprNode *>;

/// One access; the pointers of `use` point into the statement.
struct MemoryAccess {
  const ir::Stmt *stmt = nullptr; ///< the innermost statement
  ir::BufferUse use;
  bool atomic = false;
  /// May read or write anything of the buffer's storage, whatever element or region says.
  bool whole = false;

  const ir::Buffer *storage() const { return use.buffer->storage(); }
  bool reads() const { return static_cast<unsigned>(use.access) & 1; }
  bool writes() const { return static_cast<unsigned>(use.access) & 2; }
};

struct Effects {
  std::vector<MemoryAccess> memory;
  ExprSet uses, defines; ///< variables; `uses` without those bound inside
  /// Orders memory between threads (barriers, fences, waits, commits): keeps its place among all
  /// statements that touch memory.
  bool synchronises = false;
  /// Does what we cannot see (the user's C text, extern calls, prints, asserts): keeps its place
  /// among all statements with effects.
  bool opaque = false;
  /// Leaves the enclosing loop or ends the thread.
  bool breaks = false, continues = false, exits = false;

  bool pure() const {
    return memory.empty() && !synchronises && !opaque && !breaks && !continues && !exits;
  }
  bool readsStorage(const ir::Buffer *storage) const;
  bool writesStorage(const ir::Buffer *storage) const;
};

Effects effectsOf(const ir::Stmt &stmt);
Effects effectsOf(const ir::Block &block);
void addEffects(Effects &to, const Effects &more);

/// Whether two buffers may share bytes: views of one storage, or global tensors that may alias.
bool mayAlias(const ir::Buffer &a, const ir::Buffer &b);

/// Whether `later` has to stay behind `earlier`, which stands before it in program order.
enum class Order : unsigned {
  None = 0,
  Flow = 1,    ///< reads what earlier writes, or uses a variable that it binds
  Anti = 2,    ///< overwrites what earlier reads
  Output = 4,  ///< overwrites what earlier writes
  Control = 8, ///< one of the two is tied to its place
};
inline Order operator|(Order a, Order b) {
  return static_cast<Order>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
inline bool has(Order set, Order what) {
  return static_cast<unsigned>(set) & static_cast<unsigned>(what);
}
Order orderBetween(const Effects &earlier, const Effects &later);
/// A pair of accesses that makes Flow, Anti or Output of them; for messages.
struct Clash {
  const MemoryAccess *earlier = nullptr, *later = nullptr;
  ir::Expr variable;
};
Clash clashBetween(const Effects &earlier, const Effects &later);

} // namespace tlc::analysis
