#include "elaborate/tile/TLayout.h"

#include "ir/Fold.h"
#include "layout/Fit.h"

#include <algorithm>
#include <map>

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

std::optional<std::int64_t> evaluateAt(Expr e, std::span<const Expr> vars,
                                       std::span<const std::int64_t> point) {
  auto operand = [&](std::size_t i) { return evaluateAt(e->operands[i], vars, point); };
  switch (e.kind()) {
  case ir::ExprKind::Int:
    return e->integer;
  case ir::ExprKind::Var:
    for (std::size_t i = 0; i < vars.size(); ++i)
      if (vars[i] == e)
        return point[i];
    return std::nullopt;
  case ir::ExprKind::Unary: {
    std::optional<std::int64_t> a = operand(0);
    if (!a)
      return a;
    if (e->unaryOp() == ir::UnaryOp::Neg)
      return wrapInteger(e.dtype(), -*a);
    return e->unaryOp() == ir::UnaryOp::Not ? std::int64_t(!*a) : wrapInteger(e.dtype(), ~*a);
  }
  case ir::ExprKind::Binary: {
    std::optional<std::int64_t> a = operand(0), b = operand(1);
    if (!a || !b)
      return std::nullopt;
    if (e->binaryOp() == ir::BinaryOp::LogicalAnd)
      return std::int64_t(*a && *b);
    if (e->binaryOp() == ir::BinaryOp::LogicalOr)
      return std::int64_t(*a || *b);
    return ir::evaluateInteger(e->binaryOp(), e->operands[0].dtype(), *a, *b);
  }
  case ir::ExprKind::Select: {
    std::optional<std::int64_t> c = operand(0);
    return !c ? c : operand(*c ? 1 : 2);
  }
  case ir::ExprKind::Cast: {
    std::optional<std::int64_t> a = operand(0);
    if (!a || e.dtype().isFloat() || e->operands[0].dtype().isFloat())
      return std::nullopt;
    return e.dtype().isBool() ? std::int64_t(*a != 0) : wrapInteger(e.dtype(), *a);
  }
  default:
    return std::nullopt;
  }
}

namespace {

std::string axisName(std::size_t d) { return "d" + std::to_string(d); }

std::optional<std::vector<std::int64_t>> numbers(TCall &c, std::string_view parameter) {
  std::optional<std::vector<Expr>> shape = c.shape(parameter);
  if (!shape)
    return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Expr &x : *shape) {
    if (!x.constant()) {
      c.e.report(diag::ExtentNotConstant, c.rangeOf(parameter), c.info.name, text(x));
      return std::nullopt;
    }
    result.push_back(*x.constant());
  }
  return result;
}

/// A function of the program as expressions of its arguments: called once with variables.
struct IndexFunction {
  std::vector<Expr> vars;
  std::vector<Expr> results;

  std::vector<std::int64_t> operator()(std::span<const std::int64_t> point) const {
    std::vector<std::int64_t> values;
    for (const Expr &r : results)
      values.push_back(evaluateAt(r, vars, point).value_or(-1));
    return values;
  }
};

/// Flattens nested tuples and lists of scalars.
bool collect(Elaborator &e, const Value &v, SourceRange range, std::vector<Expr> &into) {
  if (v.as<TupleObject>() || v.as<ListObject>()) {
    for (const Value &item : e.toList(v))
      if (!collect(e, item, range, into))
        return false;
    return true;
  }
  Expr x = toIndex(e, v, range, "what the layout's function returns");
  if (x)
    into.push_back(x);
  return bool(x);
}

std::optional<IndexFunction> trace(TCall &c, const Value &fn, std::size_t arity,
                                   SourceRange range) {
  IndexFunction f;
  std::vector<Value> args;
  for (std::size_t d = 0; d < arity; ++d) {
    f.vars.push_back(c.context().var("i" + std::to_string(d), Scalar::Int32));
    args.push_back(Value::expr(f.vars.back()));
  }
  Value result = c.e.callWith(fn, args, range);
  if (result.isError() || !collect(c.e, result, range, f.results))
    return std::nullopt;
  std::vector<std::int64_t> origin(arity, 0);
  for (const Expr &r : f.results)
    if (!evaluateAt(r, f.vars, origin)) {
      c.e.report(diag::LayoutReads, range, text(r));
      return std::nullopt;
    }
  return f;
}

std::string pointText(std::span<const std::int64_t> point) {
  std::string result = "(";
  for (std::size_t i = 0; i < point.size(); ++i)
    result += (i ? ", " : "") + std::to_string(point[i]);
  return result + ")";
}

