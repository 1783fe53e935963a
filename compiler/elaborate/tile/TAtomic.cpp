// Atomics: of one element by each executing thread, or of a tile, each element once.
#include "elaborate/tile/TTiles.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

std::optional<ir::MemoryOrder> order(TCall &c, ir::MemoryOrder otherwise) {
  if (c.info.index("memory_order") < 0 || !c.find("memory_order")) {
    if (c.info.index("memory_order") >= 0 &&
        c.info.parameter("memory_order")->defaultText == "'seq_cst'")
      return ir::MemoryOrder::SeqCst;
    return otherwise;
  }
  std::optional<std::size_t> i = c.choice(
      "memory_order", {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"}, "");
  return i ? std::optional(static_cast<ir::MemoryOrder>(*i)) : std::nullopt;
}

ir::AtomicOp operation(Builtin id) {
  switch (id) {
  case Builtin::AtomicMax:
    return ir::AtomicOp::Max;
  case Builtin::AtomicMin:
    return ir::AtomicOp::Min;
  case Builtin::AtomicOr:
    return ir::AtomicOp::Or;
  default:
    return ir::AtomicOp::Add;
  }
}

bool isTile(const Value &v) { return v.isBuffer() || v.native<RegionValue>(); }

/// The atomic of one element; gives its previous value where that is asked for.
Value onElement(TCall &c, const Tile &target, ir::MemoryOrder memoryOrder) {
  ir::Buffer &b = *target.region.buffer;
  Expr value = toExpr(c.e, c.value("value"), b.dtype, c.rangeOf("value"));
  if (!value)
    return Value::error();
  ir::Element element{&b, target.region.offsets, {}};
  Expr predicate = state(c.e).predicate;
  toPhysical(c.e, element, predicate);
  auto &stmt = c.builder().add<ir::AtomicStmt>();
  stmt.op = operation(c.info.id);
  stmt.target = element;
  stmt.value = value;
  stmt.predicate = predicate;
  stmt.order = memoryOrder;
  stmt.scope = b.scope == ir::Scope::Shared ? ir::MemoryScope::Block : ir::MemoryScope::Device;
  if (c.info.index("return_prev") < 0 || !c.flag("return_prev"))
    return Value::none();
  stmt.result = c.context().var("previous", b.dtype);
  return Value::expr(stmt.result);
}

Value onTile(TCall &c, Tile target, ir::MemoryOrder memoryOrder) {
  if (!c.tileOp())
    return Value::none();
  if (c.info.index("return_prev") >= 0 && c.flag("return_prev")) {
    c.e.report(diag::PreviousOfTile, c.rangeOf("return_prev"), c.info.name);
    return Value::error();
  }
  std::optional<Tile> source;
  Expr value;
  if (isTile(c.value("value")) || (!target.corner && c.value("value").native<ElementValue>())) {
    source = asTile(c.e, c.value("value"), c.rangeOf("value"));
    if (!matchTiles(c.e, c.name(), *source, target, true, c.range))
      return Value::none();
  } else {
    value = toExpr(c.e, c.value("value"), target.region.buffer->dtype, c.rangeOf("value"));
    if (!value)
      return Value::none();
  }
  if (hasTensorLayout(c.e, target.region)) {
    elementMap(c.e, target.region.tileExtents(), [&](const std::vector<Expr> &index) {
      Expr x = source ? load(c.e, elementAt(source->region, index), 1, c.range) : value;
      ir::Element element = elementAt(target.region, index);
      Expr predicate;
      toPhysical(c.e, element, predicate);
      auto &stmt = c.builder().add<ir::AtomicStmt>();
      stmt.op = operation(c.info.id);
      stmt.target = element;
      stmt.value = convert(c.e, x, target.region.buffer->dtype);
      stmt.predicate = predicate;
      stmt.order = memoryOrder;
    });
    return Value::none();
  }
  auto &stmt = c.builder().add<ir::AtomicTileStmt>();
  stmt.op = operation(c.info.id);
  stmt.target = target.region;
  if (source)
    stmt.source = source->region;
  stmt.value = value;
  stmt.order = memoryOrder;
  stmt.useTma = c.info.index("use_tma") >= 0 && c.flag("use_tma");
  return Value::none();
}

bool atomicType(TCall &c, DType t) {
  if (t.bits() * t.lanes >= 16 && !t.isBool())
    return true;
  c.e.report(diag::AtomicType, c.rangeOf("dst"), c.info.name, t.str());
  return false;
}

Value atomic(TCall &c) {
  if (!requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  std::optional<Tile> target = c.tile("dst");
  std::optional<ir::MemoryOrder> memoryOrder = order(c, ir::MemoryOrder::Relaxed);
  if (!target || !memoryOrder || !atomicType(c, target->region.buffer->dtype))
    return Value::error();
  bool element = (target->corner || target->region.extents.empty()) && !isTile(c.value("value"));
  return element ? onElement(c, *target, *memoryOrder) : onTile(c, *target, *memoryOrder);
}

/// Two or four neighbours at once.
Value packed(TCall &c) {
  if (!c.statement())
    return Value::error();
  unsigned lanes = c.info.id == Builtin::AtomicAddx2 ? 2 : 4;
  std::optional<Tile> target = c.tile("dst");
  if (!target)
    return Value::error();
  ir::Buffer &b = *target->region.buffer;
  bool wide = b.dtype == DType(Scalar::Float32);
  bool half = b.dtype == DType(Scalar::Float16) || b.dtype == DType(Scalar::BFloat16);
  if (!(wide || (half && lanes == 2)) || b.rank() == 0) {
    c.e.report(diag::WrongElementType, c.rangeOf("dst"), c.info.name, "dst",
               lanes == 2 ? "float32, float16 or bfloat16" : "float32", b.name, b.dtype.str());
    return Value::error();
  }
  Expr value;
  Value given = c.value("value");
  std::optional<Tile> source = asTile(c.e, given, c.rangeOf("value"));
  DType vector = b.dtype.withLanes(lanes);
  if (source && source->region.buffer->rank() > 0) {
    ir::Element from{source->region.buffer, source->region.offsets, {}};
    value = convert(c.e, load(c.e, from, lanes, c.rangeOf("value")), vector);
  } else {
    value = toExpr(c.e, given, vector, c.rangeOf("value"));
  }
  if (!value)
    return Value::error();
  auto &stmt = c.builder().add<ir::AtomicStmt>();
  stmt.target = {&b, target->region.offsets, {}};
  stmt.value = value;
  stmt.scope = b.scope == ir::Scope::Shared ? ir::MemoryScope::Block : ir::MemoryScope::Device;
  if (!c.flag("return_prev"))
    return Value::none();
  stmt.result = c.context().var("previous", vector);
  return Value::expr(stmt.result);
}

Value atomicLoad(TCall &c) {
  if (!requireLaunch(c.e, c.range, "`T.atomic_load` is called"))
    return Value::error();
  std::optional<ir::Element> source = c.element("src");
  std::optional<ir::MemoryOrder> memoryOrder = order(c, ir::MemoryOrder::SeqCst);
  if (!source || !memoryOrder)
    return Value::error();
  if (*memoryOrder == ir::MemoryOrder::Release || *memoryOrder == ir::MemoryOrder::AcqRel) {
    c.outOfRange("memory_order", "an order of loads: relaxed, consume, acquire or seq_cst",
                 *c.text("memory_order"));
    return Value::error();
  }
  auto &stmt = c.builder().add<ir::AtomicStmt>();
  stmt.op = ir::AtomicOp::Load;
  stmt.target = *source;
  stmt.order = *memoryOrder;
  stmt.predicate = state(c.e).predicate;
  stmt.result = c.context().var(source->buffer->name + "_value", source->buffer->dtype);
  return Value::expr(stmt.result);
}

Value atomicStore(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<ir::Element> target = c.element("dst");
  std::optional<ir::MemoryOrder> memoryOrder = order(c, ir::MemoryOrder::SeqCst);
  if (!target || !memoryOrder)
    return Value::none();
  if (*memoryOrder != ir::MemoryOrder::Relaxed && *memoryOrder != ir::MemoryOrder::Release &&
      *memoryOrder != ir::MemoryOrder::SeqCst) {
    c.outOfRange("memory_order", "an order of stores: relaxed, release or seq_cst",
                 *c.text("memory_order"));
    return Value::none();
  }
  Expr value = toExpr(c.e, c.value("src"), target->buffer->dtype, c.rangeOf("src"));
  if (!value)
    return Value::none();
  auto &stmt = c.builder().add<ir::AtomicStmt>();
  stmt.op = ir::AtomicOp::Store;
  stmt.target = *target;
  stmt.value = value;
  stmt.order = *memoryOrder;
  return Value::none();
}

} // namespace

void addAtomics(Handlers &t) {
  for (Builtin id : {Builtin::AtomicAdd, Builtin::AtomicMax, Builtin::AtomicMin, Builtin::AtomicOr})
    handle(t, id, atomic);
  handle(t, Builtin::AtomicAddx2, packed);
  handle(t, Builtin::AtomicAddx4, packed);
  handle(t, Builtin::AtomicLoad, atomicLoad);
  handle(t, Builtin::AtomicStore, atomicStore);
}

} // namespace tlc::elaborate
