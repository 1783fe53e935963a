#include "elaborate/tile/TLoops.h"
#include "elaborate/tile/TLayout.h"

namespace tlc::elaborate {

using ir::Expr;
using ir::ForKind;
using sema::Builtin;

namespace {

/// The names of a loop's target, for its variables.
std::vector<std::string> targetNames(const ast::Expr &target, std::size_t count) {
  std::vector<std::string> names;
  auto add = [&](const ast::Expr &part) {
    const auto *name = part.as<ast::Name>();
    names.push_back(name && name->id != "_" ? name->id : "i");
  };
  const ast::ExprList *list = nullptr;
  if (const auto *tuple = target.as<ast::Tuple>())
    list = &tuple->elements;
  else if (const auto *l = target.as<ast::List>())
    list = &l->elements;
  if (list)
    for (const ast::Expr *part : *list)
      add(*part);
  else
    add(target);
  names.resize(count, "i");
  return names;
}

bool noElse(Elaborator &e, const ast::For &loop) {
  if (loop.orelse.empty())
    return true;
  e.report(diag::LoopElse, loop.orelse.front()->range);
  return false;
}

bool runnable(Elaborator &e, const ast::For &loop, std::string_view name) {
  return noElse(e, loop) &&
         requireLaunch(e, loop.iter->range, "a loop of `" + std::string(name) + "` stands");
}

} // namespace

// ---- Serial, unrolled, vectorised and pipelined loops

bool LoopValue::runFor(Elaborator &e, const ast::For &loop) {
  if (!runnable(e, loop, name))
    return true;
  if (kind == ForKind::Pipelined && state(e).mapDepth > 0) {
    e.report(diag::TileOpInParallel, loop.iter->range, name);
    return true;
  }
  auto &stmt = e.builder().add<ir::ForStmt>();
  stmt.var = e.context.var(targetNames(*loop.target, 1)[0], lo.dtype());
  stmt.lo = lo;
  stmt.hi = hi;
  stmt.step = step;
  stmt.kind = kind;
  stmt.expand = expand;
  stmt.unrollFactor = unrollFactor;
  stmt.stages = stages;
  stmt.order = order;
  stmt.stage = stage;
  stmt.group = group;
  LoopScope scope(e, kind != ForKind::Vector);
  e.builder().in(stmt.body, [&] { e.execLoopBody(loop, Value::expr(stmt.var)); });
  return true;
}

std::optional<std::vector<Value>> LoopValue::items(Elaborator &e) {
  std::optional<std::int64_t> a = lo.constant(), b = hi.constant(), s = step.constant();
  if (!a || !b || !s || *s == 0)
    return std::nullopt;
  std::vector<Value> values;
  for (std::int64_t i = *a; *s > 0 ? i < *b : i > *b; i += *s) {
    e.charge(1, range);
    values.push_back(Value::integer(i));
  }
  return values;
}

namespace {

/// start, stop, step in one type; false after a report.
bool bounds(TCall &c, LoopValue &loop) {
  Expr first = c.index("start");
  bool one = !c.find("stop");
  Expr second = one ? Expr() : c.index("stop");
  bool hasStep = c.info.index("step") >= 0 && c.find("step");
  Expr step = hasStep ? c.index("step") : c.context().int32(1);
  if (!first || (!one && !second) || !step)
    return false;
  if (step.isConstant(0)) {
    c.outOfRange("step", "different from 0", "0");
    return false;
  }
  loop.lo = one ? c.context().zero(first.dtype()) : first;
  loop.hi = one ? first : second;
  loop.step = step;
  unifyIndices(c.e, loop.lo, loop.hi);
  unifyIndices(c.e, loop.lo, loop.step);
  unifyIndices(c.e, loop.lo, loop.hi);
  return true;
}

LoopValue *makeLoop(TCall &c, ForKind kind) {
  auto *loop = c.e.heap.make<LoopValue>();
  loop->name = c.name();
  loop->kind = kind;
  loop->range = c.range;
  return bounds(c, *loop) ? loop : nullptr;
}

Value finished(LoopValue *loop) { return loop ? Value::object(loop) : Value::error(); }

Value serial(TCall &c) { return finished(makeLoop(c, ForKind::Serial)); }
Value vectorized(TCall &c) { return finished(makeLoop(c, ForKind::Vector)); }

Value unroll(TCall &c) {
  LoopValue *loop = makeLoop(c, ForKind::Unroll);
  if (!loop)
    return Value::error();
  loop->expand = c.flag("explicit");
  loop->unrollFactor = c.integer("unroll_factor").value_or(0);
  return Value::object(loop);
}

std::optional<std::vector<std::int64_t>> numbers(TCall &c, const Value &list, SourceRange range,
                                                 std::string_view parameter) {
  std::vector<std::int64_t> result;
  for (const Value &v : c.e.toList(list)) {
    std::optional<std::int64_t> n =
        c.e.toInt(v, range, "an item of `" + std::string(parameter) + "`");
    if (!n)
      return std::nullopt;
    result.push_back(*n);
  }
  return result;
}

Value pipelined(TCall &c) {
  LoopValue *loop = makeLoop(c, ForKind::Pipelined);
  std::optional<std::int64_t> stages = c.integer("num_stages", 0);
  if (!loop || !stages)
    return Value::error();
  if (*stages < 0) {
    c.outOfRange("num_stages", "0 or more", std::to_string(*stages));
    return Value::error();
  }
  loop->stages = *stages;
  for (std::string_view parameter : {"order", "stage"})
    if (const Value *v = c.find(parameter)) {
      auto list = numbers(c, *v, c.rangeOf(parameter), parameter);
      if (!list)
        return Value::error();
      (parameter == "order" ? loop->order : loop->stage) = *list;
    }
  if (const Value *groups = c.find("group"))
    for (const Value &group : c.e.toList(*groups)) {
      auto list = numbers(c, group, c.rangeOf("group"), "group");
      if (!list)
        return Value::error();
      loop->group.push_back(*list);
    }
  return Value::object(loop);
}

} // namespace

void kernelFor(Elaborator &e, const ast::For &node, const RangeObject &r) {
  auto fits = [](Int v) { return v >= INT64_MIN && v <= INT64_MAX; };
  if (!fits(r.start) || !fits(r.stop) || !fits(r.step)) {
    e.report(diag::LiteralOutOfRange, node.iter->range, decimal(fits(r.stop) ? r.start : r.stop),
             "int64", std::to_string(INT64_MIN), std::to_string(INT64_MAX));
    return;
  }
  LoopValue loop;
  loop.name = "range";
  loop.range = node.iter->range;
  bool wide =
      literalType(r.start) != DType(Scalar::Int32) || literalType(r.stop) != DType(Scalar::Int32);
  DType type = wide ? Scalar::Int64 : Scalar::Int32;
  loop.lo = e.context.integer(type, static_cast<std::int64_t>(r.start));
  loop.hi = e.context.integer(type, static_cast<std::int64_t>(r.stop));
  loop.step = e.context.integer(type, static_cast<std::int64_t>(r.step));
  loop.runFor(e, node);
}

Value makeRange(Elaborator &e, CallArgs &args) {
  std::vector<Expr> parts;
  for (const CallArg &a : args.positional) {
    Expr x = toIndex(e, a.value, a.range, "a bound of `range`");
    if (!x)
      return Value::error();
    parts.push_back(x);
  }
  auto *loop = e.heap.make<LoopValue>();
  loop->name = "range";
  loop->range = args.range;
  loop->lo = parts.size() == 1 ? e.context.zero(parts[0].dtype()) : parts[0];
  loop->hi = parts.size() == 1 ? parts[0] : parts[1];
  loop->step = parts.size() > 2 ? parts[2] : e.context.int32(1);
  unifyIndices(e, loop->lo, loop->hi);
  unifyIndices(e, loop->lo, loop->step);
  unifyIndices(e, loop->lo, loop->hi);
  return Value::object(loop);
}

// ---- Nests

namespace {

Value itemOf(Elaborator &e, const std::vector<Expr> &vars) {
  if (vars.size() == 1)
    return Value::expr(vars[0]);
  std::vector<Value> items;
  for (const Expr &v : vars)
    items.push_back(Value::expr(v));
  return e.heap.tuple(std::move(items));
}

/// Serial loops, one in the other; the body once inside.
void serialNest(Elaborator &e, const ast::For &loop, const NestValue &nest, ForKind kind) {
  std::vector<std::string> names = targetNames(*loop.target, nest.extents.size());
  std::vector<Expr> vars;
  LoopScope scope(e, nest.extents.size() == 1 && !nest.parallel);
  std::function<void(std::size_t)> level = [&](std::size_t d) {
    if (d == nest.extents.size()) {
      e.execLoopBody(loop, itemOf(e, vars));
      return;
    }
    auto &stmt = e.builder().add<ir::ForStmt>();
    Expr hi = nest.extents[d];
    stmt.var = e.context.var(names[d], hi.dtype());
    stmt.lo = e.context.zero(hi.dtype());
    stmt.hi = hi;
    stmt.step = e.context.integer(hi.dtype(), 1);
    stmt.kind = kind;
    vars.push_back(stmt.var);
    e.builder().in(stmt.body, [&] { level(d + 1); });
  };
  level(0);
}

} // namespace

bool NestValue::runFor(Elaborator &e, const ast::For &loop) {
  if (!runnable(e, loop, name))
    return true;
  // Iterations of an inner T.Parallel are independent; which thread runs them is decided by the
  // outer one.
  if (!parallel || state(e).mapDepth > 0) {
    serialNest(e, loop, *this, ForKind::Serial);
    return true;
  }
  auto &map = e.builder().add<ir::MapStmt>();
  std::vector<std::string> names = targetNames(*loop.target, extents.size());
  for (std::size_t d = 0; d < extents.size(); ++d) {
    map.vars.push_back(e.context.var(names[d], extents[d].dtype()));
    map.extents.push_back(extents[d]);
  }
  map.coalescedWidth = coalescedWidth;
  if (!layout.isNone()) {
    std::optional<Layout> fragment = fragmentLayout(e, layout, extents, layoutRange);
    if (fragment) {
      map.layout = *fragment;
      map.origin = ir::LayoutOrigin::User;
    }
  }
  LoopScope scope(e, false, true);
  e.builder().in(map.body, [&] { e.execLoopBody(loop, itemOf(e, map.vars)); });
  return true;
}

namespace {

NestValue *makeNest(TCall &c, bool parallel) {
  auto *nest = c.e.heap.make<NestValue>();
  nest->name = c.name();
  nest->parallel = parallel;
  nest->range = c.range;
  for (const CallArg &a : c.rest(true)) {
    Expr x = toIndex(c.e, a.value, a.range, "an extent of `" + c.name() + "`");
    if (!x)
      return nullptr;
    if (std::optional<std::int64_t> n = x.constant(); n && *n < 0) {
      c.e.report(diag::ArgumentOutOfRange, a.range, c.info.name, "extents", "0 or more", *n);
      return nullptr;
    }
    nest->extents.push_back(x);
  }
  if (nest->extents.empty()) {
    c.e.report(diag::MissingArgument, c.args.calleeRange, c.info.name, "extents");
    return nullptr;
  }
  return nest;
}

Value parallel(TCall &c) {
  NestValue *nest = makeNest(c, true);
  std::optional<std::int64_t> width = c.integer("coalesced_width", 0);
  if (!nest || !width)
    return Value::error();
  nest->coalescedWidth = *width;
  nest->layout = c.value("loop_layout");
  nest->layoutRange = c.rangeOf("loop_layout");
  return Value::object(nest);
}

Value grid(TCall &c) {
  NestValue *nest = makeNest(c, false);
  return nest ? Value::object(nest) : Value::error();
}

} // namespace

// ---- Loops over threads and tiles

/// `start + index`, used as it stands.
Expr BindingValue::scalar(Elaborator &e, SourceRange where) {
  if (!requireLaunch(e, where, "`T.thread_binding` is called"))
    return {};
  unsigned dim = static_cast<unsigned>(axis - 'x');
  Expr index = isBlock ? blockIndex(e, dim, range) : threadIndex(e, dim, range);
  Expr start = lo;
  unifyIndices(e, index, start);
  return index + start;
}

bool BindingValue::runFor(Elaborator &e, const ast::For &loop) {
  if (!runnable(e, loop, "T.thread_binding"))
    return true;
  ir::Launch &launch = *e.kernel->launch;
  unsigned dim = static_cast<unsigned>(axis - 'x');
  Expr index = isBlock ? blockIndex(e, dim, range) : threadIndex(e, dim, range);
  if (!index)
    return true;
  Expr available = isBlock ? launch.grid[dim] : e.context.int32(launch.threads[dim]);
  std::optional<std::int64_t> want = extent.constant(), have = available.constant();
  if (want && have && *want > *have) {
    e.report(diag::BindingTooWide, range, *want, isBlock ? "blockIdx" : "threadIdx",
             std::string(1, axis), *have);
    return true;
  }
  Expr value = index;
  unifyIndices(e, value, lo);
  value = e.context.binary(ir::BinaryOp::Add, value, lo);
  auto body = [&] {
    LoopScope scope(e, false);
    e.execLoopBody(loop, Value::expr(value));
  };
  if (want == have && want)
    body();
  else {
    Expr limit = extent;
    unifyIndices(e, index, limit);
    e.builder().when(e.context.binary(ir::BinaryOp::Lt, index, limit), body);
  }
  return true;
}

namespace {

Value threadBinding(TCall &c) {
  auto *binding = c.e.heap.make<BindingValue>();
  binding->range = c.range;
  // thread_binding(n, "threadIdx.x") and thread_binding(start, stop, thread="threadIdx.x").
  const Value *stop = c.find("stop");
  std::string thread = c.text("thread").value_or("");
  bool named = stop && stop->isText();
  if (named)
    thread = stop->asText();
  bool hasStop = stop && !named;
  Expr start = c.index("start");
  Expr end = hasStop ? c.index("stop") : start;
  if (!start || !end)
    return Value::error();
  binding->isBlock = thread.starts_with("blockIdx.");
  bool known = (binding->isBlock || thread.starts_with("threadIdx.")) && thread.back() >= 'x' &&
               thread.back() <= 'z' && thread.find('.') == thread.size() - 2;
  if (!known) {
    c.e.report(diag::WrongChoice, c.rangeOf("thread"), c.info.name, "thread",
               "`threadIdx.x` … `threadIdx.z`, `blockIdx.x` … `blockIdx.z`", "`" + thread + "`");
    return Value::error();
  }
  binding->axis = thread.back();
  binding->lo = hasStop ? start : c.context().zero(start.dtype());
  unifyIndices(c.e, binding->lo, end);
  binding->extent = c.context().binary(ir::BinaryOp::Sub, end, binding->lo);
  return Value::object(binding);
}

} // namespace

bool PersistentValue::runFor(Elaborator &e, const ast::For &loop) {
  if (!runnable(e, loop, "T.Persistent"))
    return true;
  ir::Context &c = e.context;
  // Groups of `group` columns of the last dim are walked one after the other, so that the tiles of
  // one wave are near each other.
  Expr last = domain.back(), width = ir::minimum(group, last);
  Expr groups = ir::ceilDiv(last, width);
  Expr total = ir::operator*(groups, width);
  for (std::size_t d = 0; d + 1 < domain.size(); ++d)
    total = total * domain[d];
  auto &stmt = e.builder().add<ir::ForStmt>();
  stmt.var = c.var("wave", total.dtype());
  stmt.lo = c.zero(total.dtype());
  stmt.hi = ir::ceilDiv(total, wave);
  stmt.step = c.integer(total.dtype(), 1);
  LoopScope scope(e, false);
  e.builder().in(stmt.body, [&] {
    Expr rest = stmt.var * wave + index;
    Expr inner = ir::floorMod(rest, width);
    rest = ir::floorDiv(rest, width);
    std::vector<Expr> coordinates(domain.size());
    for (std::size_t d = domain.size() - 1; d-- > 0;) {
      coordinates[d] = ir::floorMod(rest, domain[d]);
      rest = ir::floorDiv(rest, domain[d]);
    }
    coordinates.back() = rest * width + inner;
    Expr inside =
        ir::logicalAnd(ir::lessThan(rest, groups), ir::lessThan(coordinates.back(), last));
    e.builder().when(inside, [&] { e.execLoopBody(loop, itemOf(e, coordinates)); });
  });
  return true;
}

namespace {

Value persistent(TCall &c) {
  auto *loop = c.e.heap.make<PersistentValue>();
  loop->range = c.range;
  std::optional<std::vector<Expr>> domain;
  if (const Value *v = c.find("domain")) {
    domain.emplace();
    for (const Value &item : c.e.toList(*v)) {
      Expr x = toIndex(c.e, item, c.rangeOf("domain"), "an extent of `T.Persistent`");
      if (!x)
        return Value::error();
      domain->push_back(x);
    }
  }
  Expr wave = c.index("wave_size"), index = c.index("index");
  Expr group = c.find("group_size") ? c.index("group_size") : c.context().int32(8);
  if (!domain || domain->empty() || !wave || !index || !group)
    return Value::error();
  // One type for all of them.
  bool wide = false;
  auto visit = [&](auto &&f) {
    for (Expr &x : *domain)
      f(x);
    for (Expr *x : {&wave, &index, &group})
      f(*x);
  };
  visit([&](Expr &x) { wide = wide || x.dtype().bits() > 32; });
  if (wide)
    visit([&](Expr &x) { x = convert(c.e, x, Scalar::Int64); });
  loop->domain = *domain;
  loop->wave = wave;
  loop->index = index;
  loop->group = group;
  return Value::object(loop);
}

Value loopBreak(TCall &c) {
  if (c.statement())
    runtimeBreak(c.e, c.range);
  return Value::none();
}

} // namespace

void addLoops(Handlers &t) {
  handle(t, Builtin::Serial, serial);
  handle(t, Builtin::SerialParallel, serial);
  handle(t, Builtin::Vectorized, vectorized);
  handle(t, Builtin::Unroll, unroll);
  handle(t, Builtin::Pipelined, pipelined);
  handle(t, Builtin::Parallel, parallel);
  handle(t, Builtin::Grid, grid);
  handle(t, Builtin::ThreadBinding, threadBinding);
  handle(t, Builtin::Persistent, persistent);
  handle(t, Builtin::LoopBreak, loopBreak);
}

} // namespace tlc::elaborate