/// Calls f for each point of a box, the last axis fastest.
template <class F> void eachPoint(std::span<const std::int64_t> shape, F &&f) {
  std::int64_t count = 1;
  for (std::int64_t n : shape)
    count *= n;
  std::vector<std::int64_t> point(shape.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      point[d] = rest % shape[d];
      rest /= shape[d];
    }
    f(point);
  }
}

constexpr std::int64_t maxSampled = std::int64_t(1) << 20;

bool samplable(TCall &c, std::span<const std::int64_t> shape, SourceRange range) {
  std::int64_t count = 1;
  for (std::int64_t n : shape)
    if (n < 1 || (count *= n) > maxSampled) {
      c.e.report(diag::LayoutTooLarge, range, pointText(shape), maxSampled);
      return false;
    }
  c.e.charge(static_cast<std::uint64_t>(count), range);
  return true;
}

std::optional<Layout> fitted(TCall &c, const Sizes &in, const Sizes &out,
                             const std::function<Point(const Point &)> &f, SourceRange range) {
  std::variant<Layout, Misfit> result = fit(in, out, f);
  if (Layout *l = std::get_if<Layout>(&result))
    return *l;
  const Misfit &m = std::get<Misfit>(result);
  c.e.report(diag::LayoutMisfit, range, pointText(m.at), pointText(m.expected),
             pointText(m.fitted));
  return std::nullopt;
}

/// Coordinates to an offset: the function's results, row-major in the box that they span.
std::optional<Layout> memoryLayout(TCall &c, const IndexFunction &f,
                                   const std::vector<std::int64_t> &shape, SourceRange range) {
  std::vector<std::int64_t> extents(f.results.size(), 1);
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> seen;
  bool good = true;
  eachPoint(shape, [&](const std::vector<std::int64_t> &point) {
    if (!good)
      return;
    std::vector<std::int64_t> at = f(point);
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (at[d] < 0) {
        c.e.report(diag::LayoutNegative, range, pointText(point), at[d]);
        good = false;
        return;
      }
      extents[d] = std::max(extents[d], at[d] + 1);
    }
    auto [other, fresh] = seen.emplace(at, point);
    if (!fresh) {
      c.e.report(diag::LayoutNotInjective, range, pointText(other->second), pointText(point),
                 pointText(at));
      good = false;
    }
  });
  if (!good)
    return std::nullopt;
  Sizes in;
  for (std::size_t d = 0; d < shape.size(); ++d)
    in.emplace_back(axisName(d), shape[d]);
  std::int64_t span = 1;
  for (std::int64_t n : extents)
    span *= n;
  auto offset = [&](const Point &point) {
    std::vector<std::int64_t> at = f(point);
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      flat = flat * extents[d] + at[d];
    return Point{flat};
  };
  return fitted(c, in, {{"offset", span}}, offset, range);
}

/// (thread, register) for each coordinate and replica, turned round.
std::optional<Layout> fragmentForm(
    TCall &c, const std::vector<std::int64_t> &shape, std::int64_t replicate,
    const std::function<std::pair<std::int64_t, std::int64_t>(std::span<const std::int64_t>)>
        &place,
    SourceRange range) {
  std::vector<std::int64_t> box = shape;
  box.push_back(replicate);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> holder;
  std::int64_t threads = 0, registers = 0;
  bool good = true;
  eachPoint(box, [&](const std::vector<std::int64_t> &point) {
    auto [thread, reg] = place(point);
    std::vector<std::int64_t> coordinate(point.begin(), point.end() - 1);
    auto [it, fresh] = holder.emplace(std::pair(thread, reg), coordinate);
    if (good && (thread < 0 || reg < 0)) {
      c.e.report(diag::LayoutNegative, range, pointText(coordinate), std::min(thread, reg));
      good = false;
    } else if (good && !fresh && it->second != coordinate) {
      c.e.report(diag::LayoutNotInjective, range, pointText(it->second), pointText(coordinate),
                 "thread " + std::to_string(thread) + ", register " + std::to_string(reg));
      good = false;
    }
    threads = std::max(threads, thread + 1);
    registers = std::max(registers, reg + 1);
  });
  if (!good)
    return std::nullopt;
  if (static_cast<std::int64_t>(holder.size()) != threads * registers) {
    c.e.report(diag::FragmentIncomplete, range, threads, registers, holder.size());
    return std::nullopt;
  }
  Sizes out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.emplace_back(axisName(d), shape[d]);
  return fitted(
      c, {{"reg", registers}, {"thread", threads}}, out,
      [&](const Point &p) {
        return Point(holder.at({p[1], p[0]}));
      },
      range);
}

