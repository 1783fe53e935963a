// serialize-threads (CPU): what every thread does becomes a loop over the threads.
//
//   let %tx = %tid % 32                                 for %t in 0 .. 128 threads {
//   store %s[%tx] = %a                                    store %s[%t % 32] = %a
//   barrier block                                 =>    }
//   let %b = load %s[31 - %tx]                          for %t in 0 .. 128 threads {
//   store %C[%tid] = %b                                   let %b = load %s[31 - %t % 32]
//                                                         store %C[%t] = %b
//                                                       }
//
// A block is one task on a CPU. Tile ops are done once for all threads; so are statements whose
// values are the same in all threads (doing them again would change nothing). The rest is cut at
// tile ops and barriers, and where threads meet in memory, into loops over the threads. Values that
// cross a cut are computed again where they are cheap and pure, else kept in arrays with one entry
// per thread, and so are the threads' own buffers.
//
// Why here: tile ops are still whole, so that it is plain what is collective; afterwards no thread
// index is left.
#include "analysis/Collective.h"
#include "analysis/Effects.h"
#include "analysis/Uniformity.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "support/Check.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

/// Threads [first, first + count) of the block.
struct ThreadRange {
  std::int64_t first = 0, count = 1;
};

class Serializer {
public:
  Serializer(Function &function, Launch &launch, DiagnosticEngine &diagnostics)
      : function(function), context(*function.context), launch(launch), diagnostics(diagnostics),
        uniformity(launch) {}

  void run() {
    serialize(launch.body, {0, launch.threadCount()});
    placeLocals();
    carryValues(launch.body);
  }

private:
  // ---- Cutting
  // --------------------------------------------------------------------------------------------------

  void serialize(Block &block, ThreadRange threads) {
    Block out;
    ForStmt *run = nullptr; // the open loop over threads
    for (StmtPtr &stmt : block) {
      if (isa<BarrierStmt>(*stmt)) { // the end of a loop over all threads is one
        run = nullptr;
        continue;
      }
      if (once(*stmt)) {
        // Pure values may be wanted inside of the open loop: they may stand before it, since
        // nothing in it changes them.
        if (run && isa<LetStmt>(*stmt)) {
          out.insert(out.end() - 1, std::move(stmt));
          continue;
        }
        run = nullptr;
        out.push_back(std::move(stmt));
        continue;
      }
      if (analysis::containsCollective(*stmt)) {
        run = nullptr;
        descend(*stmt, threads);
        if (auto *role = dynCast<RoleStmt>(stmt.get()))
          for (StmtPtr &inner : role->body)
            out.push_back(std::move(inner));
        else
          out.push_back(std::move(stmt));
        continue;
      }
      if (auto *role = dynCast<RoleStmt>(stmt.get())) {
        run = nullptr;
        descend(*role, threads);
        for (StmtPtr &inner : role->body)
          out.push_back(std::move(inner));
        continue;
      }
      if (isUniformControl(*stmt) && meetsItself(*stmt)) {
        run = nullptr;
        descend(*stmt, threads);
        out.push_back(std::move(stmt));
        continue;
      }
      if (run && meets(analysis::effectsOf(run->body), analysis::effectsOf(*stmt)))
        run = nullptr;
      if (!run)
        run = &openLoop(out, threads, stmt->range);
      run->body.push_back(std::move(stmt));
      branchOnThreads(run->body, threads.first);
    }
    block = std::move(out);
  }

  /// Within a loop over threads, roles are conditions on the thread.
  void branchOnThreads(Block &block, std::int64_t firstThread) {
    for (StmtPtr &stmt : block) {
      auto *role = dynCast<RoleStmt>(stmt.get());
      std::int64_t first = firstThread + (role ? role->first : 0);
      forEachBlock(*stmt, [&](Block &inner) { branchOnThreads(inner, first); });
      if (!role)
        continue;
      auto branch = std::make_unique<IfStmt>(role->range);
      branch->condition = logicalAnd(lessEqual(context.int32(first), launch.tid),
                                     lessThan(launch.tid, first + role->count));
      branch->then = std::move(role->body);
      stmt = std::move(branch);
    }
  }

  // ---- Threads that meet in memory: each statement takes effect in all of them before the next

