// Evaluating expressions.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

namespace tlc::elaborate {

namespace {

Value constant(Elaborator &e, const ast::Constant &node) {
  switch (node.type) {
  case ast::ConstantType::None:
    return Value::none();
  case ast::ConstantType::Bool:
    return Value::boolean(node.boolValue);
  case ast::ConstantType::Ellipsis:
    return Value::ellipsis();
  case ast::ConstantType::Int:
    if (node.overflow) {
      e.report(diag::IntegerOverflow, node.range, std::string(e.sources.text(node.range)));
      return Value::error();
    }
    return Value::integer(node.intValue);
  case ast::ConstantType::Float:
    return Value::real(node.floatValue);
  case ast::ConstantType::Complex:
    e.report(diag::NotAtCompileTime, node.range, "complex arithmetic");
    return Value::error();
  case ast::ConstantType::Str:
    return e.str(node.text);
  case ast::ConstantType::Bytes: {
    auto *bytes = e.heap.make<BytesObject>();
    bytes->bytes = node.text;
    return Value::object(bytes);
  }
  }
  return Value::error();
}

Value joined(Elaborator &e, const ast::JoinedStr &node);

Value formatted(Elaborator &e, const ast::FormattedValue &node) {
  Value value = e.evalPinned(*node.value);
  if (value.isError() || value.isPoison())
    return value;
  std::string spec;
  if (node.formatSpec) {
    Value text = joined(e, *node.formatSpec);
    if (!text.isText())
      return text;
    spec = text.asText();
  }
  if (node.conversion)
    value = e.str(node.conversion == 's' ? str(value) : repr(value));
  auto text = formatValue(e, value, spec, node.range);
  return text ? e.str(*text) : Value::error();
}

Value joined(Elaborator &e, const ast::JoinedStr &node) {
  std::string text;
  Value odd = Value::none();
  for (const ast::Expr *part : node.values) {
    Value value = part->is<ast::FormattedValue>() ? formatted(e, *part->as<ast::FormattedValue>())
                                                  : e.eval(*part);
    if (!value.isText()) {
      if (odd.isNone())
        odd = value; // error or poison
      continue;
    }
    e.chargeBytes(value.asText().size(), node.range);
    text += value.asText();
  }
  if (!odd.isNone())
    return odd;
  return e.str(std::move(text));
}

// Elements of a display, with `*x` unpacked. Elements and cells are read here.
std::optional<std::vector<Value>> elements(Elaborator &e, const ast::ExprList &list) {
  std::vector<Value> out;
  out.reserve(list.size());
  for (const ast::Expr *item : list) {
    if (auto *star = item->as<ast::Starred>()) {
      Value value = e.eval(*star->value);
      if (value.isError() || !e.usable(value, star->range, "it cannot be unpacked"))
        return std::nullopt;
      auto more = e.items(value, star->range);
      if (!more)
        return std::nullopt;
      out.insert(out.end(), more->begin(), more->end());
    } else
      out.push_back(e.evalPinned(*item));
  }
  return out;
}

Value setOf(Elaborator &e, const ast::Set &node) {
  auto items = elements(e, node.elements);
  if (!items)
    return Value::error();
  auto *set = e.heap.make<SetObject>();
  for (std::size_t i = 0; i < items->size(); ++i) {
    if ((*items)[i].isError())
      return Value::error();
    if (!hashable((*items)[i])) {
      e.report(diag::Unhashable, node.range, typeNameWithArticle((*items)[i]));
      return Value::error();
    }
    set->table.set((*items)[i], Value::none());
  }
  return Value::object(set);
}

Value dictOf(Elaborator &e, const ast::Dict &node) {
  auto *dict = e.heap.make<DictObject>();
  bool ok = true;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (!node.keys[i]) { // **value
      Value more = e.eval(*node.values[i]);
      if (auto *other = more.as<DictObject>())
        other->table.forEach([&](const Value &k, const Value &v) { dict->table.set(k, v); });
      else if (more.isPoison())
        return more;
      else {
        if (!more.isError())
          e.report(diag::WrongType, node.values[i]->range, "what follows `**`", "a dict",
                   typeNameWithArticle(more));
        ok = false;
      }
      continue;
    }
    Value key = e.evalPinned(*node.keys[i]);
    Value value = e.evalPinned(*node.values[i]);
    if (key.isError()) {
      ok = false;
      continue;
    }
    if (!hashable(key)) {
      e.report(diag::Unhashable, node.keys[i]->range, typeNameWithArticle(key));
      ok = false;
      continue;
    }
    dict->table.set(key, value);
  }
  return ok ? Value::object(dict) : Value::error();
}

// ---- Comprehensions

// Runs the loops of a comprehension one item at a time, so that generators stay lazy.
class ComprehensionLoop {
public:
  ComprehensionLoop(Elaborator &e, const std::vector<ast::Comprehension> &generators, Scope *scope)
      : e(e), generators(generators), scope(scope) {}