/// A T.Layout keeps its function until it is known what has the layout: tiles are sampled, tensors
/// of any size are read through the expressions.
Value layoutOf(TCall &c) {
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  SourceRange range = c.rangeOf("forward_fn");
  if (!shape)
    return Value::error();
  std::optional<IndexFunction> f = trace(c, c.value("forward_fn"), shape->size(), range);
  if (!f)
    return Value::error();
  auto *object = c.e.heap.make<LayoutObject>();
  object->extents = *shape;
  for (const Expr &x : *shape)
    object->shape.push_back(x.constant().value_or(-1));
  object->vars = f->vars;
  object->results = f->results;
  object->range = range;
  return Value::object(object);
}

/// The largest value of an index expression over the box; null if it cannot be told.
Expr upperBound(Elaborator &e, Expr x, std::span<const Expr> vars, std::span<const Expr> extents) {
  if (x.isInt())
    return x->integer >= 0 ? x : Expr();
  if (x.isVar()) {
    for (std::size_t i = 0; i < vars.size(); ++i)
      if (vars[i] == x)
        return convert(e, extents[i], x.dtype()) - 1;
    return {};
  }
  if (x.kind() != ir::ExprKind::Binary)
    return {};
  Expr b = x->operands[1], a = upperBound(e, x->operands[0], vars, extents);
  if (!a)
    return {};
  switch (x->binaryOp()) {
  case ir::BinaryOp::Add: {
    Expr other = upperBound(e, b, vars, extents);
    return other ? a + other : Expr();
  }
  case ir::BinaryOp::Mul:
    return b.isInt() && b->integer >= 0 ? a * b : Expr();
  case ir::BinaryOp::FloorDiv:
    return b.isInt() && b->integer > 0 ? ir::floorDiv(a, b) : Expr();
  case ir::BinaryOp::FloorMod:
    if (!b.isInt() || b->integer <= 0)
      return {};
    return a.constant() ? ir::minimum(a, b - 1) : b - 1;
  default:
    return {};
  }
}

/// A parameter whose elements lie where the function says: accesses go through a view of the
/// physical shape.
void tensorLayout(TCall &c, ir::Buffer &b, const LayoutObject &layout) {
  SourceRange range = layout.range;
  bool same = b.rank() == layout.extents.size() && !layout.results.empty();
  for (unsigned d = 0; same && d < b.rank(); ++d)
    same = b.shape[d] == layout.extents[d] ||
           ir::constantDifference(b.shape[d], layout.extents[d]) == std::int64_t(0);
  if (!same) {
    c.e.report(diag::LayoutShape, range, describe(b), shapeText(layout.extents));
    return;
  }
  std::vector<Expr> physical;
  for (const Expr &r : layout.results) {
    Expr bound = upperBound(c.e, r, layout.vars, b.shape);
    if (!bound) {
      c.e.report(diag::TensorLayout, range, b.name, "the extent of " + text(r) + " is not known");
      return;
    }
    physical.push_back(bound + 1);
  }
  Value view = makeView(c.e, b, physical, b.dtype, range);
  if (view.isError())
    return;
  view.asBuffer()->name = b.name;
  state(c.e).tensorLayouts[&b] = {layout.vars, layout.results, view.asBuffer()};
}

/// Flattens the register index row-major over the box that it spans.
struct RegisterIndex {
  std::vector<std::int64_t> extents;
  std::int64_t operator()(std::span<const std::int64_t> at) const {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      flat = flat * extents[d] + at[d];
    return flat;
  }
};

