// infer-layouts: gives every fragment, shared tile, map and copy its layout.
//
//   fill %C_l = 0                                  alloc %C_l: fragment f32[128, 128] layout
//   reg(2:d1 2:d0*8 …) thread(…) gemm %A_s, %B_s -> %C_l atom … warps 2 2   =>  (A_s, B_s:
//   swizzled; all ops as they were, maps and copies with schedules) copy %C_l -> %C[…]
//
// In phases: strict (what atoms insist on), common (layouts travel along ops that move no data),
// free (the cheapest of some proposals, component by component), memory (shared tiles from the
// accesses they see), conversions (where a use still disagrees with its fragment's home). It never
// fails for lack of a layout: a fragment with indices that no layout can follow moves to shared
// memory, with a warning.
//
// After pipeline, which adds versions but no tiles; before fit, which needs sizes.
#include "passes/infer/InferConvert.h"
#include "passes/infer/InferFree.h"
#include "passes/infer/InferGraph.h"
#include "passes/infer/InferMemory.h"
#include "passes/infer/Registers.h"
#include "passes/prepare/Reducers.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

/// More registers than this for one fragment are never given by propagation.
constexpr Index mostRegisters = 1024;

/// What was decided for one target so far; launches of one function are often alike.
struct Decided {
  std::vector<std::pair<FreeChoice, Layout>> schedules;
  SharedJudge memories;
};

class Inference {
public:
  Inference(InferenceGraph &graph, Decided &decided)
      : graph(graph), decided(decided), reached(graph.ops.size(), 0) {
    for (TileOp &op : graph.ops)
      for (const FragmentUse &use : op.fragments)
        users[use.buffer].push_back(&op);
  }

  void run() {
    strict();
    unsigned before = round;
    for (TileOp &op : graph.ops)
      if (reached[op.order] <= before)
        common(connected(op));
    for (TileOp *root : byWeight())
      if (undecided(*root))
        decideFreely(*root);
    leftovers();
  }

private:
  using Ops = std::vector<TileOp *>; ///< in program order

  /// What one try decided.
  struct Trial {
    double cost = 0;
    std::vector<std::pair<TileOp *, Layout>> schedules;
    std::vector<std::pair<Buffer *, Home>> homes;
  };

  InferenceGraph &graph;
  Decided &decided;
  std::map<Buffer *, Ops> users; ///< of fragments
  std::vector<unsigned> reached; ///< by op: the round in which it was found by `connected` last
  unsigned round = 0;
  Trial *trial = nullptr; ///< that goes on: notes what is decided, so that it can be taken back

  void setHome(Buffer *buffer, Layout layout, LayoutOrigin origin, const TileOp *from) {
    Home home{std::move(layout), origin, from};
    if (trial && !graph.home(buffer))
      trial->homes.emplace_back(buffer, home);
    graph.homes.try_emplace(buffer, std::move(home));
  }

  void setSchedule(TileOp &op, Layout schedule, LayoutOrigin origin) {
    if (trial)
      trial->schedules.emplace_back(&op, schedule);
    op.schedule = std::move(schedule);
    op.origin = origin;
  }