  template <class F> auto inScope(F &&f) {
    Frame &frame = e.frame();
    struct Restore {
      Frame &frame;
      Scope *outer;
      ~Restore() { frame.scope = outer; }
    } restore{frame, frame.scope};
    frame.scope = scope;
    return f();
  }

  /// Moves to the next combination; false at the end or after an error.
  bool next() {
    if (finished)
      return false;
    if (!started) {
      started = true;
      if (!open(0))
        return end();
    }
    while (true) {
      std::size_t level = iterators.size() - 1;
      auto item = iterators[level]->next();
      if (!item) {
        iterators.pop_back();
        if (iterators.empty())
          return end();
        continue;
      }
      e.charge(1, generators[level].range);
      bool keep = inScope([&] {
        e.assign(*generators[level].target, *item, generators[level].iter->range);
        for (const ast::Expr *condition : generators[level].ifs) {
          auto holds = e.evalCondition(*condition);
          if (!holds) {
            failed = true;
            return false;
          }
          if (!*holds)
            return false;
        }
        return true;
      });
      if (failed)
        return end();
      if (!keep)
        continue;
      if (level + 1 == generators.size())
        return true;
      if (!open(level + 1))
        return end();
    }
  }

  bool failed = false;

private:
  bool open(std::size_t level) {
    const ast::Comprehension &generator = generators[level];
    if (generator.isAsync) {
      e.report(diag::NotAtCompileTime, generator.range, "an `async for`");
      failed = true;
      return false;
    }
    Value iterable;
    if (level == 0)
      iterable = first.isError() ? e.eval(*generator.iter) : first;
    else
      iterable = inScope([&] { return e.eval(*generator.iter); });
    IteratorObject *iterator =
        iterable.isError() ? nullptr : e.iterate(iterable, generator.iter->range);
    if (!iterator) {
      failed = true;
      return false;
    }
    iterators.push_back(iterator);
    return true;
  }
  bool end() {
    finished = true;
    return false;
  }

public:
  Value first; ///< the outermost iterable, evaluated already; an error value: not yet

private:
  Elaborator &e;
  const std::vector<ast::Comprehension> &generators;
  Scope *scope;
  std::vector<IteratorObject *> iterators;
  bool started = false, finished = false;
};

Scope *comprehensionScope(Elaborator &e) {
  Scope *scope = e.makeScope(e.frame().scope);
  return scope;
}

Value listComp(Elaborator &e, const ast::ListComp &node) {
  ComprehensionLoop loop(e, node.generators, comprehensionScope(e));
  std::vector<Value> items;
  while (loop.next())
    items.push_back(loop.inScope([&] { return e.evalPinned(*node.element); }));
  return loop.failed ? Value::error() : e.heap.list(std::move(items));
}

Value setComp(Elaborator &e, const ast::SetComp &node) {
  ComprehensionLoop loop(e, node.generators, comprehensionScope(e));
  auto *set = e.heap.make<SetObject>();
  while (loop.next()) {
    Value item = loop.inScope([&] { return e.evalPinned(*node.element); });
    if (item.isError())
      return item;
    if (!hashable(item)) {
      e.report(diag::Unhashable, node.element->range, typeNameWithArticle(item));
      return Value::error();
    }
    set->table.set(item, Value::none());
  }
  return loop.failed ? Value::error() : Value::object(set);
}

Value dictComp(Elaborator &e, const ast::DictComp &node) {
  ComprehensionLoop loop(e, node.generators, comprehensionScope(e));
  auto *dict = e.heap.make<DictObject>();
  while (loop.next()) {
    Value key, value;
    loop.inScope([&] {
      key = e.evalPinned(*node.key);
      value = e.evalPinned(*node.value);
      return 0;
    });
    if (key.isError())
      return key;
    if (!hashable(key)) {
      e.report(diag::Unhashable, node.key->range, typeNameWithArticle(key));
      return Value::error();
    }
    dict->table.set(key, value);
  }
  return loop.failed ? Value::error() : Value::object(dict);
}

Value generator(Elaborator &e, const ast::GeneratorExp &node) {
  // The outermost iterable is evaluated now, the rest when asked for, as in Python.
  auto loop = std::make_shared<ComprehensionLoop>(e, node.generators, comprehensionScope(e));
  Value first = e.eval(*node.generators[0].iter);
  if (first.isError())
    return first;
  if (first.isPoison())
    return first;
  loop->first = first;
  auto *iterator = e.heap.make<IteratorObject>();
  const ast::Expr *element = node.element;
  iterator->next = [&e, loop, element]() -> std::optional<Value> {
    if (!loop->next())
      return std::nullopt;
    return loop->inScope([&] { return e.evalPinned(*element); });
  };
  return Value::object(iterator);
}

// ---- Operators that choose what to evaluate

Value runtimeConditionError(Elaborator &e, SourceRange range, std::string_view what) {
  if (!e.inKernel() && e.frame().function && !e.frame().inKernel)
    e.report(diag::RuntimeConditionInFunction, range, e.frame().function->name);
  else
    e.report(diag::RuntimeConditionHere, range, what);
  return Value::error();
}

Value boolOp(Elaborator &e, const ast::BoolOp &node) {
  bool isAnd = node.op == ast::BoolOperator::And;
  Value value;
  for (std::size_t i = 0; i < node.values.size(); ++i) {
    value = e.eval(*node.values[i]);
    if (value.isError())
      return value;
    bool last = i + 1 == node.values.size();
    if (last)
      return value;
    if (value.isPoison())
      return value;
    auto decided = e.truth(value, node.values[i]->range);
    if (!decided) {
      if (!value.isRuntime())
        return Value::error();
      if (!e.kernel)
        return runtimeConditionError(e, node.values[i]->range, "this operand");
      return runtimeBoolOp(e, node, i, value);
    }
    if (*decided != isAnd)
      return value;
  }
  return value;
}

Value ifExp(Elaborator &e, const ast::IfExp &node) {
  Value condition = e.eval(*node.test);
  if (condition.isError())
    return condition;
  if (condition.isPoison() && !e.kernel && !e.frame().function)
    return condition; // host code at module level
  auto decided = e.truth(condition, node.test->range);
  if (decided)
    return e.eval(*decided ? *node.body : *node.orelse);
  if (!condition.isRuntime())
    return Value::error();
  if (!e.kernel || !e.frame().inKernel)
    return runtimeConditionError(e, node.test->range, "this conditional expression");
  return runtimeIfExp(e, node, condition);
}

Value comparison(Elaborator &e, const ast::Compare &node) {
  Value left = e.eval(*node.left);
  SourceRange leftRange = node.left->range;
  Value result = Value::boolean(true);
  for (std::size_t i = 0; i < node.ops.size(); ++i) {
    auto link = [&]() -> Value {
      Value right = e.eval(*node.comparators[i]);
      if (left.isError() || right.isError())
        return Value::error();
      Value r = e.compare(node.ops[i], left, right, join(leftRange, node.comparators[i]->range));
      left = right;
      leftRange = node.comparators[i]->range;
      return r;
    };
    if (i == 0)
      result = link();
    else if (result.isRuntime() && !e.truth(result, node.range)) {
      result = runtimeAnd(e, result, link, node.range);
    } else {
      auto holds = e.truth(result, node.range);
      if (!holds)
        return Value::error();
      if (!*holds)
        return result;
      result = link();
    }
    if (result.isError() || result.isPoison())
      return result;
  }
  return result;
}

Value lambda(Elaborator &e, const ast::Lambda &node) {
  auto *function = e.heap.make<FunctionObject>();
  function->name = "<lambda>";
  function->lambda = &node;
  function->closure = e.frame().scope;
  for (const auto *list : {&node.args.posOnly, &node.args.args, &node.args.kwOnly})
    for (const ast::Arg &arg : *list)
      if (arg.defaultValue)
        function->defaults[arg.name.id] = e.evalPinned(*arg.defaultValue);
  return Value::object(function);
}

Value slice(Elaborator &e, const ast::Slice &node) {
  auto *object = e.heap.make<SliceObject>();
  auto part = [&](const ast::Expr *expr, Value &value, SourceRange &range) {
    value = expr ? e.evalPinned(*expr) : Value::none();
    range = expr ? expr->range : node.range;
  };
  part(node.lower, object->lower, object->lowerRange);
  part(node.upper, object->upper, object->upperRange);
  part(node.step, object->step, object->stepRange);
  if (object->lower.isError() || object->upper.isError() || object->step.isError())
    return Value::error();
  return Value::object(object);
}

Value yield(Elaborator &e, const ast::Expr &node) {
  Frame &frame = e.frame();
  if (!frame.yields) {
    e.report(diag::NotAtCompileTime, node.range, "`yield` here");
    return Value::error();
  }
  if (auto *from = node.as<ast::YieldFrom>()) {
    Value value = e.eval(*from->value);
    if (value.isError())
      return value;
    if (auto more = e.items(value, from->range))
      frame.yields->insert(frame.yields->end(), more->begin(), more->end());
    return Value::none();
  }
  auto *one = node.as<ast::Yield>();
  frame.yields->push_back(one->value ? e.evalPinned(*one->value) : Value::none());
  return Value::none();
}

Value callNode(Elaborator &e, const ast::Call &node) {
  Value callee = e.eval(*node.func);
  if (auto *builtin = callee.as<BuiltinObject>(); builtin && builtin->lazy)
    return builtin->lazy(e, node);
  if (callee.isError()) {
    e.evalArguments(node); // reports what is wrong in them
    return callee;
  }
  if (callee.isPoison() && !e.kernel) {
    // The arguments of calls into the unknown are of no interest, and often host code.
    const auto *poison = callee.as<PoisonObject>();
    return e.makePoison(poison->origin, poison->range, poison->reason);
  }
  CallArgs args = e.evalArguments(node);
  return e.call(callee, args);
}

Value namedExpr(Elaborator &e, const ast::NamedExpr &node) {
  Value value = e.evalPinned(*node.value, node.target->id);
  e.assign(*node.target, value, node.value->range);
  return value;
}

Value display(Elaborator &e, const ast::Expr &expr) {
  switch (expr.kind) {
  case ast::ExprKind::Tuple: {
    auto items = elements(e, expr.as<ast::Tuple>()->elements);
    return items ? e.heap.tuple(std::move(*items)) : Value::error();
  }
  case ast::ExprKind::List: {
    auto items = elements(e, expr.as<ast::List>()->elements);
    return items ? e.heap.list(std::move(*items)) : Value::error();
  }
  case ast::ExprKind::Set:
    return setOf(e, *expr.as<ast::Set>());
  case ast::ExprKind::Dict:
    return dictOf(e, *expr.as<ast::Dict>());
  case ast::ExprKind::ListComp:
    return listComp(e, *expr.as<ast::ListComp>());
  case ast::ExprKind::SetComp:
    return setComp(e, *expr.as<ast::SetComp>());
  case ast::ExprKind::DictComp:
    return dictComp(e, *expr.as<ast::DictComp>());
  case ast::ExprKind::GeneratorExp:
    return generator(e, *expr.as<ast::GeneratorExp>());
  default:
    return Value::error();
  }
}

Value subscripted(Elaborator &e, const ast::Subscript &node) {
  Value base = e.eval(*node.value);
  Value index = e.eval(*node.slice);
  return base.isError() || index.isError() ? Value::error() : e.subscript(base, index, node);
}

Value operation(Elaborator &e, const ast::BinOp &node) {
  Value left = e.eval(*node.left);
  Value right = e.eval(*node.right);
  if (left.isError() || right.isError())
    return Value::error();
  return e.binary(node.op, left, right, node.left->range, node.right->range, node.range);
}

} // namespace

