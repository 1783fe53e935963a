// Iterating at compile time.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

namespace tlc::elaborate {

namespace {

IteratorObject *overItems(Elaborator &e, std::vector<Value> items) {
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [items = std::move(items),
                    i = std::size_t(0)]() mutable -> std::optional<Value> {
    return i < items.size() ? std::optional(items[i++]) : std::nullopt;
  };
  return iterator;
}

// A list may grow while it is iterated.
IteratorObject *overList(Elaborator &e, ListObject *list) {
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [list, i = std::size_t(0)]() mutable -> std::optional<Value> {
    return i < list->items.size() ? std::optional(list->items[i++]) : std::nullopt;
  };
  return iterator;
}

IteratorObject *overRange(Elaborator &e, const RangeObject &range) {
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [at = range.start, left = range.size(),
                    step = range.step]() mutable -> std::optional<Value> {
    if (left == 0)
      return std::nullopt;
    --left;
    Value value = Value::integer(at);
    if (left)
      at += step;
    return value;
  };
  return iterator;
}

IteratorObject *overInstance(Elaborator &e, const Value &value, SourceRange range) {
  if (auto made = callSpecial(e, value, "__iter__", {}, range)) {
    if (!made->is(ValueKind::Instance))
      return made->isError() ? nullptr : e.iterate(*made, range);
    Value self = *made;
    auto *iterator = e.heap.make<IteratorObject>();
    iterator->next = [&e, self, range]() -> std::optional<Value> {
      ++e.parts->tryDepth;
      std::optional<Value> item;
      try {
        item = callSpecial(e, self, "__next__", {}, range);
      } catch (const RaisedException &) {
        item = std::nullopt; // StopIteration
      }
      --e.parts->tryDepth;
      return item;
    };
    return iterator;
  }
  auto count = callSpecial(e, value, "__len__", {}, range);
  if (!count || !count->isIntegral())
    return nullptr;
  auto *iterator = e.heap.make<IteratorObject>();
  Int n = count->asInt();
  iterator->next = [&e, value, range, n, i = Int(0)]() mutable -> std::optional<Value> {
    if (i >= n)
      return std::nullopt;
    return callSpecial(e, value, "__getitem__", {Value::integer(i++)}, range);
  };
  return iterator;
}

} // namespace

IteratorObject *Elaborator::iterate(const Value &value, SourceRange range) {
  switch (value.kind()) {
  case ValueKind::Error:
    return nullptr;
  case ValueKind::Poison:
    poisonError(value, range, "it cannot be iterated");
    return nullptr;
  case ValueKind::Iterator:
    return value.as<IteratorObject>();
  case ValueKind::Tuple:
    return overItems(*this, value.as<TupleObject>()->items);
  case ValueKind::List:
    return overList(*this, value.as<ListObject>());
  case ValueKind::Dict:
    return overItems(*this, value.as<DictObject>()->table.keys());
  case ValueKind::Set:
    return overItems(*this, value.as<SetObject>()->table.keys());
  case ValueKind::Range:
    return overRange(*this, *value.as<RangeObject>());
  case ValueKind::Str:
  case ValueKind::DType: {
    std::vector<Value> items;
    std::string text = value.asText();
    for (std::size_t i = 0; i < text.size();) {
      std::size_t n = 1;
      while (i + n < text.size() && (static_cast<unsigned char>(text[i + n]) & 0xc0) == 0x80)
        ++n;
      items.push_back(str(text.substr(i, n)));
      i += n;
    }
    return overItems(*this, std::move(items));
  }
  case ValueKind::Class:
    if (value.as<ClassObject>()->isEnum) {
      evaluateClass(*this, *value.as<ClassObject>(), range);
      return overItems(*this, value.as<ClassObject>()->members);
    }
    break;
  case ValueKind::Instance:
    if (IteratorObject *iterator = overInstance(*this, value, range))
      return iterator;
    break;
  case ValueKind::Native:
    if (auto items = static_cast<NativeObject *>(value.asObject())->items(*this))
      return overItems(*this, std::move(*items));
    if (!value.isRuntime()) {
      if (!inKernel() && frame().function)
        report(diag::RuntimeLoopInFunction, range, typeName(value), frame().function->name);
      else
        report(diag::NotIterable, range, typeNameWithArticle(value));
      return nullptr;
    }
    break;
  default:
    break;
  }
  report(diag::NotIterable, range, typeNameWithArticle(value));
  return nullptr;
}

std::optional<std::vector<Value>> Elaborator::items(const Value &value, SourceRange range) {
  auto copied = [&](const std::vector<Value> &from) {
    chargeBytes(from.size() * sizeof(Value), range);
    return from;
  };
  if (auto *tuple = value.as<TupleObject>())
    return copied(tuple->items);
  if (auto *list = value.as<ListObject>())
    return copied(list->items);
  IteratorObject *iterator = iterate(value, range);
  if (!iterator)
    return std::nullopt;
  std::vector<Value> out;
  while (auto item = iterator->next()) {
    chargeBytes(sizeof(Value), range);
    out.push_back(*item);
  }
  return out;
}

} // namespace tlc::elaborate
