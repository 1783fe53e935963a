// find-roles: warp specialisation becomes structure.
//
//   if %tx < 128 { copy … }                  role 0 : +128 { copy … }
//   else { gemm … }                 =>       role 128 : +128 { gemm … }
//
// An `if` whose condition depends on nothing but thread indices, and holds for one range of threads
// whose bounds are multiples of the warp, is a role; a conjunction with such a condition gives a
// role around the rest of it. Under every other condition that depends on the thread only
// per-thread statements are legal: a collective there is an error. T.sync_threads() in a role is a
// barrier of the role's threads, with a number of its own. Stands before anybody asks how many
// threads execute a tile op.
#include "analysis/Collective.h"
#include "analysis/Uniformity.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/sync/BarrierNumbers.h"

#include <optional>

namespace tlc::passes {

using namespace ir;
using analysis::Uniformity;

namespace {

struct ThreadRange {
  std::int64_t first = 0, count = 0;
};

/// Parts of a conjunction.
void conjuncts(Expr e, std::vector<Expr> &parts) {
  if (e.kind() == ExprKind::Binary && e->binaryOp() == BinaryOp::LogicalAnd) {
    conjuncts(e->operands[0], parts);
    conjuncts(e->operands[1], parts);
  } else {
    parts.push_back(e);
  }
}

std::string what(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Map:
    return "T.Parallel";
  case StmtKind::Barrier:
    return "T.sync_threads";
  case StmtKind::AtomicTile:
    return "tile atomic";
  default:
    return std::string("T.") + stmtName(stmt.kind);
  }
}

class RoleFinder {
public:
  RoleFinder(Function &function, Launch &launch, PassContext &pass)
      : function(function), launch(launch), pass(pass) {}

  void run() {
    ThreadRange all{0, launch.threadCount() + launch.extraThreads};
    block(launch.body, all);
    BarrierNumbers numbers(launch, pass.target, pass.diagnostics);
    nameBarriers(launch.body, nullptr, numbers);
    // Only now that roles are structure is the rest of the thread-dependent control known.
    Uniformity uniformity(launch);
    check(launch.body, uniformity);
  }

private:
  void block(Block &b, ThreadRange within) {
    Block out;
    for (StmtPtr &stmt : b) {
      if (auto *role = dynCast<RoleStmt>(stmt.get())) {
        block(role->body, {within.first + role->first, role->count});
      } else if (auto *branch = dynCast<IfStmt>(stmt.get())) {
        if (split(*branch, within, out))
          continue;
        block(branch->then, within);
        block(branch->otherwise, within);
      } else {
        if (auto *let = dynCast<LetStmt>(stmt.get()))
          lets.emplace_back(let->var, let->value);
        forEachBlock(*stmt, [&](Block &inner) { block(inner, within); });
      }
      out.push_back(std::move(stmt));
    }
    b = std::move(out);
  }

  /// Whether all that `e` depends on are thread indices.
  bool onThreadsOnly(Expr e) const {
    std::vector<Expr> vars;
    collectVars(e, vars);
    for (Expr var : vars)
      if (var != launch.tid && var != launch.threadVars[0] && var != launch.threadVars[1] &&
          var != launch.threadVars[2])
        return false;
    return !vars.empty();
  }

  Expr expanded(Expr e) const {
    for (std::size_t i = lets.size(); i-- > 0;)
      if (uses(e, lets[i].first))
        e = substitute(e, {lets[i]});
    return e;
  }

  Substitution threadAt(std::int64_t tid) const {
    Substitution at;
    Context &context = *function.context;
    std::int64_t rest = tid;
    for (unsigned d = 0; d < 3; ++d) {
      std::int64_t extent = launch.threads[d];
      if (launch.threadVars[d])
        at.emplace_back(launch.threadVars[d],
                        context.integer(launch.threadVars[d].dtype(), rest % extent));
      rest /= extent;
    }
    if (launch.tid)
      at.emplace_back(launch.tid, context.integer(launch.tid.dtype(), tid));
    return at;
  }

  /// The threads of `within` for which the condition is `value`, if they are one range with bounds
  /// that are multiples of the warp. count 0: none.
  std::optional<ThreadRange> threadsWhere(Expr condition, bool value, ThreadRange within) const {
    ThreadRange found;
    bool ended = false;
    for (std::int64_t t = within.first; t < within.first + within.count; ++t) {
      auto holds = substitute(condition, threadAt(t)).constant();
      if (!holds)
        return std::nullopt;
      if ((*holds != 0) != value) {
        ended |= found.count > 0;
        continue;
      }
      if (ended)
        return std::nullopt;
      if (found.count == 0)
        found.first = t;
      ++found.count;
    }
    std::int64_t warp = std::max(1, pass.target.limits.warp);
    if (found.count != 0 && (found.first % warp != 0 || found.count % warp != 0))
      return std::nullopt;
    return found;
  }

