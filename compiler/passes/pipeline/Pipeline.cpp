// pipeline: copies of later iterations run while this one computes.
//
//   for %k in 0 .. T pipelined stages(3) {      copy A[0] -> A_s@0 async if 0 < T;  commit
//     copy %A[%k] -> %A_s                       copy A[1] -> A_s@1 async if 1 < T;  commit
//     gemm %A_s, … -> %C               =>       for %k in 0 .. T {
//   }                                             wait(1)
//                                                 if %k + 2 < T { copy A[%k + 2] -> A_s@(%k + 2) %
//                                                 3 async } commit gemm %A_s@%k % 3, … -> %C
//                                               }
//
// Every statement has a stage: iteration i of it runs in step i + stage; the loop runs over the
// iterations of the last stage, so nothing there is guarded, and the steps before it stand in
// front. Commits are unconditional, so that the number of groups in flight is the same on every
// path; waits count groups. The trip count may be anything, 0 included. Barriers are insert-sync's
// affair: the wait stands at the top of a step so that one barrier behind it orders both what was
// loaded and what may now be overwritten.
//
// Why here: before layouts, as versions are no dims of a layout; after split-copies, which made
// loads and stores separate statements where there is no asynchronous copy. On a CPU, and where
// nothing can be moved, the loop becomes a serial one.
#include "analysis/Copies.h"
#include "ir/Builder.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/pipeline/PipelinePlan.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Writes the pipelined form of one loop.
class Emitter {
public:
  Emitter(Function &function, ForStmt &loop, PipelineBody &body, PipelinePlan &plan)
      : function(function), context(*function.context), loop(loop), body(body), plan(plan) {
    step = loop.step ? loop.step : context.integer(loop.var.dtype(), 1);
    anyAsync = std::any_of(body.nodes.begin(), body.nodes.end(),
                           [](const PipelineNode &node) { return node.async; });
    for (std::size_t i = 0; i < plan.order.size(); ++i)
      if (body.nodes[plan.order[i]].async)
        commitAfter = i;
  }

  /// Everything that replaces the loop; `self` is the loop's own statement.
  Block run(StmtPtr self) {
    Block out;
    for (StmtPtr &alloc : body.hoisted)
      out.push_back(std::move(alloc));
    for (PipelineBuffer &buffer : plan.buffers)
      setVersions(buffer);
    for (std::int64_t t = 0; t < plan.lastStage; ++t)
      emitStep(t, out);
    Block steady;
    emitStep(std::nullopt, steady);
    loop.body = std::move(steady);
    loop.kind = ForKind::Serial;
    loop.stages = 0;
    loop.order.clear();
    loop.stage.clear();
    loop.group.clear();
    out.push_back(std::move(self));
    // Left early, with copies in the air: they must have landed before their place is reused.
    if (anyAsync && body.breaks)
      wait(0, out);
    return out;
  }

private:
  void setVersions(PipelineBuffer &wanted) {
    for (auto &buffer : function.buffers)
      if (buffer->storage() == wanted.storage)
        buffer->versions = std::max(buffer->versions, wanted.versions);
  }

  /// Iteration that a node of stage `stage` runs in prologue step `t`, or relative to the loop
  /// variable: its number, and the value of the loop variable.
  struct Iteration {
    Expr number, value;
    Expr guard; ///< null: always
  };
  Iteration iterationOf(std::int64_t stage, std::optional<std::int64_t> t) {
    DType dtype = loop.var.dtype();
    Iteration result;
    if (t) {
      result.number = context.integer(dtype, *t - stage);
      result.value = loop.lo + result.number * step;
      result.guard = lessThan(result.value, loop.hi);
      return result;
    }
    std::int64_t ahead = plan.lastStage - stage;
    bool plain = loop.lo.isConstant(0) && step.isConstant(1);
    Expr number = plain ? loop.var : floorDiv(loop.var - loop.lo, step);
    result.number = number + ahead;
    result.value = loop.var + context.integer(dtype, ahead) * step;
    if (ahead > 0)
      result.guard = lessThan(result.value, loop.hi);
    return result;
  }

  struct Range {
    std::size_t first, last;
  };
  PipelineNode &node(std::size_t place) { return body.nodes[plan.order[place]]; }

