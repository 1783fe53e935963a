// Methods of str, list, dict, set, tuple, int and float.
#include "elaborate/python/Methods.h"
#include "elaborate/runtime/Runtime.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tlc::elaborate {

namespace {

// ---- list and tuple

Value listAppend(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "object, /");
  if (!b.ok)
    return Value::error();
  const CallArg &arg = *b.at(0);
  bool fresh = arg.value.isCell() && arg.expr && arg.expr->is<ast::Call>();
  self.as<ListObject>()->items.push_back(e.kernel && !fresh ? pin(e, arg.value, "", arg.range)
                                                            : arg.value);
  return Value::none();
}
Value listExtend(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "iterable, /");
  auto items = b.ok ? e.items(b.at(0)->value, b.at(0)->range) : std::nullopt;
  if (!items)
    return Value::error();
  auto &list = self.as<ListObject>()->items;
  list.insert(list.end(), items->begin(), items->end());
  return Value::none();
}
Value listInsert(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "index, object, /");
  auto at = b.ok ? e.toInt(b.at(0)->value, b.at(0)->range, "the index") : std::nullopt;
  if (!at)
    return Value::error();
  auto &list = self.as<ListObject>()->items;
  auto n = static_cast<std::int64_t>(list.size());
  std::int64_t i = std::clamp<std::int64_t>(*at < 0 ? *at + n : *at, 0, n);
  list.insert(list.begin() + i, b.at(1)->value);
  return Value::none();
}
Value listPop(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "index=, /");
  auto at = !b.ok     ? std::nullopt
            : b.at(0) ? e.toInt(b.at(0)->value, b.at(0)->range, "the index")
                      : std::optional<std::int64_t>(-1);
  if (!at)
    return Value::error();
  auto &list = self.as<ListObject>()->items;
  auto n = static_cast<std::int64_t>(list.size());
  std::int64_t i = *at < 0 ? *at + n : *at;
  if (i < 0 || i >= n) {
    e.report(diag::IndexOutOfRange, args.range, *at, "a list", n);
    return Value::error();
  }
  Value v = list[static_cast<std::size_t>(i)];
  list.erase(list.begin() + i);
  return v;
}
Value listRemove(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "value, /");
  if (!b.ok)
    return Value::error();
  auto &list = self.as<ListObject>()->items;
  for (auto it = list.begin(); it != list.end(); ++it)
    if (equal(*it, b.at(0)->value)) {
      list.erase(it);
      return Value::none();
    }
  e.report(diag::BadValue, args.range, repr(b.at(0)->value) + " is not in the list");
  return Value::error();
}
Value sequenceIndex(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "value, /");
  if (!b.ok)
    return Value::error();
  std::vector<Value> items = e.toList(self);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].identical(b.at(0)->value) || equal(items[i], b.at(0)->value))
      return Value::integer(Int(i));
  e.report(diag::BadValue, args.range, repr(b.at(0)->value) + " is not in the " + typeName(self));
  return Value::error();
}
Value sequenceCount(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "value, /");
  if (!b.ok)
    return Value::error();
  Int n = 0;
  for (const Value &v : e.toList(self))
    n += equal(v, b.at(0)->value);
  return Value::integer(n);
}
Value listReverse(Elaborator &, const Value &self, CallArgs &) {
  auto &list = self.as<ListObject>()->items;
  std::reverse(list.begin(), list.end());
  return Value::none();
}
Value listClear(Elaborator &, const Value &self, CallArgs &) {
  self.as<ListObject>()->items.clear();
  return Value::none();
}
Value listCopy(Elaborator &e, const Value &self, CallArgs &) {
  return e.heap.list(self.as<ListObject>()->items);
}

