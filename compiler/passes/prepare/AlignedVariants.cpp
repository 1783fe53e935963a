// aligned-variants: one kernel for rows that start at 16-byte boundaries, one for all others; the
// launcher chooses.
//
//   launch main grid(g0, g1) { ... copy %A[...] ... }        // %A: f16[%M, %K], nothing known of
//   %K
//     =>
//   launch main grid(select(%K % 8 == 0, g0, 0), g1) { assume %K % 8 == 0 ; ... }
//   launch main_unaligned grid(select(%K % 8 == 0, 0, g0), g1) { ... }
//
// Where the target has tensor maps, and products wait for what is loaded, there is a third one for
// launches whose tiles are loaded from aligned rows and only the others' are not (odd widths of a
// result): main_unaligned_stores. And where elements are smaller than the least piece that an
// asynchronous copy moves, one for rows that start at multiples of 8 bytes: main_half_aligned.
//
// Tensors of a T.tma_copy, which the hardware cannot do elsewhere, get no other kernel: the
// launcher refuses rows that lie elsewhere.
//
// With run-time sizes nothing is known about where rows start, so accesses could be no wider than
// one element. Sizes that matter are multiples of 16 bytes nearly always, and a launch over an
// empty grid is none.
//
// Why here: before anything asks how wide an access may be; after roles, which need no such facts.
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

/// The least that cp.async moves.
constexpr std::int64_t leastAsyncBits = 32;

/// What must divide a row pitch for 16-byte accesses: elements, at least 1.
std::int64_t wantedDivisor(DType dtype, std::int64_t bytes = 16) {
  return std::max<std::int64_t>(1, bytes * 8 / (dtype.bits() * dtype.lanes));
}

class Alignment {
public:
  explicit Alignment(const Function &function) : ranges(function) {}

  /// What the launch's T.tma_copy need of their tensors, as conditions of the function.
  std::vector<Constraint> constraints(Launch &launch) {
    divisors.clear();
    walk(launch.body, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      if (!copy || copy->copyKind != CopyKind::Tma || !copy->async)
        return true;
      where = copy->range;
      forEachUseInside(stmt);
      return true;
    });
    std::vector<Constraint> needed;
    for (auto &[id, wanted] : divisors)
      needed.push_back(
          {equals(floorMod(wanted.pitch, wanted.divisor), 0), wanted.text, wanted.range});
    return needed;
  }
  void assume(const Constraint &constraint) { ranges.assume(constraint.condition); }

  /// The facts that would let global accesses of the launch be 16 bytes wide; each null if it is
  /// known or nobody wants it.
  struct Facts {
    Expr loads; ///< for copies to shared memory
    Expr rest;  ///< for everything, as far as it does not follow from that
    Expr
        halfLoads; ///< for copies to shared memory of 8 bytes, where elements are too small for one
  };
  Facts facts(Launch &launch) {
    Facts facts;
    auto wantLoads = [&] {
      divisors.clear();
      walk(launch.body, [&](Stmt &stmt) {
        auto *copy = dynCast<CopyStmt>(&stmt);
        if (copy && copy->target.buffer->storage()->scope == Scope::Shared)
          want(*copy->source.buffer);
        return true;
      });
      return divisors;
    };
    bytes = 8;
    smallElements = false;
    if (auto halves = wantLoads(); smallElements)
      facts.halfLoads = all(halves);
    bytes = 16;
    auto loads = wantLoads();
    facts.loads = all(loads);
    walk(launch.body, [&](Stmt &stmt) {
      const auto *loop = dynCast<ForStmt>(&stmt);
      if (isa<CopyStmt>(stmt) || isa<MapStmt>(stmt) || isa<AtomicTileStmt>(stmt) ||
          (loop && loop->kind == ForKind::Vector))
        forEachUseInside(stmt);
      return true;
    });
    std::erase_if(divisors, [&](const auto &wanted) {
      auto known = loads.find(wanted.first);
      return known != loads.end() && known->second.divisor >= wanted.second.divisor;
    });
    facts.rest = all(divisors);
    return facts;
  }

