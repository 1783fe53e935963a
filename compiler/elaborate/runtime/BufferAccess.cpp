// Elements and regions of buffers: indexing, reading, writing.
#include "elaborate/runtime/RuntimeOps.h"

#include "ir/Print.h"

namespace tlc::elaborate {

using ir::Expr;

std::string shapeText(std::span<const Expr> extents) {
  std::string result = "(";
  for (std::size_t i = 0; i < extents.size(); ++i)
    result += (i ? ", " : "") + text(extents[i]);
  return result + (extents.size() == 1 ? ",)" : ")");
}

std::string describe(const ir::Buffer &b) {
  return (b.name.empty() ? "the tile" : "`" + b.name + "`") + " of shape " + shapeText(b.shape);
}

bool requireLaunch(Elaborator &e, SourceRange range, std::string_view what) {
  if (e.kernel && e.kernel->launch)
    return true;
  if (e.diagnostics.hasErrors())
    return false; // perhaps the launch itself was refused
  e.report(diag::OutsideKernel, range, what);
  return false;
}

// ---- Bounds

bool checkIndex(Elaborator &e, const ir::Buffer &b, unsigned dim, Expr index, SourceRange range) {
  std::optional<std::int64_t> i = index.constant(), extent = b.shape[dim].constant();
  if (!i)
    return true;
  bool outside = *i < 0 || (extent && *i >= *extent);
  if (!outside)
    return true;
  if (b.scope == ir::Scope::Global) {
    e.report(diag::TensorIndexOutside, range, *i, dim, describe(b));
    return true;
  }
  e.report(diag::IndexOutside, range, *i, dim, describe(b), text(b.shape[dim]));
  return false;
}

bool checkRegion(Elaborator &e, const ir::Region &r, SourceRange range) {
  const ir::Buffer &b = *r.buffer;
  bool good = true;
  for (unsigned d = 0; d < b.rank(); ++d) {
    std::optional<std::int64_t> lo = r.offsets[d].constant(), n = r.extents[d].constant(),
                                extent = b.shape[d].constant();
    if (n && *n < 0) {
      e.report(diag::EmptyRegion, range, d, *n, describe(b));
      good = false;
      continue;
    }
    if (b.scope == ir::Scope::Global || !n || !extent)
      continue;
    if (*n > *extent || (lo && (*lo < 0 || *lo + *n > *extent))) {
      e.report(diag::RegionOutside, range, text(r.offsets[d]), text(r.extents[d]), d, describe(b),
               *extent);
      good = false;
    }
  }
  return good;
}

// ---- Reading and writing

bool hasTensorLayout(Elaborator &e, const ir::Region &r) {
  return state(e).tensorLayouts.count(r.buffer) > 0;
}

void toPhysical(Elaborator &e, ir::Element &element, Expr &predicate) {
  auto it = state(e).tensorLayouts.find(element.buffer);
  if (it == state(e).tensorLayouts.end())
    return;
  const TensorLayout &layout = it->second;
  ir::Substitution map;
  for (std::size_t d = 0; d < layout.vars.size(); ++d) {
    Expr index = element.indices[d], extent = element.buffer->shape[d];
    unifyIndices(e, index, extent);
    if (!index.constant()) {
      Expr zero = e.context.zero(index.dtype());
      predicate = ir::logicalAnd(predicate, ir::lessEqual(zero, index));
      predicate = ir::logicalAnd(predicate, ir::lessThan(index, extent));
    }
    map.emplace_back(layout.vars[d], convert(e, element.indices[d], layout.vars[d].dtype()));
  }
  element.buffer = layout.physical;
  element.indices.clear();
  for (const Expr &r : layout.results)
    element.indices.push_back(ir::substitute(r, map));
}

namespace {

/// The same element read by the statements right before, with nothing but reads in between.
Expr justRead(ir::Block &block, const ir::Element &element, DType dtype, Expr predicate) {
  for (std::size_t i = block.size(); i-- > 0;) {
    const ir::Stmt &stmt = *block[i];
    if (ir::isa<ir::LetStmt>(stmt))
      continue;
    if (!ir::isa<ir::LoadStmt>(stmt))
      break;
    const auto &load = ir::cast<ir::LoadStmt>(stmt);
    if (load.source.buffer == element.buffer && load.source.indices == element.indices &&
        load.predicate == predicate && load.var.dtype() == dtype)
      return load.var;
  }
  return {};
}

} // namespace

Expr load(Elaborator &e, const ir::Element &element, unsigned lanes, SourceRange range,
          std::string_view hint) {
  ir::Buffer &b = *element.buffer;
  if (!requireLaunch(e, range, "`" + b.name + "` is read"))
    return {};
  if (b.scope == ir::Scope::Barrier) {
    e.report(diag::BarrierAsValue, range, b.name);
    return {};
  }
  ir::Element source = element;
  Expr predicate = state(e).predicate;
  toPhysical(e, source, predicate);
  DType dtype = b.dtype.withLanes(b.dtype.lanes * lanes);
  if (Expr before = justRead(e.builder().block(), source, dtype, predicate))
    return before;
  auto &stmt = e.builder().add<ir::LoadStmt>();
  stmt.range = range;
  std::string name = hint.empty() ? (b.rank() ? b.name + "_value" : b.name) : std::string(hint);
  stmt.var = e.context.var(name, dtype);
  stmt.source = source;
  stmt.predicate = predicate;
  if (source.buffer != &b)
    stmt.otherwise = b.safeValue;
  return stmt.var;
}

void store(Elaborator &e, const ir::Element &element, const Value &value, SourceRange range) {
  ir::Buffer &b = *element.buffer;
  if (!requireLaunch(e, range, "`" + b.name + "` is written"))
    return;
  if (b.scope == ir::Scope::Barrier) {
    e.report(diag::BarrierAsValue, range, b.name);
    return;
  }
  Expr x = toExpr(e, value, b.dtype, range);
  if (!x)
    return;
  ir::Element target = element;
  Expr predicate = state(e).predicate;
  toPhysical(e, target, predicate);
  e.builder().store(target, x, predicate);
}

void storeCell(Elaborator &e, ir::Buffer &cell, const Value &value, SourceRange range) {
  store(e, {&cell, {}, {}}, value, range);
}

// ---- Indexing

namespace {

/// One dim of an index: a scalar, or an offset with an extent.
struct Index {
  Expr offset, extent;
  bool scalar = true;
  unsigned lanes = 1;
  SourceRange range;
};

struct IndexReader {
  Elaborator &e;
  ir::Buffer &buffer;
  const ast::Expr *node; // of the whole index; null if it did not stand in the source
  SourceRange whole;
  std::vector<Index> dims;

