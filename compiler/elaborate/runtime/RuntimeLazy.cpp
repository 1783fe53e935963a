// Operators whose sides may not be evaluated: the loads of a side that is not taken do not happen.
#include "elaborate/runtime/RuntimeOps.h"

namespace tlc::elaborate {

using ir::BinaryOp;
using ir::Expr;

LazyScope::LazyScope(Elaborator &e, Expr condition, std::string word) {
  if (!e.kernel || !e.kernel->runtime)
    return;
  runtime = e.kernel->runtime.get();
  previous = runtime->predicate;
  previousWord = runtime->lazyWord;
  runtime->predicate = ir::logicalAnd(previous, condition);
  runtime->lazyWord = std::move(word);
}

LazyScope::~LazyScope() {
  if (!runtime)
    return;
  runtime->predicate = previous;
  runtime->lazyWord = previousWord;
}

namespace {

bool known(const Value &v) { return !v.isRuntime() && !v.isBuffer(); }

/// `left and right` or `left or right`, where `right` is evaluated only if it matters.
Value lazyPair(Elaborator &e, bool isAnd, const Value &left, const std::function<Value()> &right,
               SourceRange leftRange, SourceRange rightRange) {
  Expr condition = toCondition(e, left, leftRange);
  if (!condition)
    return Value::error();
  if (condition.isInt() && condition.isTrue() != isAnd)
    return Value::boolean(!isAnd);
  Expr other;
  {
    LazyScope lazy(e, isAnd ? condition : ir::logicalNot(condition), isAnd ? "and" : "or");
    Value value = right();
    if (value.isError())
      return value;
    if (known(value)) {
      std::optional<bool> truth = e.truth(value, rightRange);
      if (!truth)
        return Value::error();
      other = e.context.boolean(*truth);
    } else {
      other = toCondition(e, value, rightRange);
    }
  }
  if (!other)
    return Value::error();
  return Value::expr(
      e.context.binary(isAnd ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr, condition, other));
}

} // namespace

Value runtimeBoolOp(Elaborator &e, const ast::BoolOp &op, std::size_t first, const Value &left) {
  bool isAnd = op.op == ast::BoolOperator::And;
  Value result = left;
  SourceRange range = op.values[first]->range;
  for (std::size_t i = first + 1; i < op.values.size(); ++i) {
    const ast::Expr &right = *op.values[i];
    result = lazyPair(
        e, isAnd, result, [&] { return e.eval(right); }, range, right.range);
    if (result.isError())
      return result;
    if (result.isBool()) // decided: what follows is not evaluated
      return result;
    range = join(range, right.range);
  }
  return result;
}

Value runtimeAnd(Elaborator &e, const Value &left, const std::function<Value()> &rest,
                 SourceRange range) {
  return lazyPair(e, true, left, rest, range, range);
}

Value selectValue(Elaborator &e, Expr condition, const Value &a, const Value &b, SourceRange aRange,
                  SourceRange bRange, SourceRange range) {
  if (a.isError() || b.isError())
    return Value::error();
  TupleObject *ta = a.as<TupleObject>(), *tb = b.as<TupleObject>();
  if (ta && tb && ta->items.size() == tb->items.size()) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < ta->items.size(); ++i)
      items.push_back(selectValue(e, condition, ta->items[i], tb->items[i], aRange, bRange, range));
    return e.heap.tuple(std::move(items));
  }
  if (!isScalar(a) || !isScalar(b)) {
    if (known(a) && known(b) && equal(a, b))
      return a;
    if (a.identical(b))
      return a;
    const Value &bad = isScalar(a) ? b : a;
    e.report(diag::RuntimeChoice, isScalar(a) ? bRange : aRange, typeNameWithArticle(bad))
        .note("the condition is known only when the kernel runs, so both sides must be scalars");
    return Value::error();
  }
  Expr x, y;
  if (!unify(e, OperatorClass::Equality, "if else", a, b, aRange, bRange, range, x, y))
    return Value::error();
  if (condition.dtype().lanes != x.dtype().lanes) {
    unsigned lanes = std::max(condition.dtype().lanes, x.dtype().lanes);
    condition = convert(e, condition, condition.dtype().withLanes(lanes));
    x = convert(e, x, x.dtype().withLanes(lanes));
    y = convert(e, y, y.dtype().withLanes(lanes));
  }
  return Value::expr(e.context.select(condition, x, y));
}

