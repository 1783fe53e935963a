// The user's own C, pointers into buffers, and wide accesses by hand.
#include "elaborate/tile/TCall.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

/// T.access_ptr and T.address_of: an argument of calls.
struct PointerArgument : NativeObject {
  ir::Pointer pointer;
  std::string typeName() const override {
    return "pointer into `" + pointer.element.buffer->name + "`";
  }
};

Expr zeroIndex(ir::Context &c) { return c.int32(0); }

/// The first element of a tile.
ir::Element corner(ir::Context &c, const Tile &t) {
  ir::Element element{t.region.buffer, t.region.offsets, {}};
  element.indices.resize(t.region.buffer->rank(), zeroIndex(c));
  return element;
}

std::optional<ir::Access> access(TCall &c, std::string_view parameter) {
  std::optional<std::size_t> i = c.choice(parameter, {"r", "w", "rw", "wr"}, "r");
  static constexpr ir::Access kinds[] = {ir::Access::Read, ir::Access::Write, ir::Access::ReadWrite,
                                         ir::Access::ReadWrite};
  return i ? std::optional(kinds[*i]) : std::nullopt;
}

Expr product(ir::Context &c, std::span<const Expr> extents) {
  Expr result = c.integer(Scalar::Int64, 1);
  for (const Expr &x : extents)
    result = result * c.cast(Scalar::Int64, x);
  return result;
}

Value accessPtr(TCall &c) {
  std::optional<Tile> base = asTile(c.e, c.value("base"), c.rangeOf("base"));
  std::optional<ir::Access> kind = access(c, "access_type");
  if (!base) {
    c.wrong("base", "a buffer, a region or an element");
    return Value::error();
  }
  if (!kind)
    return Value::error();
  auto *value = c.e.heap.make<PointerArgument>();
  value->pointer.element = corner(c.context(), *base);
  value->pointer.access = *kind;
  std::vector<Expr> extents;
  for (const CallArg &a : c.rest(true)) {
    Expr x = toIndex(c.e, a.value, a.range, "an extent of `T.access_ptr`");
    if (!x)
      return Value::error();
    extents.push_back(x);
  }
  if (c.find("extent")) {
    Expr x = c.index("extent");
    if (!x)
      return Value::error();
    extents = {x};
  }
  if (extents.empty() && !base->corner)
    extents = base->region.extents;
  value->pointer.count = product(c.context(), extents);
  if (Expr offset = c.find("offset") ? c.index("offset") : Expr();
      offset && !offset.isConstant(0)) {
    Expr &last = value->pointer.element.indices.back();
    unifyIndices(c.e, last, offset);
    last = last + offset;
  }
  return Value::object(value);
}

Value addressOf(TCall &c) {
  std::optional<Tile> tile = asTile(c.e, c.value("elem"), c.rangeOf("elem"));
  if (!tile) {
    c.wrong("elem", "an element of a buffer");
    return Value::error();
  }
  auto *value = c.e.heap.make<PointerArgument>();
  value->pointer.element = corner(c.context(), *tile);
  value->pointer.access = ir::Access::ReadWrite;
  value->pointer.count = tile->corner ? c.context().integer(Scalar::Int64, 1)
                                      : product(c.context(), tile->region.extents);
  return Value::object(value);
}

// ---- Calls

std::optional<ir::Argument> argument(TCall &c, const CallArg &a) {
  if (auto *pointer = a.value.native<PointerArgument>())
    return pointer->pointer;
  if (a.value.isStr())
    return a.value.asText();
  if (a.value.isBuffer() && a.value.asBuffer()->rank() > 0) {
    ir::Buffer &b = *a.value.asBuffer();
    ir::Pointer pointer;
    pointer.element = {&b, std::vector<Expr>(b.rank(), zeroIndex(c.context())), {}};
    pointer.count = product(c.context(), b.shape);
    pointer.access = ir::Access::ReadWrite;
    return pointer;
  }
  Expr x = toExpr(c.e, a.value, a.range);
  return x ? std::optional<ir::Argument>(x) : std::nullopt;
}

