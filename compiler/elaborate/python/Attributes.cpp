// Attributes and elements of compile-time values.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

#include <algorithm>

namespace tlc::elaborate {

namespace {

std::optional<Value> dtypeAttribute(Elaborator &e, const Value &self, std::string_view name) {
  DType type = self.asDType();
  unsigned bits = self.dtypeExtra() == DTypeExtra::Float4Unpacked ? 8
                  : self.dtypeExtra() == DTypeExtra::Handle       ? 64
                  : self.dtypeExtra() == DTypeExtra::Void         ? 0
                                                                  : type.bits();
  // TVM counts a bool as one bit... of a byte: DataType("bool").bits is 1.
  if (type.isBool() && self.dtypeExtra() == DTypeExtra::None)
    bits = 1;
  if (name == "bits" || name == "itemsize_bits")
    return Value::integer(bits);
  if (name == "bytes" || name == "itemsize")
    return Value::integer((bits * type.lanes + 7) / 8);
  if (name == "lanes")
    return Value::integer(type.lanes);
  if (name == "name")
    return e.str(self.asText());
  return std::nullopt;
}

std::optional<Value> enumAttribute(Elaborator &e, EnumMemberObject &self, const Value &value,
                                   std::string_view name) {
  if (name == "name" || name == "_name_")
    return e.str(self.name);
  if (name == "value" || name == "_value_")
    return self.value;
  if (self.cls->name == "GemmWarpPolicy")
    if (auto found = warpPolicyAttribute(e, value, name))
      return found;
  if (auto found = classAttribute(e, *self.cls, name)) {
    if (found->is(ValueKind::Function)) {
      auto *method = e.heap.make<BoundMethodObject>();
      method->self = value;
      method->function = *found;
      return Value::object(method);
    }
    return found;
  }
  return std::nullopt;
}

std::optional<Value> find(Elaborator &e, const Value &base, std::string_view name,
                          SourceRange range) {
  switch (base.kind()) {
  case ValueKind::Module:
    return moduleAttribute(e, *base.as<ModuleObject>(), name, range);
  case ValueKind::Class: {
    auto &cls = *base.as<ClassObject>();
    if (name == "__name__" || name == "__qualname__")
      return e.str(cls.name);
    return classAttribute(e, cls, name);
  }
  case ValueKind::Instance:
    return instanceAttribute(e, *base.as<InstanceObject>(), name, range);
  case ValueKind::EnumMember:
    return enumAttribute(e, *base.as<EnumMemberObject>(), base, name);
  case ValueKind::Function:
    return functionAttribute(e, base, name);
  case ValueKind::Poison: {
    const auto *poison = base.as<PoisonObject>();
    return e.makePoison(poison->origin + "." + std::string(name),
                        poison->range.valid() ? poison->range : range, poison->reason);
  }
  case ValueKind::Native:
    return static_cast<NativeObject *>(base.asObject())->attribute(e, name, range);
  case ValueKind::Expr:
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return runtimeAttribute(e, base, name, range);
  case ValueKind::DType:
    if (auto found = dtypeAttribute(e, base, name))
      return found;
    return methodOf(e, base, name);
  case ValueKind::Tuple: {
    auto *tuple = base.as<TupleObject>();
    for (std::size_t i = 0; i < tuple->names.size(); ++i)
      if (tuple->names[i] == name)
        return tuple->items[i];
    return methodOf(e, base, name);
  }
  case ValueKind::Builtin: {
    const std::string &full = base.as<BuiltinObject>()->name;
    if (name == "__name__" || name == "__qualname__")
      return e.str(full.substr(full.rfind('.') + 1));
    return methodOf(e, base, name);
  }
  case ValueKind::Slice: {
    auto *s = base.as<SliceObject>();
    if (name == "start")
      return s->lower;
    if (name == "stop")
      return s->upper;
    if (name == "step")
      return s->step;
    return std::nullopt;
  }
  case ValueKind::Range: {
    auto *r = base.as<RangeObject>();
    if (name == "start")
      return Value::integer(r->start);
    if (name == "stop")
      return Value::integer(r->stop);
    if (name == "step")
      return Value::integer(r->step);
    return std::nullopt;
  }
  default:
    return methodOf(e, base, name);
  }
}

std::vector<std::string_view> attributeNames(Elaborator &e, const Value &base) {
  std::vector<std::string_view> names;
  auto scopeNames = [&](Scope *scope) {
    if (scope)
      for (auto &[name, slot] : scope->names)
        names.push_back(name);
  };
  if (auto *module = base.as<ModuleObject>()) {
    scopeNames(module->globals);
    if (module->name == "tilelang.language")
      names = languageNames();
  } else if (auto *cls = base.as<ClassObject>()) {
    scopeNames(cls->scope);
    for (const Value &member : cls->members)
      names.push_back(member.as<EnumMemberObject>()->name);
  } else if (auto *instance = base.as<InstanceObject>()) {
    for (auto &[name, value] : instance->attributes)
      names.push_back(name);
    scopeNames(instance->cls->scope);
  } else if (base.isExpr() || base.isBuffer() || base.isCell())
    names = runtimeAttributeNames(base);
  else if (base.isDType())
    names = {"bits", "bytes", "lanes"};
  else
    names = methodNames(base);
  (void)e;
  std::sort(names.begin(), names.end());
  return names;
}

std::string describeBase(const Value &base) {
  if (auto *module = base.as<ModuleObject>())
    return "module `" + module->name + "`";
  if (auto *cls = base.as<ClassObject>())
    return "class `" + cls->name + "`";
  if (auto *function = base.as<FunctionObject>())
    return "`" + function->name + "`";
  return typeNameWithArticle(base);
}

// ---- Elements

std::optional<std::size_t> position(Elaborator &e, const Value &index, std::size_t size,
                                    std::string_view what, SourceRange range) {
  Int i = index.asInt();
  Int at = i < 0 ? i + Int(size) : i;
  if (at < 0 || at >= Int(size)) {
    e.report(diag::IndexOutOfRange, range, decimal(i), what, size);
    return std::nullopt;
  }
  return static_cast<std::size_t>(at);
}

struct Steps {
  std::vector<std::size_t> at;
};

// Positions that a slice selects from `size` items.
std::optional<Steps> selected(Elaborator &e, const SliceObject &slice, std::size_t size) {
  auto part = [&](const Value &v, Int otherwise, SourceRange range) -> std::optional<Int> {
    if (v.isNone())
      return otherwise;
    if (v.isIntegral())
      return v.asInt();
    if (e.usable(v, range, "the slice cannot be taken")) {
      if (v.isRuntime())
        e.report(diag::RuntimeConditionHere, range, "a slice of a sequence");
      else
        e.report(diag::WrongType, range, "a slice index", "an int", typeNameWithArticle(v));
    }
    return std::nullopt;
  };
  auto step = part(slice.step, 1, slice.stepRange);
  if (!step)
    return std::nullopt;
  if (*step == 0) {
    e.report(diag::BadValue, slice.stepRange, "the step of a slice cannot be 0");
    return std::nullopt;
  }
  Int n = Int(size);
  auto lower = part(slice.lower, *step > 0 ? 0 : n - 1, slice.lowerRange);
  auto upper = part(slice.upper, *step > 0 ? n : -1, slice.upperRange);
  if (!lower || !upper)
    return std::nullopt;
  auto clamp = [&](Int i, bool given) {
    if (given && i < 0)
      i += n;
    return *step > 0 ? std::clamp(i, Int(0), n) : std::clamp(i, Int(-1), n - 1);
  };
  Int from = clamp(*lower, !slice.lower.isNone()), to = clamp(*upper, !slice.upper.isNone());
  Steps out;
  for (Int i = from; *step > 0 ? i < to : i > to; i += *step)
    out.at.push_back(static_cast<std::size_t>(i));
  e.charge(out.at.size(), slice.lowerRange);
  return out;
}

// Code points of UTF-8 text.
std::vector<std::string> characters(const std::string &text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t n = 1;
    while (i + n < text.size() && (static_cast<unsigned char>(text[i + n]) & 0xc0) == 0x80)
      ++n;
    out.push_back(text.substr(i, n));
    i += n;
  }
  return out;
}

Value wrongIndex(Elaborator &e, const Value &base, const Value &index, SourceRange range) {
  if (index.isPoison())
    return index;
  if (index.isRuntime())
    e.report(diag::RuntimeConditionHere, range, "the index of " + typeNameWithArticle(base));
  else
    e.report(diag::WrongType, range, "the index of " + typeNameWithArticle(base), "an int",
             typeNameWithArticle(index));
  return Value::error();
}

Value plainIndex(const Value &index) {
  if (index.isExpr() && index.asExpr().isInt())
    return Value::integer(index.asExpr()->integer);
  auto *member = index.as<EnumMemberObject>();
  return member && member->value.isInt() ? member->value : index;
}

Value sequenceItem(Elaborator &e, const Value &base, const Value &index, SourceRange range) {
  std::vector<Value> items;
  if (base.isText())
    for (std::string &c : characters(base.asText()))
      items.push_back(e.str(std::move(c)));
  const std::vector<Value> &from = base.isText()               ? items
                                   : base.is(ValueKind::Tuple) ? base.as<TupleObject>()->items
                                                               : base.as<ListObject>()->items;
  if (auto *slice = index.as<SliceObject>()) {
    auto steps = selected(e, *slice, from.size());
    if (!steps)
      return Value::error();
    if (base.isText()) {
      std::string text;
      for (std::size_t i : steps->at)
        text += from[i].asText();
      return e.str(std::move(text));
    }
    std::vector<Value> out;
    for (std::size_t i : steps->at)
      out.push_back(from[i]);
    return base.is(ValueKind::Tuple) ? e.heap.tuple(std::move(out)) : e.heap.list(std::move(out));
  }
  if (!index.isIntegral())
    return wrongIndex(e, base, index, range);
  auto at = position(e, index, from.size(), typeNameWithArticle(base), range);
  return at ? from[*at] : Value::error();
}

Value rangeItem(Elaborator &e, const RangeObject &r, const Value &base, const Value &index,
                SourceRange range) {
  if (index.isIntegral()) {
    Int i = index.asInt() < 0 ? index.asInt() + r.size() : index.asInt();
    if (i >= 0 && i < r.size())
      return Value::integer(r.start + i * r.step);
    e.report(diag::IndexOutOfRange, range, decimal(index.asInt()), "a range",
             static_cast<long long>(r.size()));
    return Value::error();
  }
  auto *slice = index.as<SliceObject>();
  if (!slice)
    return wrongIndex(e, base, index, range);
  e.charge(static_cast<std::uint64_t>(std::min(r.size(), Int(1) << 62)), range);
  auto steps = selected(e, *slice, static_cast<std::size_t>(r.size()));
  if (!steps)
    return Value::error();
  std::vector<Value> out;
  for (std::size_t i : steps->at)
    out.push_back(Value::integer(r.start + Int(i) * r.step));
  return e.heap.list(std::move(out));
}

Value enumItem(Elaborator &e, ClassObject &cls, const Value &index, SourceRange range) {
  evaluateClass(e, cls, range);
  if (index.isText())
    for (const Value &member : cls.members)
      if (member.as<EnumMemberObject>()->name == index.asText())
        return member;
  e.report(diag::KeyNotFound, range, repr(index));
  return Value::error();
}

void keyNotFound(Elaborator &e, const DictObject &dict, const Value &key, SourceRange range) {
  auto builder = e.report(diag::KeyNotFound, range, repr(key));
  if (!key.isText())
    return;
  std::vector<std::string> texts;
  for (const Value &known : dict.table.keys())
    if (known.isText())
      texts.push_back(known.asText());
  std::vector<std::string_view> views(texts.begin(), texts.end());
  if (auto near = didYouMean(key.asText(), views); !near.empty())
    builder.help("did you mean '" + std::string(near) + "'?");
}

} // namespace

