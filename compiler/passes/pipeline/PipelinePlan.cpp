#include "passes/pipeline/PipelinePlan.h"

#include <algorithm>
#include <numeric>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;
using analysis::MemoryAccess;
using analysis::Order;

namespace {

const Buffer *targetOf(const PipelineNode &node) {
  const auto *copy = dynCast<CopyStmt>(node.stmt.get());
  return copy ? copy->target.buffer->storage() : nullptr;
}
const Buffer *sourceOf(const PipelineNode &node) {
  const auto *copy = dynCast<CopyStmt>(node.stmt.get());
  return copy ? copy->source.buffer->storage() : nullptr;
}

std::string nameOf(const PipelineNode &node) {
  const auto *call = dynCast<CallStmt>(node.stmt.get());
  return call ? call->callee : stmtName(node.stmt->kind);
}

/// Whether two boxes of one buffer are apart in some dim, in terms of constants.
bool disjoint(const Region &a, const Region &b) {
  if (a.buffer != b.buffer)
    return false;
  for (unsigned d = 0; d < a.buffer->rank(); ++d) {
    auto first = constantDifference(b.offsets[d], a.offsets[d] + a.extents[d]);
    auto second = constantDifference(a.offsets[d], b.offsets[d] + b.extents[d]);
    if ((first && *first >= 0) || (second && *second >= 0))
      return true;
  }
  return false;
}

/// Whether u(i) comes before v(i + distance) in the schedule.
bool before(const PipelineNode &u, const PipelineNode &v, std::int64_t distance) {
  std::int64_t first = u.stage, second = v.stage + distance;
  return first < second || (first == second && u.place < v.place);
}

/// The schedule of a body against its dependences, and the versions that buffers need for it.
class Checker {
public:
  explicit Checker(PipelineBody &body) : body(body) {
    for (const PipelineNode &node : body.nodes)
      effects.push_back(body.fullEffects(node));
  }

  struct Violation {
    std::size_t earlier = 0, later = 0;
  };
  std::vector<PipelineBuffer> buffers;

  /// None if the schedule keeps every dependence, given versions for `buffers`, which it finds.
  std::optional<Violation> run() {
    findVersions();
    for (std::size_t i = 0; i < body.nodes.size(); ++i)
      for (std::size_t j = 0; j < body.nodes.size(); ++j) {
        if (body.nodes[i].scalar || body.nodes[j].scalar)
          continue;
        // Within an iteration, in program order; and from each to the next iteration of any.
        if (i < j && tied(i, j, false) && !before(body.nodes[i], body.nodes[j], 0))
          return Violation{i, j};
        if (tied(i, j, true) && !before(body.nodes[i], body.nodes[j], 1))
          return Violation{i, j};
      }
    return std::nullopt;
  }

private:
  bool isVersioned(const Buffer *storage) const {
    return std::any_of(buffers.begin(), buffers.end(),
                       [&](const PipelineBuffer &b) { return b.storage == storage; });
  }

  /// Whether `later` has to stay behind `earlier` for a reason that versions do not remove.
  bool tied(std::size_t earlier, std::size_t later, bool carried) const {
    const Effects &a = effects[earlier], &b = effects[later];
    for (const MemoryAccess &x : a.memory)
      for (const MemoryAccess &y : b.memory) {
        if ((!x.writes() && !y.writes()) || !analysis::mayAlias(*x.use.buffer, *y.use.buffer))
          continue;
        if (carried && isVersioned(x.storage()))
          continue; // a later iteration has another version, for as long as it is needed
        return true;
      }
    if (!carried)
      for (const ExprNode *var : a.defines)
        if (b.uses.count(var) && !body.nodes[*body.binder(var)].scalar)
          return true;
    // Moved copies touch nothing but tiles of their own and tensors that the loop does not write:
    // barriers of the program do not order them. Everything else keeps its place.
    bool moved = body.nodes[earlier].async || body.nodes[later].async ||
                 isPrefetch(body.nodes[earlier]) || isPrefetch(body.nodes[later]);
    if (moved)
      return false;
    Order order = analysis::orderBetween(a, b);
    return has(order, Order::Control) && (carried || earlier < later);
  }

