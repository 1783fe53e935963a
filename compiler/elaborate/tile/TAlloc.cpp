// Memory of a block or a thread, and views of it.
#include "elaborate/tile/TCall.h"

#include <numeric>

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

ir::Buffer &allocate(Elaborator &e, ir::Scope scope, DType dtype, std::vector<Expr> shape,
                     SourceRange range) {
  ir::Buffer &b = e.kernel->function.addBuffer("", dtype, scope, std::move(shape), range);
  e.builder().alloc(b);
  return b;
}

Value makeView(Elaborator &e, ir::Buffer &base, const std::vector<Expr> &shape, DType dtype,
               SourceRange range) {
  auto bits = [&](const std::vector<Expr> &extents, DType t) {
    Expr product = e.context.integer(Scalar::Int64, t.bits() * t.lanes);
    for (const Expr &x : extents)
      product = product * convert(e, x, Scalar::Int64);
    return product;
  };
  if (base.scope != ir::Scope::Global)
    for (const Expr &x : shape)
      if (!x.constant()) {
        e.report(diag::ExtentNotConstant, range, "view", text(x));
        return Value::error();
      }
  Expr have = bits(base.shape, base.dtype), want = bits(shape, dtype);
  std::optional<std::int64_t> difference = ir::constantDifference(have, want);
  bool checkable = e.kernel && knownToLauncher(e, ir::equals(have, want));
  if (difference != std::int64_t(0) && (difference || !checkable)) {
    e.report(diag::ViewSize, range, describe(base), base.dtype.str(), shapeText(shape),
             dtype.str());
    return Value::error();
  }
  if (!difference) // depends on run-time dims: the launcher checks it
    e.kernel->function.constraints.push_back(
        {ir::equals(have, want), std::string(e.sources.text(range)), range});
  if (!base.strides.empty()) {
    e.report(diag::ViewOfStrided, range, base.name);
    return Value::error();
  }
  ir::Buffer &b = e.kernel->function.addBuffer("", dtype, base.scope, shape, range);
  b.base = &base;
  b.safeValue = base.safeValue;
  if (e.kernel->launch)
    e.builder().alloc(b);
  return Value::buffer(&b);
}