std::optional<Value> Elaborator::findAttribute(const Value &base, std::string_view name) {
  return find(*this, base, name, currentRange);
}

Value Elaborator::attribute(const Value &base, std::string_view name, SourceRange nameRange,
                            SourceRange range) {
  if (base.isError())
    return base;
  std::size_t before = diagnostics.errorCount();
  if (auto found = find(*this, base, name, range)) {
    if (auto *poison = found->as<PoisonObject>(); poison && !poison->range.valid())
      poison->range = range;
    return *found;
  }
  if (diagnostics.errorCount() == before)
    report(diag::NoAttribute, nameRange, describeBase(base), name,
           didYouMeanText(name, attributeNames(*this, base)));
  return Value::error();
}

void Elaborator::setAttribute(const Value &base, std::string_view name, const Value &value,
                              SourceRange range) {
  if (base.isError() || base.isPoison())
    return;
  if (auto *instance = base.as<InstanceObject>()) {
    if (!instance->cls->frozen) {
      // A cell held by an object is a place like a name bound to one.
      if (Value *old = instance->find(name); old && old->isCell() && !value.isCell() && kernel) {
        storeCell(*this, *old->asBuffer(), value, range);
        return;
      }
      instance->set(name, value);
      return;
    }
  } else if (auto *cls = base.as<ClassObject>()) {
    evaluateClass(*this, *cls, range);
    if (cls->scope) {
      Slot &slot = cls->scope->slot(std::string(name));
      slot.value = value;
      slot.bound = true;
      return;
    }
  } else if (auto *module = base.as<ModuleObject>()) {
    if (module->globals) {
      Slot &slot = module->globals->slot(std::string(name));
      slot.value = value;
      slot.bound = true;
      return;
    }
  } else if (base.is(ValueKind::Function))
    return; // marks that a library puts on functions
  else if (base.is(ValueKind::Native) &&
           static_cast<NativeObject *>(base.asObject())->setAttribute(*this, name, value, range))
    return;
  report(diag::BadAssignmentTarget, range,
         "the attribute `" + std::string(name) + "` of " + typeNameWithArticle(base));
}