private:
  struct Wanted {
    Expr pitch;
    std::int64_t divisor = 1;
    std::string text;  ///< for people
    SourceRange range; ///< of the copy that wants it
  };

  static Expr all(const std::map<std::uint32_t, Wanted> &divisors) {
    Expr all;
    for (auto &[id, wanted] : divisors)
      all = logicalAnd(all, equals(floorMod(wanted.pitch, wanted.divisor), 0));
    return all;
  }

  void forEachUseInside(Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) { want(*use.buffer); });
    forEachBlock(stmt, [&](Block &inner) {
      for (StmtPtr &s : inner)
        forEachUseInside(*s);
    });
  }

  void want(const Buffer &buffer) {
    if (buffer.scope != Scope::Global || buffer.rank() < 2 || buffer.base)
      return;
    std::int64_t divisor = wantedDivisor(buffer.dtype, bytes);
    if (divisor == 1)
      return;
    smallElements |= buffer.dtype.bits() * buffer.dtype.lanes < leastAsyncBits;
    if (buffer.strides.empty()) // all outer strides are multiples of the last extent
      return want(buffer.shape.back(), divisor, buffer);
    for (std::size_t d = 0; d + 1 < buffer.strides.size(); ++d)
      want(buffer.strides[d], divisor, buffer);
  }

  void want(Expr pitch, std::int64_t divisor, const Buffer &buffer) {
    if (pitch.isConstant() || ranges.divisible(pitch, divisor))
      return;
    Wanted &wanted = divisors[pitch->id];
    wanted.pitch = pitch;
    wanted.range = where;
    wanted.divisor = std::max(wanted.divisor, divisor);
    wanted.text = "rows of `" + buffer.name + "` at multiples of " +
                  std::to_string(wanted.divisor) + " elements";
  }

  analysis::Ranges ranges;
  std::int64_t bytes = 16;                  ///< wanted of each row's start
  bool smallElements = false;               ///< of what is wanted, some
  SourceRange where;                        ///< of the copy being looked at
  std::map<std::uint32_t, Wanted> divisors; ///< by the pitch's id: a stable order
};

/// The launch is there for calls of which `condition` holds, and makes use of `known`, which
/// follows from it.
void specialize(Launch &launch, Expr condition, Expr known) {
  startOnlyIf(launch, condition);
  if (!known)
    return;
  auto fact = std::make_unique<AssumeStmt>(launch.range);
  fact->condition = known;
  launch.body.insert(launch.body.begin(), std::move(fact));
}

bool multiplies(const Block &block) {
  bool found = false;
  walk(block, [&](const Stmt &stmt) {
    found |= isa<GemmStmt>(stmt);
    return !found;
  });
  return found;
}

/// Whether products wait for the copies of a pipelined loop.
bool pipelinesProducts(const Launch &launch) {
  bool found = false;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *loop = dynCast<ForStmt>(&stmt);
    found |= loop && loop->kind == ForKind::Pipelined && multiplies(loop->body);
    return !found;
  });
  return found;
}

} // namespace

void alignedVariants(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  Alignment alignment(function);
  std::vector<std::unique_ptr<Launch>> launches;
  if (context.target.has(Feature::Tma))
    for (auto &launch : function.launches)
      for (Constraint &constraint : alignment.constraints(*launch)) {
        alignment.assume(constraint);
        function.constraints.push_back(std::move(constraint));
      }
  for (auto &launch : function.launches) {
    auto [loads, rest, halfLoads] = alignment.facts(*launch);
    bool apart = loads && rest && context.target.has(Feature::Tma) &&
                 multiplies(std::as_const(launch->body));
    bool halves =
        loads && halfLoads && context.target.has(Feature::Wgmma) && pipelinesProducts(*launch);
    Expr aligned = loads && rest ? logicalAnd(loads, rest) : loads ? loads : rest;
    std::unique_ptr<Launch> storing, half, other;
    auto variant = [&](const char *suffix, Expr condition, Expr known) {
      Substitution renamed;
      std::unique_ptr<Launch> made = freshCopy(function, *launch, renamed);
      made->name += suffix;
      specialize(*made, condition, known);
      return made;
    };
    if (apart)
      storing = variant("_unaligned_stores", logicalAnd(loads, logicalNot(rest)), loads);
    if (halves)
      half = variant("_half_aligned", logicalAnd(logicalNot(loads), halfLoads), halfLoads);
    if (aligned) {
      other = variant("_unaligned", logicalNot(halves ? halfLoads : apart ? loads : aligned), {});
      specialize(*launch, aligned, aligned);
    }
    for (auto *made : {&launch, &storing, &half, &other})
      if (*made)
        launches.push_back(std::move(*made));
  }
  function.launches = std::move(launches);
}

} // namespace tlc::passes
