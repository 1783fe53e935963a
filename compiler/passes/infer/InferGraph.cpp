// Layout inference, the graph: reading a launch, and moving layouts between schedules and homes.
// See InferGraph.h.
#include "passes/infer/InferGraph.h"

#include "analysis/Copies.h"
#include "passes/infer/Registers.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Conversion.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tlc::passes {

using namespace ir;

Index TileOp::points() const {
  Index n = 1;
  for (Index e : box)
    n *= e;
  return n;
}

namespace {

/// What becomes an op of the graph.
bool isOp(const Stmt &s) {
  switch (s.kind) {
  case StmtKind::Map:
  case StmtKind::Copy:
  case StmtKind::Gemm:
  case StmtKind::Fill:
  case StmtKind::Reduce:
  case StmtKind::Scan:
  case StmtKind::AtomicTile:
    return true;
  default:
    return false;
  }
}

class Reader {
public:
  explicit Reader(InferenceGraph &graph) : graph(graph) {}

  struct Place {
    Index threads = 1;
    unsigned depth = 0;
    double trips = 1;
  };

  void read(Block &block, Place place) {
    for (StmtPtr &stmt : block) {
      if (isOp(*stmt)) {
        addOp(*stmt, block, place);
        continue;
      }
      if (auto *reducer = dynCast<ReducerStmt>(stmt.get());
          reducer && reducer->action != ReducerAction::Update)
        noteFragment(reducer->reducer->storage(), place.threads, stmt->range); // as it lies
      else
        scalarUses(*stmt, place);
      Place inner = place;
      if (auto *loop = dynCast<ForStmt>(stmt.get())) {
        ++inner.depth;
        auto trips = constantDifference(loop->hi, loop->lo);
        auto step = loop->step ? loop->step.constant() : std::optional<Index>(1);
        inner.trips *= trips && step && *step > 0
                           ? static_cast<double>((*trips + *step - 1) / *step)
                           : graph.target->cost.unknownTrips;
      } else if (isa<WhileStmt>(*stmt)) {
        ++inner.depth;
        inner.trips *= graph.target->cost.unknownTrips;
      } else if (auto *role = dynCast<RoleStmt>(stmt.get())) {
        inner.threads = graph.target->collectiveThreads(role->count);
      }
      forEachBlock(*stmt, [&](Block &b) { read(b, inner); });
    }
  }

private:
  InferenceGraph &graph;
  std::map<Buffer *, Index> threadsOf; ///< of the fragments noted
  std::set<Buffer *> scalar;

  void addOp(Stmt &stmt, Block &block, const Place &place) {
    TileOp op;
    op.stmt = &stmt;
    op.block = &block;
    op.order = graph.ops.size();
    op.depth = place.depth;
    op.trips = place.trips;
    op.threads = place.threads;
    describeOp(op, graph);
    for (const auto *uses : {&op.fragments, &op.unplaced})
      for (const FragmentUse &u : *uses)
        noteFragment(u.buffer, place.threads, stmt.range);
    graph.ops.push_back(std::move(op));
  }

  void noteFragment(Buffer *buffer, Index threads, SourceRange range) {
    if (buffer->scope != Scope::Fragment)
      return;
    auto [known, isNew] = threadsOf.emplace(buffer, threads);
    if (isNew)
      graph.fragments.emplace_back(buffer, threads);
    else if (known->second != threads)
      graph.misplaced.push_back({buffer, "roles of different sizes use it", range});
  }

  void scalarUses(Stmt &stmt, const Place &place) {
    forEachUse(stmt, [&](const BufferUse &u) {
      Buffer *owner = u.buffer ? u.buffer->storage() : nullptr;
      if (!owner || owner->scope != Scope::Fragment)
        return;
      noteFragment(owner, place.threads, stmt.range);
      if (scalar.insert(owner).second)
        graph.scalarFragments.push_back(owner);
    });
  }
};

/// One more than the largest value of an output.
Index extentOf(const Layout &l, const OutputAxis &o) {
  Index most = o.base;
  for (const Term &t : o.terms)
    most +=
        t.weight * (std::has_single_bit(t.digits) ? l.radix(std::countr_zero(t.digits)) - 1 : 1);
  return most + 1;
}

} // namespace