  /// Whether some thread may touch in `later` what another one touches in `earlier`, and one
  /// writes.
  bool meets(const analysis::Effects &earlier, const analysis::Effects &later) const {
    for (const analysis::MemoryAccess &a : earlier.memory)
      for (const analysis::MemoryAccess &b : later.memory)
        if (a.stmt != b.stmt && (a.writes() || b.writes()) && !(a.atomic && b.atomic) &&
            a.storage()->scope != Scope::Local &&
            analysis::mayAlias(*a.use.buffer, *b.use.buffer) && !isOwn(a, b))
          return true;
    return false;
  }
  bool meetsItself(const Stmt &stmt) const {
    analysis::Effects effects = analysis::effectsOf(stmt);
    return meets(effects, effects);
  }

  /// Loops and branches that all threads go through together.
  bool isUniformControl(const Stmt &stmt) const {
    if (!isa<IfStmt>(stmt) && !isa<ForStmt>(stmt) && !isa<WhileStmt>(stmt))
      return false;
    bool uniform = true;
    forEachExpr(stmt, [&](Expr e) { uniform = uniform && uniformity.uniform(e); });
    // What leaves a loop must stay in it.
    forEachBlock(stmt, [&](const Block &block) {
      walk(block, [&](const Stmt &inner) {
        uniform =
            uniform && !isa<BreakStmt>(inner) && !isa<ContinueStmt>(inner) && !isa<ExitStmt>(inner);
        return uniform;
      });
    });
    return uniform;
  }

  /// Both touch one element, which is another one for each thread.
  bool isOwn(const analysis::MemoryAccess &a, const analysis::MemoryAccess &b) const {
    const Element *x = a.use.element, *y = b.use.element;
    if (!x || !y || a.whole || b.whole || x->buffer != y->buffer || x->indices != y->indices ||
        x->version != y->version)
      return false;
    return std::any_of(x->indices.begin(), x->indices.end(),
                       [&](Expr index) { return tellsThreadsApart(index); });
  }
  bool tellsThreadsApart(Expr index) const {
    bool oneDim = launch.threads[1] == 1 && launch.threads[2] == 1;
    unsigned threadTerms = 0;
    for (auto &[term, coefficient] : linear(index).terms) {
      if (term == launch.tid || (oneDim && term == launch.threadVars[0]))
        ++threadTerms;
      else if (!uniformity.uniform(term))
        return false;
    }
    return threadTerms == 1;
  }

  void descend(Stmt &stmt, ThreadRange threads) {
    if (auto *role = dynCast<RoleStmt>(&stmt))
      threads = {threads.first + role->first, role->count};
    if (auto *branch = dynCast<IfStmt>(&stmt))
      TLC_CHECK(uniformity.uniform(branch->condition),
                "a collective under a condition that differs between threads");
    if (auto *call = dynCast<CallStmt>(&stmt))
      diagnostics.report(diag::CpuWarpOperation, call->range, call->callee);
    if (!analysis::isCollective(stmt)) // the body of a map is part of one tile op
      forEachBlock(stmt, [&](Block &inner) { serialize(inner, threads); });
  }

  /// Whether executing the statement once has the effect of executing it in every thread.
  bool once(const Stmt &stmt) const {
    switch (stmt.kind) {
    case StmtKind::Alloc:
      return cast<AllocStmt>(stmt).buffer->scope != Scope::Local ||
             !uniformity.varies(*cast<AllocStmt>(stmt).buffer);
    case StmtKind::Let:
    case StmtKind::Load:
    case StmtKind::Store: {
      bool same = true;
      forEachExpr(stmt, [&](Expr e) { same = same && uniformity.uniform(e); });
      forEachUse(stmt, [&](const BufferUse &use) {
        same = same && (use.buffer->scope != Scope::Local || !uniformity.varies(*use.buffer));
      });
      return same;
    }
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Assert:
    case StmtKind::Assume:
    case StmtKind::Print:
    case StmtKind::If:
    case StmtKind::For:
    case StmtKind::While: {
      bool same = true;
      forEachExpr(stmt, [&](Expr e) { same = same && uniformity.uniform(e); });
      forEachBlock(stmt, [&](const Block &inner) {
        same = same &&
               std::all_of(inner.begin(), inner.end(), [&](const StmtPtr &s) { return once(*s); });
      });
      return same && !analysis::containsCollective(stmt);
    }
    case StmtKind::Copy:
    case StmtKind::Fill: {
      if (!analysis::isPerThreadTileOp(stmt))
        return false;
      bool same = true;
      forEachExpr(stmt, [&](Expr e) { same = same && uniformity.uniform(e); });
      forEachUse(stmt, [&](const BufferUse &use) {
        same = same && (use.buffer->scope != Scope::Local || !uniformity.varies(*use.buffer));
      });
      return same;
    }
    case StmtKind::Source:
      return true;
    default:
      return false;
    }
  }