  bool split(IfStmt &branch, ThreadRange within, Block &out) {
    std::vector<Expr> parts;
    conjuncts(expanded(branch.condition), parts);
    Expr onThreads, rest;
    for (Expr part : parts) {
      if (onThreadsOnly(part))
        onThreads = logicalAnd(onThreads, part);
      else
        rest = logicalAnd(rest, part);
    }
    if (!onThreads)
      return false;
    auto inside = threadsWhere(onThreads, true, within);
    auto outside = threadsWhere(onThreads, false, within);
    bool elseNeeded = !branch.otherwise.empty();
    if (!inside || (elseNeeded && !outside) || (elseNeeded && rest && inside->count))
      return false;
    if (rest) {
      auto inner = std::make_unique<IfStmt>(branch.range);
      inner->condition = rest;
      inner->then = std::move(branch.then);
      branch.then.clear();
      branch.then.push_back(std::move(inner));
    }
    role(branch, branch.then, *inside, within, out);
    if (elseNeeded)
      role(branch, branch.otherwise, *outside, within, out);
    return true;
  }

  void role(const IfStmt &branch, Block &body, ThreadRange threads, ThreadRange within,
            Block &out) {
    if (threads.count == 0)
      return;
    block(body, threads);
    if (threads.count == within.count) { // everybody: no role at all
      for (StmtPtr &stmt : body)
        out.push_back(std::move(stmt));
      return;
    }
    auto role = std::make_unique<RoleStmt>(branch.range);
    role->first = threads.first - within.first;
    role->count = threads.count;
    role->body = std::move(body);
    out.push_back(std::move(role));
  }

  /// The other threads of the block do not come to a barrier that stands in a role.
  void nameBarriers(Block &b, const RoleStmt *role, BarrierNumbers &numbers) {
    for (StmtPtr &stmt : b) {
      auto *barrier = dynCast<BarrierStmt>(stmt.get());
      if (barrier && role && barrier->scope == BarrierScope::Block) {
        if (barrier->vote != Vote::None) {
          pass.diagnostics.report(diag::CollectiveInDivergent, stmt->range, "T.syncthreads_count")
              .label(role->range, "only the threads of this role get here");
          continue;
        }
        bool warp = role->count <= pass.target.limits.warp;
        barrier->scope = warp ? BarrierScope::Warp : BarrierScope::Named;
        barrier->userWritten = false; // the number is not the program's
        if (!warp) {
          barrier->id = function.context->int32(numbers.of(*role));
          barrier->count = function.context->int32(role->count);
        }
      }
      const auto *inner = dynCast<RoleStmt>(stmt.get());
      forEachBlock(*stmt,
                   [&](Block &nested) { nameBarriers(nested, inner ? inner : role, numbers); });
    }
  }

  void check(const Block &b, const Uniformity &uniformity) {
    for (const StmtPtr &stmt : b) {
      if (const Stmt *cause = uniformity.cause(*stmt)) {
        const auto *barrier = dynCast<BarrierStmt>(stmt.get());
        bool blockWide = barrier && (barrier->scope == BarrierScope::Block ||
                                     barrier->scope == BarrierScope::Cluster ||
                                     barrier->scope == BarrierScope::Grid);
        const auto *print = dynCast<PrintStmt>(stmt.get());
        bool printsTile = print && print->buffer && print->buffer->scope == Scope::Fragment;
        if (analysis::isCollectiveTileOp(*stmt) || blockWide || printsTile) {
          pass.diagnostics.report(diag::CollectiveInDivergent, stmt->range, what(*stmt))
              .label(cause->range, cause->kind == StmtKind::If
                                       ? "the condition is not the same for all threads"
                                       : "not all threads do this equally often");
          continue;
        }
      }
      if (stmt->kind == StmtKind::Map)
        continue; // its body is per element, which is another matter
      forEachBlock(std::as_const(*stmt), [&](const Block &inner) { check(inner, uniformity); });
    }
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  Substitution lets; ///< in order of their binding
};

} // namespace

void findRoles(Function &function, PassContext &context) {
  for (auto &launch : function.launches)
    RoleFinder(function, *launch, context).run();
}

} // namespace tlc::passes