namespace {

/// Of stores to tensors, and of asynchronous loads, which nothing gathers.
void measurePieces(InferenceGraph &graph) {
  analysis::Ranges ranges(*graph.function);
  ranges.enter(*graph.launch);
  analysis::walkWithRanges(graph.launch->body, ranges, [&](Stmt &stmt) {
    auto *copy = dynCast<CopyStmt>(&stmt);
    if (!copy || !copy->boundsKnown || analysis::isTmaCopy(*copy))
      return true;
    if (copy->target.buffer->storage()->scope == Scope::Global || copy->async)
      graph.pieceBytes[&stmt] =
          analysis::copyPieceBytes(*copy, ranges, graph.target->limits.maxVectorBytes);
    return true;
  });
}

} // namespace

InferenceGraph buildGraph(Function &function, Launch &launch, const Target &target) {
  InferenceGraph graph;
  graph.function = &function;
  graph.launch = &launch;
  graph.target = &target;
  if (target.isGpu())
    measurePieces(graph);
  Reader(graph).read(launch.body, {target.collectiveThreads(launch.threadCount()), 0, 1});
  return graph;
}

namespace {

/// Digits that fill each output without gaps; nothing when that is not obvious.
std::optional<bool> obviouslyCovers(const Layout &l, std::span<const Index> shape) {
  DigitSet seen = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::pair<Index, Index>> digits; // weight, radix
    for (const Term &t : l.outputs[d].terms) {
      if (!std::has_single_bit(t.digits) || t.flip || (seen & t.digits))
        return std::nullopt;
      seen |= t.digits;
      digits.emplace_back(t.weight, l.radix(std::countr_zero(t.digits)));
    }
    std::sort(digits.begin(), digits.end());
    Index filled = 1;
    for (auto [weight, radix] : digits) {
      if (weight != filled)
        return std::nullopt;
      filled *= radix;
    }
    if (l.outputs[d].base || filled < shape[d])
      return false;
  }
  return true;
}

} // namespace

bool covers(const Layout &l, std::span<const Index> shape) {
  if (l.outputs.size() != shape.size())
    return false;
  if (auto known = obviouslyCovers(l, shape))
    return *known;
  Index count = 1;
  for (Index e : shape)
    count *= e;
  if (l.domainSize() < count || l.domainSize() > (Index{1} << 22))
    return false;
  std::vector<bool> reached(static_cast<std::size_t>(count));
  forEachPoint(l, [&](const Point &p) {
    Point v = l(p);
    Index flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (v[d] >= shape[d])
        return;
      flat = flat * shape[d] + v[d];
    }
    reached[static_cast<std::size_t>(flat)] = true;
  });
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

std::optional<Layout> scheduleFromHome(const TileOp &op, const FragmentUse &use,
                                       const Layout &home) {
  auto shape = use.buffer->constantShape();
  if (!shape || use.fixed)
    return std::nullopt;
  Layout part = home;
  Index image = 1;
  for (std::size_t d = 0; d < shape->size(); ++d) {
    const OutputAxis &o = use.map.layout.outputs[d];
    Index extent = extentOf(use.map.layout, o);
    image *= extent;
    auto offset = use.map.outer[d].constant();
    if (extent >= (*shape)[d]) {
      if (offset != 0)
        return std::nullopt;
      continue;
    }
    // Indices known at run time are possible where registers alone step along the dim.
    if (!offset && extent > 1)
      return std::nullopt;
    auto slice = sliceOutput(part, dimName(d), offset.value_or(0), extent);
    if (!slice)
      return std::nullopt;
    part = std::move(slice->part);
  }
  if (image != op.points())
    return std::nullopt; // the box repeats elements, or skips some
  auto inverse = invert(use.map.layout);
  if (!inverse)
    return std::nullopt;
  auto schedule = composeExtended(*inverse, part);
  if (!schedule)
    return std::nullopt;
  for (std::size_t d = 0; d < op.box.size(); ++d)
    if (schedule->outputs.at(d).size < op.box[d])
      return std::nullopt;
  if (!covers(*schedule, op.box))
    return std::nullopt;
  return schedule;
}