Value Elaborator::subscript(const Value &base, const Value &givenIndex,
                            const ast::Subscript &node) {
  Value index = plainIndex(givenIndex);
  SourceRange indexRange = node.slice->range;
  switch (base.kind()) {
  case ValueKind::Error:
    return base;
  case ValueKind::Poison: {
    const auto *poison = base.as<PoisonObject>();
    return makePoison(poison->origin, poison->range, poison->reason);
  }
  case ValueKind::Str:
  case ValueKind::DType:
  case ValueKind::Tuple:
  case ValueKind::List:
    return sequenceItem(*this, base, index, indexRange);
  case ValueKind::Range:
    return rangeItem(*this, *base.as<RangeObject>(), base, index, indexRange);
  case ValueKind::Dict: {
    if (index.isPoison())
      return index;
    if (!hashable(index)) {
      report(diag::Unhashable, indexRange, typeNameWithArticle(index));
      return Value::error();
    }
    if (const Value *item = base.as<DictObject>()->table.find(index))
      return *item;
    if (index.isRuntime())
      return wrongIndex(*this, base, index, indexRange);
    keyNotFound(*this, *base.as<DictObject>(), index, indexRange);
    return Value::error();
  }
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return runtimeSubscript(*this, base, givenIndex, node);
  case ValueKind::Native:
    if (auto item =
            static_cast<NativeObject *>(base.asObject())->subscript(*this, givenIndex, node))
      return *item;
    break;
  case ValueKind::Instance:
    if (auto item = callSpecial(*this, base, "__getitem__", {givenIndex}, node.range))
      return *item;
    break;
  case ValueKind::Class:
    if (base.as<ClassObject>()->isEnum)
      return enumItem(*this, *base.as<ClassObject>(), index, indexRange);
    return base; // List[int], Generic[T]
  case ValueKind::Builtin:
    if (base.as<BuiltinObject>()->isType)
      return base; // list[int]
    if (base.as<BuiltinObject>()->closure) {
      // T.Tensor[shape, dtype] is T.Tensor(shape, dtype).
      CallArgs args;
      args.range = node.range;
      args.calleeRange = node.value->range;
      args.callee = base.as<BuiltinObject>()->name;
      for (const Value &v : toList(index))
        args.positional.push_back({v, indexRange, nullptr});
      return call(base, args);
    }
    break;
  case ValueKind::Function: {
    auto *function = base.as<FunctionObject>();
    if (function->role == FunctionRole::Jit)
      return base;
    break;
  }
  default:
    break;
  }
  report(diag::NotSubscriptable, node.value->range, typeNameWithArticle(base));
  return Value::error();
}