  void emitStep(std::optional<std::int64_t> t, Block &out) {
    if (auto pending = groupsOpen(t))
      wait(*pending, out);
    Range run{0, 0};
    while (run.first < plan.order.size()) {
      // Neighbours of one stage share the guard.
      std::int64_t stage = node(run.first).stage;
      run.last = run.first;
      while (run.last < plan.order.size() && node(run.last).stage == stage)
        ++run.last;
      if (!t || *t >= stage)
        emitRun(run, iterationOf(stage, t), out);
      if (anyAsync && commitAfter >= run.first && commitAfter < run.last) {
        auto commit = std::make_unique<AsyncStmt>(loop.range);
        commit->commit = true;
        out.push_back(std::move(commit));
      }
      run.first = run.last;
    }
  }

  /// How many groups may stay open at the top of a step, before its own is committed; none if
  /// nobody in it reads what was copied asynchronously. Readers run in later stages than their
  /// copies, and there is one group a step. (Groups of inner loops only make the wait longer than
  /// it has to be.)
  std::optional<std::int64_t> groupsOpen(std::optional<std::int64_t> t) {
    std::optional<std::int64_t> pending;
    for (const PipelineNode &reader : body.nodes)
      for (const PipelineNode &writer : body.nodes) {
        if (!writer.async || reader.scalar || (t && *t < reader.stage))
          continue;
        const Buffer *tile = cast<CopyStmt>(*writer.stmt).target.buffer->storage();
        if (!reader.effects.readsStorage(tile))
          continue;
        std::int64_t open = reader.stage - writer.stage - 1;
        pending = pending ? std::min(*pending, open) : open;
      }
    return pending;
  }

  void wait(std::int64_t pending, Block &out) {
    auto stmt = std::make_unique<AsyncStmt>(loop.range);
    stmt->pending = pending;
    out.push_back(std::move(stmt));
  }

  /// The nodes of a run, each piece of it that is in program order with the scalar nodes it needs
  /// in their old places among them: so branches keep their nesting and what is bound stays
  /// visible.
  void emitRun(Range run, const Iteration &iteration, Block &out) {
    Block content;
    while (run.first < run.last) {
      std::size_t end = run.first + 1;
      while (end < run.last && plan.order[end] > plan.order[end - 1])
        ++end;
      std::vector<bool> wanted(body.nodes.size(), false);
      for (; run.first < end; ++run.first) {
        wanted[plan.order[run.first]] = true;
        for (std::size_t need : node(run.first).needs)
          wanted[need] = true;
      }
      Substitution map{{loop.var, iteration.value}};
      for (std::size_t i = 0; i < body.nodes.size(); ++i)
        if (wanted[i])
          place(body.nodes[i], iteration, map, content);
    }
    if (content.empty())
      return;
    if (iteration.guard && !iteration.guard.isTrue()) {
      auto branch = std::make_unique<IfStmt>(loop.range);
      branch->condition = iteration.guard;
      branch->then = std::move(content);
      out.push_back(std::move(branch));
      return;
    }
    for (StmtPtr &stmt : content)
      out.push_back(std::move(stmt));
  }

  /// A copy of a node for one iteration, under its guards.
  void place(const PipelineNode &source, const Iteration &iteration, Substitution &map,
             Block &content) {
    StmtPtr copy = freshCopy(function, *source.stmt, map);
    if (source.async)
      cast<CopyStmt>(*copy).async = true;
    Block one;
    one.push_back(std::move(copy));
    useVersions(one, iteration);
    Block *into = &content;
    for (Expr guard : source.guards) {
      Expr condition = substitute(guard, map);
      auto *last = into->empty() ? nullptr : dynCast<IfStmt>(into->back().get());
      if (!last || last->condition != condition || !last->otherwise.empty()) {
        auto branch = std::make_unique<IfStmt>(source.stmt->range);
        branch->condition = condition;
        last = branch.get();
        into->push_back(std::move(branch));
      }
      into = &last->then;
    }
    into->push_back(std::move(one.front()));
  }

  void useVersions(Block &block, const Iteration &iteration) {
    walk(block, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        for (const PipelineBuffer &buffer : plan.buffers) {
          if (buffer.storage != use.buffer->storage())
            continue;
          Expr version = versionOf(buffer, iteration.number);
          if (use.element)
            use.element->version = version;
          else if (use.region)
            use.region->version = version;
        }
      });
      return true;
    });
  }

  Expr versionOf(const PipelineBuffer &buffer, Expr iteration) {
    // Counted from the last iteration where somebody reads the tile behind the loop.
    if (buffer.exposed)
      iteration = tripCount(loop) - 1 - iteration;
    return context.cast(DType(Scalar::Int32), floorMod(iteration, buffer.versions));
  }

  Function &function;
  Context &context;
  ForStmt &loop;
  PipelineBody &body;
  PipelinePlan &plan;
  Expr step;
  bool anyAsync = false;
  std::size_t commitAfter = 0; ///< place of the last asynchronous copy
  std::vector<bool> present;   ///< scalar nodes that can be used where we are
  std::vector<Expr> openPath;  ///< guards of the innermost open branch
};

