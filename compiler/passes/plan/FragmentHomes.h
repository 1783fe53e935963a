// How fragments lie that gemms make, before layouts are inferred.
#pragma once

#include "ir/Function.h"
#include "passes/plan/GemmLayouts.h"
#include "target/Target.h"

#include <map>

namespace tlc::passes {

/// The place of an accumulator, and of what is computed from one element by element.
struct FragmentHome {
  const Atom *atom = nullptr;
  GemmGrid grid;
  Layout layout; ///< (reg, thread) -> d0, d1

  /// The first `columns` of the tile as they lie, if all threads hold some of each run of that many
  /// columns, at the same registers from its first on; none otherwise. The whole tile always has.
  std::optional<FragmentHome> columns(Index columns) const;
};

class FragmentHomes {
public:
  FragmentHomes(ir::Launch &launch, const Target &target);
  /// Null: nothing is known of it.
  const FragmentHome *of(const ir::Buffer *fragment) const;

private:
  void visit(ir::Block &block, Index threads);
  void made(const ir::GemmStmt &gemm, Index threads);
  void passOn(const ir::Buffer &from, const ir::Buffer &to);
  void passedOn(const ir::CopyStmt &copy);
  void passedOn(const ir::MapStmt &map);

  const Target &target;
  std::map<const ir::Buffer *, FragmentHome> homes;
};

} // namespace tlc::passes