  SourceRange rangeOf(std::size_t i, std::size_t count) const {
    if (node && count > 1)
      if (const auto *tuple = node->as<ast::Tuple>(); tuple && i < tuple->elements.size())
        return tuple->elements[i]->range;
    return node ? node->range : whole;
  }

  void full() {
    Expr extent = buffer.shape[dims.size()];
    dims.push_back({e.context.zero(extent.dtype()), extent, false, 1, whole});
  }

  /// Negative compile-time numbers count from the end.
  Expr bound(const Value &value, SourceRange range, std::string_view what) {
    Expr extent = buffer.shape[dims.size()];
    if (value.isInt() && value.asInt() < 0 && value.asInt() >= -Int(1) << 62) {
      Expr back = e.context.integer(extent.dtype(), static_cast<std::int64_t>(value.asInt()));
      return e.context.binary(ir::BinaryOp::Add, extent, back);
    }
    return toIndex(e, value, range, what);
  }

  bool slice(SliceObject &s, SourceRange range) {
    Expr extent = buffer.shape[dims.size()];
    if (!s.step.isNone() && !(s.step.isInt() && s.step.asInt() == 1)) {
      e.report(diag::SliceStep, s.stepRange.valid() ? s.stepRange : range);
      return false;
    }
    Expr lo = s.lower.isNone() ? e.context.zero(extent.dtype())
                               : bound(s.lower, s.lowerRange, "the start of a slice");
    Expr hi = s.upper.isNone() ? extent : bound(s.upper, s.upperRange, "the end of a slice");
    if (!lo || !hi)
      return false;
    unifyIndices(e, lo, hi);
    Expr count;
    if (std::optional<std::int64_t> n = ir::constantDifference(hi, lo))
      count = e.context.int32(*n);
    else
      count = e.context.binary(ir::BinaryOp::Sub, hi, lo);
    dims.push_back({lo, count, false, 1, range});
    return true;
  }

