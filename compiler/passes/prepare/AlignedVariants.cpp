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
// And where a caller's workspace has room for copies of the rows, there are main_packed and, for
// odd widths of a result, main_packed_unaligned_stores, which read those (PackedRows.h).
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
#include "passes/prepare/PackedRows.h"

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
    Expr others;   ///< for everything but the tensors that copies to shared memory read
    std::vector<Buffer *> loaded; ///< tensors that do not fit those copies for all that is known
    bool never = false;           ///< one of them never does
  };
  Facts facts(Launch &launch) {
    Facts facts;
    bytes = 8;
    smallElements = false;
    if (auto halves = wantLoads(launch, facts); smallElements)
      facts.halfLoads = all(halves);
    bytes = 16;
    facts.loaded.clear();
    auto loads = wantLoads(launch, facts);
    facts.loads = all(loads);
    wantAccesses(launch, {});
    std::erase_if(divisors, [&](const auto &wanted) {
      auto known = loads.find(wanted.first);
      return known != loads.end() && known->second.divisor >= wanted.second.divisor;
    });
    facts.rest = all(divisors);
    divisors.clear();
    wantAccesses(launch, facts.loaded);
    facts.others = all(divisors);
    return facts;
  }

private:
  struct Wanted {
    Expr pitch;
    std::int64_t divisor = 1;
    std::string text;  ///< for people
    SourceRange range; ///< of the copy that wants it
  };

  using Divisors = std::map<std::uint32_t, Wanted>; ///< by the pitch's id: a stable order

  static Expr all(const Divisors &divisors) {
    Expr all;
    for (auto &[id, wanted] : divisors)
      all = logicalAnd(all, equals(floorMod(wanted.pitch, wanted.divisor), 0));
    return all;
  }

  /// What copies to shared memory want of the tensors that they read.
  Divisors wantLoads(Launch &launch, Facts &facts) {
    divisors.clear();
    walk(launch.body, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      if (!copy || copy->target.buffer->storage()->scope != Scope::Shared)
        return true;
      Buffer *tensor = copy->source.buffer;
      const Fit fit = want(*tensor);
      facts.never |= fit == Fit::Never;
      if (fit != Fit::Always &&
          std::find(facts.loaded.begin(), facts.loaded.end(), tensor) == facts.loaded.end())
        facts.loaded.push_back(tensor);
      return true;
    });
    return divisors;
  }

  /// What all that could be accessed by vectors wants, but for some tensors.
  void wantAccesses(Launch &launch, const std::vector<Buffer *> &but) {
    walk(launch.body, [&](Stmt &stmt) {
      const auto *loop = dynCast<ForStmt>(&stmt);
      if (isa<CopyStmt>(stmt) || isa<MapStmt>(stmt) || isa<AtomicTileStmt>(stmt) ||
          (loop && loop->kind == ForKind::Vector))
        forEachUseInside(stmt, but);
      return true;
    });
  }

  void forEachUseInside(Stmt &stmt, const std::vector<Buffer *> &but = {}) {
    forEachUse(stmt, [&](const BufferUse &use) {
      if (std::find(but.begin(), but.end(), use.buffer) == but.end())
        want(*use.buffer);
    });
    forEachBlock(stmt, [&](Block &inner) {
      for (StmtPtr &s : inner)
        forEachUseInside(*s, but);
    });
  }

  /// Whether rows begin where accesses want it.
  enum class Fit { Always, Unknown, Never };

  Fit want(const Buffer &buffer) {
    if (buffer.scope != Scope::Global || buffer.rank() < 2 || buffer.base)
      return Fit::Always;
    std::int64_t divisor = wantedDivisor(buffer.dtype, bytes);
    if (divisor == 1)
      return Fit::Always;
    smallElements |= buffer.dtype.bits() * buffer.dtype.lanes < leastAsyncBits;
    if (buffer.strides.empty()) // all outer strides are multiples of the last extent
      return want(buffer.shape.back(), divisor, buffer);
    Fit fit = Fit::Always;
    for (std::size_t d = 0; d + 1 < buffer.strides.size(); ++d)
      fit = std::max(fit, want(buffer.strides[d], divisor, buffer));
    return fit;
  }

  Fit want(Expr pitch, std::int64_t divisor, const Buffer &buffer) {
    if (auto constant = pitch.constant())
      return *constant % divisor ? Fit::Never : Fit::Always;
    if (ranges.divisible(pitch, divisor))
      return Fit::Always;
    Wanted &wanted = divisors[pitch->id];
    wanted.pitch = pitch;
    wanted.range = where;
    wanted.divisor = std::max(wanted.divisor, divisor);
    wanted.text = "rows of `" + buffer.name + "` at multiples of " +
                  std::to_string(wanted.divisor) + " elements";
    return Fit::Unknown;
  }

  analysis::Ranges ranges;
  std::int64_t bytes = 16;    ///< wanted of each row's start
  bool smallElements = false; ///< of what is wanted, some
  SourceRange where;          ///< of the copy being looked at
  Divisors divisors;
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

