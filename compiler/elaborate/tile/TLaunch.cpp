// T.Kernel, roles, and the indices of blocks and threads.
#include "elaborate/tile/TLoops.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

struct KernelFrame : NativeObject {
  std::vector<Expr> grid;
  std::array<std::int64_t, 3> threads = {128, 1, 1};
  std::array<std::int64_t, 3> cluster = {1, 1, 1};
  std::string prelude;
  SourceRange range;
  std::string typeName() const override { return "kernel frame"; }
  bool runWith(Elaborator &, const ast::WithItem &, const std::function<void(const Value &)> &,
               const std::function<void()> &) override;
};

std::vector<std::string> blockNames(const ast::Expr *target, std::size_t count) {
  std::vector<std::string> names;
  if (target) {
    if (const auto *name = target->as<ast::Name>())
      names.push_back(name->id);
    if (const auto *tuple = target->as<ast::Tuple>())
      for (const ast::Expr *part : tuple->elements) {
        const auto *name = part->as<ast::Name>();
        names.push_back(name ? name->id : "");
      }
  }
  static constexpr const char *usual[] = {"bx", "by", "bz"};
  names.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    if (names[i].empty() || names[i] == "_")
      names[i] = usual[i];
  return names;
}

bool KernelFrame::runWith(Elaborator &e, const ast::WithItem &item,
                          const std::function<void(const Value &)> &bind,
                          const std::function<void()> &body) {
  if (!e.kernel) {
    e.report(diag::OutsideKernel, range, "`T.Kernel` stands");
    return true;
  }
  if (e.kernel->launch) {
    e.report(diag::NestedKernel, range);
    return true;
  }
  ir::Function &f = e.kernel->function;
  f.launches.push_back(std::make_unique<ir::Launch>());
  ir::Launch &launch = *f.launches.back();
  launch.grid = grid;
  launch.threads = threads;
  launch.cluster = cluster;
  launch.prelude = prelude;
  launch.range = range;
  launch.tid = e.context.var("tid", Scalar::Int32);
  std::vector<Value> indices;
  for (const std::string &name : blockNames(item.optionalVars, grid.size())) {
    launch.blockVars.push_back(e.context.var(name, Scalar::Int32));
    indices.push_back(Value::expr(launch.blockVars.back()));
  }
  e.kernel->launch = &launch;
  e.builder().in(launch.body, [&] {
    bool unpacked = item.optionalVars &&
                    (item.optionalVars->is<ast::Tuple>() || item.optionalVars->is<ast::List>());
    bind(indices.size() == 1 && !unpacked ? indices[0] : e.heap.tuple(indices));
    body();
  });
  e.kernel->launch = nullptr;
  return true;
}

/// One to three positive ints.
bool threeInts(TCall &c, std::string_view parameter, std::array<std::int64_t, 3> &result) {
  const Value *v = c.find(parameter);
  if (!v)
    return true;
  std::vector<Value> items = c.e.toList(*v);
  if (items.empty() || items.size() > 3) {
    c.outOfRange(parameter, "one to three numbers", std::to_string(items.size()));
    return false;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<std::int64_t> n =
        c.e.toInt(items[i], c.rangeOf(parameter),
                  "the `" + std::string(parameter) + "` of `" + c.name() + "`");
    if (!n)
      return false;
    if (*n <= 0) {
      c.outOfRange(parameter, "greater than 0", std::to_string(*n));
      return false;
    }
    result[i] = *n;
  }
  return true;
}