  bool scalar(const Value &value, SourceRange range) {
    if (value.isExpr() && value.asExpr().dtype().isVector())
      return vector(value.asExpr(), range);
    Expr i = bound(value, range, "an index");
    if (!i || !checkIndex(e, buffer, static_cast<unsigned>(dims.size()), i, range))
      return false;
    dims.push_back({i, e.context.int32(1), true, 1, range});
    return true;
  }

  /// A vector index must be a run of neighbours: what T.Ramp(base, 1, n) gives.
  bool vector(Expr index, SourceRange range) {
    unsigned lanes = index.dtype().lanes;
    Expr first = e.context.extract(index, 0);
    for (unsigned i = 1; i < lanes; ++i)
      if (ir::constantDifference(e.context.extract(index, i), first) != std::int64_t(i)) {
        e.report(diag::VectorIndex, range);
        return false;
      }
    dims.push_back({first, e.context.int32(lanes), true, lanes, range});
    return true;
  }

  bool add(const Value &value, SourceRange range, std::size_t others) {
    if (value.is(ValueKind::Ellipsis)) {
      while (dims.size() + others < buffer.rank())
        full();
      return true;
    }
    if (dims.size() >= buffer.rank()) {
      e.report(diag::TooManyIndices, range, describe(buffer), buffer.rank());
      return false;
    }
    if (SliceObject *s = value.as<SliceObject>())
      return slice(*s, range);
    if (value.isError() || !e.usable(value, range, "it cannot be used as an index"))
      return false;
    return scalar(value, range);
  }
};

Value makeElement(Elaborator &e, ir::Buffer &b, const std::vector<Index> &dims, SourceRange range) {
  auto *element = e.heap.make<ElementValue>();
  element->element.buffer = &b;
  for (const Index &d : dims) {
    element->element.indices.push_back(d.offset);
    element->lanes *= d.lanes;
  }
  element->range = range;
  return Value::object(element);
}

Value makeRegion(Elaborator &e, ir::Buffer &b, const std::vector<Index> &dims, SourceRange range) {
  auto *value = e.heap.make<RegionValue>();
  value->region.buffer = &b;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    value->region.offsets.push_back(dims[d].offset);
    value->region.extents.push_back(dims[d].extent);
    if (dims[d].scalar)
      value->region.dropped |= std::uint64_t(1) << d;
  }
  value->range = range;
  if (!checkRegion(e, value->region, range))
    return Value::error();
  return Value::object(value);
}

} // namespace

Value indexBuffer(Elaborator &e, ir::Buffer &b, const Value &index, const ast::Expr *node,
                  SourceRange range) {
  IndexReader reader{e, b, node, range, {}};
  std::vector<Value> parts;
  if (TupleObject *tuple = index.as<TupleObject>())
    parts = tuple->items;
  else
    parts = {index};
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!reader.add(parts[i], reader.rangeOf(i, parts.size()), parts.size() - i - 1))
      return Value::error();
  bool element = reader.dims.size() == b.rank();
  for (const Index &d : reader.dims)
    element = element && d.scalar;
  // Fewer indices than dims: the rest is taken whole.
  while (reader.dims.size() < b.rank())
    reader.full();
  return element ? makeElement(e, b, reader.dims, range) : makeRegion(e, b, reader.dims, range);
}

Value runtimeSubscript(Elaborator &e, const Value &base, const Value &index,
                       const ast::Subscript &node) {
  ir::Buffer &b = *base.asBuffer();
  // An alloc_var can also be named as its only element.
  if (base.isCell() || b.rank() == 0) {
    bool first = index.isInt() && index.asInt() == 0;
    TupleObject *tuple = index.as<TupleObject>();
    if (!first && !(tuple && tuple->items.empty())) {
      e.report(diag::TooManyIndices, node.slice->range, describe(b), 0);
      return Value::error();
    }
    return Value::cell(&b);
  }
  return indexBuffer(e, b, index, node.slice, node.range);
}

