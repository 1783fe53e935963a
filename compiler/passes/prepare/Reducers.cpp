// reducers: the protocol of deferred accumulators is checked and simplified.
//
//   reducer init sum %r                                 reducer init sum %r
//   map … { reducer update sum %r … }              =>   map … { reducer update sum %r … }
//   reducer finalize sum %r to(%out)                    reducer finalize sum %r
//                                                       copy %r -> %out
//
// Between init and finalize the threads hold parts of the values, so nothing but updates may touch
// the accumulator. A finished one is a fragment like any other.
//
// Why here: before layouts, which care about where the parts lie and see ordinary copies of the
// result.
#include "passes/prepare/Reducers.h"

#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/lower/LowerReduceOps.h"

#include <map>
#include <set>

namespace tlc::passes {

using namespace ir;

namespace {

/// In which states an accumulator may be, as a set.
enum State : unsigned { Unused = 1, Open = 2, Finished = 4 };

class Epochs {
public:
  Epochs(Launch &launch, DiagnosticEngine &diagnostics) : diagnostics(diagnostics) {
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *reducer = dynCast<ReducerStmt>(&stmt))
        states[reducer->reducer->storage()] = Unused;
      return true;
    });
    check(launch.body);
  }

private:
  using States = std::map<const Buffer *, unsigned>;

  DiagnosticEngine &diagnostics;
  States states;
  std::set<const Stmt *> reported;

  void report(const Stmt &stmt, const Buffer &reducer, std::string_view what) {
    if (reported.insert(&stmt).second)
      diagnostics.report(diag::ReducerEpoch, stmt.range, reducer.name, what);
  }

  void check(Block &block) {
    for (StmtPtr &stmt : block) {
      if (auto *reducer = dynCast<ReducerStmt>(stmt.get()))
        step(*reducer);
      else
        uses(*stmt);
      inside(*stmt);
    }
  }

  void step(const ReducerStmt &s) {
    unsigned &state = states[s.reducer->storage()];
    switch (s.action) {
    case ReducerAction::Init:
      state = Open;
      return;
    case ReducerAction::Update:
      if (!(state & Open))
        report(s, *s.reducer, "updated, but T.reducer_init (or T.fill) has not begun its values");
      return;
    case ReducerAction::Finalize:
      if (!(state & Open))
        report(s, *s.reducer, "finished, but T.reducer_init (or T.fill) has not begun its values");
      state = Finished;
      return;
    }
  }

  void uses(Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      auto at = states.find(use.buffer->storage());
      if (at == states.end())
        return;
      if (use.access == Access::Read && at->second == Open)
        report(stmt, *at->first, "read before T.finalize_reducer");
      else if (use.access != Access::Read && !(at->second & Finished))
        report(stmt, *at->first,
               "set by a store; T.reducer_init and T.fill begin, `+=` and its kin update");
    });
  }

  void inside(Stmt &stmt) {
    if (auto *branch = dynCast<IfStmt>(&stmt)) {
      States before = states;
      check(branch->then);
      std::swap(before, states);
      check(branch->otherwise);
      return join(before);
    }
    // A loop has no round, or a second one that meets what the first one left.
    bool loops = isa<ForStmt>(stmt) || isa<WhileStmt>(stmt);
    States before = states;
    for (int round = 0; round < (loops ? 2 : 1); ++round)
      forEachBlock(stmt, [&](Block &block) { check(block); });
    if (loops)
      join(before);
  }

  void join(const States &other) {
    for (auto &[buffer, state] : states)
      state |= other.at(buffer);
  }
};

/// A result that is wanted elsewhere is copied there.
void splitResults(Function &function, Block &block) {
  rewrite(block, [&](StmtPtr stmt, Block &out) {
    auto *reducer = dynCast<ReducerStmt>(stmt.get());
    Region target;
    if (reducer)
      std::swap(target, reducer->target);
    Builder builder(function, out);
    builder.range = stmt->range;
    Buffer *source = reducer ? reducer->reducer : nullptr;
    out.push_back(std::move(stmt));
    if (!target.buffer)
      return;
    auto &copy = builder.add<CopyStmt>();
    copy.source = wholeRegion(*function.context, *source);
    copy.target = target;
  });
}

} // namespace

void shareReducer(Function &function, Launch &launch, const Buffer &buffer) {
  rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
    auto *reducer = dynCast<ReducerStmt>(stmt.get());
    if (!reducer || reducer->reducer->storage() != &buffer ||
        reducer->action == ReducerAction::Update)
      return out.push_back(std::move(stmt));
    if (reducer->action == ReducerAction::Finalize)
      return;
    Context &context = *function.context;
    auto fill = std::make_unique<FillStmt>(stmt->range);
    fill->target = wholeRegion(context, *reducer->reducer);
    fill->value = reducer->value ? reducer->value
                                 : Folder(context, reducer->op, false, buffer.dtype).neutral();
    out.push_back(std::move(fill));
  });
}

void reducers(Function &function, PassContext &context) {
  for (auto &launch : function.launches) {
    Epochs(*launch, context.diagnostics);
    splitResults(function, launch->body);
  }
}

} // namespace tlc::passes