/// The launches that one of the program becomes.
class Variants {
public:
  Variants(Function &function, Launch &launch, PassContext &context, Alignment::Facts facts)
      : function(function), launch(launch), context(context), facts(std::move(facts)) {}

  /// Changes the launch and gives those that come after it.
  std::vector<std::unique_ptr<Launch>> make() {
    const auto &[loads, rest, halfLoads, others, loaded, never] = facts;
    const Target &target = context.target;
    const bool apart =
        loads && rest && target.has(Feature::Tma) && multiplies(std::as_const(launch.body));
    const bool rings = target.has(Feature::Wgmma) && pipelinesProducts(launch);
    const bool halves = loads && halfLoads && rings;
    Expr aligned = loads && rest ? logicalAnd(loads, rest) : loads ? loads : rest;
    Launch *stores =
        apart ? &add("_unaligned_stores", logicalAnd(loads, logicalNot(rest)), loads) : nullptr;
    Expr unpacked;
    if (rings && (loads || never) && mayPack())
      unpacked = pack(halves ? halfLoads : Expr());
    if (stores && never && unpacked) // else only other rows than `loads` has are packed
      startOnlyIf(*stores, unpacked);
    if (halves)
      add("_half_aligned", logicalAnd(logicalAnd(logicalNot(loads), halfLoads), unpacked),
          halfLoads);
    if (aligned)
      add("_unaligned",
          logicalAnd(logicalNot(halves  ? halfLoads
                                : apart ? loads
                                        : aligned),
                     unpacked),
          {});
    if (Expr condition = never ? logicalAnd(aligned, unpacked) : aligned)
      specialize(launch, condition, aligned);
    return std::move(made);
  }

private:
  Launch &add(const char *suffix, Expr condition, Expr known) {
    Substitution renamed;
    std::unique_ptr<Launch> &copy = made.emplace_back(freshCopy(function, launch, renamed));
    copy->name += suffix;
    specialize(*copy, condition, known);
    return *copy;
  }

  bool mayPack() const {
    const FunctionOptions &options = function.options;
    return !options.hintsAreBinding && !options.disableTma && !options.disableWarpSpecialize &&
           (!context.schedule.given || context.schedule.find(launch.name + "_packed"));
  }

  /// Adds the launches that copy rows and those that read the copies; gives the condition under
  /// which there are none, null: always.
  Expr pack(Expr half) {
    PackedRows packed =
        packRows(function, launch, facts.loaded, facts.never ? Expr() : facts.loads, half);
    if (!packed.condition)
      return {};
    for (std::unique_ptr<Launch> &copying : packed.copies)
      made.push_back(std::move(copying));
    auto read = [&](const char *suffix, Expr condition, Expr known) {
      Launch &reading = add(suffix, condition, known);
      for (auto &[tensor, rows] : packed.tensors)
        replaceBuffer(reading.body, tensor, rows);
    };
    read("_packed", logicalAnd(packed.condition, facts.others), facts.others);
    if (facts.others)
      read("_packed_unaligned_stores", logicalAnd(packed.condition, logicalNot(facts.others)), {});
    return logicalNot(packed.condition);
  }

  Function &function;
  Launch &launch;
  PassContext &context;
  Alignment::Facts facts;
  std::vector<std::unique_ptr<Launch>> made;
};

} // namespace

void alignedVariants(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  Alignment alignment(function);
  if (context.target.has(Feature::Tma))
    for (auto &launch : function.launches)
      for (Constraint &constraint : alignment.constraints(*launch)) {
        alignment.assume(constraint);
        function.constraints.push_back(std::move(constraint));
      }
  addLaunches(function, [&](Launch &launch) {
    return Variants(function, launch, context, alignment.facts(launch)).make();
  });
}

} // namespace tlc::passes