Value fragmentOf(TCall &c) {
  std::optional<std::vector<std::int64_t>> shape = numbers(c, "shape");
  std::optional<std::int64_t> replicate = c.integer("replicate", 1);
  std::string_view main = c.find("forward_fn") ? "forward_fn" : "forward_thread_fn";
  SourceRange range = c.rangeOf(main);
  if (!shape || !replicate || *replicate < 1 || !samplable(c, *shape, range))
    return Value::error();
  const Value *fn = c.find("forward_fn"), *threadFn = c.find("forward_thread_fn"),
              *indexFn = c.find("forward_index_fn");
  if (!fn && !threadFn) {
    c.e.report(diag::MissingArgument, c.args.calleeRange, c.info.name, "forward_fn");
    return Value::error();
  }
  std::size_t rank = shape->size(), arity = rank + (*replicate > 1 ? 1 : 0);
  std::optional<IndexFunction> f = trace(c, fn ? *fn : *threadFn, arity, range);
  std::optional<IndexFunction> g =
      indexFn ? trace(c, *indexFn, rank, c.rangeOf("forward_index_fn")) : std::nullopt;
  if (!f || (indexFn && !g))
    return Value::error();
  if (!indexFn && f->results.size() < 2) {
    c.wrong(main, "a function that returns (thread, register)");
    return Value::error();
  }
  // The register index may have several parts; they are numbered row-major.
  auto parts = [&](std::span<const std::int64_t> point) {
    std::vector<std::int64_t> at = (*f)(point.subspan(0, arity));
    if (g) {
      std::vector<std::int64_t> index = (*g)(point.subspan(0, rank));
      at.resize(1);
      at.insert(at.end(), index.begin(), index.end());
    }
    return at;
  };
  std::vector<std::int64_t> box = *shape;
  box.push_back(*replicate);
  RegisterIndex flatten;
  flatten.extents.assign(g ? g->results.size() : f->results.size() - 1, 1);
  eachPoint(box, [&](const std::vector<std::int64_t> &point) {
    std::vector<std::int64_t> at = parts(point);
    for (std::size_t d = 1; d < at.size(); ++d)
      flatten.extents[d - 1] = std::max(flatten.extents[d - 1], at[d] + 1);
  });
  auto *object = c.e.heap.make<LayoutObject>();
  object->isFragment = true;
  object->shape = *shape;
  object->layout = fragmentForm(
      c, *shape, *replicate,
      [&](std::span<const std::int64_t> point) {
        std::vector<std::int64_t> at = parts(point);
        return std::pair(at[0], flatten(std::span(at).subspan(1)));
      },
      range);
  return object->layout ? Value::object(object) : Value::error();
}

bool isBox(const std::vector<std::int64_t> &shape) {
  return !shape.empty() && std::all_of(shape.begin(), shape.end(), [](auto n) { return n >= 1; });
}

std::vector<std::int64_t> shapeOf(const Value &v) {
  if (v.isBuffer())
    return v.asBuffer()->constantShape().value_or(std::vector<std::int64_t>());
  if (auto *region = v.native<RegionValue>())
    return region->region.constantTileExtents().value_or(std::vector<std::int64_t>());
  return {};
}

/// Swizzles are asked for, not described: the planner derives one that fits the accesses.
Value swizzleHint(TCall &c) {
  auto *object = c.e.heap.make<LayoutObject>();
  object->hint = true;
  return Value::object(object);
}

Value linearLayout(TCall &c) {
  std::vector<CallArg> args = c.rest();
  std::vector<std::int64_t> shape =
      args.empty() ? std::vector<std::int64_t>() : shapeOf(args[0].value);
  if (shape.empty())
    for (const CallArg &a : args)
      for (const Value &v : c.e.toList(a.value))
        if (std::optional<std::int64_t> n = v.isIntegral() ? v.asInt64() : std::nullopt)
          shape.push_back(*n);
  if (!isBox(shape)) {
    c.wrong("args", "a buffer or extents of 1 or more",
            args.empty() ? Value::none() : args[0].value, c.range);
    return Value::error();
  }
  auto *object = c.e.heap.make<LayoutObject>();
  object->hint = true;
  object->shape = shape;
  Sizes axes;
  for (std::size_t d = 0; d < shape.size(); ++d)
    axes.emplace_back(axisName(d), shape[d]);
  object->layout = Layout::rowMajor(axes);
  return Value::object(object);
}

/// Every thread holds the whole tile.
Value replicated(TCall &c) {
  std::vector<std::int64_t> shape = shapeOf(c.value("buffer"));
  std::optional<std::int64_t> threads = c.integer("threads");
  if (!isBox(shape) || !threads || *threads < 1) {
    c.wrong("buffer", "a tile of constant shape");
    return Value::error();
  }
  std::int64_t count = 1;
  Sizes axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    axes.emplace_back(axisName(d), shape[d]);
    count *= shape[d];
  }
  auto *object = c.e.heap.make<LayoutObject>();
  object->isFragment = true;
  object->shape = shape;
  object->layout = fitted(
      c, {{"reg", count}, {"thread", *threads}}, axes,
      [&](const Point &p) {
        Point at(shape.size());
        std::int64_t rest = p[0];
        for (std::size_t d = shape.size(); d-- > 0;) {
          at[d] = rest % shape[d];
          rest /= shape[d];
        }
        return at;
      },
      c.range);
  return object->layout ? Value::object(object) : Value::error();
}