// Stable insertion by binary search would need a strict order; a merge sort needs only `<`.
bool mergeSort(Elaborator &e, std::vector<std::pair<Value, Value>> &items, bool reverse,
               SourceRange range) {
  bool ok = true;
  auto less = [&](const std::pair<Value, Value> &a, const std::pair<Value, Value> &b) {
    if (!ok)
      return false;
    e.charge(1, range);
    Value r = reverse ? e.compare(ast::CompareOperator::Gt, a.first, b.first, range)
                      : e.compare(ast::CompareOperator::Lt, a.first, b.first, range);
    ok = r.isBool();
    return ok && r.asBool();
  };
  // std::stable_sort tolerates an inconsistent order without leaving its range.
  std::stable_sort(items.begin(), items.end(), less);
  return ok;
}

Value listSort(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "*, key=, reverse=");
  if (!b.ok)
    return Value::error();
  Value key = b.value("key");
  bool reverse = b.value("reverse").isBool() && b.value("reverse").asBool();
  std::vector<std::pair<Value, Value>> items;
  for (const Value &v : self.as<ListObject>()->items) {
    Value k = key.isNone() ? v : e.callWith(key, {v}, args.range);
    if (k.isError())
      return k;
    items.emplace_back(k, v);
  }
  if (!mergeSort(e, items, reverse, args.range))
    return Value::error();
  for (std::size_t i = 0; i < items.size(); ++i)
    self.as<ListObject>()->items[i] = items[i].second;
  return Value::none();
}

const Methods listMethods = {
    {"append", listAppend},   {"extend", listExtend},   {"insert", listInsert},
    {"pop", listPop},         {"remove", listRemove},   {"index", sequenceIndex},
    {"count", sequenceCount}, {"reverse", listReverse}, {"clear", listClear},
    {"copy", listCopy},       {"sort", listSort},
};

Value tupleAsDict(Elaborator &e, const Value &self, CallArgs &) {
  auto *tuple = self.as<TupleObject>();
  auto *dict = e.heap.make<DictObject>();
  for (std::size_t i = 0; i < tuple->names.size(); ++i)
    dict->table.set(e.str(tuple->names[i]), tuple->items[i]);
  return Value::object(dict);
}
Value tupleReplace(Elaborator &e, const Value &self, CallArgs &args) {
  auto *made = e.heap.make<TupleObject>();
  made->items = self.as<TupleObject>()->items;
  made->names = self.as<TupleObject>()->names;
  for (const KeywordArg &k : args.keywords)
    for (std::size_t i = 0; i < made->names.size(); ++i)
      if (made->names[i] == k.name)
        made->items[i] = k.value;
  return Value::object(made);
}
const Methods tupleMethods = {{"index", sequenceIndex},
                              {"count", sequenceCount},
                              {"_asdict", tupleAsDict},
                              {"_replace", tupleReplace}};

// ---- dict

Table &table(const Value &self) {
  return self.is(ValueKind::Dict) ? self.as<DictObject>()->table : self.as<SetObject>()->table;
}

bool checkKey(Elaborator &e, const CallArg &arg) {
  if (hashable(arg.value))
    return true;
  e.report(diag::Unhashable, arg.range, typeNameWithArticle(arg.value));
  return false;
}

