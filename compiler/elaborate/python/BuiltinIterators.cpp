// Python's built-in functions over iterables.
#include "elaborate/python/Builtins.h"

namespace tlc::elaborate {

Value unknownAmong(const CallArgs &args) {
  for (const CallArg &arg : args.positional)
    if (arg.value.isError() || arg.value.isPoison())
      return arg.value;
  for (const KeywordArg &arg : args.keywords)
    if (arg.value.isError() || arg.value.isPoison())
      return arg.value;
  return Value::none();
}

Value badArgument(Elaborator &e, const CallArg &arg, std::string_view what,
                  std::string_view wanted) {
  if (arg.value.isError() || arg.value.isPoison())
    return arg.value;
  e.report(diag::WrongType, arg.range, what, wanted, typeNameWithArticle(arg.value));
  return Value::error();
}

namespace {

Value makeIterator(Elaborator &e, std::function<std::optional<Value>()> next) {
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = std::move(next);
  return Value::object(iterator);
}

Value enumerate(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, start=");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  IteratorObject *source = e.iterate(b.at(0)->value, b.at(0)->range);
  Value start = b.value("start", Value::integer(0));
  if (!source || !start.isIntegral())
    return Value::error();
  return makeIterator(e, [&e, source, i = start.asInt()]() mutable -> std::optional<Value> {
    auto item = source->next();
    if (!item)
      return std::nullopt;
    return e.heap.tuple({Value::integer(i++), *item});
  });
}

std::optional<std::vector<IteratorObject *>>
iterators(Elaborator &e, const std::vector<CallArg> &args, std::size_t first) {
  std::vector<IteratorObject *> out;
  for (std::size_t i = first; i < args.size(); ++i) {
    IteratorObject *it = e.iterate(args[i].value, args[i].range);
    if (!it)
      return std::nullopt;
    out.push_back(it);
  }
  return out;
}

Value zip(Elaborator &e, CallArgs &args) {
  bool strict = false;
  for (const KeywordArg &k : args.keywords)
    if (k.name == "strict" && k.value.isBool())
      strict = k.value.asBool();
  Value unknown = unknownAmong(args);
  if (!unknown.isNone())
    return unknown;
  auto sources = iterators(e, args.positional, 0);
  if (!sources)
    return Value::error();
  SourceRange range = args.range;
  return makeIterator(e, [&e, sources = *sources, strict, range]() -> std::optional<Value> {
    std::vector<Value> items;
    for (IteratorObject *source : sources) {
      auto item = source->next();
      if (!item) {
        if (strict && !items.empty())
          e.report(diag::BadValue, range, "the arguments of `zip` differ in length");
        return std::nullopt;
      }
      items.push_back(*item);
    }
    return items.empty() ? std::nullopt : std::optional(e.heap.tuple(std::move(items)));
  });
}

Value map(Elaborator &e, CallArgs &args) {
  Value unknown = unknownAmong(args);
  if (!unknown.isNone())
    return unknown;
  if (args.positional.size() < 2) {
    e.report(diag::FunctionMissingArgument, args.range, "map", "iterable");
    return Value::error();
  }
  auto sources = iterators(e, args.positional, 1);
  if (!sources)
    return Value::error();
  Value f = args.positional[0].value;
  SourceRange range = args.range;
  return makeIterator(e, [&e, sources = *sources, f, range]() -> std::optional<Value> {
    std::vector<Value> items;
    for (IteratorObject *source : sources) {
      auto item = source->next();
      if (!item)
        return std::nullopt;
      items.push_back(*item);
    }
    return e.callWith(f, std::move(items), range);
  });
}

Value filter(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "function, iterable, /");
  if (!b.ok)
    return Value::error();
  Value unknown = unknownAmong(args);
  if (!unknown.isNone())
    return unknown;
  IteratorObject *source = e.iterate(b.at(1)->value, b.at(1)->range);
  if (!source)
    return Value::error();
  Value f = b.at(0)->value;
  SourceRange range = args.range;
  return makeIterator(e, [&e, source, f, range]() -> std::optional<Value> {
    while (auto item = source->next()) {
      auto keep = e.truth(f.isNone() ? *item : e.callWith(f, {*item}, range), range);
      if (!keep)
        return std::nullopt;
      if (*keep)
        return item;
    }
    return std::nullopt;
  });
}

Value reversed(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "sequence, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto items = e.items(b.at(0)->value, b.at(0)->range);
  if (!items)
    return Value::error();
  return makeIterator(e, [items = *items]() mutable -> std::optional<Value> {
    if (items.empty())
      return std::nullopt;
    Value v = items.back();
    items.pop_back();
    return v;
  });
}

Value anyAll(Elaborator &e, CallArgs &args, bool all) {
  Binding b(e, args, "iterable, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  IteratorObject *source = e.iterate(b.at(0)->value, b.at(0)->range);
  if (!source)
    return Value::error();
  while (auto item = source->next()) {
    if (item->isPoison())
      return *item;
    auto holds = e.truth(*item, b.at(0)->range);
    if (!holds) {
      if (item->isRuntime())
        e.report(diag::RuntimeConditionHere, b.at(0)->range, all ? "`all`" : "`any`");
      return Value::error();
    }
    if (*holds != all)
      return Value::boolean(!all);
  }
  return Value::boolean(all);
}
Value any(Elaborator &e, CallArgs &args) { return anyAll(e, args, false); }
Value all(Elaborator &e, CallArgs &args) { return anyAll(e, args, true); }

Value iter(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  IteratorObject *source = e.iterate(b.at(0)->value, b.at(0)->range);
  return source ? Value::object(source) : Value::error();
}

Value next(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterator, default=, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto *source = b.at(0)->value.as<IteratorObject>();
  if (!source) {
    if (auto r = callSpecial(e, b.at(0)->value, "__next__", {}, args.range))
      return *r;
    return badArgument(e, *b.at(0), "the argument of `next`", "an iterator");
  }
  if (auto item = source->next())
    return *item;
  if (const CallArg *otherwise = b.at(1))
    return otherwise->value;
  e.report(diag::BadValue, args.range, "the iterator has no more items");
  return Value::error();
}

Value sorted(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, /, *, key=, reverse=");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto items = e.items(b.at(0)->value, b.at(0)->range);
  if (!items)
    return Value::error();
  Value list = e.heap.list(*items);
  auto method = methodOf(e, list, "sort");
  CallArgs inner;
  inner.range = args.range;
  inner.calleeRange = args.calleeRange;
  inner.callee = args.callee;
  inner.keywords = args.keywords;
  return e.call(*method, inner).isError() ? Value::error() : list;
}

} // namespace

void installIterators(Elaborator &e, Scope &scope) {
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"enumerate", enumerate}, {"zip", zip},       {"map", map}, {"filter", filter},
      {"reversed", reversed},   {"any", any},       {"all", all}, {"iter", iter},
      {"next", next},           {"sorted", sorted},
  };
  for (auto [name, function] : functions) {
    Slot &slot = scope.slot(name);
    slot.value = makeBuiltin(e.heap, name, function);
    slot.bound = true;
  }
}

} // namespace tlc::elaborate
