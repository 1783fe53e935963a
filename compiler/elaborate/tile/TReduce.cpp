// Reductions and scans.
#include "elaborate/tile/TTiles.h"

#include <limits>

namespace tlc::elaborate {

using ir::Expr;
using ir::ReduceOp;
using sema::Builtin;

/// Combines two values of one type.
Expr combineValues(ir::Context &c, ReduceOp op, Expr acc, Expr x) {
  switch (op) {
  case ReduceOp::AbsSum:
  case ReduceOp::AbsMax:
    x = x.dtype().isUInt() ? x : c.math(ir::MathFn::Abs, {x});
    return c.binary(op == ReduceOp::AbsSum ? ir::BinaryOp::Add : ir::BinaryOp::Max, acc, x);
  case ReduceOp::Sum:
    return c.binary(ir::BinaryOp::Add, acc, x);
  case ReduceOp::Max:
    return c.binary(ir::BinaryOp::Max, acc, x);
  case ReduceOp::Min:
    return c.binary(ir::BinaryOp::Min, acc, x);
  case ReduceOp::And:
    return c.binary(ir::BinaryOp::And, acc, x);
  case ReduceOp::Or:
    return c.binary(ir::BinaryOp::Or, acc, x);
  case ReduceOp::Xor:
    return c.binary(ir::BinaryOp::Xor, acc, x);
  }
  return acc;
}

namespace {

/// A dim of a tile, negative ones counted from the end.
std::optional<unsigned> axis(TCall &c, const Tile &tile, std::string_view parameter,
                             std::int64_t otherwise) {
  std::optional<std::int64_t> dim = c.integer(parameter, otherwise);
  if (!dim)
    return std::nullopt;
  std::int64_t rank = tile.region.tileRank();
  std::int64_t d = *dim < 0 ? *dim + rank : *dim;
  if (d < 0 || d >= rank) {
    c.e.report(diag::AxisOutside, c.rangeOf(parameter), c.info.name, *dim,
               extentsText(tile.region));
    return std::nullopt;
  }
  return static_cast<unsigned>(d);
}

/// The result has the source's extents without the axis, or with 1 there.
bool fitsResult(const ir::Region &source, const ir::Region &target, unsigned dim) {
  std::vector<Expr> want = source.tileExtents(), have = target.tileExtents();
  auto equal = [](const std::vector<Expr> &x, const std::vector<Expr> &y) {
    if (x.size() != y.size())
      return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i].constant() != y[i].constant() || !x[i].constant())
        return false;
    return true;
  };
  std::vector<Expr> kept = want, dropped = want;
  kept[dim] = want[dim].context().int32(1);
  dropped.erase(dropped.begin() + dim);
  return equal(kept, have) || equal(dropped, have);
}

ReduceOp operation(Builtin id) {
  switch (id) {
  case Builtin::ReduceMax:
    return ReduceOp::Max;
  case Builtin::ReduceMin:
    return ReduceOp::Min;
  case Builtin::ReduceAbsMax:
    return ReduceOp::AbsMax;
  case Builtin::ReduceAbsSum:
    return ReduceOp::AbsSum;
  case Builtin::ReduceBitAnd:
    return ReduceOp::And;
  case Builtin::ReduceBitOr:
    return ReduceOp::Or;
  case Builtin::ReduceBitXor:
    return ReduceOp::Xor;
  default:
    return ReduceOp::Sum;
  }
}

std::optional<ReduceOp> operationOf(TCall &c) {
  if (c.info.id != Builtin::Reduce)
    return operation(c.info.id);
  std::optional<std::size_t> i = c.choice(
      "reduce_type", {"sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor"}, "");
  static constexpr ReduceOp ops[] = {ReduceOp::Sum,    ReduceOp::Max,    ReduceOp::Min,
                                     ReduceOp::AbsSum, ReduceOp::AbsMax, ReduceOp::And,
                                     ReduceOp::Or,     ReduceOp::Xor};
  return i ? std::optional(ops[*i]) : std::nullopt;
}

bool isBitwise(ReduceOp op) {
  return op == ReduceOp::And || op == ReduceOp::Or || op == ReduceOp::Xor;
}

/// Memory of one thread is reduced by each thread for itself.
void reducePerThread(TCall &c, const Tile &source, const Tile &target, unsigned dim, ReduceOp op,
                     bool clear);