  /// The ops that can hear of each other's decisions: joined by fragments without a home.
  Ops connected(TileOp &seed) {
    ++round;
    reached[seed.order] = round;
    Ops found{&seed};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const FragmentUse &use : found[i]->fragments) {
        if (graph.home(use.buffer))
          continue;
        for (TileOp *other : users.at(use.buffer))
          if (std::exchange(reached[other->order], round) != round)
            found.push_back(other);
      }
    std::sort(found.begin(), found.end(),
              [](const TileOp *a, const TileOp *b) { return a->order < b->order; });
    return found;
  }

  // ---- Strict ----

  void strict() {
    for (auto &[buffer, threads] : graph.fragments)
      if (buffer->layout)
        setHome(buffer, *buffer->layout, buffer->origin, nullptr);
    // The accumulator in the deeper loop wins.
    std::vector<TileOp *> gemms;
    for (TileOp &op : graph.ops)
      if (op.stmt->kind == StmtKind::Gemm)
        gemms.push_back(&op);
    std::stable_sort(gemms.begin(), gemms.end(),
                     [](auto *a, auto *b) { return a->depth > b->depth; });
    for (TileOp *op : gemms) {
      FragmentUse &c = op->fragments.back();
      if (op->schedule && c.writes() && !graph.home(c.buffer))
        if (auto home = homeFromSchedule(*op, c, *op->schedule))
          setHome(c.buffer, std::move(*home), LayoutOrigin::Strict, op);
    }
    std::set<Buffer *> scalar(graph.scalarFragments.begin(), graph.scalarFragments.end());
    for (auto &[buffer, threads] : graph.fragments) {
      auto shape = buffer->constantShape();
      if (scalar.count(buffer) && !graph.home(buffer) && shape)
        setHome(buffer, replicatedLayout(*shape, threads), LayoutOrigin::Strict, nullptr);
    }
  }

  // ---- Common ----

  bool acceptable(const TileOp &op, const Layout &schedule) const {
    if (schedule.input("reg").size() > mostRegisters && op.threads > 1)
      return false;
    return !op.scans || scanOrder(schedule, *op.axis, *graph.target);
  }

  /// The schedule from the best of the op's fragments that have a home.
  bool scheduleFromFragments(TileOp &op) {
    using Key = std::tuple<int, Index, Index>;
    std::optional<Key> best;
    std::optional<Layout> schedule;
    for (const FragmentUse &use : op.fragments) {
      const Home *home = graph.home(use.buffer);
      if (!home)
        continue;
      auto candidate = scheduleFromHome(op, use, home->layout);
      if (!candidate || !acceptable(op, *candidate))
        continue;
      int rank = use.access == Access::ReadWrite ? 0 : use.writes() ? 1 : 2;
      if (home->origin == LayoutOrigin::Strict && home->from == nullptr)
        rank += 3; // replicated for scalar code: everybody would do everything
      Key key{rank, -use.map.layout.domainSize(), candidate->input("reg").size()};
      if (!best || key < *best)
        best = key, schedule = std::move(candidate);
    }
    if (!schedule)
      return false;
    op.schedule = std::move(schedule);
    // A fragment lies as it suits another op; in which order its registers are walked is free.
    bool walks = op.stmt->kind == StmtKind::Map && !op.memories.empty() && graph.target->isGpu();
    auto better = walks ? memoryOrder(op, graph) : std::nullopt;
    setSchedule(op, better ? std::move(*better) : *std::move(op.schedule),
                LayoutOrigin::Propagated);
    return true;
  }

  bool homesFromOp(TileOp &op, bool written) {
    bool changed = false;
    for (const FragmentUse &use : op.fragments) {
      if (use.fixed || graph.home(use.buffer) || use.writes() != written)
        continue;
      auto home = homeFromSchedule(op, use, *op.schedule);
      if (!home || (home->input("reg").size() > mostRegisters && op.threads > 1))
        continue;
      setHome(use.buffer, std::move(*home), LayoutOrigin::Propagated, &op);
      changed = true;
    }
    return changed;
  }

  bool forward(const Ops &ops) {
    bool changed = false;
    for (TileOp *op : ops) {
      if (op->scheduled && !op->schedule && op->propagates)
        changed |= scheduleFromFragments(*op);
      if (op->scheduled && op->schedule && op->propagates)
        changed |= homesFromOp(*op, true);
    }
    return changed;
  }

  bool backward(const Ops &ops) {
    for (TileOp *op : ops)
      if (op->scheduled && op->schedule && op->propagates && homesFromOp(*op, false))
        return true;
    return false;
  }

  /// A gemm's operand takes the layout in which it is used if nothing else says what to do.
  bool fromGemms(const Ops &ops) {
    for (TileOp *op : ops)
      for (const FragmentUse &use : op->fragments) {
        if (!use.fixed || graph.home(use.buffer))
          continue;
        auto shape = use.buffer->constantShape();
        Layout home = dropFree(*use.fixed, "reg");
        if (!shape || !covers(home, *shape))
          continue;
        setHome(use.buffer, std::move(home), LayoutOrigin::Propagated, op);
        return true;
      }
    return false;
  }

  void common(const Ops &ops) {
    while (forward(ops) || backward(ops) || fromGemms(ops)) {
    }
  }

  // ---- Free ----

  static bool undecided(const TileOp &op) {
    return op.scheduled && !op.schedule &&
           !(op.fragments.empty() && op.memories.empty() && !op.propagates);
  }

  /// The op that matters most first; of equals those at global memory, which know how wide its
  /// accesses can be and along which axis.
  Ops byWeight() {
    Ops ops;
    for (TileOp &op : graph.ops)
      ops.push_back(&op);
    auto weight = [](const TileOp &op) {
      bool global = std::any_of(op.memories.begin(), op.memories.end(), [](const MemoryUse &use) {
        return use.buffer->storage()->scope == Scope::Global;
      });
      return std::tuple(op.propagates, static_cast<double>(op.points()) * op.trips, global,
                        op.axis.has_value());
    };
    std::stable_sort(ops.begin(), ops.end(),
                     [&](const TileOp *a, const TileOp *b) { return weight(*a) > weight(*b); });
    return ops;
  }

  /// Of the candidates those that may be taken. A box so large that each thread has very many
  /// elements of it however it is spread is fine in memory; false if it is a fragment's.
  bool keepAcceptable(const TileOp &root, std::vector<Layout> &candidates) {
    auto taken = [&](const Layout &l) { return acceptable(root, l); };
    if (std::any_of(candidates.begin(), candidates.end(), taken)) {
      std::erase_if(candidates, [&](const Layout &l) { return !taken(l); });
      return true;
    }
    if (!root.fragments.empty()) {
      Buffer *fragment = root.fragments.front().buffer->storage();
      graph.misplaced.push_back({fragment,
                                 "it has " + std::to_string(fragment->elementCount().value_or(0)) +
                                     " elements, a thread holds " + std::to_string(mostRegisters) +
                                     " at most",
                                 root.stmt->range});
      return false;
    }
    candidates.erase(candidates.begin() + 1, candidates.end());
    return true;
  }

  void decideFreely(TileOp &root) {
    bool fillsOnly = !root.propagates && !root.fragments.empty();
    if (fillsOnly) // a fill takes the home of its fragment, if that has one by now
      if (scheduleFromFragments(root))
        return;
    std::optional<FreeChoice> choice = freeChoice(root);
    auto known = std::find_if(decided.schedules.begin(), decided.schedules.end(),
                              [&](const auto &entry) { return entry.first == choice; });
    if (known != decided.schedules.end())
      return setSchedule(root, known->second, LayoutOrigin::Free);
    std::vector<Layout> candidates = proposals(root, graph);
    TLC_CHECK(!candidates.empty(), "no schedule to propose");
    const Ops ops = connected(root);
    Ops open;
    std::copy_if(ops.begin(), ops.end(), std::back_inserter(open),
                 [](const TileOp *op) { return !op->schedule; });
    std::optional<Trial> best;
    if (!keepAcceptable(root, candidates))
      return;
    for (Layout &candidate : candidates) {
      Trial made = attempt(root, std::move(candidate), ops, open,
                           best ? best->cost : std::numeric_limits<double>::infinity());
      if (!best || made.cost < best->cost)
        best = std::move(made);
    }
    if (choice)
      decided.schedules.emplace_back(std::move(*choice), best->schedules.front().second);
    for (auto &[op, schedule] : best->schedules)
      setSchedule(*op, std::move(schedule),
                  op == &root ? LayoutOrigin::Free : LayoutOrigin::Propagated);
    for (auto &[buffer, home] : best->homes)
      setHome(buffer, std::move(home.layout), home.origin, home.from);
  }

  /// What follows from the candidate among `ops`, and its cost over those that were `open`; the
  /// graph is as before afterwards. Counting stops where `limit` is reached.
  Trial attempt(TileOp &root, Layout candidate, const Ops &ops, const Ops &open, double limit) {
    Trial made;
    trial = &made;
    setSchedule(root, std::move(candidate), LayoutOrigin::Free);
    homesFromOp(root, true);
    homesFromOp(root, false);
    common(ops);
    trial = nullptr;
    for (const TileOp *op : open) {
      made.cost += opCost(*op, graph, limit - made.cost);
      if (made.cost >= limit)
        break;
    }
    for (auto &[op, schedule] : made.schedules)
      op->schedule.reset();
    for (auto &[buffer, home] : made.homes)
      graph.homes.erase(buffer);
    return made;
  }

  /// Fragments that no op could give a home: each by itself.
  void leftovers() {
    for (auto &[buffer, threads] : graph.fragments) {
      auto shape = buffer->constantShape();
      if (graph.home(buffer) || !shape)
        continue;
      if (shape->empty() || threads == 1) {
        setHome(buffer, replicatedLayout(*shape, threads), LayoutOrigin::Free, nullptr);
        continue;
      }
      setHome(buffer, blocked(dimSizes(*shape), threads, 1), LayoutOrigin::Free, nullptr);
    }
  }
};