namespace {

/// `A[a:b] = value`: a tile op, except in memory of one thread, where it is a loop of the thread.
void setRegion(Elaborator &e, const ir::Region &target, const Value &value, SourceRange valueRange,
               SourceRange targetRange) {
  std::optional<std::vector<std::int64_t>> extents = target.constantTileExtents();
  if (value.isExpr() && value.asExpr().dtype().isVector() && extents) {
    // A vector into a run of as many elements.
    const std::int64_t count = *target.elementCount();
    DType type = target.buffer->dtype;
    if (count == value.asExpr().dtype().lanes && extents->back() == count && !type.isVector()) {
      if (Expr x = toExpr(e, value, type.withLanes(static_cast<unsigned>(count)), valueRange))
        e.builder().store({target.buffer, target.offsets, {}}, x, state(e).predicate);
      return;
    }
  }
  if (isScalar(value) && target.buffer->scope != ir::Scope::Local) {
    Expr x = toExpr(e, value, target.buffer->dtype, valueRange);
    if (!x)
      return;
    if (state(e).mapDepth > 0) {
      e.report(diag::TileOpInParallel, targetRange, "an assignment to a region");
      return;
    }
    auto &fill = e.builder().add<ir::FillStmt>();
    fill.target = target;
    fill.value = x;
    return;
  }
  copyRegions(e, value, valueRange, target, targetRange);
}

} // namespace

namespace {

/// `r[i] += x` and `r[i] = T.max(r[i], x)` on a reducer: what is combined with the old value; null
/// if it is none of these. The read of the old value goes away.
Expr reducerUpdate(Elaborator &e, const ir::Element &element, ir::ReduceOp op, const Value &value) {
  Expr x = value.isExpr() ? value.asExpr() : Expr();
  bool fits = x && x.kind() == ir::ExprKind::Binary;
  if (!fits)
    return {};
  ir::BinaryOp want = op == ir::ReduceOp::Max   ? ir::BinaryOp::Max
                      : op == ir::ReduceOp::Min ? ir::BinaryOp::Min
                      : op == ir::ReduceOp::And ? ir::BinaryOp::And
                      : op == ir::ReduceOp::Or  ? ir::BinaryOp::Or
                      : op == ir::ReduceOp::Xor ? ir::BinaryOp::Xor
                                                : ir::BinaryOp::Add;
  if (x->binaryOp() != want)
    return {};
  ir::Block &block = e.builder().block();
  for (std::size_t i = block.size(); i-- > 0;) {
    auto *load = ir::dynCast<ir::LoadStmt>(block[i].get());
    if (!load || load->source.buffer != element.buffer || load->source.indices != element.indices)
      continue;
    for (unsigned side : {0u, 1u})
      if (x->operands[side] == load->var && !ir::uses(x->operands[1 - side], load->var)) {
        Expr other = x->operands[1 - side];
        block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
        return other;
      }
    return {};
  }
  return {};
}

/// A store to a reducer: an update where it combines, else not allowed.
bool setReducer(Elaborator &e, const ir::Element &element, const Value &value, SourceRange range) {
  auto it = state(e).reducers.find(element.buffer);
  if (it == state(e).reducers.end())
    return false;
  Expr x = reducerUpdate(e, element, it->second.op, value);
  if (!x)
    return false; // initialisation by hand
  auto &stmt = e.builder().add<ir::ReducerStmt>();
  stmt.range = range;
  stmt.action = ir::ReducerAction::Update;
  stmt.op = it->second.op;
  stmt.reducer = element.buffer;
  stmt.element = element;
  stmt.value = convert(e, x, element.buffer->dtype);
  return true;
}

} // namespace

void runtimeSetSubscript(Elaborator &e, const Value &base, const Value &index, const Value &value,
                         const ast::Subscript &node, SourceRange valueRange) {
  Value target = runtimeSubscript(e, base, index, node);
  if (target.isError() || value.isError())
    return;
  if (target.isCell()) {
    storeCell(e, *target.asBuffer(), value, valueRange);
    return;
  }
  if (ElementValue *element = target.native<ElementValue>()) {
    if (element->lanes > 1) {
      ir::Buffer &b = *element->element.buffer;
      if (Expr x = toExpr(e, value, b.dtype.withLanes(element->lanes), valueRange))
        e.builder().store(element->element, x, state(e).predicate);
      return;
    }
    if (!setReducer(e, element->element, value, valueRange))
      store(e, element->element, value, valueRange);
    return;
  }
  if (!requireLaunch(e, node.range, "a region is written"))
    return;
  setRegion(e, target.native<RegionValue>()->region, value, valueRange, node.range);
}