// ---- T.annotate_layout

void annotate(TCall &c, ir::Buffer &b, const Value &value) {
  SourceRange range = c.rangeOf("layout_map");
  LayoutObject *layout = value.native<LayoutObject>();
  if (!layout) {
    c.e.report(diag::NotALayout, range, b.name, typeNameWithArticle(value));
    return;
  }
  if (layout->hint && !layout->layout)
    return;
  if (b.scope == ir::Scope::Global) {
    if (layout->results.empty() || layout->isFragment)
      c.e.report(diag::NotALayout, range, b.name, "it is no T.Layout");
    else
      tensorLayout(c, b, *layout);
    return;
  }
  bool wantsFragment = b.scope == ir::Scope::Fragment;
  if (wantsFragment != layout->isFragment) {
    c.e.report(diag::NotALayout, range, b.name,
               layout->isFragment ? "a fragment layout" : "a memory layout");
    return;
  }
  if (b.constantShape() != layout->shape) {
    c.e.report(diag::LayoutShape, range, describe(b), pointText(layout->shape));
    return;
  }
  if (!layout->layout) {
    if (!samplable(c, layout->shape, layout->range))
      return;
    IndexFunction f{layout->vars, layout->results};
    layout->layout = memoryLayout(c, f, layout->shape, layout->range);
    if (!layout->layout)
      return;
  }
  b.layout = layout->layout;
  b.origin = layout->hint ? ir::LayoutOrigin::Hint : ir::LayoutOrigin::User;
}

Value annotateLayout(TCall &c) {
  if (!c.statement())
    return Value::none();
  DictObject *dict = c.value("layout_map").as<DictObject>();
  dict->table.forEach([&](const Value &key, const Value &value) {
    if (value.isError())
      return;
    if (!key.isBuffer()) {
      c.wrong("layout_map", "a dict from buffers to layouts", key, c.rangeOf("layout_map"));
      return;
    }
    ir::Buffer &b = *key.asBuffer();
    if (!c.e.callable(value) || value.native<LayoutObject>()) {
      annotate(c, b, value);
      return;
    }
    // A bare function is the index map of a T.Layout of the buffer's shape.
    SourceRange range = c.rangeOf("layout_map");
    std::optional<IndexFunction> f = trace(c, value, b.rank(), range);
    if (!f)
      return;
    auto *object = c.e.heap.make<LayoutObject>();
    object->extents = b.shape;
    for (const Expr &x : b.shape)
      object->shape.push_back(x.constant().value_or(-1));
    object->vars = f->vars;
    object->results = f->results;
    object->range = range;
    annotate(c, b, Value::object(object));
  });
  return Value::none();
}

} // namespace

std::optional<Value> LayoutObject::attribute(Elaborator &e, std::string_view name, SourceRange) {
  if (name != "shape" && name != "input_shape" && name != "get_input_shape")
    return std::nullopt;
  std::vector<Value> items;
  for (std::int64_t n : shape)
    items.push_back(Value::integer(n));
  return e.heap.tuple(std::move(items));
}

std::optional<Layout> fragmentLayout(Elaborator &e, const Value &value,
                                     const std::vector<Expr> &extents, SourceRange range) {
  LayoutObject *layout = value.native<LayoutObject>();
  if (!layout || !layout->isFragment || !layout->layout) {
    e.report(diag::NotALayout, range, "loop_layout", typeNameWithArticle(value));
    return std::nullopt;
  }
  bool same = extents.size() == layout->shape.size();
  for (std::size_t d = 0; same && d < extents.size(); ++d)
    same = extents[d].constant() == layout->shape[d];
  if (!same) {
    e.report(diag::LayoutShape, range, "the loop nest " + shapeText(extents),
             pointText(layout->shape));
    return std::nullopt;
  }
  return layout->layout;
}

void addLayouts(Handlers &t) {
  handle(t, Builtin::Layout, layoutOf);
  handle(t, Builtin::Fragment, fragmentOf);
  for (Builtin id : {Builtin::MakeSwizzledLayout, Builtin::MakeFullBankSwizzledLayout,
                     Builtin::MakeHalfBankSwizzledLayout, Builtin::MakeQuarterBankSwizzledLayout})
    handle(t, id, swizzleHint);
  handle(t, Builtin::MakeLinearLayout, linearLayout);
  handle(t, Builtin::MakeReplicatedFragment, replicated);
  handle(t, Builtin::AnnotateLayout, annotateLayout);
}

} // namespace tlc::elaborate