namespace {

/// Extents must be numbers; a run-time dim is refused with the -D that would bind it. What is too
/// large for a target is said later, with all tiles beside it; this limit is beyond all machines.
bool constantExtents(TCall &c, const std::vector<Expr> &shape) {
  constexpr std::int64_t most = std::int64_t(1) << 28;
  std::int64_t count = 1;
  for (const Expr &x : shape)
    if (!x.constant()) {
      std::vector<Expr> vars;
      ir::collectVars(x, vars);
      auto report = c.e.report(diag::ExtentNotConstant, c.rangeOf("shape"), c.info.name, text(x));
      if (!vars.empty() && x.isVar())
        report.help("bind it with -D " + vars[0]->name + "=...");
      return false;
    } else if (x.isConstant(0)) {
      c.outOfRange("shape", "extents of 1 or more", "0");
      return false;
    } else {
      count *= *x.constant(); // of all extents it fits 64 bits
    }
  if (count <= most)
    return true;
  c.outOfRange("shape", "extents of at most " + std::to_string(most) + " elements in all",
               std::to_string(count));
  return false;
}

/// On GPUs the own memory of a thread is limited, by hardware, and no compiler after tlc says so.
bool fitsThread(TCall &c, ir::Scope scope, DType dtype, const std::vector<Expr> &shape) {
  constexpr std::int64_t most = 512 * 1024;
  if (scope != ir::Scope::Local || !c.e.target.isGpu())
    return true;
  std::int64_t count = 1;
  for (const Expr &x : shape) // the product of all extents is known to fit
    count *= *x.constant();
  std::int64_t bytes = storageBytes(dtype, count);
  if (bytes <= most)
    return true;
  c.outOfRange("shape", "extents of at most " + std::to_string(most) + " bytes for each thread",
               std::to_string(bytes));
  return false;
}

std::optional<ir::Scope> scopeByName(TCall &c, ir::Scope otherwise) {
  std::optional<std::string> word = c.text("scope");
  if (!word)
    return std::nullopt;
  if (word->empty())
    return otherwise;
  if (*word == "shared" || *word == "shared.dyn")
    return ir::Scope::Shared;
  if (*word == "local.fragment")
    return ir::Scope::Fragment;
  if (*word == "local" || *word == "local.var")
    return ir::Scope::Local;
  if (*word == "global")
    return ir::Scope::Global;
  c.e.report(diag::WrongChoice, c.rangeOf("scope"), c.info.name, "scope",
             "`shared.dyn`, `shared`, `local.fragment`, `local`", "`" + *word + "`");
  return std::nullopt;
}

ir::Scope scopeOf(Builtin id) {
  switch (id) {
  case Builtin::AllocFragment:
    return ir::Scope::Fragment;
  case Builtin::AllocLocal:
    return ir::Scope::Local;
  case Builtin::AllocBuffer:
    return ir::Scope::Global;
  default:
    return ir::Scope::Shared;
  }
}

/// Memory for one tile: an int (1-D) or a tuple of extents.
Value allocTile(TCall &c) {
  bool mayBeGlobal = c.info.id == Builtin::AllocBuffer && c.e.kernel && !c.e.kernel->launch;
  if (!mayBeGlobal && !c.statement())
    return Value::error();
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  std::optional<DType> dtype = c.dtype("dtype");
  std::optional<ir::Scope> scope = scopeByName(c, scopeOf(c.info.id));
  if (!shape || !dtype || !scope)
    return Value::error();
  if (*scope == ir::Scope::Global && mayBeGlobal) {
    ir::Function &f = c.e.kernel->function;
    f.workspace.push_back(&f.addBuffer("", *dtype, ir::Scope::Global, *shape, c.range));
    return Value::buffer(f.workspace.back());
  }
  if (mayBeGlobal && !c.statement())
    return Value::error();
  if (*scope == ir::Scope::Global) {
    c.e.report(diag::WrongChoice, c.rangeOf("scope"), c.info.name, "scope",
               "`shared.dyn`, `shared`, `local.fragment`, `local`", "`global`")
        .help("use T.alloc_global for a workspace");
    return Value::error();
  }
  if (!constantExtents(c, *shape) || !fitsThread(c, *scope, *dtype, *shape))
    return Value::error();
  if (state(c.e).mapDepth > 0 && *scope != ir::Scope::Local) {
    c.e.report(diag::TileOpInParallel, c.range, c.name());
    return Value::error();
  }
  return Value::buffer(&allocate(c.e, *scope, *dtype, *shape, c.range));
}

/// T.alloc_var(dtype), T.alloc_var(dtype, init), init by keyword; a cell that its name reads and
/// stores.
Value allocVar(TCall &c) {
  if (!c.statement())
    return Value::error();
  std::optional<DType> dtype = c.dtype("dtype");
  std::vector<CallArg> more = c.rest();
  CallArg init = c.arg("init");
  for (const CallArg &a : more)
    if (!a.value.isText())
      init = a;
  if (!dtype)
    return Value::error();
  Expr value;
  if (!init.value.isNone()) {
    value = toExpr(c.e, init.value, *dtype, init.range);
    if (!value)
      return Value::error();
  }
  ir::Buffer &b = c.e.kernel->function.addBuffer("", *dtype, ir::Scope::Local, {}, c.range);
  c.builder().alloc(b).init = value;
  return Value::cell(&b);
}

/// A workspace that the caller of the C function provides.
Value allocGlobal(TCall &c) {
  if (!c.e.kernel) {
    c.e.report(diag::OutsideKernel, c.range, "`T.alloc_global` is called");
    return Value::error();
  }
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  std::optional<DType> dtype = c.dtype("dtype");
  if (!shape || !dtype)
    return Value::error();
  for (const Expr &x : *shape)
    if (madeByKernel(c.e, x)) {
      c.outOfRange("shape", "of extents that the caller knows", text(x));
      return Value::error();
    }
  ir::Buffer &b = c.e.kernel->function.addBuffer("", *dtype, ir::Scope::Global, *shape, c.range);
  c.e.kernel->function.workspace.push_back(&b);
  return Value::buffer(&b);
}

Value allocReducer(TCall &c) {
  if (!c.tileOp())
    return Value::error();
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  std::optional<DType> dtype = c.dtype("dtype");
  std::optional<std::size_t> op =
      c.choice("op", {"sum", "max", "min", "bitand", "bitor", "bitxor"}, "sum");
  if (!shape || !dtype || !op || !constantExtents(c, *shape))
    return Value::error();
  static constexpr ir::ReduceOp ops[] = {ir::ReduceOp::Sum, ir::ReduceOp::Max, ir::ReduceOp::Min,
                                         ir::ReduceOp::And, ir::ReduceOp::Or,  ir::ReduceOp::Xor};
  if (*op > 2 && !dtype->isInteger()) {
    c.e.report(diag::WrongElementType, c.rangeOf("dtype"), c.info.name, "dtype", "integers",
               "the reducer", dtype->str());
    return Value::error();
  }
  ir::Buffer &b = allocate(c.e, ir::Scope::Fragment, *dtype, *shape, c.range);
  state(c.e).reducers[&b] = {ops[*op]};
  return Value::buffer(&b);
}

/// mbarriers: one, or one per count of a list. They are initialised where they are allocated.
Value allocBarrier(TCall &c) {
  if (!c.tileOp())
    return Value::error();
  std::vector<Expr> counts;
  CallArg arg = c.arg("arrive_count");
  for (const Value &v : c.e.toList(arg.value)) {
    std::optional<std::int64_t> n =
        c.e.toInt(v, arg.range, "the `arrive_count` of `" + c.name() + "`");
    if (!n)
      return Value::error();
    if (*n < 1 || *n > 1048575) {
      c.outOfRange("arrive_count", "between 1 and 1048575 arrivals", std::to_string(*n));
      return Value::error();
    }
    counts.push_back(c.context().int32(*n));
  }
  Expr size = c.context().int32(static_cast<std::int64_t>(counts.size()));
  ir::Buffer &b = allocate(c.e, ir::Scope::Barrier, Scalar::UInt64, {size}, c.range);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto &init = c.builder().add<ir::MbarStmt>();
    init.op = ir::MbarOp::Init;
    init.barrier = {&b, {c.context().int32(static_cast<std::int64_t>(i))}, {}};
    init.value = counts[i];
  }
  return Value::buffer(&b);
}