Value callExtern(TCall &c) {
  if (!c.statement())
    return Value::error();
  // T.call_extern("int32", "f", x) and, as TVM's scripts write it, T.call_extern("f", x,
  // dtype="int32").
  std::vector<CallArg> given = c.rest();
  bool byKeyword = c.find("dtype") != nullptr;
  if (given.size() < (byKeyword ? 1 : 2) || !given[byKeyword ? 0 : 1].value.isText()) {
    c.e.report(diag::MissingArgument, c.args.calleeRange, c.info.name, "func_name");
    return Value::error();
  }
  const Value type = byKeyword ? c.value("dtype") : given[0].value;
  const SourceRange typeRange = byKeyword ? c.rangeOf("dtype") : given[0].range;
  std::string callee = given[byKeyword ? 0 : 1].value.asText();
  given.erase(given.begin(), given.begin() + (byKeyword ? 1 : 2));
  bool isVoid = (type.isDType() && type.dtypeExtra() != DTypeExtra::None) ||
                (type.isStr() && (type.asText() == "handle" || type.asText() == "void"));
  std::optional<DType> dtype;
  if (!isVoid) {
    dtype = c.e.toDType(type, typeRange, "the dtype of `" + c.name() + "`");
    if (!dtype)
      return Value::error();
  }
  std::vector<ir::Argument> args;
  for (const CallArg &a : given) {
    std::optional<ir::Argument> x = argument(c, a);
    if (!x)
      return Value::error();
    args.push_back(std::move(*x));
  }
  auto &call = c.builder().add<ir::CallStmt>();
  call.callee = callee;
  call.args = std::move(args);
  call.isExtern = true;
  call.hasEffect = c.info.id == Builtin::CallExtern;
  if (isVoid)
    return Value::none();
  call.result = c.context().var(call.callee + "_result", *dtype);
  return Value::expr(call.result);
}

Value importSource(TCall &c) {
  if (!c.e.kernel) {
    c.e.report(diag::OutsideKernel, c.range, "`T.import_source` is called");
    return Value::none();
  }
  std::vector<std::string> &sources = c.e.kernel->function.sources;
  std::string text = *c.text("source");
  if (std::find(sources.begin(), sources.end(), text) == sources.end())
    sources.push_back(text);
  return Value::none();
}

/// What it is given was evaluated already.
Value evaluate(TCall &c) {
  const Value v = c.value("value");
  if (isScalar(v) && c.e.kernel && c.e.kernel->launch)
    toExpr(c.e, v, c.rangeOf("value"));
  return Value::none();
}

// ---- Wide accesses

/// Elements that make `bits`; 0 after a report.
unsigned lanesFor(TCall &c, std::string_view parameter, DType t, unsigned bits) {
  unsigned element = t.bits() * t.lanes;
  if (bits % element == 0)
    return bits / element;
  c.e.report(diag::ReinterpretWidth, c.rangeOf(parameter), t.str(), element, "the access", bits);
  return 0;
}

unsigned bitsOf(TCall &c) {
  // The number at the end of the name: ldg128.
  std::string digits;
  for (char ch : c.info.name)
    if (ch >= '0' && ch <= '9')
      digits += ch;
  return static_cast<unsigned>(std::stoi(digits));
}

std::optional<Tile> accessed(TCall &c, std::string_view parameter) {
  std::optional<Tile> tile = asTile(c.e, c.value(parameter), c.rangeOf(parameter));
  if (auto *pointer = c.value(parameter).native<PointerArgument>()) {
    tile.emplace();
    tile->region.buffer = pointer->pointer.element.buffer;
    tile->region.offsets = pointer->pointer.element.indices;
  }
  bool shared = c.info.name.starts_with("lds") || c.info.name.starts_with("sts");
  if (tile && tile->region.buffer->scope == (shared ? ir::Scope::Shared : ir::Scope::Global))
    return tile;
  c.wrong(parameter, shared ? "an element of shared memory" : "an element of a tensor");
  return std::nullopt;
}

Expr predicateOf(TCall &c) {
  if (c.info.index("pred") < 0 || !c.find("pred"))
    return {};
  return toCondition(c.e, c.value("pred"), c.rangeOf("pred"));
}