  ForStmt &openLoop(Block &out, ThreadRange threads, SourceRange range) {
    auto loop = std::make_unique<ForStmt>(range);
    loop->var = context.var("t", DType(Scalar::Int32));
    loop->lo = context.int32(threads.first);
    loop->hi = context.int32(threads.first + threads.count);
    loop->step = context.int32(1);
    loop->kind = ForKind::Threads;
    ForStmt &result = *loop;
    out.push_back(std::move(loop));
    return result;
  }

  // ---- Names of the thread
  // --------------------------------------------------------------------------------------

  Substitution threadNames(Expr t) const {
    Substitution map = {{launch.tid, t}};
    Expr rest = t;
    for (std::size_t d = 0; d < 3; ++d) {
      bool last = d == 2;
      if (launch.threadVars[d])
        map.emplace_back(launch.threadVars[d], last ? rest : floorMod(rest, launch.threads[d]));
      rest = floorDiv(rest, launch.threads[d]);
    }
    return map;
  }

  // ---- Buffers of the thread
  // ------------------------------------------------------------------------------------

  /// The loops over threads in which a varying Local buffer is used; its allocation goes into the
  /// only one, or it gets a dim for the threads and lives outside of them.
  void placeLocals() {
    std::unordered_map<const Buffer *, std::vector<ForStmt *>> users;
    forEachThreadLoop(launch.body, [&](ForStmt &loop) {
      walk(loop.body, [&](Stmt &stmt) {
        auto note = [&](const Buffer *buffer) {
          auto &loops = users[buffer->storage()];
          if (loops.empty() || loops.back() != &loop)
            loops.push_back(&loop);
        };
        forEachUse(stmt, [&](const BufferUse &use) { note(use.buffer); });
        if (auto *alloc = dynCast<AllocStmt>(&stmt))
          note(alloc->buffer);
        return true;
      });
    });
    for (auto &buffer : function.buffers)
      if (buffer->scope == Scope::Local && !buffer->base && users[buffer.get()].size() > 1)
        expand(*buffer);
  }

  /// One copy per thread. Rank grows by one in front; every access inside a loop over threads gets
  /// its thread.
  void expand(Buffer &buffer) {
    std::vector<Buffer *> family;
    for (auto &other : function.buffers)
      if (other->storage() == &buffer)
        family.push_back(other.get());
    TLC_CHECK(family.size() == 1, "a view of a thread's buffer that lives across a barrier");
    buffer.shape.insert(buffer.shape.begin(), context.int32(launch.threadCount()));
    StmtPtr alloc = takeAlloc(launch.body, buffer);
    Expr init = alloc ? cast<AllocStmt>(*alloc).init : Expr();
    TLC_CHECK(alloc && !init, "allocation of a thread's buffer");
    launch.body.insert(launch.body.begin(), std::move(alloc));
    forEachThreadLoop(launch.body, [&](ForStmt &loop) {
      walk(loop.body, [&](Stmt &stmt) {
        forEachUse(stmt, [&](const BufferUse &use) {
          if (use.buffer != &buffer)
            return;
          if (use.element)
            use.element->indices.insert(use.element->indices.begin(), loop.var);
          if (use.region) {
            use.region->offsets.insert(use.region->offsets.begin(), loop.var);
            use.region->extents.insert(use.region->extents.begin(), context.int32(1));
            use.region->dropped = use.region->dropped << 1 | 1;
          }
        });
        return true;
      });
    });
  }

  /// Removes the allocation from where it stands. An initial value stays there as a store.
  StmtPtr takeAlloc(Block &block, const Buffer &buffer) {
    for (auto it = block.begin(); it != block.end(); ++it) {
      if (auto *alloc = dynCast<AllocStmt>(it->get()); alloc && alloc->buffer == &buffer) {
        auto taken = std::make_unique<AllocStmt>(alloc->range);
        taken->buffer = alloc->buffer;
        if (alloc->init) {
          auto store = std::make_unique<StoreStmt>(alloc->range);
          store->target =
              Element{alloc->buffer, std::vector<Expr>(buffer.rank() - 1, context.int32(0)), {}};
          store->value = alloc->init;
          *it = std::move(store);
        } else {
          block.erase(it);
        }
        return taken;
      }
      StmtPtr found;
      forEachBlock(**it, [&](Block &inner) {
        if (!found)
          found = takeAlloc(inner, buffer);
      });
      if (found)
        return found;
    }
    return nullptr;
  }

