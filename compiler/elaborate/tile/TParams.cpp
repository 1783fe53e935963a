// T.Tensor and its relatives, T.const and T.dynamic, T.empty.
#include "elaborate/tile/TParams.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

bool isTypeConstructor(Builtin id) {
  switch (id) {
  case Builtin::Tensor:
  case Builtin::StridedTensor:
  case Builtin::Buffer:
  case Builtin::SharedBuffer:
  case Builtin::FragmentBuffer:
  case Builtin::LocalBuffer:
  case Builtin::Ptr:
    return true;
  default:
    return false;
  }
}

std::optional<Value> TypeConstructor::call(Elaborator &e, CallArgs &args) {
  return callBuiltin(e, info, args);
}

std::optional<Value> TypeConstructor::subscript(Elaborator &e, const Value &index,
                                                const ast::Subscript &node) {
  CallArgs args;
  args.range = node.range;
  args.calleeRange = node.value->range;
  args.callee = "T." + std::string(info.name);
  // T.Tensor[shape, dtype]: a tuple whose first item is the shape.
  TupleObject *tuple = index.as<TupleObject>();
  const auto *parts = node.slice->as<ast::Tuple>();
  if (tuple && parts && tuple->items.size() == parts->elements.size())
    for (std::size_t i = 0; i < tuple->items.size(); ++i)
      args.positional.push_back({tuple->items[i], parts->elements[i]->range, parts->elements[i]});
  else
    args.positional.push_back({index, node.slice->range, node.slice});
  return callBuiltin(e, info, args);
}

std::optional<Value> TensorType::attribute(Elaborator &e, std::string_view name, SourceRange) {
  if (name == "dtype")
    return Value::dtype(dtype);
  if (name == "shape") {
    std::vector<Value> items;
    for (const Expr &x : shape)
      items.push_back(x.constant() ? Value::integer(*x.constant()) : Value::expr(x));
    return e.heap.tuple(std::move(items));
  }
  return std::nullopt;
}

