// Annotations, debugging, facts, and the user's own C.
#include "elaborate/tile/TParams.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

// ---- Annotations

Value useSwizzle(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<std::int64_t> panel = c.integer("panel_size");
  std::optional<std::size_t> order = c.choice("order", {"row", "column", "mlx"}, "row");
  if (!panel || !order || !c.flag("enable", true))
    return Value::none();
  if (*panel < 1) {
    c.outOfRange("panel_size", "at least 1 block", std::to_string(*panel));
    return Value::none();
  }
  c.e.kernel->launch->raster = {*panel, *order == 1};
  return Value::none();
}

Value annotateSafeValue(TCall &c) {
  if (!c.e.kernel)
    return Value::none();
  SourceRange range = c.rangeOf("safe_value_map");
  c.value("safe_value_map").as<DictObject>()->table.forEach([&](const Value &key, const Value &v) {
    if (!key.isBuffer()) {
      c.wrong("safe_value_map", "a dict from buffers to values", key, range);
      return;
    }
    if (Expr x = toExpr(c.e, v, key.asBuffer()->dtype, range))
      key.asBuffer()->safeValue = x;
  });
  return Value::none();
}

Value annotateRestrict(TCall &c) {
  for (const CallArg &a : c.rest(true))
    if (a.value.isBuffer())
      a.value.asBuffer()->noRestrict = true;
  return Value::none();
}

Value minBlocks(TCall &c) {
  std::optional<std::int64_t> n = c.integer("n");
  if (!n || !c.statement())
    return Value::none();
  if (*n < 1 || *n > 32) {
    c.outOfRange("n", "between 1 and 32 blocks", std::to_string(*n));
    return Value::none();
  }
  c.e.kernel->launch->minBlocksPerSm = *n;
  return Value::none();
}

Value passConfigs(TCall &c) {
  applyPassConfigs(c.e, c.value("configs"), c.rangeOf("configs"));
  return Value::none();
}

/// Advice to another compiler's passes; what it asks for is planned here anyway.
Value ignored(TCall &) { return Value::none(); }

// ---- Facts and debugging

Value assume(TCall &c) {
  if (!c.e.kernel)
    return Value::none();
  const Value v = c.value("cond");
  if (!v.isRuntime()) {
    std::optional<bool> truth = c.e.truth(v, c.rangeOf("cond"));
    if (truth && !*truth)
      c.e.report(diag::FalseFact, c.rangeOf("cond"), c.e.sources.text(c.rangeOf("cond")));
    return Value::none();
  }
  if (Expr x = toCondition(c.e, v, c.rangeOf("cond")))
    addFact(c.e, x, c.rangeOf("cond"), Value::none(), false);
  return Value::none();
}

Value print(TCall &c) {
  if (!c.statement())
    return Value::none();
  const Value v = c.value("obj");
  std::string message = c.text("msg").value_or("");
  if (v.isStr() || v.isNone()) {
    c.builder().add<ir::PrintStmt>().message = v.isStr() ? v.asText() : message;
    return Value::none();
  }
  if (v.isBuffer()) {
    auto &stmt = c.builder().add<ir::PrintStmt>();
    stmt.message = message;
    stmt.buffer = v.asBuffer();
    return Value::none();
  }
  Expr x = toExpr(c.e, v, c.rangeOf("obj"));
  if (!x)
    return Value::none();
  auto &stmt = c.builder().add<ir::PrintStmt>();
  stmt.message = message;
  stmt.value = x;
  return Value::none();
}

Value deviceAssert(TCall &c) {
  if (!c.statement())
    return Value::none();
  Expr x = toCondition(c.e, c.value("cond"), c.rangeOf("cond"));
  if (!x)
    return Value::none();
  auto &stmt = c.builder().add<ir::AssertStmt>();
  stmt.condition = x;
  stmt.message = c.text("msg").value_or("");
  if (stmt.message.empty())
    stmt.message = std::string(c.e.sources.text(c.rangeOf("cond")));
  return Value::none();
}

Value threadReturn(TCall &c) {
  if (c.tileOp())
    c.builder().add<ir::ExitStmt>();
  return Value::none();
}

// ---- Names of compile time

Value metaVar(TCall &c) { return c.value("value"); }

Value stringImm(TCall &c) { return c.value("value"); }

Value dtypeOf(TCall &c) {
  std::optional<DType> t = c.e.toDType(c.value("name"), c.rangeOf("name"), "the name of `T.dtype`");
  return t ? Value::dtype(*t) : Value::error();
}

/// T.func_attr({"global_symbol": ...}): nothing that tlc needs to be told.
Value funcAttr(TCall &) { return Value::none(); }

Value notCalled(TCall &c) {
  c.e.report(diag::NotCallable, c.range, "`" + c.name() + "`");
  return Value::error();
}

} // namespace

void addAnnotations(Handlers &t) {
  handle(t, Builtin::UseSwizzle, useSwizzle);
  handle(t, Builtin::AnnotateSafeValue, annotateSafeValue);
  handle(t, Builtin::AnnotateRestrictBuffers, annotateRestrict);
  handle(t, Builtin::AnnotateMinBlocksPerSm, minBlocks);
  handle(t, Builtin::AnnotatePassConfigs, passConfigs);
  for (Builtin id : {Builtin::AnnotateL2HitRatio, Builtin::AnnotateCompileFlags,
                     Builtin::NoSetMaxNreg, Builtin::AnnotateProducerRegDealloc,
                     Builtin::AnnotateConsumerRegAlloc, Builtin::DisableWarpGroupRegAlloc})
    handle(t, id, ignored);
}

void addDebug(Handlers &t) {
  handle(t, Builtin::Assume, assume);
  handle(t, Builtin::Print, print);
  handle(t, Builtin::DeviceAssert, deviceAssert);
  handle(t, Builtin::ThreadReturn, threadReturn);
  handle(t, Builtin::MetaVar, metaVar);
  handle(t, Builtin::StringImm, stringImm);
  handle(t, Builtin::DTypeCall, dtypeOf);
  handle(t, Builtin::FuncAttr, funcAttr);
  for (Builtin id : {Builtin::PrimFunc, Builtin::Macro, Builtin::Ref, Builtin::Any,
                     Builtin::PrimExpr, Builtin::GemmWarpPolicy})
    handle(t, id, notCalled);
}

} // namespace tlc::elaborate