  static bool isPrefetch(const PipelineNode &node) {
    const Buffer *from = sourceOf(node);
    return from && from->scope == Scope::Global;
  }

  /// For each shared tile with writers and readers in different stages: how many iterations of it
  /// are alive at once.
  void findVersions() {
    std::vector<const Buffer *> storages;
    for (const Effects &e : effects)
      for (const MemoryAccess &access : e.memory)
        if (access.storage()->scope == Scope::Shared &&
            std::find(storages.begin(), storages.end(), access.storage()) == storages.end())
          storages.push_back(access.storage());
    for (const Buffer *storage : storages) {
      std::int64_t versions = 0;
      bool apart = false;
      for (std::size_t w = 0; w < body.nodes.size(); ++w)
        for (std::size_t r = 0; r < body.nodes.size(); ++r) {
          if (!effects[w].writesStorage(storage) || !effects[r].readsStorage(storage) || w == r)
            continue;
          const PipelineNode &writer = body.nodes[w], &reader = body.nodes[r];
          apart |= writer.stage != reader.stage || writer.async;
          versions = std::max(versions,
                              reader.stage - writer.stage + (writer.place < reader.place ? 1 : 0));
        }
      std::string reason;
      if (apart && body.versionable(storage, reason))
        buffers.push_back(
            {const_cast<Buffer *>(storage), std::max<std::int64_t>(versions, 1), false});
    }
    for (PipelineBuffer &buffer : buffers)
      buffer.exposed = body.exposed(buffer.storage);
  }

  PipelineBody &body;
  std::vector<Effects> effects;
};

class AutomaticPlan {
public:
  AutomaticPlan(PipelineBody &body, std::int64_t stages,
                const std::unordered_set<const Stmt *> &asynchronous)
      : body(body), stages(stages), asynchronous(asynchronous) {}

  PipelinePlan run(bool &early) {
    PipelinePlan plan;
    if (const char *why = hopeless()) {
      plan.reason = why;
      return plan;
    }
    findRoots();
    // What one refused root takes with it may make another one impossible.
    while (!roots.empty() && dropImpossible())
      ;
    if (roots.empty()) {
      plan.reason =
          reason.empty() ? "no copy from global to shared memory stands directly in it" : reason;
      return plan;
    }
    if (early)
      findHeld();
    auto check = [&] {
      place();
      Checker checker(body);
      const bool possible = !checker.run();
      plan.buffers = std::move(checker.buffers);
      return possible;
    };
    bool possible = check();
    if (!possible && std::erase_if(held, [](const Held &) { return true; }) > 0)
      possible = check();
    if (!possible) {
      plan.reason = "its statements depend on each other";
      return plan;
    }
    // One version more than needed lets a store run ahead of the readers of the last iteration,
    // which saves a barrier in each round.
    for (std::size_t i = 0; i < body.nodes.size(); ++i)
      if (groups[i] == Group::Store)
        plan.buffers.push_back({const_cast<Buffer *>(targetOf(body.nodes[i])), 2,
                                body.exposed(targetOf(body.nodes[i]))});
    plan.order = order;
    plan.lastStage = stages - 1;
    early = !held.empty();
    return plan;
  }

private:
  enum class Group { Rest, Ahead, Load, Store };

  /// A load into registers that stay there for what reads them in the next iteration.
  struct Held {
    std::size_t load = 0, lastReader = 0;
  };
  /// Elements of a fragment that threads may keep for a round more.
  static constexpr std::int64_t mostHeld = 512;

