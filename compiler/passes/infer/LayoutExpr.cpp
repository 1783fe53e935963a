// Layouts as expressions of the IR and back. See LayoutExpr.h.
#include "passes/infer/LayoutExpr.h"

#include "layout/Algebra.h"
#include "layout/Expression.h"
#include "layout/Fit.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

Layout withDimOutputs(Layout l) {
  for (std::size_t d = 0; d < l.outputs.size(); ++d)
    l.outputs[d].name = dimName(d);
  return l;
}

Layout withDimInputs(Layout l) {
  for (std::size_t d = 0; d < l.inputs.size(); ++d)
    l.inputs[d].name = dimName(d);
  return l;
}

Layout selectOutputs(const Layout &l, std::span<const unsigned> dims) {
  Layout out{l.inputs, {}};
  for (unsigned d : dims)
    out.outputs.push_back(l.outputs.at(d));
  return withDimOutputs(std::move(out));
}

namespace {

bool isPowerOfTwo(Index n) { return n > 0 && (n & (n - 1)) == 0; }

/// Without what adds a multiple of `mask`, a power of two, for a value whose bits from there on are
/// not wanted.
Expr lowBits(Expr value, Index mask) {
  Linear sum = linear(value);
  std::size_t before = sum.terms.size();
  std::erase_if(sum.terms, [&](const auto &term) { return term.second % mask == 0; });
  if (sum.terms.size() == before)
    return value;
  sum.constant &= mask - 1;
  return fromLinear(value.context(), value.dtype(), sum);
}

/// `mask`: the XOR with other fields will be reduced by it; 0: it will not.
Expr fieldExpr(const Field &field, Expr axis, Index mask) {
  Expr value = field.divisor > 1 ? floorDiv(axis, field.divisor) : axis;
  if (mask > 0)
    return lowBits(value, mask);
  return field.modulus ? floorMod(value, field.modulus) : value;
}

} // namespace

Expr layoutExpr(const Layout &l, const OutputAxis &output, std::span<const Expr> inputs) {
  TLC_CHECK(inputs.size() == l.inputs.size() && !inputs.empty(), "one expression per input axis");
  Context &context = inputs[0].context();
  DType dtype = inputs[0].dtype();
  for (Expr e : inputs)
    if (e.dtype().bits() > dtype.bits())
      dtype = e.dtype();
  Expr sum = context.integer(dtype, output.base);
  for (const Summand &s : summands(l, output)) {
    // The XOR of several fields is masked once.
    Index mask = 0;
    for (const Field &f : s.fields)
      mask = !isPowerOfTwo(std::max<Index>(f.modulus, 1)) ? -1
             : mask < 0                                   ? mask
                                                          : std::max(mask, f.modulus);
    bool masked = s.fields.size() > 1 && mask > 0;
    Expr value;
    for (const Field &f : s.fields) {
      Expr field = fieldExpr(f, context.cast(dtype, inputs[f.axis]), masked ? mask : 0);
      value = value ? context.binary(BinaryOp::Xor, value, field) : field;
    }
    if (s.constant)
      value = context.binary(BinaryOp::Xor, value, context.integer(dtype, s.constant));
    if (masked)
      value = floorMod(value, mask);
    sum = sum + value * s.weight;
  }
  return sum;
}

std::vector<Expr> layoutExprs(const Layout &l, std::span<const Expr> inputs) {
  std::vector<Expr> out;
  for (const OutputAxis &o : l.outputs)
    out.push_back(layoutExpr(l, o, inputs));
  return out;
}

Expr offsetExpr(const Layout &memory, std::span<const Expr> inputs) {
  TLC_CHECK(memory.outputs.size() == 1, "a memory has one output");
  return layoutExpr(memory, memory.outputs[0], inputs);
}

std::optional<std::vector<Index>> IndexMap::constants() const {
  std::vector<Index> values;
  for (Expr e : outer) {
    auto c = e.constant();
    if (!c)
      return std::nullopt;
    values.push_back(*c);
  }
  return values;
}

std::optional<Index> evaluate(Expr e, std::span<const Expr> vars, std::span<const Index> values) {
  if (auto c = e.constant())
    return c;
  for (std::size_t i = 0; i < vars.size(); ++i)
    if (vars[i] == e)
      return values[i];
  if (e.kind() == ExprKind::Cast && e.dtype().isInteger())
    return e->operands[0].dtype().isInteger() ? evaluate(e->operands[0], vars, values)
                                              : std::nullopt;
  if (e.kind() == ExprKind::Select) {
    auto condition = evaluate(e->operands[0], vars, values);
    return condition ? evaluate(e->operands[*condition ? 1 : 2], vars, values) : std::nullopt;
  }
  if (e.kind() == ExprKind::Unary) {
    auto a = evaluate(e->operands[0], vars, values);
    if (!a || e.dtype().isFloat())
      return std::nullopt;
    return e->unaryOp() == UnaryOp::Neg ? -*a : e->unaryOp() == UnaryOp::Not ? !*a : ~*a;
  }
  if (e.kind() != ExprKind::Binary || e->operands[0].dtype().isFloat())
    return std::nullopt;
  auto a = evaluate(e->operands[0], vars, values), b = evaluate(e->operands[1], vars, values);
  if (!a || !b)
    return std::nullopt;
  Context &context = e.context();
  DType dtype = e->operands[0].dtype();
  BinaryOp op = e->binaryOp();
  bool divides = op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod || op == BinaryOp::TruncDiv ||
                 op == BinaryOp::TruncMod;
  if (divides && *b == 0)
    return std::nullopt;
  return context.binary(op, context.integer(dtype, *a), context.integer(dtype, *b)).constant();
}

