#include "elaborate/Value.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tlc::elaborate {

Value Value::boolean(bool b) {
  Value v(ValueKind::Bool);
  v.boolValue = b;
  return v;
}
Value Value::integer(Int i) {
  Value v(ValueKind::Int);
  v.intValue = i;
  return v;
}
Value Value::real(double d) {
  Value v(ValueKind::Float);
  v.realValue = d;
  return v;
}
Value Value::dtype(DType t, DTypeExtra extra) {
  Value v(ValueKind::DType);
  v.dtypeValue = t;
  v.extraValue = extra;
  return v;
}
Value Value::expr(ir::Expr e) {
  Value v(ValueKind::Expr);
  v.exprValue = e.get();
  return v;
}
Value Value::buffer(ir::Buffer *b) {
  Value v(ValueKind::Buffer);
  v.bufferValue = b;
  return v;
}
Value Value::cell(ir::Buffer *b) {
  Value v(ValueKind::Cell);
  v.bufferValue = b;
  return v;
}
Value Value::object(Object *o) {
  Value v(o->kind);
  v.objectValue = o;
  return v;
}

bool Value::isRuntime() const {
  if (isExpr() || isCell())
    return true;
  return is(ValueKind::Native) && static_cast<NativeObject *>(objectValue)->isRuntime();
}

double Value::asDouble() const { return isFloat() ? realValue : static_cast<double>(asInt()); }

std::optional<std::int64_t> Value::asInt64() const {
  if (!isIntegral())
    return std::nullopt;
  Int i = asInt();
  if (i < std::numeric_limits<std::int64_t>::min() || i > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(i);
}

static std::string dtypeText(DType type, DTypeExtra extra) {
  switch (extra) {
  case DTypeExtra::None:
    return type.str();
  case DTypeExtra::Void:
    return "void";
  case DTypeExtra::Handle:
    return "handle";
  case DTypeExtra::Float4Unpacked:
    return "float4_e2m1_unpacked";
  }
  return type.str();
}

std::string Value::asText() const {
  if (isDType())
    return dtypeText(dtypeValue, extraValue);
  return as<StrObject>()->text;
}

bool Value::identical(const Value &other) const {
  if (kindValue != other.kindValue)
    return false;
  switch (kindValue) {
  case ValueKind::Error:
  case ValueKind::None:
  case ValueKind::Ellipsis:
  case ValueKind::NotImplemented:
    return true;
  case ValueKind::Bool:
    return boolValue == other.boolValue;
  case ValueKind::Int:
    return intValue == other.intValue;
  case ValueKind::Float:
    return std::memcmp(&realValue, &other.realValue, sizeof realValue) == 0;
  case ValueKind::DType:
    return dtypeValue == other.dtypeValue && extraValue == other.extraValue;
  case ValueKind::Expr:
    return exprValue == other.exprValue;
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return bufferValue == other.bufferValue;
  case ValueKind::Str: // Python interns most short strings; comparing by text surprises nobody
    return as<StrObject>()->text == other.as<StrObject>()->text;
  default:
    return objectValue == other.objectValue;
  }
}

const ast::Arguments &FunctionObject::parameters() const { return def ? def->args : lambda->args; }
SourceRange FunctionObject::nameRange() const { return def ? def->name.range : lambda->range; }

Int RangeObject::size() const {
  if (step > 0)
    return start < stop ? (stop - start + step - 1) / step : 0;
  return start > stop ? (start - stop - step - 1) / -step : 0;
}

Value *InstanceObject::find(std::string_view name) {
  for (auto &[key, value] : attributes)
    if (key == name)
      return &value;
  return nullptr;
}
void InstanceObject::set(std::string_view name, const Value &value) {
  if (Value *old = find(name))
    *old = value;
  else
    attributes.emplace_back(std::string(name), value);
}

// ---- Tables

std::size_t Table::position(const Value &key) const {
  auto [begin, end] = index.equal_range(hash(key));
  for (auto it = begin; it != end; ++it)
    if (entries[it->second].used && equal(entries[it->second].key, key))
      return it->second;
  return static_cast<std::size_t>(-1);
}

const Value *Table::find(const Value &key) const {
  std::size_t at = position(key);
  return at == static_cast<std::size_t>(-1) ? nullptr : &entries[at].value;
}

bool Table::set(const Value &key, const Value &value) {
  std::size_t at = position(key);
  if (at != static_cast<std::size_t>(-1)) {
    entries[at].value = value;
    return false;
  }
  index.emplace(hash(key), entries.size());
  entries.push_back({key, value});
  ++live;
  return true;
}

bool Table::erase(const Value &key) {
  std::size_t at = position(key);
  if (at == static_cast<std::size_t>(-1))
    return false;
  entries[at].used = false;
  auto [begin, end] = index.equal_range(hash(key));
  for (auto it = begin; it != end; ++it)
    if (it->second == at) {
      index.erase(it);
      break;
    }
  --live;
  return true;
}

void Table::clear() {
  entries.clear();
  index.clear();
  live = 0;
}

std::vector<Value> Table::keys() const {
  std::vector<Value> out;
  out.reserve(live);
  forEach([&](const Value &key, const Value &) { out.push_back(key); });
  return out;
}

// ---- Heap

Value Heap::str(std::string text) {
  auto *object = make<StrObject>();
  object->text = std::move(text);
  return Value::object(object);
}
Value Heap::tuple(std::vector<Value> items) {
  auto *object = make<TupleObject>();
  object->items = std::move(items);
  return Value::object(object);
}
Value Heap::list(std::vector<Value> items) {
  auto *object = make<ListObject>();
  object->items = std::move(items);
  return Value::object(object);
}

// ---- Equality and hashing

static bool equalItems(const std::vector<Value> &a, const std::vector<Value> &b) {
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i]))
      return false;
  return true;
}

