// itertools and functools.
#include "elaborate/runtime/Runtime.h"
#include "elaborate/shims/Shims.h"

#include <algorithm>

namespace tlc::elaborate {

// ---- itertools

namespace {

Value iteratorOf(Elaborator &e, std::vector<Value> items) {
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [items = std::move(items),
                    i = std::size_t(0)]() mutable -> std::optional<Value> {
    return i < items.size() ? std::optional(items[i++]) : std::nullopt;
  };
  return Value::object(iterator);
}

Value product(Elaborator &e, CallArgs &args) {
  std::vector<std::vector<Value>> pools;
  std::int64_t repeat = 1;
  for (const KeywordArg &k : args.keywords)
    if (k.name == "repeat") {
      auto n = e.toInt(k.value, k.range, "`repeat`");
      if (!n)
        return Value::error();
      repeat = *n;
    }
  std::uint64_t total = 1;
  for (std::int64_t r = 0; r < repeat; ++r)
    for (const CallArg &arg : args.positional) {
      if (arg.value.isPoison())
        return arg.value;
      auto items = e.items(arg.value, arg.range);
      if (!items)
        return Value::error();
      total =
          std::min<std::uint64_t>(total * std::max<std::size_t>(items->size(), 1), stepLimit + 1);
      e.charge(total, args.range);
      pools.push_back(std::move(*items));
    }
  auto *iterator = e.heap.make<IteratorObject>();
  bool empty = std::any_of(pools.begin(), pools.end(), [](auto &p) { return p.empty(); });
  iterator->next = [&e, pools = std::move(pools), at = std::vector<std::size_t>(),
                    done = empty]() mutable -> std::optional<Value> {
    if (done)
      return std::nullopt;
    if (at.empty())
      at.resize(pools.size(), 0);
    std::vector<Value> items;
    for (std::size_t i = 0; i < pools.size(); ++i)
      items.push_back(pools[i][at[i]]);
    std::size_t i = pools.size();
    while (i > 0 && ++at[i - 1] == pools[i - 1].size())
      at[--i] = 0;
    done = i == 0;
    return e.heap.tuple(std::move(items));
  };
  return Value::object(iterator);
}

Value chain(Elaborator &e, CallArgs &args) {
  std::vector<Value> all;
  for (const CallArg &arg : args.positional) {
    auto items = e.items(arg.value, arg.range);
    if (!items)
      return Value::error();
    all.insert(all.end(), items->begin(), items->end());
  }
  return iteratorOf(e, std::move(all));
}

Value selections(Elaborator &e, CallArgs &args, bool ordered) {
  Binding b(e, args, "iterable, r=");
  auto items = b.ok ? e.items(b.at(0)->value, b.at(0)->range) : std::nullopt;
  if (!items)
    return Value::error();
  std::size_t n = items->size(), r = n;
  if (b.at(1)) {
    auto given = e.toInt(b.at(1)->value, b.at(1)->range, "`r`");
    if (!given || *given < 0)
      return Value::error();
    r = static_cast<std::size_t>(*given);
  }
  std::vector<Value> out;
  std::vector<std::size_t> picked;
  std::function<void()> pick = [&] {
    e.charge(1, args.range);
    if (picked.size() == r) {
      std::vector<Value> one;
      for (std::size_t i : picked)
        one.push_back((*items)[i]);
      out.push_back(e.heap.tuple(std::move(one)));
      return;
    }
    for (std::size_t i = ordered || picked.empty() ? 0 : picked.back() + 1; i < n; ++i) {
      if (std::find(picked.begin(), picked.end(), i) != picked.end())
        continue;
      picked.push_back(i);
      pick();
      picked.pop_back();
    }
  };
  pick();
  return iteratorOf(e, std::move(out));
}
Value combinations(Elaborator &e, CallArgs &args) { return selections(e, args, false); }
Value permutations(Elaborator &e, CallArgs &args) { return selections(e, args, true); }

Value accumulate(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, func=, *, initial=");
  auto items = b.ok ? e.items(b.at(0)->value, b.at(0)->range) : std::nullopt;
  if (!items)
    return Value::error();
  Value f = b.value("func");
  std::vector<Value> out;
  if (b.at(2) && !b.at(2)->value.isNone())
    items->insert(items->begin(), b.at(2)->value);
  for (const Value &v : *items)
    out.push_back(out.empty()  ? v
                  : f.isNone() ? e.binary(ast::BinaryOperator::Add, out.back(), v, args.range,
                                          args.range, args.range)
                               : e.callWith(f, {out.back(), v}, args.range));
  return iteratorOf(e, std::move(out));
}

Value count(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "start=, step=");
  if (!b.ok)
    return Value::error();
  Value at = b.value("start", Value::integer(0)), step = b.value("step", Value::integer(1));
  SourceRange range = args.range;
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [&e, at, step, range]() mutable -> std::optional<Value> {
    e.charge(1, range);
    Value now = at;
    at = e.binary(ast::BinaryOperator::Add, at, step, range, range, range);
    return now;
  };
  return Value::object(iterator);
}

Value repeatOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "object, times=");
  if (!b.ok)
    return Value::error();
  std::int64_t left = -1;
  if (b.at(1)) {
    auto n = e.toInt(b.at(1)->value, b.at(1)->range, "`times`");
    if (!n)
      return Value::error();
    left = std::max<std::int64_t>(*n, 0);
  }
  Value v = b.at(0)->value;
  SourceRange range = args.range;
  auto *iterator = e.heap.make<IteratorObject>();
  iterator->next = [&e, left, v, range]() mutable -> std::optional<Value> {
    e.charge(1, range);
    if (left == 0)
      return std::nullopt;
    if (left > 0)
      --left;
    return v;
  };
  return Value::object(iterator);
}