Value reduce(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<Tile> source = c.tile("buffer"), target = c.tile("out");
  std::optional<ReduceOp> op = operationOf(c);
  if (!source || !target || !op)
    return Value::none();
  if (source->corner || target->corner) {
    const Tile &bad = source->corner ? *source : *target;
    c.wrong(bad.name, "a buffer or a region of one, not one element");
    return Value::none();
  }
  std::optional<unsigned> dim = axis(c, *source, "dim", -1);
  if (!dim)
    return Value::none();
  if (!constantExtents(c.e, c.name(), *source) || !constantExtents(c.e, c.name(), *target))
    return Value::none();
  if (!fitsResult(source->region, target->region, *dim)) {
    std::vector<Expr> want = source->region.tileExtents();
    want.erase(want.begin() + *dim);
    c.e.report(diag::ReduceShape, c.rangeOf("out"), c.info.name, extentsText(source->region), *dim,
               shapeText(want), extentsText(target->region));
    return Value::none();
  }
  DType from = source->region.buffer->dtype, to = target->region.buffer->dtype;
  if (isBitwise(*op) && from != to) {
    c.e.report(diag::OperandTypes, c.range, c.name(), from.str(), to.str(), "one type");
    return Value::none();
  }
  bool clear = c.info.index("clear") < 0 || c.flag("clear", true);
  bool local = source->region.buffer->scope == ir::Scope::Local;
  if (local || target->region.buffer->scope == ir::Scope::Local) {
    if (!local || target->region.buffer->scope != ir::Scope::Local) {
      const Tile &bad = local ? *target : *source;
      c.wrong(bad.name, "memory of the thread (T.alloc_local) like the other side");
      return Value::none();
    }
    reducePerThread(c, *source, *target, *dim, *op, clear);
    return Value::none();
  }
  if (!c.tileOp())
    return Value::none();
  auto &stmt = c.builder().add<ir::ReduceStmt>();
  stmt.op = *op;
  stmt.source = source->region;
  stmt.target = target->region;
  stmt.axis = *dim;
  stmt.clear = clear;
  stmt.nanPropagate = c.info.index("nan_propagate") >= 0 && c.flag("nan_propagate");
  return Value::none();
}

Expr neutral(ir::Context &c, ReduceOp op, DType t) {
  switch (op) {
  case ReduceOp::Max:
    return t.isFloat() ? c.real(t, -std::numeric_limits<double>::infinity())
                       : c.integer(t, minInteger(t));
  case ReduceOp::Min:
    return t.isFloat() ? c.real(t, std::numeric_limits<double>::infinity())
                       : c.integer(t, t.scalar == Scalar::UInt64 ? -1 : maxInteger(t));
  case ReduceOp::And:
    return c.integer(t, -1);
  default:
    return c.zero(t);
  }
}

void reducePerThread(TCall &c, const Tile &source, const Tile &target, unsigned dim, ReduceOp op,
                     bool clear) {
  ir::Context &ctx = c.context();
  std::vector<Expr> extents = source.region.tileExtents();
  std::vector<Expr> index(extents.size());
  auto element = [&](const ir::Region &r, bool isTarget) {
    ir::Element result{r.buffer, r.offsets, {}};
    std::vector<Expr> at = index;
    if (isTarget) {
      if (r.tileRank() == at.size())
        at[dim] = ctx.int32(0);
      else
        at.erase(at.begin() + dim);
    }
    std::size_t i = 0;
    for (unsigned d = 0; d < r.extents.size(); ++d)
      if (!r.isDropped(d))
        result.indices[d] = r.offsets[d] + convert(c.e, at[i++], r.offsets[d].dtype());
    return result;
  };
  DType type = target.region.buffer->dtype;
  std::function<void(unsigned)> level = [&](unsigned d) {
    if (d == dim)
      ++d;
    if (d < extents.size()) {
      c.builder().loop("i", ctx.zero(extents[d].dtype()), extents[d], ir::ForKind::Serial,
                       [&](Expr i) {
                         index[d] = i;
                         level(d + 1);
                       });
      return;
    }
    if (clear)
      c.builder().store(element(target.region, true), neutral(ctx, op, type));
    c.builder().loop("k", ctx.zero(extents[dim].dtype()), extents[dim], ir::ForKind::Serial,
                     [&](Expr k) {
                       index[dim] = k;
                       Expr acc = load(c.e, element(target.region, true), 1, c.range);
                       Expr x = load(c.e, element(source.region, false), 1, c.range);
                       c.builder().store(element(target.region, true),
                                         combineValues(ctx, op, acc, convert(c.e, x, type)));
                     });
  };
  level(0);
}

Value scan(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  std::optional<Tile> source = c.tile("src");
  std::optional<Tile> target = c.find("dst") ? c.tile("dst") : source;
  if (!source || !target)
    return Value::none();
  std::optional<unsigned> dim = axis(c, *source, "dim", 0);
  if (!dim || !constantExtents(c.e, c.name(), *source) ||
      !matchTiles(c.e, c.name(), *source, *target, false, c.range))
    return Value::none();
  auto &stmt = c.builder().add<ir::ScanStmt>();
  stmt.op = c.info.id == Builtin::CumSum ? ReduceOp::Sum : ReduceOp::Max;
  stmt.source = source->region;
  stmt.target = target->region;
  stmt.axis = *dim;
  stmt.reverse = c.flag("reverse");
  return Value::none();
}

// ---- Reducers