static bool equalNumbers(const Value &a, const Value &b) {
  if (a.isIntegral() && b.isIntegral())
    return a.asInt() == b.asInt();
  return a.asDouble() == b.asDouble();
}

static bool equalTexts(const Value &a, const Value &b) {
  if (a.isDType() && b.isDType())
    return a.identical(b);
  std::string x = a.asText(), y = b.asText();
  if (x == y)
    return true;
  // "half" and "float16" are one dtype.
  if (a.isDType() || b.isDType()) {
    auto p = DType::parse(x), q = DType::parse(y);
    return p && q && *p == *q;
  }
  return false;
}

static bool equalTables(const Table &a, const Table &b, bool values) {
  if (a.size() != b.size())
    return false;
  bool same = true;
  a.forEach([&](const Value &key, const Value &value) {
    const Value *other = b.find(key);
    same = same && other && (!values || equal(value, *other));
  });
  return same;
}

// `class Mode(str, Enum)`: members are strings, too.
static bool isStrMember(const Value &value) {
  auto *member = value.as<EnumMemberObject>();
  if (!member || !member->value.isStr())
    return false;
  if (member->cls->name == "PassConfigKey" || member->cls->name == "StrEnum")
    return true;
  for (const Value &base : member->cls->bases) {
    auto *type = base.as<BuiltinObject>();
    auto *cls = base.as<ClassObject>();
    if ((type && type->name == "str") || (cls && cls->name == "StrEnum"))
      return true;
  }
  return false;
}

bool equal(const Value &a, const Value &b) {
  if (isStrMember(a) && b.isText())
    return equalTexts(a.as<EnumMemberObject>()->value, b);
  if (isStrMember(b) && a.isText())
    return equalTexts(a, b.as<EnumMemberObject>()->value);
  if (a.isNumber() && b.isNumber())
    return equalNumbers(a, b);
  if (a.isText() && b.isText())
    return equalTexts(a, b);
  if (auto *member = a.as<EnumMemberObject>(); member && member->value.isInt() && b.isInt())
    return member->value.asInt() == b.asInt();
  if (auto *member = b.as<EnumMemberObject>(); member && member->value.isInt() && a.isInt())
    return member->value.asInt() == a.asInt();
  for (auto [x, y] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (x->is(ValueKind::Native))
      if (auto result = static_cast<NativeObject *>(x->asObject())->equals(*y))
        return *result;
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case ValueKind::Tuple:
    return equalItems(a.as<TupleObject>()->items, b.as<TupleObject>()->items);
  case ValueKind::List:
    return a.identical(b) || equalItems(a.as<ListObject>()->items, b.as<ListObject>()->items);
  case ValueKind::Dict:
    return equalTables(a.as<DictObject>()->table, b.as<DictObject>()->table, true);
  case ValueKind::Set:
    return equalTables(a.as<SetObject>()->table, b.as<SetObject>()->table, false);
  case ValueKind::Bytes:
    return a.as<BytesObject>()->bytes == b.as<BytesObject>()->bytes;
  case ValueKind::Slice: {
    const auto *x = a.as<SliceObject>(), *y = b.as<SliceObject>();
    return equal(x->lower, y->lower) && equal(x->upper, y->upper) && equal(x->step, y->step);
  }
  case ValueKind::Range: {
    const auto *x = a.as<RangeObject>(), *y = b.as<RangeObject>();
    return x->size() == y->size() &&
           (x->size() == 0 || (x->start == y->start && (x->size() == 1 || x->step == y->step)));
  }
  case ValueKind::Instance: {
    auto *x = a.as<InstanceObject>(), *y = b.as<InstanceObject>();
    if (x == y || x->cls != y->cls || !x->cls->isDataclass)
      return x == y;
    for (const std::string &field : x->cls->fields) {
      Value *p = x->find(field), *q = y->find(field);
      if (!p || !q || !equal(*p, *q))
        return false;
    }
    return true;
  }
  case ValueKind::BoundMethod: {
    const auto *x = a.as<BoundMethodObject>(), *y = b.as<BoundMethodObject>();
    return x->self.identical(y->self) && x->function.identical(y->function);
  }
  default:
    return a.identical(b);
  }
}