Value kernelFrame(TCall &c) {
  auto *frame = c.e.heap.make<KernelFrame>();
  frame->range = c.range;
  std::vector<CallArg> blocks = c.rest(true);
  if (blocks.size() > 3) {
    c.e.report(diag::GridRank, c.range, blocks.size());
    return Value::error();
  }
  for (const CallArg &a : blocks) {
    Expr x = toIndex(c.e, a.value, a.range, "an extent of the grid");
    if (!x)
      return Value::error();
    if (std::optional<std::int64_t> n = x.constant(); n && *n < 0) {
      c.e.report(diag::ArgumentOutOfRange, a.range, c.info.name, "blocks", "0 or more", *n);
      return Value::error();
    }
    frame->grid.push_back(x);
  }
  if (frame->grid.empty()) // one block
    frame->grid.push_back(c.context().int32(1));
  if (!threeInts(c, "threads", frame->threads))
    return Value::error();
  std::int64_t count = frame->threads[0] * frame->threads[1] * frame->threads[2];
  std::int64_t limit = c.e.target.limits.threadsPerBlock;
  if (count > limit) {
    c.e.report(diag::TooManyThreads, c.rangeOf("threads"), count, limit, c.e.target.name);
    return Value::error();
  }
  if (c.info.id == Builtin::ClusterKernel) {
    if (!threeInts(c, "cluster_dims", frame->cluster))
      return Value::error();
    std::int64_t blocksPerCluster = frame->cluster[0] * frame->cluster[1] * frame->cluster[2];
    if (blocksPerCluster > c.e.target.limits.maxCluster) {
      c.outOfRange("cluster_dims",
                   "at most " + std::to_string(c.e.target.limits.maxCluster) + " blocks for " +
                       c.e.target.name,
                   std::to_string(blocksPerCluster));
      return Value::error();
    }
  }
  frame->prelude = c.text("prelude").value_or("");
  return Value::object(frame);
}

// ---- Roles

struct RoleFrame : NativeObject {
  std::vector<std::int64_t> groups;
  SourceRange range;
  std::string typeName() const override { return "role of `T.ws`"; }
  bool runWith(Elaborator &, const ast::WithItem &, const std::function<void(const Value &)> &,
               const std::function<void()> &) override;
};

constexpr std::int64_t groupThreads = 128;

bool RoleFrame::runWith(Elaborator &e, const ast::WithItem &,
                        const std::function<void(const Value &)> &,
                        const std::function<void()> &body) {
  if (!requireLaunch(e, range, "`T.ws` stands"))
    return true;
  ir::Launch &launch = *e.kernel->launch;
  for (std::int64_t g : groups)
    if (g < 0 || (g + 1) * groupThreads > launch.threadCount()) {
      e.report(diag::NoSuchWarpGroup, range, g, launch.threadCount() / groupThreads,
               launch.threadCount());
      return true;
    }
  RuntimeState &s = state(e);
  bool contiguous = groups.back() - groups.front() + 1 == std::int64_t(groups.size());
  if (!contiguous) {
    Expr inside;
    for (std::int64_t g : groups)
      inside = inside ? ir::logicalOr(inside, ir::equals(ir::floorDiv(launch.tid, groupThreads), g))
                      : ir::equals(ir::floorDiv(launch.tid, groupThreads), g);
    e.builder().when(inside, body);
    return true;
  }
  auto &role = e.builder().add<ir::RoleStmt>();
  role.first = groups.front() * groupThreads - s.roleFirst;
  role.count = std::int64_t(groups.size()) * groupThreads;
  auto saved = std::pair(s.roleFirst, s.role);
  s.roleFirst = groups.front() * groupThreads;
  s.role = &role;
  e.builder().in(role.body, body);
  std::tie(s.roleFirst, s.role) = saved;
  return true;
}

Value warpSpecialize(TCall &c) {
  auto *frame = c.e.heap.make<RoleFrame>();
  frame->range = c.range;
  for (const CallArg &a : c.rest(true)) {
    std::optional<std::int64_t> g = c.e.toInt(a.value, a.range, "a warp group of `T.ws`");
    if (!g)
      return Value::error();
    frame->groups.push_back(*g);
  }
  if (frame->groups.empty()) {
    c.e.report(diag::MissingArgument, c.args.calleeRange, c.info.name, "warp_group_idx");
    return Value::error();
  }
  std::sort(frame->groups.begin(), frame->groups.end());
  return Value::object(frame);
}

/// T.attr(...): facts for TVM; the body is executed as it stands. A T.comm_reducer says how
/// T.tvm_thread_allreduce combines in it.
struct AttrFrame : NativeObject {
  std::optional<ir::ReduceOp> reduction;
  std::string typeName() const override { return "`T.attr`"; }
  bool runWith(Elaborator &e, const ast::WithItem &, const std::function<void(const Value &)> &,
               const std::function<void()> &body) override {
    if (!e.kernel) {
      body();
      return true;
    }
    std::optional<ir::ReduceOp> &now = state(e).threadReduction;
    std::optional<ir::ReduceOp> before = now;
    if (reduction)
      now = reduction;
    body();
    now = before;
    return true;
  }
};