  static void forEachThreadLoop(Block &block, const std::function<void(ForStmt &)> &f) {
    walk(block, [&](Stmt &stmt) {
      auto *loop = dynCast<ForStmt>(&stmt);
      if (!loop || loop->kind != ForKind::Threads)
        return true;
      f(*loop);
      return false;
    });
  }

  // ---- Values of the thread
  // -------------------------------------------------------------------------------------

  struct Definition {
    ForStmt *loop;
    Stmt *stmt;
  };

  /// Values that a loop over threads uses and another one bound.
  void carryValues(Block &body) {
    std::map<std::uint32_t, Definition> definitions;
    forEachThreadLoop(body, [&](ForStmt &loop) {
      walk(loop.body, [&](Stmt &stmt) {
        forEachDefinition(stmt, [&](Expr var) { definitions[var->id] = {&loop, &stmt}; });
        return true;
      });
    });
    std::vector<ForStmt *> loops;
    forEachThreadLoop(body, [&](ForStmt &loop) { loops.push_back(&loop); });
    for (ForStmt *loop : loops)
      importValues(*loop, definitions);
    for (auto &[var, array] : kept)
      storeKept(definitions.at(var), array);
    for (ForStmt *loop : loops)
      substitute(loop->body, threadNames(loop->var));
  }

  /// Gives a loop its own copies of values bound elsewhere, in front of its body.
  void importValues(ForStmt &loop, const std::map<std::uint32_t, Definition> &definitions) {
    std::vector<Expr> used;
    walk(loop.body, [&](Stmt &stmt) {
      forEachExpr(std::as_const(stmt), [&](Expr e) { collectVars(e, used); });
      return true;
    });
    Block front;
    Substitution renamed;
    for (std::size_t i = 0; i < used.size(); ++i) {
      auto found = definitions.find(used[i]->id);
      if (found != definitions.end() && found->second.loop != &loop)
        importValue(used[i], found->second, loop, front, renamed, definitions);
    }
    if (front.empty())
      return;
    substitute(loop.body, renamed);
    for (StmtPtr &stmt : loop.body)
      front.push_back(std::move(stmt));
    loop.body = std::move(front);
  }

  void importValue(Expr var, const Definition &definition, ForStmt &loop, Block &front,
                   Substitution &renamed, const std::map<std::uint32_t, Definition> &definitions) {
    for (auto &[from, to] : renamed)
      if (from == var)
        return;
    Builder builder(function, front);
    builder.range = definition.stmt->range;
    if (auto *let = dynCast<LetStmt>(definition.stmt)) { // pure: compute it again
      std::vector<Expr> operands;
      collectVars(let->value, operands);
      for (Expr operand : operands) {
        auto found = definitions.find(operand->id);
        if (found != definitions.end() && found->second.loop != &loop)
          importValue(operand, found->second, loop, front, renamed, definitions);
      }
      renamed.emplace_back(var, builder.let(var->name, ir::substitute(let->value, renamed)));
      return;
    }
    Buffer *&array = kept[var->id];
    if (!array) {
      array = &function.addBuffer(var->name, var.dtype(), Scope::Local,
                                  {context.int32(launch.threadCount())}, definition.stmt->range);
      auto alloc = std::make_unique<AllocStmt>(definition.stmt->range);
      alloc->buffer = array;
      launch.body.insert(launch.body.begin(), std::move(alloc));
    }
    renamed.emplace_back(var, builder.load(var->name, *array, {loop.var}));
  }

  /// Keeps a value where it is bound.
  void storeKept(const Definition &definition, Buffer *array) {
    storeAfter(definition.loop->body, definition, array);
  }

  bool storeAfter(Block &block, const Definition &definition, Buffer *array) {
    for (auto it = block.begin(); it != block.end(); ++it) {
      if (it->get() == definition.stmt) {
        auto store = std::make_unique<StoreStmt>((*it)->range);
        store->target = Element{array, {definition.loop->var}, {}};
        forEachDefinition(**it, [&](Expr var) { store->value = var; });
        block.insert(it + 1, std::move(store));
        return true;
      }
      bool found = false;
      forEachBlock(**it,
                   [&](Block &inner) { found = found || storeAfter(inner, definition, array); });
      if (found)
        return true;
    }
    return false;
  }

  Function &function;
  Context &context;
  Launch &launch;
  DiagnosticEngine &diagnostics;
  analysis::Uniformity uniformity;
  std::map<std::uint32_t, Buffer *> kept; ///< by the variable's id
};

} // namespace

void serializeThreads(Function &function, PassContext &context) {
  if (context.target.isGpu())
    return;
  for (auto &launch : function.launches)
    Serializer(function, *launch, context.diagnostics).run();
}

} // namespace tlc::passes