Value islice(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, start, stop=, step=, /");
  IteratorObject *source = b.ok ? e.iterate(b.at(0)->value, b.at(0)->range) : nullptr;
  if (!source)
    return Value::error();
  Value first = b.at(2) ? b.at(1)->value : Value::integer(0);
  Value last = b.at(2) ? b.at(2)->value : b.at(1)->value;
  Int from = first.isIntegral() ? first.asInt() : 0;
  Int to = last.isIntegral() ? last.asInt() : Int(stepLimit);
  std::vector<Value> out;
  for (Int i = 0; i < to; ++i) {
    e.charge(1, args.range);
    auto item = source->next();
    if (!item)
      break;
    if (i >= from)
      out.push_back(*item);
  }
  return iteratorOf(e, std::move(out));
}

} // namespace

void fillItertools(Elaborator &e, ModuleObject &m) {
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"product", product},           {"chain", chain},           {"combinations", combinations},
      {"permutations", permutations}, {"accumulate", accumulate}, {"count", count},
      {"repeat", repeatOf},           {"islice", islice},
  };
  for (auto [name, function] : functions)
    defineFunctionIn(e, m, name, function);
}

// ---- functools

namespace {

Value partial(Elaborator &e, CallArgs &args) {
  if (args.positional.empty()) {
    e.report(diag::FunctionMissingArgument, args.range, "partial", "func");
    return Value::error();
  }
  Value f = args.positional[0].value;
  CallArgs fixed = args;
  fixed.positional.erase(fixed.positional.begin());
  if (auto *function = f.as<FunctionObject>(); function && function->role == FunctionRole::Plain) {
    auto *made = e.heap.make<FunctionObject>();
    made->name = function->name;
    made->def = function->def;
    made->lambda = function->lambda;
    made->closure = function->closure;
    made->defaults = function->defaults;
    made->owner = function->owner;
    made->boundPositional = function->boundPositional;
    made->boundKeywords = function->boundKeywords;
    for (const CallArg &arg : fixed.positional)
      made->boundPositional.push_back(arg.value);
    for (const KeywordArg &k : fixed.keywords) {
      std::erase_if(made->boundKeywords, [&](auto &old) { return old.first == k.name; });
      made->boundKeywords.emplace_back(k.name, k.value);
    }
    return Value::object(made);
  }
  return makeClosure(e.heap, "partial", [f, fixed](Elaborator &e, CallArgs &more) {
    CallArgs all = more;
    all.positional.insert(all.positional.begin(), fixed.positional.begin(), fixed.positional.end());
    for (const KeywordArg &k : fixed.keywords) {
      bool given = std::any_of(more.keywords.begin(), more.keywords.end(),
                               [&](const KeywordArg &x) { return x.name == k.name; });
      if (!given)
        all.keywords.push_back(k);
    }
    return e.call(f, all);
  });
}

Value reduce(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "function, iterable, initial=, /");
  auto items = b.ok ? e.items(b.at(1)->value, b.at(1)->range) : std::nullopt;
  if (!items)
    return Value::error();
  if (b.at(2))
    items->insert(items->begin(), b.at(2)->value);
  if (items->empty()) {
    e.report(diag::BadValue, args.range, "`reduce` of nothing");
    return Value::error();
  }
  Value total = (*items)[0];
  for (std::size_t i = 1; i < items->size(); ++i)
    total = e.callWith(b.at(0)->value, {total, (*items)[i]}, args.range);
  return total;
}

// @wraps(f) and @lru_cache(...) keep what they decorate.
Value keepDecorated(Elaborator &e, CallArgs &) {
  return makeBuiltin(e.heap, "decorator", returnFirst);
}
Value cacheOf(Elaborator &e, CallArgs &args) {
  bool decorates = args.positional.size() == 1 && args.positional[0].value.is(ValueKind::Function);
  return decorates ? args.positional[0].value : keepDecorated(e, args);
}

} // namespace

void fillFunctools(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "partial", partial);
  defineFunctionIn(e, m, "reduce", reduce);
  defineFunctionIn(e, m, "wraps", keepDecorated);
  defineFunctionIn(e, m, "lru_cache", cacheOf);
  defineFunctionIn(e, m, "cache", cacheOf);
  defineIn(m, "cached_property", e.parts->builtins->find("property")->value);
  defineFunctionIn(e, m, "singledispatch", returnFirst);
  defineFunctionIn(e, m, "total_ordering", returnFirst);
  defineFunctionIn(e, m, "cmp_to_key", returnFirst);
}

} // namespace tlc::elaborate