/// What inference decided, into the statements and buffers.
void commit(InferenceGraph &graph) {
  for (auto &[buffer, home] : graph.homes) {
    buffer->layout = home.layout;
    buffer->origin = home.origin;
  }
  for (TileOp &op : graph.ops) {
    if (!op.schedule)
      continue;
    if (auto *map = dynCast<MapStmt>(op.stmt))
      map->layout = op.schedule, map->origin = op.origin;
    else if (auto *copy = dynCast<CopyStmt>(op.stmt))
      copy->layout = op.schedule;
    else if (auto *fill = dynCast<FillStmt>(op.stmt))
      fill->layout = op.schedule;
    else if (auto *atomic = dynCast<AtomicTileStmt>(op.stmt))
      atomic->layout = op.schedule;
  }
}

/// Uses that no conversion can serve: the fragment must be somewhere else.
void findMisplaced(InferenceGraph &graph) {
  for (TileOp &op : graph.ops)
    for (FragmentUse &use : op.fragments) {
      const Home *home = graph.home(use.buffer);
      if (home && (!op.schedule && !use.fixed))
        continue;
      if (home && !agrees(op, use, home->layout) && !convertible(op, use))
        graph.misplaced.push_back(
            {use.buffer, "one use reaches only a part of it, another lays it out differently",
             op.stmt->range});
    }
}