Value attr(TCall &c) {
  auto *frame = c.e.heap.make<AttrFrame>();
  if (auto *reducer = c.value("node").native<CommReducer>())
    frame->reduction = reducer->op;
  return Value::object(frame);
}

// ---- Indices

std::optional<unsigned> dimOf(TCall &c) {
  std::optional<std::int64_t> dim = c.integer("dim", 0);
  if (!dim)
    return std::nullopt;
  if (*dim < 0 || *dim > 2) {
    c.outOfRange("dim", "0, 1 or 2", std::to_string(*dim));
    return std::nullopt;
  }
  return static_cast<unsigned>(*dim);
}

Value one(Expr x) { return x ? Value::expr(x) : Value::error(); }

Value threadBindingOf(TCall &c) {
  std::optional<unsigned> dim = dimOf(c);
  return dim ? one(threadIndex(c.e, *dim, c.range)) : Value::error();
}

Value blockBindingOf(TCall &c) {
  std::optional<unsigned> dim = dimOf(c);
  return dim ? one(blockIndex(c.e, *dim, c.range)) : Value::error();
}

Value threadExtent(TCall &c) {
  std::optional<unsigned> dim = dimOf(c);
  if (!dim || !requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  return Value::integer(c.e.kernel->launch->threads[*dim]);
}

Value extentValue(Expr x) { return x.constant() ? Value::integer(*x.constant()) : Value::expr(x); }

Value blockExtent(TCall &c) {
  std::optional<unsigned> dim = dimOf(c);
  if (!dim || !requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  const std::vector<Expr> &grid = c.e.kernel->launch->grid;
  return *dim < grid.size() ? extentValue(grid[*dim]) : Value::integer(1);
}

/// The plural forms: a tuple of what `of` gives for each dim.
template <class F> Value eachDim(TCall &c, std::size_t count, F &&of) {
  std::vector<Value> items;
  for (unsigned d = 0; d < count; ++d)
    items.push_back(of(d));
  return c.e.heap.tuple(std::move(items));
}

Value allBindings(TCall &c) {
  if (!requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  ir::Launch &launch = *c.e.kernel->launch;
  switch (c.info.id) {
  case Builtin::GetThreadBindings:
    return eachDim(c, 3, [&](unsigned d) { return one(threadIndex(c.e, d, c.range)); });
  case Builtin::GetBlockBindings:
    return eachDim(c, launch.grid.size(),
                   [&](unsigned d) { return one(blockIndex(c.e, d, c.range)); });
  case Builtin::GetThreadExtents:
    return eachDim(c, 3, [&](unsigned d) { return Value::integer(launch.threads[d]); });
  default:
    return eachDim(c, launch.grid.size(), [&](unsigned d) { return extentValue(launch.grid[d]); });
  }
}

} // namespace

Expr threadIndex(Elaborator &e, unsigned dim, SourceRange range) {
  if (!requireLaunch(e, range, "a thread index is asked for"))
    return {};
  ir::Launch &launch = *e.kernel->launch;
  if (launch.threads[dim] == 1)
    return e.context.int32(0);
  Expr &var = launch.threadVars[dim];
  static constexpr const char *names[] = {"tx", "ty", "tz"};
  if (!var)
    var = e.context.var(names[dim], Scalar::Int32);
  return var;
}

Expr blockIndex(Elaborator &e, unsigned dim, SourceRange range) {
  if (!requireLaunch(e, range, "a block index is asked for"))
    return {};
  ir::Launch &launch = *e.kernel->launch;
  return dim < launch.blockVars.size() ? launch.blockVars[dim] : e.context.int32(0);
}

void addLaunch(Handlers &t) {
  handle(t, Builtin::Kernel, kernelFrame);
  handle(t, Builtin::ClusterKernel, kernelFrame);
  handle(t, Builtin::WarpSpecialize, warpSpecialize);
  handle(t, Builtin::Attr, attr);
  handle(t, Builtin::GetThreadBinding, threadBindingOf);
  handle(t, Builtin::GetBlockBinding, blockBindingOf);
  handle(t, Builtin::GetThreadExtent, threadExtent);
  handle(t, Builtin::GetBlockExtent, blockExtent);
  for (Builtin id : {Builtin::GetThreadBindings, Builtin::GetBlockBindings,
                     Builtin::GetThreadExtents, Builtin::GetBlockExtents})
    handle(t, id, allBindings);
}

} // namespace tlc::elaborate