  /// Statements that may change what a copy started early would see, in ways we cannot follow.
  const char *hopeless() const {
    for (const PipelineNode &node : body.nodes) {
      const char *why = nullptr;
      Block one;
      std::function<void(const Stmt &)> look = [&](const Stmt &stmt) {
        if (stmt.kind == StmtKind::Source)
          why = "it has C text of the user";
        if (stmt.kind == StmtKind::Mbar || stmt.kind == StmtKind::Fence)
          why = "it is synchronised by hand";
        if (const auto *async = dynCast<AsyncStmt>(&stmt))
          why = async->what == AsyncKind::CpAsync ? why : "it is synchronised by hand";
        if (const auto *barrier = dynCast<BarrierStmt>(&stmt))
          if (barrier->scope == BarrierScope::Grid || barrier->scope == BarrierScope::Cluster)
            why = "other blocks may write what it loads";
        if (const auto *atomic = dynCast<AtomicStmt>(&stmt))
          if (atomic->order != MemoryOrder::Relaxed)
            why = "other blocks may write what it loads";
        forEachBlock(stmt, [&](const Block &block) {
          for (const StmtPtr &inner : block)
            look(*inner);
        });
      };
      look(*node.stmt);
      if (why)
        return why;
    }
    return nullptr;
  }

  void findRoots() {
    groups.assign(body.nodes.size(), Group::Rest);
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      const Buffer *from = sourceOf(body.nodes[i]), *to = targetOf(body.nodes[i]);
      if (!from || from->scope != Scope::Global)
        continue;
      if (to->scope == Scope::Shared && asynchronous.count(body.nodes[i].stmt.get())) {
        roots.push_back(i);
        groups[i] = Group::Ahead;
      } else if (to->scope == Scope::Fragment) {
        if (auto store = storeOf(i)) {
          roots.push_back(i);
          groups[i] = Group::Load;
          groups[*store] = Group::Store;
        }
      }
    }
  }

  /// The only other use of the fragment that node `load` fills: a copy of it to shared memory.
  std::optional<std::size_t> storeOf(std::size_t load) const {
    const Buffer *fragment = targetOf(body.nodes[load]);
    std::optional<std::size_t> store;
    for (std::size_t j = 0; j < body.nodes.size(); ++j) {
      if (j == load)
        continue;
      const Effects &effects = body.nodes[j].effects;
      if (!effects.readsStorage(fragment) && !effects.writesStorage(fragment))
        continue;
      const Buffer *to = targetOf(body.nodes[j]);
      if (store || j < load || !to || to->scope != Scope::Shared ||
          sourceOf(body.nodes[j]) != fragment || body.nodes[j].guards != body.nodes[load].guards)
        return std::nullopt;
      store = j;
    }
    return store && !body.exposed(fragment) ? store : std::nullopt;
  }