// ---- Attributes

namespace {

Value extentsTuple(Elaborator &e, std::span<const Expr> extents) {
  std::vector<Value> items;
  for (const Expr &x : extents)
    items.push_back(x.constant() ? Value::integer(*x.constant()) : Value::expr(x));
  return e.heap.tuple(std::move(items));
}

Value method(Elaborator &e, std::string name, std::function<Value(Elaborator &, CallArgs &)> f) {
  auto *object = e.heap.make<BuiltinObject>();
  object->name = std::move(name);
  object->closure = std::move(f);
  return Value::object(object);
}

/// x.astype(dtype)
Value castMethod(Elaborator &e, const Value &self, std::string_view name) {
  return method(e, std::string(name), [self](Elaborator &el, CallArgs &args) {
    Binding binding(el, args, "dtype");
    if (!binding.ok)
      return Value::error();
    std::optional<DType> type =
        el.toDType(binding.value("dtype"), binding.range("dtype"), "the dtype of `astype`");
    Expr x = type ? toExpr(el, self, args.range) : Expr();
    return x ? Value::expr(convert(el, x, DType(type->scalar, x.dtype().lanes))) : Value::error();
  });
}

std::optional<Value> scalarAttribute(Elaborator &e, const Value &base, DType dtype,
                                     std::string_view name) {
  if (name == "dtype")
    return Value::dtype(dtype);
  if (name == "astype")
    return castMethod(e, base, name);
  return std::nullopt;
}

const char *scopeText(ir::Scope scope) {
  switch (scope) {
  case ir::Scope::Global:
    return "global";
  case ir::Scope::Shared:
    return "shared.dyn";
  case ir::Scope::Fragment:
    return "local.fragment";
  case ir::Scope::Local:
    return "local";
  case ir::Scope::Barrier:
    return "shared.barrier";
  }
  return "";
}

} // namespace

std::optional<Value> runtimeAttribute(Elaborator &e, const Value &base, std::string_view name,
                                      SourceRange) {
  if (base.isExpr())
    return scalarAttribute(e, base, base.asExpr().dtype(), name);
  ir::Buffer &b = *base.asBuffer();
  if (base.isCell() || name == "dtype")
    return scalarAttribute(e, base, b.dtype, name);
  if (name == "shape")
    return extentsTuple(e, b.shape);
  if (name == "strides")
    return extentsTuple(e, b.strides);
  if (name == "scope")
    return method(e, "scope",
                  [&b](Elaborator &el, CallArgs &) { return el.str(scopeText(b.scope)); });
  if (name == "name")
    return e.str(b.name);
  if (name == "data")
    return base;
  if (name == "ndim")
    return Value::integer(b.rank());
  if (name == "access_ptr")
    return method(e, "access_ptr", [base](Elaborator &el, CallArgs &args) {
      args.positional.insert(args.positional.begin(), {base, args.calleeRange, nullptr});
      std::optional<Value> f = languageAttribute(el, "access_ptr");
      return f ? el.call(*f, args) : Value::error();
    });
  return std::nullopt;
}

std::vector<std::string_view> runtimeAttributeNames(const Value &base) {
  if (base.isBuffer())
    return {"shape", "dtype", "strides", "scope", "name", "data", "ndim", "access_ptr"};
  return {"dtype", "astype"};
}

std::optional<Value> ElementValue::attribute(Elaborator &e, std::string_view name, SourceRange) {
  if (name == "buffer")
    return Value::buffer(element.buffer);
  return scalarAttribute(e, Value::object(this), element.buffer->dtype.withLanes(lanes), name);
}

std::optional<Value> RegionValue::attribute(Elaborator &e, std::string_view name, SourceRange) {
  if (name == "dtype")
    return Value::dtype(region.buffer->dtype);
  if (name == "shape")
    return extentsTuple(e, region.tileExtents());
  if (name == "buffer")
    return Value::buffer(region.buffer);
  return std::nullopt;
}

} // namespace tlc::elaborate
