#include "passes/LaunchConstants.h"

#include "ir/Walk.h"

#include <iterator>
#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

/// The one of its kind; made if there is none.
Expr found(Function &function, LaunchConstant::What what, std::string_view name, DType dtype) {
  for (const LaunchConstant &constant : function.launchConstants)
    if (constant.what == what)
      return constant.var;
  LaunchConstant constant;
  constant.what = what;
  constant.var = function.context->var(name, dtype);
  function.launchConstants.push_back(constant);
  return constant.var;
}

} // namespace

Expr multiprocessors(Function &function) {
  return found(function, LaunchConstant::What::MultiprocessorCount, "multiprocessors",
               Scalar::Int32);
}

Expr workspaceBytes(Function &function) {
  return found(function, LaunchConstant::What::WorkspaceBytes, "workspace_bytes", Scalar::Int64);
}

Expr launchConstant(Function &function, std::string_view name, Expr value) {
  if (value.isConstant() || value.isVar())
    return value;
  LaunchConstant constant;
  constant.what = LaunchConstant::What::Computed;
  constant.var = function.context->var(name, value.dtype());
  constant.value = value;
  function.launchConstants.push_back(constant);
  return constant.var;
}

bool launcherKnows(const Launch &launch, Expr e) {
  bool own = usesThread(launch, e);
  for (Expr block : launch.blockVars)
    own |= uses(e, block);
  walk(launch.body, [&](const Stmt &stmt) {
    forEachDefinition(stmt, [&](Expr var) { own |= uses(e, var); });
    return !own;
  });
  return !own;
}

void addLaunches(Function &function,
                 const std::function<std::vector<std::unique_ptr<Launch>>(Launch &)> &make) {
  std::vector<std::vector<std::unique_ptr<Launch>>> behind; // `make` may look at the function
  for (auto &launch : function.launches)
    behind.push_back(make(*launch));
  std::vector<std::unique_ptr<Launch>> all;
  for (std::size_t i = 0; i < behind.size(); ++i) {
    all.push_back(std::move(function.launches[i]));
    std::move(behind[i].begin(), behind[i].end(), std::back_inserter(all));
  }
  function.launches = std::move(all);
}

void startOnlyIf(Launch &launch, Expr condition) {
  Expr &extent = launch.grid.front();
  Context &context = extent.context();
  extent = context.select(condition, extent, context.zero(extent.dtype()));
}

std::optional<StartedIf> startedIf(Expr extent) {
  if (extent.kind() != ExprKind::Select)
    return std::nullopt;
  Expr condition = extent->operands[0], then = extent->operands[1], other = extent->operands[2];
  if (other.isConstant(0))
    return StartedIf{condition, then};
  if (then.isConstant(0))
    return StartedIf{logicalNot(condition), other};
  return std::nullopt;
}

Expr whereStarted(Expr extent) {
  while (auto started = startedIf(extent))
    extent = started->extent;
  return extent;
}

Expr blocksWhereStarted(const Launch &launch) {
  const DType wide(Scalar::Int64);
  Context &context = launch.grid.front().context();
  Expr blocks = context.integer(wide, 1);
  for (Expr extent : launch.grid)
    blocks = blocks * context.cast(wide, whereStarted(extent));
  return blocks;
}

} // namespace tlc::passes