// ---- Views

Value reshape(TCall &c) {
  ir::Buffer *src = c.buffer("src");
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  if (!src || !shape || !c.e.kernel)
    return Value::error();
  return makeView(c.e, *src, *shape, src->dtype, c.range);
}

Value view(TCall &c) {
  ir::Buffer *src = c.buffer("src");
  if (!src || !c.e.kernel)
    return Value::error();
  DType dtype = c.find("dtype") ? c.dtype("dtype").value_or(src->dtype) : src->dtype;
  std::vector<Expr> shape = src->shape;
  if (c.find("shape")) {
    std::optional<std::vector<Expr>> given = c.shape("shape");
    if (!given)
      return Value::error();
    shape = *given;
  } else if (dtype.bits() * dtype.lanes != src->dtype.bits() * src->dtype.lanes && !shape.empty()) {
    // The last dim is read in other units.
    std::int64_t from = src->dtype.bits() * src->dtype.lanes, to = dtype.bits() * dtype.lanes;
    shape.back() = ir::floorDiv(shape.back() * from, to);
  }
  return makeView(c.e, *src, shape, dtype, c.range);
}

} // namespace

void addAlloc(Handlers &t) {
  for (Builtin id :
       {Builtin::AllocShared, Builtin::AllocFragment, Builtin::AllocLocal, Builtin::AllocBuffer})
    handle(t, id, allocTile);
  handle(t, Builtin::AllocVar, allocVar);
  handle(t, Builtin::AllocGlobal, allocGlobal);
  handle(t, Builtin::AllocReducer, allocReducer);
  handle(t, Builtin::AllocBarrier, allocBarrier);
  handle(t, Builtin::AllocClusterBarrier, allocBarrier);
  handle(t, Builtin::Reshape, reshape);
  handle(t, Builtin::View, view);
}

} // namespace tlc::elaborate