namespace {

/// One side of a ternary: elements are read in here, under the side's condition.
Value side(Elaborator &e, const std::function<Value()> &eval, Expr condition, SourceRange range,
           const std::string &word) {
  LazyScope lazy(e, condition, word);
  Value value = eval();
  if (value.isCell() || value.native<ElementValue>()) {
    Expr x = toExpr(e, value, range);
    return x ? Value::expr(x) : Value::error();
  }
  return value;
}

} // namespace

Value lazySelect(Elaborator &e, const Value &condition, SourceRange conditionRange,
                 const std::function<Value()> &a, const std::function<Value()> &b,
                 SourceRange aRange, SourceRange bRange, SourceRange range,
                 const std::string &word) {
  Expr test = toCondition(e, condition, conditionRange);
  if (!test)
    return Value::error();
  if (test.isInt())
    return test.isTrue() ? a() : b();
  Value x = side(e, a, test, aRange, word);
  Value y = side(e, b, ir::logicalNot(test), bRange, word);
  return selectValue(e, test, x, y, aRange, bRange, range);
}

Value runtimeIfExp(Elaborator &e, const ast::IfExp &node, const Value &condition) {
  return lazySelect(
      e, condition, node.test->range, [&] { return e.eval(*node.body); },
      [&] { return e.eval(*node.orelse); }, node.body->range, node.orelse->range, node.range,
      "a ternary");
}

// ---- Python's functions on run-time values

namespace {

std::vector<CallArg> scalarsOf(Elaborator &e, CallArgs &args) {
  if (args.positional.size() != 1)
    return args.positional;
  std::vector<CallArg> result;
  for (const Value &v : e.toList(args.positional[0].value))
    result.push_back({v, args.positional[0].range, nullptr});
  return result;
}

Value foldMinMax(Elaborator &e, MinMax which, CallArgs &args) {
  std::vector<CallArg> items = scalarsOf(e, args);
  if (items.empty())
    return Value::error();
  Value result = items[0].value;
  for (std::size_t i = 1; i < items.size(); ++i)
    result = minMax(e, which, result, items[i].value, items[0].range, items[i].range, args.range);
  return result;
}

Value convertTo(Elaborator &e, CallArgs &args, Scalar scalar) {
  Expr x = toExpr(e, args.positional[0].value, args.positional[0].range);
  if (!x)
    return Value::error();
  // int() of what is an integer already keeps its width.
  if (scalar == Scalar::Int32 && x.dtype().isInt())
    return Value::expr(x);
  return Value::expr(convert(e, x, DType(scalar, x.dtype().lanes)));
}

} // namespace

Value runtimeBuiltin(Elaborator &e, std::string_view name, CallArgs &args) {
  if (!args.positional.empty()) {
    const CallArg &first = args.positional[0];
    if (name == "int")
      return convertTo(e, args, Scalar::Int32);
    if (name == "float")
      return convertTo(e, args, Scalar::Float32);
    if (name == "bool")
      return convertTo(e, args, Scalar::Bool);
    if (name == "abs")
      return absolute(e, first.value, first.range);
    if (name == "min" || name == "max")
      return foldMinMax(e, name == "min" ? MinMax::Min : MinMax::Max, args);
    if (name == "round" && args.positional.size() == 1)
      return mathCall(e, ir::MathFn::RoundEven, args.positional, args.range);
    if (args.positional.size() == 2) {
      const CallArg &second = args.positional[1];
      auto binary = [&](ast::BinaryOperator op) {
        return runtimeBinary(e, op, first.value, second.value, first.range, second.range,
                             args.range);
      };
      if (name == "pow")
        return binary(ast::BinaryOperator::Pow);
      if (name == "divmod")
        return e.heap.tuple(
            {binary(ast::BinaryOperator::FloorDiv), binary(ast::BinaryOperator::Mod)});
    }
    if (name == "sum") {
      Value total = args.positional.size() == 2 ? args.positional[1].value : Value::integer(0);
      for (const Value &v : e.toList(first.value))
        total = e.binary(ast::BinaryOperator::Add, total, v, first.range, first.range, args.range);
      return total;
    }
  }
  e.report(diag::RuntimeArgument, args.range, name)
      .note("its argument is known only when the kernel runs");
  return Value::error();
}

} // namespace tlc::elaborate