namespace {

/// Indices known only at run time may step through this many registers; more are better in shared
/// memory.
constexpr Index mostDynamicRegisters = 64;

/// Whether each element lies in one register of each thread that differs from its first holder in
/// free digits only, so that folding over those digits counts everything once.
bool canHoldParts(const Layout &home) {
  DigitSet seen = 0;
  for (const OutputAxis &o : home.outputs) {
    std::vector<std::pair<Index, Index>> digits; // weight, radix
    for (const Term &t : o.terms) {
      if (!std::has_single_bit(t.digits) || (seen & t.digits))
        return false;
      seen |= t.digits;
      digits.emplace_back(t.weight, home.radix(std::countr_zero(t.digits)));
    }
    std::sort(digits.begin(), digits.end());
    Index below = 1; // values that the smaller digits reach
    for (auto [weight, radix] : digits) {
      if (weight < below)
        return false;
      below = weight * (radix - 1) + below;
    }
  }
  for (int d = 0; d < home.digitCount(); ++d)
    if (home.inputs[static_cast<std::size_t>(home.place(d).first)].name == "reg" &&
        !(seen >> d & 1))
      return false;
  return true;
}

/// A write must be made by every holder of the element. That is so if no two points of the box
/// write one element (then holders are copies of the point), if all threads run all points, and in
/// reductions, whose lanes agree on the result.
bool everyHolderWrites(const TileOp &op, const FragmentUse &use, const Layout &schedule) {
  if (!use.writes() || (op.axis && !op.scans))
    return true;
  Index image = 1;
  for (const OutputAxis &o : use.map.layout.outputs)
    image *= extentOf(use.map.layout, o);
  if (image >= op.points())
    return true;
  for (const OutputAxis &o : schedule.outputs)
    for (const Term &t : o.terms)
      for (DigitSet s = t.digits; s; s &= s - 1) {
        int axis = schedule.place(std::countr_zero(s)).first;
        if (schedule.inputs[static_cast<std::size_t>(axis)].name == "thread")
          return false;
      }
  return true;
}

} // namespace

std::optional<Layout> homeFromSchedule(const TileOp &op, const FragmentUse &use,
                                       const Layout &schedule) {
  if (!use.partial && !everyHolderWrites(op, use, schedule))
    return std::nullopt;
  auto shape = use.buffer->constantShape();
  auto home = composeExtended(use.map.layout, schedule);
  if (!shape || !home || use.fixed)
    return std::nullopt;
  std::vector<Digit> more;
  Sizes ratios;
  Index total = 1;
  bool dynamic = false;
  for (std::size_t d = 0; d < shape->size(); ++d) {
    Index extent = extentOf(use.map.layout, use.map.layout.outputs[d]);
    Index ratio = 1;
    if (extent < (*shape)[d]) {
      if ((*shape)[d] % extent)
        return std::nullopt;
      ratio = (*shape)[d] / extent;
      total *= ratio;
      dynamic = dynamic || !use.map.outer[d].constant();
      if (extentOf(*home, home->outputs[d]) > extent)
        return std::nullopt; // the schedule covers more than the box, and the rest would overlap
      home->outputs[d].size = extent;
      more.push_back({ratio, dimName(d)});
    }
    ratios.emplace_back(dimName(d), ratio);
  }
  if (dynamic && total > mostDynamicRegisters && op.threads > 1)
    return std::nullopt;
  if (!more.empty())
    home = product(*home, Layout::make({{"reg", more}}, ratios));
  *home = dropFree(*home, "reg");
  if (!covers(*home, *shape) || (use.partial && !canHoldParts(*home)))
    return std::nullopt;
  return home;
}

bool agrees(const TileOp &op, const FragmentUse &use, const Layout &home) {
  auto shape = use.buffer->constantShape();
  if (!shape)
    return false;
  if (use.fixed) {
    if (use.fixed->input("thread").size() != home.input("thread").size())
      return false;
    return isHeldIn(home, *use.fixed, dimSizes(*shape));
  }
  return op.schedule &&
         (use.partial ? canHoldParts(home) : everyHolderWrites(op, use, *op.schedule)) &&
         reaches(home, *shape, use.map, *op.schedule);
}

} // namespace tlc::passes