class Pipeliner {
public:
  Pipeliner(Function &function, Launch &launch, PassContext &pass, LaunchPlan *plan)
      : function(function), launch(launch), pass(pass) {
    std::size_t number = 0;
    for (const PlannedLoop &planned : plannedLoops(launch, plan)) {
      stages[planned.loop] = planned.stages;
      if (plan && number < plan->loops.size())
        plans[planned.loop] = &plan->loops[number++];
    }
    // Whether it can be told afterwards.
    for (std::size_t i = 0; plan && i < plan->loops.size(); ++i)
      if (LoopPlan &loop = plan->loops[i]; loop.binding && loop.early) {
        asked.insert(&loop);
        loop.early = false;
      }
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      if (copy && !copy->async && analysis::canCopyAsync(*copy, pass.target, ranges))
        asynchronous.insert(copy);
      return true;
    });
  }

  /// Inner loops first. The launch stays whole all the time: plans look outside of their loop.
  void block(Block &b) {
    for (std::size_t i = 0; i < b.size(); ++i) {
      forEachBlock(*b[i], [&](Block &inner) { block(inner); });
      auto *loop = dynCast<ForStmt>(b[i].get());
      if (!loop || loop->kind != ForKind::Pipelined)
        continue;
      Block replacement = pipelined(*loop, b[i]);
      std::size_t count = replacement.size();
      b.erase(b.begin() + static_cast<std::ptrdiff_t>(i));
      b.insert(b.begin() + static_cast<std::ptrdiff_t>(i),
               std::make_move_iterator(replacement.begin()),
               std::make_move_iterator(replacement.end()));
      i += count - 1;
    }
  }

  /// Loops in which a schedule wants something loaded a round early that cannot be.
  void reportUnheeded(const LaunchPlan &plan) {
    for (const LoopPlan &loop : plan.loops)
      if (asked.count(&loop) && !loop.early)
        pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
            .note("no round of `" + loop.name + "` loads a few elements into registers `early`");
  }

private:
  Block pipelined(ForStmt &loop, StmtPtr &self) {
    std::int64_t wanted = stages.at(&loop);
    bool byHand = !loop.stage.empty();
    bool upwards = !loop.step || (loop.step.constant() && *loop.step.constant() > 0);
    if (!pass.target.isGpu() || (!byHand && wanted < 2) || !upwards)
      return serial(loop, std::move(self));
    PipelineBody body(function, launch, loop);
    LoopPlan *told = plans[&loop];
    bool early =
        !function.options.hintsAreBinding && (!told || !told->binding || asked.count(told) > 0);
    PipelinePlan plan = byHand ? planAsWritten(body, loop, pass, asynchronous)
                               : planAutomatically(body, wanted, early, asynchronous);
    if (told)
      told->early = early && !byHand && plan.reason.empty();
    if (!plan.reason.empty()) {
      if (!byHand)
        pass.diagnostics.report(diag::NotPipelined, loop.range, plan.reason);
      body.giveBack();
      Block out = std::move(body.hoisted);
      for (StmtPtr &stmt : serial(loop, std::move(self)))
        out.push_back(std::move(stmt));
      return out;
    }
    return Emitter(function, loop, body, plan).run(std::move(self));
  }

  static Block serial(ForStmt &loop, StmtPtr self) {
    loop.kind = ForKind::Serial;
    loop.stages = 0;
    loop.order.clear();
    loop.stage.clear();
    loop.group.clear();
    Block out;
    out.push_back(std::move(self));
    return out;
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  std::unordered_map<const ForStmt *, std::int64_t> stages;
  std::unordered_map<const ForStmt *, LoopPlan *> plans;
  std::unordered_set<const LoopPlan *> asked; ///< by a schedule, to load early
  std::unordered_set<const Stmt *> asynchronous;
};

} // namespace

void pipeline(Function &function, PassContext &context) {
  std::size_t index = 0;
  for (auto &launch : function.launches) {
    LaunchPlan *plan = context.schedule.launch(index++);
    Pipeliner pipeliner(function, *launch, context, plan);
    pipeliner.block(launch->body);
    if (plan)
      pipeliner.reportUnheeded(*plan);
  }
}

} // namespace tlc::passes