namespace {

bool usesAny(Expr e, std::span<const Expr> vars) {
  return std::any_of(vars.begin(), vars.end(), [&](Expr v) { return uses(e, v); });
}

/// One index: the part over the box's variables as an output named `name`, the rest as an
/// expression.
struct IndexParts {
  std::vector<std::pair<Expr, Index>> inner; ///< terms over the variables, with coefficients
  Expr outer;
};

std::optional<IndexParts> separate(Expr index, std::span<const Expr> vars) {
  IndexParts parts;
  Linear rest, l = linear(index);
  rest.constant = l.constant;
  for (auto &[term, coefficient] : l.terms) {
    if (!usesAny(term, vars)) {
      rest.terms.emplace_back(term, coefficient);
      continue;
    }
    std::vector<Expr> inside;
    collectVars(term, inside);
    for (Expr v : inside)
      if (std::find(vars.begin(), vars.end(), v) == vars.end())
        return std::nullopt;
    parts.inner.emplace_back(term, coefficient);
  }
  parts.outer = fromLinear(index.context(), index.dtype(), rest);
  return parts;
}

/// An output from its terms: plain where each is a variable, else fitted point by point.
std::optional<OutputAxis> fitIndex(const IndexParts &parts, std::span<const Expr> vars,
                                   const Sizes &box, const std::string &name, Layout &frame) {
  bool plain = true;
  for (auto &[term, coefficient] : parts.inner)
    plain = plain && term.isVar() && coefficient > 0;
  if (plain) {
    std::vector<Index> strides(box.size(), 0);
    for (auto &[term, coefficient] : parts.inner)
      strides[static_cast<std::size_t>(std::find(vars.begin(), vars.end(), term) - vars.begin())] +=
          coefficient;
    frame = Layout::strided(box, strides, name);
    return frame.outputs[0];
  }
  Index most = 0, points = 1;
  for (auto &[axis, size] : box)
    points *= size;
  if (points > (Index{1} << 18))
    return std::nullopt;
  bool known = true;
  auto value = [&](const Point &p) {
    Index sum = 0;
    for (auto &[term, coefficient] : parts.inner) {
      auto v = evaluate(term, vars, p);
      known = known && v;
      sum += v.value_or(0) * coefficient;
    }
    most = std::max(most, sum);
    known = known && sum >= 0;
    return Point{known ? sum : 0};
  };
  Layout all = Layout::rowMajor(box);
  forEachPoint(all, [&](const Point &p) { value(p); });
  if (!known)
    return std::nullopt;
  auto fitted = fit(box, {{name, most + 1}}, value);
  if (!std::holds_alternative<Layout>(fitted))
    return std::nullopt;
  frame = std::get<Layout>(fitted);
  return frame.outputs[0];
}

} // namespace

std::optional<IndexMap> indexMap(std::span<const Expr> vars, std::span<const Index> extents,
                                 std::span<const Expr> indices) {
  Sizes box = dimSizes(extents);
  IndexMap map;
  std::vector<Layout> outputs;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    auto parts = separate(indices[d], vars);
    Layout one;
    if (!parts || !fitIndex(*parts, vars, box, dimName(d), one))
      return std::nullopt;
    // What the box's origin maps to belongs to the constant part.
    Index base = one.outputs[0].base;
    one.outputs[0].base = 0;
    one.outputs[0].size -= base;
    map.outer.push_back(parts->outer + base);
    outputs.push_back(std::move(one));
  }
  auto joined = joinOutputs(outputs);
  if (!joined)
    return std::nullopt;
  map.layout = std::move(*joined);
  return map;
}

IndexMap regionMap(const Region &region, std::span<const Index> tile) {
  IndexMap map;
  map.layout = Layout::identity(dimSizes(tile));
  decltype(Layout::outputs) outputs;
  std::size_t t = 0;
  for (unsigned d = 0; d < region.offsets.size(); ++d) {
    if (region.isDropped(d))
      outputs.push_back({dimName(d), 1, 0, {}});
    else
      outputs.push_back(map.layout.outputs.at(t++));
    outputs.back().name = dimName(d);
    map.outer.push_back(region.offsets[d]);
  }
  map.layout.outputs = std::move(outputs);
  return map;
}

std::optional<Layout> composeExtended(const Layout &map, const Layout &schedule) {
  Layout outer = map;
  for (const OutputAxis &o : schedule.outputs)
    if (outer.hasInput(o.name) && outer.input(o.name).size() < o.size)
      outer = extendInput(outer, o.name, o.size);
  return compose(outer, schedule);
}

} // namespace tlc::passes