/// Moves fragments to shared memory, or puts a shared tile before uses of those that must stay.
/// Whether anything was done.
bool relocate(InferenceGraph &graph, PassContext &context,
              std::set<std::pair<Buffer *, bool>> &tried) {
  bool changed = false;
  for (const Misplaced &m : graph.misplaced) {
    if (!tried.emplace(m.buffer, graph.home(m.buffer) != nullptr).second)
      continue;
    bool pinned = false, parts = false;
    for (const TileOp &op : graph.ops)
      for (const FragmentUse &use : op.fragments) {
        pinned = pinned || (use.buffer == m.buffer && op.stmt->kind == StmtKind::Gemm);
        parts = parts || (use.buffer == m.buffer && use.partial);
      }
    if (pinned && parts) // a copy would take one of the parts
      continue;
    if (pinned) {
      changed |= stageThroughShared(graph, m.buffer);
      continue;
    }
    context.diagnostics.report(diag::FragmentInShared, m.range, m.buffer->name, m.reason);
    shareReducer(*graph.function, *graph.launch, *m.buffer);
    m.buffer->scope = Scope::Shared;
    m.buffer->layout.reset();
    for (auto &other : graph.function->buffers)
      if (other->base && other->storage() == m.buffer)
        other->scope = Scope::Shared, other->layout.reset();
    changed = true;
  }
  return changed;
}

/// Where a block is one task, layouts over its threads have nothing to say.
void forgetThreads(Launch &launch) {
  walk(launch.body, [](Stmt &stmt) {
    if (auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->buffer->scope == Scope::Fragment)
      alloc->buffer->layout.reset();
    else if (auto *map = dynCast<MapStmt>(&stmt))
      map->layout.reset();
    else if (auto *copy = dynCast<CopyStmt>(&stmt))
      copy->layout.reset();
    return true;
  });
}

void inferLaunch(Function &function, Launch &launch, Decided &decided, PassContext &context) {
  legalizeReductions(function, launch);
  if (!context.target.isGpu())
    forgetThreads(launch);
  std::set<std::pair<Buffer *, bool>> tried; // before and after it had a home
  for (;;) {
    InferenceGraph graph = buildGraph(function, launch, context.target);
    if (!graph.misplaced.empty() && relocate(graph, context, tried))
      continue;
    if (graph.misplaced.empty()) {
      Inference(graph, decided).run();
      findMisplaced(graph);
      if (!graph.misplaced.empty() && relocate(graph, context, tried))
        continue;
    }
    for (const Misplaced &m : graph.misplaced)
      context.diagnostics.report(diag::NoLayout, m.range, m.buffer->name, m.reason);
    if (!graph.misplaced.empty())
      return;
    commit(graph);
    insertConversions(graph, context);
    layoutMemories(graph, decided.memories, context.diagnostics);
    return;
  }
}

} // namespace

void inferLayouts(Function &function, PassContext &context) {
  Decided decided{{}, SharedJudge(context.target.sharedMemory())};
  for (auto &launch : function.launches)
    inferLaunch(function, *launch, decided, context);
  if (!context.failed())
    function.phase = Phase::Scheduled;
}

} // namespace tlc::passes
