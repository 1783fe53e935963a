// Loads that are printed where their value is used.
//
//   let %s = load %acc[0]
//   let %x = load %square[%r]          =>      acc[0] += square[r];
//   store %acc[0] = %s + %x
#include "emit/PrintStmt.h"
#include "ir/Walk.h"

namespace tlc::emit {

using namespace ir;

namespace {

/// Longest index, in nodes, that reads well inside of another expression.
constexpr unsigned longestIndex = 8;

unsigned size(Expr e) {
  unsigned n = 1;
  for (Expr operand : e->operands)
    n += size(operand);
  return n;
}

bool readsWell(const LoadStmt &load) {
  unsigned length = 0;
  for (Expr index : load.source.indices)
    length += size(index);
  return !load.predicate && !load.var.dtype().isVector() && length <= longestIndex;
}

/// Whether the only use of the load at `at` stands in a statement of the same block that comes
/// before anything that could write memory.
bool reachesUse(const Block &block, std::size_t at) {
  Expr var = cast<LoadStmt>(*block[at]).var;
  for (std::size_t i = at + 1; i < block.size(); ++i) {
    const Stmt &stmt = *block[i];
    bool value = isa<LetStmt>(stmt) || isa<LoadStmt>(stmt);
    if (!value && !isa<StoreStmt>(stmt) && !isa<IfStmt>(stmt))
      return false;
    bool used = false; // of a branch only the condition counts
    forEachExpr(stmt, [&](Expr e) { used = used || (e && uses(e, var)); });
    if (used || !value)
      return used;
  }
  return false;
}

} // namespace

void findInlinedLoads(const Block &block, BodyFacts &facts) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    forEachBlock(*block[i], [&](const Block &inner) { findInlinedLoads(inner, facts); });
    auto *load = dynCast<LoadStmt>(block[i].get());
    if (load && facts.useCount(load->var) == 1 && readsWell(*load) && reachesUse(block, i))
      facts.inlined.insert(load);
  }
}

} // namespace tlc::emit