  /// Loads of few elements from tensors to registers are made a round early, as soon as those of
  /// this round have been read: else each round waits for them.
  void findHeld() {
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      const PipelineNode &node = body.nodes[i];
      const Buffer *from = sourceOf(node), *to = targetOf(node);
      if (groups[i] != Group::Rest || node.scalar || !from || from->scope != Scope::Global ||
          to->scope != Scope::Fragment || !node.guards.empty() || body.exposed(to) ||
          to->elementCount().value_or(mostHeld + 1) > mostHeld)
        continue;
      std::string why;
      std::optional<std::size_t> last = readersEnd(i, to);
      if (last && loadsAnyTime(node, to, why))
        held.push_back({i, *last});
    }
  }

  /// The last reader of what node `load` fills; none if there is none, or others write it, or
  /// somebody reads what the round before has left.
  std::optional<std::size_t> readersEnd(std::size_t load, const Buffer *fragment) const {
    std::optional<std::size_t> last;
    for (std::size_t j = 0; j < body.nodes.size(); ++j) {
      const Effects &effects = body.nodes[j].effects;
      if (j == load || (!effects.readsStorage(fragment) && !effects.writesStorage(fragment)))
        continue;
      if (j < load || effects.writesStorage(fragment) || groups[j] != Group::Rest ||
          body.nodes[j].scalar)
        return std::nullopt;
      last = j;
    }
    return last;
  }

  /// Takes away a root that cannot be moved; true if it took one.
  bool dropImpossible() {
    for (std::size_t at = 0; at < roots.size(); ++at) {
      std::string why;
      if (movable(roots[at], why))
        continue;
      if (reason.empty())
        reason = why;
      std::size_t root = roots[at];
      if (groups[root] == Group::Load)
        groups[*storeOf(root)] = Group::Rest;
      groups[root] = Group::Rest;
      roots.erase(roots.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    return false;
  }

  bool movable(std::size_t root, std::string &why) {
    const PipelineNode &node = body.nodes[root];
    std::size_t storing = groups[root] == Group::Load ? *storeOf(root) : root;
    const Buffer *tile = targetOf(body.nodes[storing]);
    if (!body.versionable(tile, why))
      return false;
    bool read = false;
    for (const PipelineNode &other : body.nodes)
      read |= other.effects.readsStorage(tile);
    if (!read) {
      why = "`" + tile->name + "` is not read in it";
      return false;
    }
    // Copies in the air have no order, so those of one iteration may not meet.
    for (std::size_t i = 0; i < body.nodes.size(); ++i)
      if (i != root && groups[i] == Group::Ahead && groups[root] == Group::Ahead &&
          targetOf(body.nodes[i]) == tile &&
          !disjoint(cast<CopyStmt>(*body.nodes[i].stmt).target,
                    cast<CopyStmt>(*node.stmt).target)) {
        why = "`" + tile->name + "` is written by several copies";
        return false;
      }
    // All writers of the tile have to move together; other kinds of statements stay.
    for (std::size_t i = 0; i < body.nodes.size(); ++i)
      if (body.nodes[i].effects.writesStorage(tile) &&
          groups[i] != (groups[root] == Group::Load ? Group::Store : Group::Ahead)) {
        why = "`" + tile->name + "` is also written by other statements";
        return false;
      }
    return loadsAnyTime(node, tile, why);
  }

  /// Whether what a copy to `tile` reads is the same in other rounds and places.
  bool loadsAnyTime(const PipelineNode &node, const Buffer *tile, std::string &why) const {
    Effects effects = body.fullEffects(node);
    for (const ExprNode *var : effects.uses)
      if (auto from = body.binder(var); from && !body.nodes[*from].scalar) {
        why = "what it loads depends on values computed in the loop";
        return false;
      }
    for (const MemoryAccess &access : effects.memory) {
      if (!access.reads())
        continue;
      for (const PipelineNode &other : body.nodes)
        for (const MemoryAccess &write : other.effects.memory)
          if (write.writes() && analysis::mayAlias(*write.use.buffer, *access.use.buffer) &&
              access.storage() != tile) {
            why = "`" + access.use.buffer->name + "` is written in the loop";
            return false;
          }
    }
    return true;
  }

  void place() {
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      PipelineNode &node = body.nodes[i];
      node.stage = groups[i] == Group::Ahead               ? 0
                   : groups[i] == Group::Load || isHeld(i) ? stages - 2
                                                           : stages - 1;
      node.async = groups[i] == Group::Ahead;
    }
    order.clear();
    auto put = [&](std::size_t i) {
      body.nodes[i].place = static_cast<std::int64_t>(order.size());
      order.push_back(i);
    };
    for (Group group : {Group::Store, Group::Ahead, Group::Load, Group::Rest})
      for (std::size_t i = 0; i < body.nodes.size(); ++i) {
        if (groups[i] != group || body.nodes[i].scalar || isHeld(i))
          continue;
        put(i);
        for (const Held &one : held)
          if (one.lastReader == i)
            put(one.load);
      }
  }

  bool isHeld(std::size_t node) const {
    return std::any_of(held.begin(), held.end(), [&](const Held &one) { return one.load == node; });
  }

  PipelineBody &body;
  std::int64_t stages;
  const std::unordered_set<const Stmt *> &asynchronous;
  std::vector<Group> groups;
  std::vector<std::size_t> roots, order;
  std::vector<Held> held;
  std::string reason;
};

/// Whether a node uses a variable that a node which cannot be repeated binds in another piece of
/// the schedule: pieces are neighbours of one stage in program order.
bool bindsAcross(const PipelineBody &body, const std::vector<std::size_t> &order) {
  std::vector<std::size_t> piece(body.nodes.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    bool together =
        order[i] > order[i - 1] && body.nodes[order[i]].stage == body.nodes[order[i - 1]].stage;
    piece[order[i]] = piece[order[i - 1]] + (together ? 0 : 1);
  }
  for (std::size_t user : order)
    for (const ExprNode *var : body.nodes[user].effects.uses)
      if (auto from = body.binder(var);
          from && !body.nodes[*from].scalar && piece[*from] != piece[user])
        return true;
  return false;
}

} // namespace