namespace {

Value tensorType(TCall &c) {
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  std::optional<DType> dtype = c.dtype("dtype");
  if (!shape || !dtype)
    return Value::error();
  if (c.info.index("data") >= 0 && c.find("data") && c.e.kernel) {
    // T.Tensor(shape, dtype, A.data): the memory of A seen in another shape.
    if (!c.value("data").isBuffer()) {
      c.wrong("data", "the `.data` of a buffer");
      return Value::error();
    }
    return makeView(c.e, *c.value("data").asBuffer(), *shape, *dtype, c.range);
  }
  auto *type = c.e.heap.make<TensorType>();
  type->shape = *shape;
  type->dtype = *dtype;
  type->range = c.range;
  switch (c.info.id) {
  case Builtin::SharedBuffer:
  case Builtin::FragmentBuffer:
  case Builtin::LocalBuffer:
    type->kind = TensorType::Kind::MacroTile;
    break;
  case Builtin::StridedTensor:
  case Builtin::Buffer:
    if (c.find("strides")) {
      std::optional<std::vector<Expr>> strides = c.shape("strides");
      if (!strides)
        return Value::error();
      if (strides->size() != shape->size()) {
        c.outOfRange("strides", "as many as the shape has dims: " + std::to_string(shape->size()),
                     std::to_string(strides->size()));
        return Value::error();
      }
      type->strides = *strides;
    }
    break;
  default:
    break;
  }
  if (c.info.index("scope") >= 0)
    if (std::optional<std::string> scope = c.text("scope", "global"); scope && *scope != "global")
      type->kind = TensorType::Kind::MacroTile;
  return Value::object(type);
}

Value pointerType(TCall &c) {
  auto *type = c.e.heap.make<TensorType>();
  type->kind = TensorType::Kind::Pointer;
  type->dtype =
      c.find("dtype") ? c.dtype("dtype").value_or(DType(Scalar::UInt8)) : DType(Scalar::UInt8);
  type->range = c.range;
  return Value::object(type);
}

// ---- Dimensions

std::vector<std::string> splitNames(const std::string &text) {
  std::vector<std::string> names;
  std::string name;
  for (char ch : text + ",") {
    if (ch == ',' || ch == ' ' || ch == '\t' || ch == '\n') {
      if (!name.empty())
        names.push_back(name);
      name.clear();
    } else {
      name += ch;
    }
  }
  return names;
}

/// T.const and T.dynamic: run-time dimensions unless a -D binds them.
Value dimensions(TCall &c) {
  std::optional<std::string> text = c.text("name");
  std::optional<DType> dtype = c.dtype("dtype");
  if (!text || !dtype)
    return Value::error();
  std::vector<Value> values;
  for (const std::string &name : splitNames(*text)) {
    const Define *define = c.e.findDefine(name);
    if (define && !define->dynamic)
      values.push_back(define->value);
    else
      values.push_back(Value::expr(c.context().var(name, *dtype)));
  }
  if (values.empty()) {
    c.outOfRange("name", "one name or several, separated by commas", "\"" + *text + "\"");
    return Value::error();
  }
  return values.size() == 1 ? values[0] : c.e.heap.tuple(std::move(values));
}

Value variable(TCall &c) {
  std::optional<std::string> name = c.text("name");
  std::optional<DType> dtype = c.dtype("dtype");
  return name && dtype ? Value::expr(c.context().var(*name, *dtype)) : Value::error();
}

/// T.empty(M, N, dtype=...), T.empty((M, N), dtype): an output that the kernel returns.
Value empty(TCall &c) {
  if (!c.e.kernel) {
    c.e.report(diag::OutsideKernel, c.range, "`T.empty` is called");
    return Value::error();
  }
  std::vector<CallArg> parts = c.rest();
  DType dtype = c.dtype("dtype").value_or(DType(Scalar::Float32));
  // T.empty((M, N), T.float16): the dtype may stand behind the shape.
  if (parts.size() > 1 && parts.back().value.isDType()) {
    dtype = parts.back().value.asDType();
    parts.pop_back();
  } else if (parts.size() > 1 && parts.back().value.isStr()) {
    std::optional<DType> type =
        c.e.toDType(parts.back().value, parts.back().range, "the dtype of `T.empty`");
    if (!type)
      return Value::error();
    dtype = *type;
    parts.pop_back();
  }
  std::vector<Expr> shape;
  for (const CallArg &part : parts)
    for (const Value &v : c.e.toList(part.value)) {
      Expr x = toIndex(c.e, v, part.range, "an extent");
      if (!x)
        return Value::error();
      if (madeByKernel(c.e, x)) {
        c.e.report(diag::ArgumentOutOfRange, part.range, c.info.name, "shape",
                   "of extents that the caller knows", text(x));
        return Value::error();
      }
      shape.push_back(x);
    }
  ir::Buffer &b = c.e.kernel->function.addBuffer("", dtype, ir::Scope::Global, shape, c.range);
  b.output = true;
  state(c.e).empties.push_back(&b);
  return Value::buffer(&b);
}

/// A tensor at the address that a pointer parameter holds.
Value makeTensor(TCall &c) {
  PointerValue *pointer = c.value("ptr").native<PointerValue>();
  if (!pointer) {
    c.wrong("ptr", "a parameter of type T.ptr");
    return Value::error();
  }
  std::optional<std::vector<Expr>> shape = c.shape("shape");
  std::optional<DType> dtype = c.dtype("dtype");
  if (!shape || !dtype)
    return Value::error();
  ir::Buffer &b = c.e.kernel->function.addBuffer("", *dtype, ir::Scope::Global, *shape, c.range);
  b.base = pointer->buffer;
  if (c.find("strides")) {
    std::optional<std::vector<Expr>> strides = c.shape("strides");
    if (!strides)
      return Value::error();
    b.strides = *strides;
  }
  if (c.e.kernel->launch)
    c.builder().alloc(b);
  return Value::buffer(&b);
}

} // namespace

void addParams(Handlers &t) {
  for (Builtin id : {Builtin::Tensor, Builtin::StridedTensor, Builtin::Buffer,
                     Builtin::SharedBuffer, Builtin::FragmentBuffer, Builtin::LocalBuffer})
    handle(t, id, tensorType);
  handle(t, Builtin::Ptr, pointerType);
  handle(t, Builtin::Const, dimensions);
  handle(t, Builtin::Dynamic, dimensions);
  handle(t, Builtin::Var, variable);
  handle(t, Builtin::Empty, empty);
  handle(t, Builtin::MakeTensor, makeTensor);
}

} // namespace tlc::elaborate