Value dictGet(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "key, default=, /");
  if (!b.ok || !checkKey(e, *b.at(0)))
    return Value::error();
  if (b.at(0)->value.isPoison())
    return b.at(0)->value;
  const Value *item = table(self).find(b.at(0)->value);
  return item ? *item : b.value("default");
}
Value dictSetdefault(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "key, default=, /");
  if (!b.ok || !checkKey(e, *b.at(0)))
    return Value::error();
  if (const Value *item = table(self).find(b.at(0)->value))
    return *item;
  table(self).set(b.at(0)->value, b.value("default"));
  return b.value("default");
}
Value dictPop(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "key, default=, /");
  if (!b.ok || !checkKey(e, *b.at(0)))
    return Value::error();
  if (const Value *item = table(self).find(b.at(0)->value)) {
    Value v = *item;
    table(self).erase(b.at(0)->value);
    return v;
  }
  if (b.at(1))
    return b.at(1)->value;
  e.report(diag::KeyNotFound, b.at(0)->range, repr(b.at(0)->value));
  return Value::error();
}
Value dictKeys(Elaborator &e, const Value &self, CallArgs &) {
  return e.heap.list(table(self).keys());
}
Value dictValues(Elaborator &e, const Value &self, CallArgs &) {
  std::vector<Value> out;
  table(self).forEach([&](const Value &, const Value &v) { out.push_back(v); });
  return e.heap.list(std::move(out));
}
Value dictItems(Elaborator &e, const Value &self, CallArgs &) {
  std::vector<Value> out;
  table(self).forEach([&](const Value &k, const Value &v) { out.push_back(e.heap.tuple({k, v})); });
  return e.heap.list(std::move(out));
}
Value dictUpdate(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "other=, /, **kwargs");
  if (!b.ok)
    return Value::error();
  if (b.at(0)) {
    if (b.at(0)->value.isPoison())
      return b.at(0)->value;
    CallArgs inner;
    inner.range = args.range;
    inner.callee = "dict";
    inner.positional.push_back(*b.at(0));
    Value other = e.call(e.parts->builtins->find("dict")->value, inner);
    if (!other.is(ValueKind::Dict))
      return Value::error();
    table(other).forEach([&](const Value &k, const Value &v) { table(self).set(k, v); });
  }
  for (const KeywordArg &k : b.keywords)
    table(self).set(e.str(k.name), k.value);
  return Value::none();
}
Value dictCopy(Elaborator &e, const Value &self, CallArgs &) {
  auto *dict = e.heap.make<DictObject>();
  dict->table = table(self);
  return Value::object(dict);
}
Value tableClear(Elaborator &, const Value &self, CallArgs &) {
  table(self).clear();
  return Value::none();
}

const Methods dictMethods = {
    {"get", dictGet},       {"setdefault", dictSetdefault},
    {"pop", dictPop},       {"keys", dictKeys},
    {"values", dictValues}, {"items", dictItems},
    {"update", dictUpdate}, {"copy", dictCopy},
    {"clear", tableClear},
};

// ---- set

Value setAdd(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "element, /");
  if (!b.ok || !checkKey(e, *b.at(0)))
    return Value::error();
  table(self).set(b.at(0)->value, Value::none());
  return Value::none();
}
Value setDiscard(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "element, /");
  if (!b.ok || !checkKey(e, *b.at(0)))
    return Value::error();
  table(self).erase(b.at(0)->value);
  return Value::none();
}
Value setCombine(Elaborator &e, const Value &self, CallArgs &args, ast::BinaryOperator op) {
  Value result = self;
  for (const CallArg &arg : args.positional) {
    auto items = e.items(arg.value, arg.range);
    if (!items)
      return Value::error();
    auto *other = e.heap.make<SetObject>();
    for (const Value &v : *items)
      if (hashable(v))
        other->table.set(v, Value::none());
    result = e.binary(op, result, Value::object(other), args.range, arg.range, args.range);
  }
  return result;
}
Value setUnion(Elaborator &e, const Value &self, CallArgs &args) {
  return setCombine(e, self, args, ast::BinaryOperator::BitOr);
}
Value setIntersection(Elaborator &e, const Value &self, CallArgs &args) {
  return setCombine(e, self, args, ast::BinaryOperator::BitAnd);
}
Value setDifference(Elaborator &e, const Value &self, CallArgs &args) {
  return setCombine(e, self, args, ast::BinaryOperator::Sub);
}
Value setUpdate(Elaborator &e, const Value &self, CallArgs &args) {
  Value all = setUnion(e, self, args);
  if (all.is(ValueKind::Set))
    table(self) = table(all);
  return all.isError() ? all : Value::none();
}
Value setIssubset(Elaborator &e, const Value &self, CallArgs &args) {
  Value common = setIntersection(e, self, args);
  return common.isError() ? common : Value::boolean(table(common).size() == table(self).size());
}