bool hashable(const Value &value) {
  switch (value.kind()) {
  case ValueKind::List:
  case ValueKind::Dict:
  case ValueKind::Slice:
    return false;
  case ValueKind::Set:
    return value.as<SetObject>()->frozen;
  case ValueKind::Tuple:
    for (const Value &item : value.as<TupleObject>()->items)
      if (!hashable(item))
        return false;
    return true;
  case ValueKind::Instance:
    return !value.as<InstanceObject>()->cls->isDataclass || value.as<InstanceObject>()->cls->frozen;
  default:
    return true;
  }
}

static std::size_t mix(std::size_t a, std::size_t b) {
  return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
}

static std::size_t hashNumber(const Value &value) {
  if (value.isFloat()) {
    double d = value.asDouble();
    if (d != std::floor(d) || std::fabs(d) >= 1e18)
      return std::hash<double>()(d);
    return static_cast<std::size_t>(static_cast<std::int64_t>(d));
  }
  return static_cast<std::size_t>(value.asInt());
}

std::size_t hash(const Value &value) {
  switch (value.kind()) {
  case ValueKind::Bool:
  case ValueKind::Int:
  case ValueKind::Float:
    return hashNumber(value);
  case ValueKind::DType:
  case ValueKind::Str: {
    // A dtype and each of its names hash alike, as they are equal.
    std::string text = value.asText();
    if (auto type = DType::parse(text))
      text = type->str();
    return std::hash<std::string>()(text);
  }
  case ValueKind::Bytes:
    return std::hash<std::string>()(value.as<BytesObject>()->bytes);
  case ValueKind::Tuple: {
    std::size_t out = 17;
    for (const Value &item : value.as<TupleObject>()->items)
      out = mix(out, hash(item));
    return out;
  }
  case ValueKind::EnumMember:
    if (value.as<EnumMemberObject>()->value.isNumber())
      return hashNumber(value.as<EnumMemberObject>()->value);
    return isStrMember(value) ? hash(value.as<EnumMemberObject>()->value)
                              : std::hash<const void *>()(value.asObject());
  case ValueKind::Set:
    return value.as<SetObject>()->table.size();
  case ValueKind::Range:
    return static_cast<std::size_t>(value.as<RangeObject>()->size());
  case ValueKind::Expr:
    return std::hash<const void *>()(value.asExpr().get());
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return std::hash<const void *>()(value.asBuffer());
  case ValueKind::Instance: {
    auto *instance = value.as<InstanceObject>();
    if (!instance->cls->isDataclass)
      return std::hash<const void *>()(instance);
    std::size_t out = 31;
    for (auto &[name, item] : instance->attributes)
      out = mix(out, hash(item));
    return out;
  }
  case ValueKind::Native:
    return 7; // equality of natives is their own affair
  case ValueKind::BoundMethod:
    return std::hash<const void *>()(value.as<BoundMethodObject>()->self.isObject()
                                         ? value.as<BoundMethodObject>()->self.asObject()
                                         : nullptr);
  default:
    return value.isObject() ? std::hash<const void *>()(value.asObject())
                            : static_cast<std::size_t>(value.kind());
  }
}

} // namespace tlc::elaborate
