// raise-copies: loops that copy or add a tile element by element become the tile operation.
//
//   map %i in 128, %k in 32 {
//     load %a = %A[%by * 128 + %i, %ko * 32 + %k]
//     store %A_s[%i, %k] = %a
//   }
//   map %i in 128, %j in 128 {
//     load %c = %C_l[%i, %j]
//     atomic add %C[%by * 128 + %i, %bx * 128 + %j] value(%c)
//   }
//     =>
//   copy %A[%by * 128 : +128, %ko * 32 : +32] -> %A_s
//   atomic_tile add %C[%by * 128 : +128, %bx * 128 : +128] from(%C_l)
//
// T.Parallel says what T.copy and T.atomic_add of regions say. As tile operations they may go by
// tensor maps, be pipelined, leave by way of shared memory, or add two elements at once; as loops
// they are accesses of single threads.
//
// Only from global to shared memory, and from shared memory or a whole fragment to global memory (a
// fragment also to shared memory): what is loaded into registers gets its layout from such loops.
// Only where every variable of the loop walks along one dim of either side, in the same order.
// --schedule=as-written keeps the loops.
//
// Why here: before all that asks what a copy is.
#include "ir/Walk.h"
#include "passes/Pass.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// The box that an element walks over as the loop's variables do; none if it is no box, or its dims
/// come in another order than the variables.
std::optional<Region> boxOf(const MapStmt &map, const Element &element) {
  Region region{element.buffer, {}, {}, 0, element.version};
  std::size_t next = 0;
  for (unsigned d = 0; d < element.indices.size(); ++d) {
    Expr index = element.indices[d];
    Expr offset = index;
    bool walks = next < map.vars.size() && uses(index, map.vars[next]);
    if (walks) {
      Expr var = map.vars[next];
      const Linear sum = linear(index);
      for (const auto &[term, factor] : sum.terms)
        if (term == var ? factor != 1 : uses(term, var))
          return std::nullopt;
      offset = substitute(index, {{var, var.context().integer(var.dtype(), 0)}});
    }
    for (Expr var : map.vars)
      if (uses(offset, var))
        return std::nullopt;
    region.offsets.push_back(offset);
    region.extents.push_back(walks ? map.extents[next] : index.context().integer(index.dtype(), 1));
    if (walks)
      ++next;
    else
      region.dropped |= std::uint64_t(1) << d;
  }
  return next == map.vars.size() ? std::optional(std::move(region)) : std::nullopt;
}

bool isFragment(const Region &region) { return region.buffer->scope == Scope::Fragment; }

/// Copies that are worth more as one operation, and never lay out a fragment.
bool isWanted(const Region &source, const Region &target) {
  const Scope from = source.buffer->scope, to = target.buffer->scope;
  if (isFragment(source) && !(source.wholeBuffer() && source.dropped == 0))
    return false;
  if (to == Scope::Shared)
    return from == Scope::Global || from == Scope::Fragment;
  return to == Scope::Global && (from == Scope::Shared || from == Scope::Fragment);
}

/// What a loop does in each of its points: one element goes from a place to another.
struct Step {
  const LoadStmt *load = nullptr;
  const Element *target = nullptr;
  Expr value;
  bool adds = false;
};

class Raiser {
public:
  explicit Raiser(const MapStmt &map) : map(map) {}

  /// The tile operation; null: the loop does something else.
  StmtPtr run() {
    if (map.layout || !isStep())
      return nullptr;
    for (Expr extent : map.extents)
      if (!extent.isConstant())
        return nullptr;
    auto source = boxOf(map, substituted(step.load->source));
    auto target = boxOf(map, substituted(*step.target));
    if (!source || !target || !isWanted(*source, *target))
      return nullptr;
    return step.adds ? added(std::move(*source), std::move(*target))
                     : copied(std::move(*source), std::move(*target));
  }

private:
  /// Lets, a load, and a store or an addition of what was loaded.
  bool isStep() {
    for (const StmtPtr &stmt : map.body) {
      if (const auto *let = dynCast<LetStmt>(stmt.get())) {
        lets.emplace_back(let->var, substitute(let->value, lets));
      } else if (const auto *load = dynCast<LoadStmt>(stmt.get())) {
        if (step.load || load->predicate || load->otherwise)
          return false;
        step.load = load;
      } else if (const auto *store = dynCast<StoreStmt>(stmt.get())) {
        if (step.target || store->predicate)
          return false;
        step.target = &store->target, step.value = substitute(store->value, lets);
      } else if (const auto *atomic = dynCast<AtomicStmt>(stmt.get())) {
        if (step.target || atomic->op != AtomicOp::Add || atomic->predicate || atomic->result ||
            atomic->order != MemoryOrder::Relaxed || atomic->scope != MemoryScope::Device)
          return false;
        step.target = &atomic->target, step.value = substitute(atomic->value, lets);
        step.adds = true;
      } else {
        return false;
      }
    }
    return step.load && step.target && isWhatWasLoaded();
  }

  /// Copies convert as a cast does; additions are of one dtype.
  bool isWhatWasLoaded() const {
    Expr value = step.value;
    if (value.dtype() != step.target->buffer->dtype)
      return false;
    if (value == step.load->var)
      return true;
    return !step.adds && value == value.context().cast(value.dtype(), step.load->var);
  }

  Element substituted(const Element &element) const {
    Element result = element;
    for (Expr &index : result.indices)
      index = substitute(index, lets);
    return result;
  }

  StmtPtr copied(Region source, Region target) const {
    auto copy = std::make_unique<CopyStmt>(map.range);
    copy->source = std::move(source), copy->target = std::move(target);
    copy->coalescedWidth = map.coalescedWidth;
    return copy;
  }

  StmtPtr added(Region source, Region target) const {
    if (!isFragment(source) || target.buffer->scope != Scope::Global)
      return nullptr;
    auto atomic = std::make_unique<AtomicTileStmt>(map.range);
    atomic->source = std::move(source), atomic->target = std::move(target);
    return atomic;
  }

  const MapStmt &map;
  Substitution lets;
  Step step;
};

} // namespace

void raiseCopies(Function &function, PassContext &context) {
  if (!context.target.isGpu() || function.options.hintsAreBinding)
    return;
  for (auto &launch : function.launches)
    rewrite(launch->body, [](StmtPtr stmt, Block &out) {
      const auto *map = dynCast<MapStmt>(stmt.get());
      StmtPtr raised = map ? Raiser(*map).run() : nullptr;
      out.push_back(raised ? std::move(raised) : std::move(stmt));
    });
}

} // namespace tlc::passes