const Methods setMethods = {
    {"add", setAdd},       {"discard", setDiscard},           {"remove", setDiscard},
    {"union", setUnion},   {"intersection", setIntersection}, {"difference", setDifference},
    {"update", setUpdate}, {"issubset", setIssubset},         {"clear", tableClear},
};

// ---- Numbers

Value intBitLength(Elaborator &, const Value &self, CallArgs &) {
  Int i = self.asInt() < 0 ? -self.asInt() : self.asInt();
  Int n = 0;
  for (; i > 0; i >>= 1)
    ++n;
  return Value::integer(n);
}
Value intBitCount(Elaborator &, const Value &self, CallArgs &) {
  auto i = static_cast<unsigned __int128>(self.asInt() < 0 ? -self.asInt() : self.asInt());
  return Value::integer(std::popcount(static_cast<std::uint64_t>(i)) +
                        std::popcount(static_cast<std::uint64_t>(i >> 64)));
}
Value floatIsInteger(Elaborator &, const Value &self, CallArgs &) {
  return Value::boolean(std::isfinite(self.asDouble()) &&
                        self.asDouble() == std::floor(self.asDouble()));
}
const Methods intMethods = {
    {"bit_length", intBitLength}, {"bit_count", intBitCount}, {"is_integer", floatIsInteger}};
const Methods floatMethods = {{"is_integer", floatIsInteger}};

const Methods *methodsOf(const Value &self) {
  switch (self.kind()) {
  case ValueKind::Str:
  case ValueKind::DType:
    return &strMethods;
  case ValueKind::List:
    return &listMethods;
  case ValueKind::Tuple:
    return &tupleMethods;
  case ValueKind::Dict:
    return &dictMethods;
  case ValueKind::Set:
    return &setMethods;
  case ValueKind::Int:
  case ValueKind::Bool:
    return &intMethods;
  case ValueKind::Float:
    return &floatMethods;
  default:
    return nullptr;
  }
}

} // namespace

std::optional<Value> methodOf(Elaborator &e, const Value &self, std::string_view name) {
  // str.join, dict.fromkeys: of the type itself.
  if (auto *type = self.as<BuiltinObject>()) {
    if (!type->isType)
      return std::nullopt;
    if (type->name == "dict" && name == "fromkeys")
      return makeClosure(e.heap, "dict.fromkeys", [](Elaborator &e, CallArgs &args) -> Value {
        Binding b(e, args, "iterable, value=, /");
        auto keys = b.ok ? e.items(b.at(0)->value, b.at(0)->range) : std::nullopt;
        if (!keys)
          return Value::error();
        auto *dict = e.heap.make<DictObject>();
        for (const Value &k : *keys)
          if (hashable(k))
            dict->table.set(k, b.value("value"));
        return Value::object(dict);
      });
    std::string method(name);
    if (name.starts_with("__"))
      return std::nullopt;
    return makeClosure(
        e.heap, type->name + "." + method, [method](Elaborator &e, CallArgs &args) -> Value {
          if (args.positional.empty())
            return Value::error();
          CallArgs inner = args;
          inner.positional.erase(inner.positional.begin());
          Value m =
              e.attribute(args.positional[0].value, method, args.calleeRange, args.calleeRange);
          return e.call(m, inner);
        });
  }
  const Methods *methods = methodsOf(self);
  if (!methods)
    return std::nullopt;
  auto it = methods->find(name);
  if (it == methods->end()) {
    if (!self.isDType())
      return std::nullopt;
    it = dtypeMethods.find(name);
    if (it == dtypeMethods.end())
      return std::nullopt;
  }
  Method method = it->second;
  return makeClosure(
      e.heap, typeName(self) + "." + std::string(name),
      [self, method](Elaborator &e, CallArgs &args) { return method(e, self, args); });
}

std::vector<std::string_view> methodNames(const Value &self) {
  std::vector<std::string_view> names;
  if (const Methods *methods = methodsOf(self))
    for (auto &[name, method] : *methods)
      names.push_back(name);
  return names;
}

} // namespace tlc::elaborate