void Elaborator::setSubscript(const Value &base, const Value &givenIndex, const Value &value,
                              const ast::Subscript &node, SourceRange valueRange) {
  Value index = plainIndex(givenIndex);
  switch (base.kind()) {
  case ValueKind::Error:
  case ValueKind::Poison:
    return;
  case ValueKind::List: {
    auto &items = base.as<ListObject>()->items;
    if (index.isIntegral()) {
      if (auto at = position(*this, index, items.size(), "a list", node.slice->range))
        items[*at] = kernel ? pin(*this, value, "", valueRange) : value;
      return;
    }
    auto *slice = index.as<SliceObject>();
    if (!slice) {
      wrongIndex(*this, base, index, node.slice->range);
      return;
    }
    auto steps = selected(*this, *slice, items.size());
    auto more = this->items(value, valueRange);
    if (!steps || !more)
      return;
    bool contiguous = slice->step.isNone();
    if (contiguous) {
      std::size_t from =
          steps->at.empty()
              ? std::min<std::size_t>(slice->lower.isIntegral() && slice->lower.asInt() >= 0
                                          ? static_cast<std::size_t>(slice->lower.asInt())
                                          : 0,
                                      items.size())
              : steps->at.front();
      auto begin = items.begin() + static_cast<std::ptrdiff_t>(from);
      items.erase(begin, begin + static_cast<std::ptrdiff_t>(steps->at.size()));
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(from), more->begin(), more->end());
    } else if (steps->at.size() == more->size())
      for (std::size_t i = 0; i < steps->at.size(); ++i)
        items[steps->at[i]] = (*more)[i];
    else
      report(diag::UnpackCount, node.range, more->size(), steps->at.size());
    return;
  }
  case ValueKind::Dict:
    if (!hashable(index))
      report(diag::Unhashable, node.slice->range, typeNameWithArticle(index));
    else
      base.as<DictObject>()->table.set(index, kernel ? pin(*this, value, "", valueRange) : value);
    return;
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return runtimeSetSubscript(*this, base, givenIndex, value, node, valueRange);
  case ValueKind::Native:
    if (static_cast<NativeObject *>(base.asObject())->setSubscript(*this, givenIndex, value, node))
      return;
    break;
  case ValueKind::Instance:
    if (callSpecial(*this, base, "__setitem__", {givenIndex, value}, node.range))
      return;
    break;
  default:
    break;
  }
  report(diag::BadAssignmentTarget, node.range, "an element of " + typeNameWithArticle(base));
}

} // namespace tlc::elaborate