Value Elaborator::evalPinned(const ast::Expr &expr, std::string_view hint) {
  Value value = eval(expr);
  if (value.isCell() && expr.is<ast::Call>()) {
    if (value.asBuffer()->name.empty())
      value.asBuffer()->name = hint;
    return value;
  }
  return kernel ? pin(*this, value, hint, expr.range) : value;
}

Value Elaborator::eval(const ast::Expr &expr) {
  charge(1, expr.range);
  if (parts->exprDepth >= exprDepthLimit) {
    report(diag::TooDeep, expr.range, exprDepthLimit);
    throw AbortUnit();
  }
  struct Deeper {
    unsigned &depth;
    explicit Deeper(unsigned &depth) : depth(++depth) {}
    ~Deeper() { --depth; }
  } deeper(parts->exprDepth);
  switch (expr.kind) {
  case ast::ExprKind::Name:
    return lookup(expr.as<ast::Name>()->id, expr.range);
  case ast::ExprKind::Constant:
    return constant(*this, *expr.as<ast::Constant>());
  case ast::ExprKind::JoinedStr:
    return joined(*this, *expr.as<ast::JoinedStr>());
  case ast::ExprKind::FormattedValue:
    return formatted(*this, *expr.as<ast::FormattedValue>());
  case ast::ExprKind::Attribute: {
    auto &node = *expr.as<ast::Attribute>();
    Value base = eval(*node.value);
    return base.isError() ? base : attribute(base, node.attr.id, node.attr.range, node.range);
  }
  case ast::ExprKind::Subscript:
    return subscripted(*this, *expr.as<ast::Subscript>());
  case ast::ExprKind::Slice:
    return slice(*this, *expr.as<ast::Slice>());
  case ast::ExprKind::Starred:
    report(diag::NotAtCompileTime, expr.range, "a starred expression here");
    return Value::error();
  case ast::ExprKind::Call:
    return callNode(*this, *expr.as<ast::Call>());
  case ast::ExprKind::UnaryOp: {
    auto &node = *expr.as<ast::UnaryOp>();
    Value operand = eval(*node.operand);
    return operand.isError() ? operand : unary(node.op, operand, node.range);
  }
  case ast::ExprKind::BinOp:
    return operation(*this, *expr.as<ast::BinOp>());
  case ast::ExprKind::BoolOp:
    return boolOp(*this, *expr.as<ast::BoolOp>());
  case ast::ExprKind::Compare:
    return comparison(*this, *expr.as<ast::Compare>());
  case ast::ExprKind::IfExp:
    return ifExp(*this, *expr.as<ast::IfExp>());
  case ast::ExprKind::Lambda:
    return lambda(*this, *expr.as<ast::Lambda>());
  case ast::ExprKind::NamedExpr:
    return namedExpr(*this, *expr.as<ast::NamedExpr>());
  case ast::ExprKind::Tuple:
  case ast::ExprKind::List:
  case ast::ExprKind::Set:
  case ast::ExprKind::Dict:
  case ast::ExprKind::ListComp:
  case ast::ExprKind::SetComp:
  case ast::ExprKind::DictComp:
  case ast::ExprKind::GeneratorExp:
    return display(*this, expr);
  case ast::ExprKind::Await:
    report(diag::NotAtCompileTime, expr.range, "`await`");
    return Value::error();
  case ast::ExprKind::Yield:
  case ast::ExprKind::YieldFrom:
    return yield(*this, expr);
  }
  return Value::error();
}

} // namespace tlc::elaborate