Value loadWide(TCall &c) {
  if (!requireLaunch(c.e, c.range, "`" + c.name() + "` is called"))
    return Value::error();
  std::optional<Tile> tile = accessed(c, "src");
  if (!tile)
    return Value::error();
  ir::Buffer &b = *tile->region.buffer;
  unsigned bits = bitsOf(c), lanes = lanesFor(c, "src", b.dtype, bits);
  if (!lanes)
    return Value::error();
  Expr predicate = ir::logicalAnd(state(c.e).predicate, predicateOf(c));
  auto &stmt = c.builder().add<ir::LoadStmt>();
  stmt.var = c.context().var(b.name + "_value", b.dtype.withLanes(b.dtype.lanes * lanes));
  stmt.source = corner(c.context(), *tile);
  stmt.predicate = predicate;
  return Value::expr(c.context().bitcast(DType(Scalar::UInt32, bits / 32), stmt.var));
}

Value storeWide(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<Tile> tile = accessed(c, "dst");
  Expr value = c.scalar("value");
  if (!tile || !value)
    return Value::none();
  ir::Buffer &b = *tile->region.buffer;
  unsigned bits = bitsOf(c), lanes = lanesFor(c, "dst", b.dtype, bits);
  unsigned have = value.dtype().bits() * value.dtype().lanes;
  if (lanes && have != bits) {
    c.e.report(diag::ReinterpretWidth, c.rangeOf("value"), value.dtype().str(), have, "the access",
               bits);
    return Value::none();
  }
  if (lanes)
    c.builder().store(corner(c.context(), *tile),
                      c.context().bitcast(b.dtype.withLanes(b.dtype.lanes * lanes), value),
                      predicateOf(c));
  return Value::none();
}

Value loadReadOnly(TCall &c) {
  std::optional<Tile> tile = asTile(c.e, c.value("load_or_buf"), c.rangeOf("load_or_buf"));
  if (!tile) {
    c.wrong("load_or_buf", "an element of a tensor");
    return Value::error();
  }
  ir::Element element = corner(c.context(), *tile);
  if (Expr i = c.find("index") ? c.index("index") : Expr())
    element.indices.back() = i;
  Expr x = load(c.e, element, 1, c.range);
  return x ? Value::expr(x) : Value::error();
}

/// cp.async of one thread, by pointers.
Value cpAsync(TCall &c) {
  if (!c.statement())
    return Value::none();
  auto *to = c.value("dst_access_ptr").native<PointerArgument>();
  auto *from = c.value("src_access_ptr").native<PointerArgument>();
  std::optional<std::int64_t> n = c.integer("num_elems");
  if (!to || !from) {
    c.wrong(to ? "src_access_ptr" : "dst_access_ptr", "a pointer from T.access_ptr");
    return Value::none();
  }
  if (!n)
    return Value::none();
  std::int64_t bytes = storageBytes(to->pointer.element.buffer->dtype, *n);
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    c.outOfRange("num_elems", "4, 8 or 16 bytes", std::to_string(bytes) + " bytes");
    return Value::none();
  }
  ir::Pointer target = to->pointer, source = from->pointer;
  target.access = ir::Access::Write;
  source.access = ir::Access::Read;
  target.count = source.count = c.context().int32(*n);
  Expr predicate =
      c.find("predicate") ? toCondition(c.e, c.value("predicate"), c.rangeOf("predicate")) : Expr();
  auto &call = c.builder().add<ir::CallStmt>();
  call.callee = "cp_async";
  call.templateArgs = {bytes};
  call.args = {target, source};
  if (predicate)
    call.args.push_back(predicate);
  return Value::none();
}

} // namespace

void addExtern(Handlers &t) {
  handle(t, Builtin::AccessPtr, accessPtr);
  handle(t, Builtin::AddressOf, addressOf);
  handle(t, Builtin::CallExtern, callExtern);
  handle(t, Builtin::CallPureExtern, callExtern);
  handle(t, Builtin::ImportSource, importSource);
  handle(t, Builtin::Evaluate, evaluate);
}

void addMemoryOps(Handlers &t) {
  for (Builtin id : {Builtin::Ldg32, Builtin::Ldg64, Builtin::Ldg128, Builtin::Ldg256,
                     Builtin::Lds32, Builtin::Lds64, Builtin::Lds128})
    handle(t, id, loadWide);
  for (Builtin id : {Builtin::Stg32, Builtin::Stg64, Builtin::Stg128, Builtin::Stg256,
                     Builtin::Sts32, Builtin::Sts64, Builtin::Sts128})
    handle(t, id, storeWide);
  handle(t, Builtin::LdgReadOnly, loadReadOnly);
  handle(t, Builtin::PtxCpAsync, cpAsync);
}

} // namespace tlc::elaborate