PipelinePlan planAutomatically(PipelineBody &body, std::int64_t stages, bool &early,
                               const std::unordered_set<const Stmt *> &asynchronous) {
  return AutomaticPlan(body, stages, asynchronous).run(early);
}

PipelinePlan planAsWritten(PipelineBody &body, const ForStmt &loop, PassContext &context,
                           const std::unordered_set<const Stmt *> &asynchronous) {
  PipelinePlan plan;
  plan.reason = "its lists are wrong";
  // Which entry of the lists each statement of the body has.
  std::vector<unsigned> entryOf(body.statements);
  std::iota(entryOf.begin(), entryOf.end(), 0);
  std::size_t entries = body.statements;
  if (!loop.group.empty()) {
    entries = loop.group.size();
    for (std::size_t g = 0; g < loop.group.size(); ++g)
      for (std::int64_t statement : loop.group[g])
        if (statement >= 0 && statement < static_cast<std::int64_t>(entryOf.size()))
          entryOf[static_cast<std::size_t>(statement)] = static_cast<unsigned>(g);
  }
  std::vector<std::int64_t> order = loop.order;
  if (order.empty()) {
    order.resize(entries);
    std::iota(order.begin(), order.end(), 0);
  }
  auto fits = [&](const char *name, const std::vector<std::int64_t> &list) {
    bool negative = std::any_of(list.begin(), list.end(), [](std::int64_t x) { return x < 0; });
    if (list.size() == entries && !negative)
      return true;
    context.diagnostics.report(diag::PipelineLists, loop.range, entries, name, list.size());
    return false;
  };
  if (!fits("order", order) || !fits("stage", loop.stage))
    return plan;
  for (const PipelineNode &node : body.nodes)
    if (node.effects.continues) {
      // The rest of a step belongs to other iterations.
      plan.reason = "a `continue` stands in it";
      context.diagnostics.report(diag::NotPipelined, loop.range, plan.reason);
      return plan;
    }
  for (PipelineNode &node : body.nodes) {
    unsigned entry = node.statement < entryOf.size() ? entryOf[node.statement] : 0;
    node.stage = loop.stage[entry];
    node.place = order[entry];
    plan.lastStage = std::max(plan.lastStage, node.scalar ? 0 : node.stage);
  }
  for (std::size_t i = 0; i < body.nodes.size(); ++i)
    if (!body.nodes[i].scalar)
      plan.order.push_back(i);
  std::stable_sort(plan.order.begin(), plan.order.end(), [&](std::size_t a, std::size_t b) {
    return body.nodes[a].place < body.nodes[b].place;
  });
  for (std::size_t i = 0; i < plan.order.size(); ++i)
    body.nodes[plan.order[i]].place = static_cast<std::int64_t>(i);
  // A copy whose readers all run in later stages has nothing to wait for.
  for (PipelineNode &node : body.nodes) {
    const Buffer *tile = targetOf(node);
    if (!tile || !asynchronous.count(node.stmt.get()))
      continue;
    std::string reason;
    node.async =
        body.versionable(tile, reason) &&
        std::all_of(body.nodes.begin(), body.nodes.end(), [&](const PipelineNode &other) {
          return &other == &node || !other.effects.readsStorage(tile) || other.stage > node.stage;
        });
  }
  if (bindsAcross(body, plan.order)) {
    plan.reason = "a value that cannot be computed again is used in another place";
    context.diagnostics.report(diag::NotPipelined, loop.range, plan.reason);
    return plan;
  }
  Checker checker(body);
  if (auto violation = checker.run()) {
    const PipelineNode &earlier = body.nodes[violation->earlier];
    const PipelineNode &later = body.nodes[violation->later];
    context.diagnostics
        .report(diag::PipelineOrder, later.stmt->range, nameOf(later),
                std::max<std::int64_t>(0, earlier.stage - later.stage), nameOf(earlier))
        .label(earlier.stmt->range, "has to come first");
    return plan;
  }
  plan.buffers = std::move(checker.buffers);
  plan.reason.clear();
  return plan;
}

} // namespace tlc::passes