const ReducerInfo *reducerOf(TCall &c, const ir::Buffer *b) {
  auto it = state(c.e).reducers.find(b);
  if (it != state(c.e).reducers.end())
    return &it->second;
  c.wrong(c.info.parameters[0].name, "a buffer from T.alloc_reducer");
  return nullptr;
}

Value reducerInit(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  ir::Buffer *b = c.buffer("reducer");
  const ReducerInfo *info = reducerOf(c, b);
  Expr value;
  if (info && c.find("init"))
    value = toExpr(c.e, c.value("init"), b->dtype, c.rangeOf("init"));
  if (!info || (c.find("init") && !value))
    return Value::none();
  auto &stmt = c.builder().add<ir::ReducerStmt>();
  stmt.action = ir::ReducerAction::Init;
  stmt.op = info->op;
  stmt.reducer = b;
  stmt.value = value;
  return Value::none();
}

Value reducerUpdate(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<ir::Element> element = c.element("target");
  const ReducerInfo *info = element ? reducerOf(c, element->buffer) : nullptr;
  if (!info)
    return Value::none();
  Expr value = toExpr(c.e, c.value("value"), element->buffer->dtype, c.rangeOf("value"));
  if (!value)
    return Value::none();
  auto &stmt = c.builder().add<ir::ReducerStmt>();
  stmt.action = ir::ReducerAction::Update;
  stmt.op = info->op;
  stmt.reducer = element->buffer;
  stmt.element = *element;
  stmt.value = value;
  return Value::none();
}

Value finalizeReducer(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  ir::Buffer *b = c.buffer("reducer");
  const ReducerInfo *info = reducerOf(c, b);
  if (!info)
    return Value::none();
  std::optional<Tile> target;
  if (c.find("dst")) {
    target = c.tile("dst");
    Tile whole{ir::wholeRegion(c.context(), *b), false, c.rangeOf("reducer"), "reducer"};
    if (!target || !matchTiles(c.e, c.name(), whole, *target, false, c.range))
      return Value::none();
  }
  auto &stmt = c.builder().add<ir::ReducerStmt>();
  stmt.action = ir::ReducerAction::Finalize;
  stmt.op = info->op;
  stmt.reducer = b;
  if (target)
    stmt.target = target->region;
  return Value::none();
}

/// T.any_of and T.all_of: the executing thread looks at each element.
Value anyOf(TCall &c) {
  if (!c.statement())
    return Value::error();
  std::optional<Tile> tile = c.tile("buffer");
  if (!tile || !constantExtents(c.e, c.name(), *tile))
    return Value::error();
  bool any = c.info.id == Builtin::AnyOf;
  ir::Context &ctx = c.context();
  ir::Buffer &cell =
      c.e.kernel->function.addBuffer(any ? "any" : "all", Scalar::Bool, ir::Scope::Local, {});
  c.builder().alloc(cell).init = ctx.boolean(!any);
  std::vector<Expr> extents = tile->region.tileExtents();
  ir::Element element{tile->region.buffer, tile->region.offsets, {}};
  std::vector<unsigned> dims;
  for (unsigned d = 0; d < tile->region.extents.size(); ++d)
    if (!tile->region.isDropped(d))
      dims.push_back(d);
  std::function<void(std::size_t)> level = [&](std::size_t i) {
    if (i == dims.size()) {
      Expr x = toCondition(c.e, load(c.e, element, 1, c.range));
      Expr before = load(c.e, {&cell, {}, {}}, 1, c.range);
      c.builder().store(
          {&cell, {}, {}},
          ctx.binary(any ? ir::BinaryOp::LogicalOr : ir::BinaryOp::LogicalAnd, before, x));
      return;
    }
    c.builder().loop("i", ctx.zero(extents[i].dtype()), extents[i], ir::ForKind::Serial,
                     [&](Expr v) {
                       Expr base = tile->region.offsets[dims[i]];
                       element.indices[dims[i]] = base + convert(c.e, v, base.dtype());
                       level(i + 1);
                     });
  };
  level(0);
  return Value::expr(load(c.e, {&cell, {}, {}}, 1, c.range, cell.name));
}

} // namespace

void addReductions(Handlers &t) {
  for (Builtin id : {Builtin::ReduceSum, Builtin::ReduceMax, Builtin::ReduceMin,
                     Builtin::ReduceAbsMax, Builtin::ReduceAbsSum, Builtin::ReduceBitAnd,
                     Builtin::ReduceBitOr, Builtin::ReduceBitXor, Builtin::Reduce})
    handle(t, id, reduce);
  handle(t, Builtin::CumSum, scan);
  handle(t, Builtin::CumMax, scan);
  handle(t, Builtin::ReducerInit, reducerInit);
  handle(t, Builtin::ReducerUpdate, reducerUpdate);
  handle(t, Builtin::FinalizeReducer, finalizeReducer);
  handle(t, Builtin::AnyOf, anyOf);
  handle(t, Builtin::AllOf, anyOf);
  addThreadReductions(t);
}

} // namespace tlc::elaborate
