#include "passes/lower/MapVectors.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

namespace {

/// Runs of the schedule's registers along the last dim of the access, the other dims standing
/// still.
Index runAlongLast(const Layout &coordinates, Index limit) {
  const OutputAxis &last = coordinates.outputs.back();
  Sizes sizes = coordinates.outputSizes();
  std::vector<Index> strides(sizes.size(), 1);
  // Pitches that are multiples of any width and large enough that no two rows touch.
  Index pitch = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(last.size + limit)));
  for (std::size_t d = sizes.size() - 1; d-- > 0;) {
    strides[d] = pitch;
    pitch *= static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(sizes[d].second)));
  }
  auto linear = compose(Layout::strided(sizes, strides, "offset"), coordinates);
  return linear ? orderedWidth(*linear, limit) : 1;
}

/// Runs of the last dim that a shared tile keeps consecutive and aligned wherever they start (at
/// multiples of the run).
Index memoryRun(const Buffer &buffer, Index limit, const Divides &divides) {
  if (!buffer.layout) {
    Index run = limit;
    while (run > 1 && buffer.rank() > 1 && !divides(buffer.shape.back(), run))
      run /= 2;
    return run;
  }
  const Layout &memory = *buffer.layout;
  Index run = std::min(limit, contiguity(memory, memory.inputs.back().name));
  run = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(std::max<Index>(run, 1))));
  for (const Term &term : memory.outputs[0].terms)
    while (run > 1 && term.weight % run != 0) {
      // The digits of the run itself have the small weights.
      bool ofRun = term.weight < run && (term.digits & (term.digits - 1)) == 0 &&
                   memory.place(std::countr_zero(term.digits)).first ==
                       static_cast<int>(memory.inputs.size()) - 1 &&
                   memory.place(std::countr_zero(term.digits)).second == term.weight;
      if (ofRun)
        break;
      run /= 2;
    }
  return run;
}

Index globalRun(const Buffer &buffer, Index limit, const Divides &divides) {
  if (!buffer.strides.empty()) {
    if (!buffer.strides.back().isConstant(1))
      return 1;
    for (std::size_t d = 0; d + 1 < buffer.strides.size(); ++d)
      while (limit > 1 && !divides(buffer.strides[d], limit))
        limit /= 2;
    return limit;
  }
  // Row-major: every outer stride is a multiple of the last extent.
  if (buffer.rank() > 1)
    while (limit > 1 && !divides(buffer.shape.back(), limit))
      limit /= 2;
  return limit;
}

Index bufferRun(const Buffer &buffer, Index limit, const Divides &divides) {
  if (buffer.base && buffer.scope == Scope::Shared && buffer.layout)
    return memoryRun(buffer, limit, divides);
  if (buffer.base) {
    // A view's rows start at its offset in a storage that is consecutive for as long as the
    // storage's own rows are.
    const Buffer &base = *buffer.storage();
    if (base.layout || base.dtype != buffer.dtype || !base.strides.empty())
      return 1;
    while (limit > 1 && buffer.baseOffset && !divides(buffer.baseOffset, limit))
      limit /= 2;
    return globalRun(buffer, limit, divides);
  }
  switch (buffer.scope) {
  case Scope::Global:
    return globalRun(buffer, limit, divides);
  case Scope::Shared:
    return memoryRun(buffer, limit, divides);
  default:
    return 1;
  }
}

} // namespace

Index widestAccess(DType dtype, Index maxBytes) {
  Index bits = static_cast<Index>(dtype.bits()) * dtype.lanes;
  return std::max<Index>(1, maxBytes * 8 / bits);
}

namespace {

/// Indices that run as the given ones do along the last dim, while all others stand still: for
/// those, the variables that they use.
std::vector<Expr> standIns(const MapShape &shape, const std::vector<Expr> &indices) {
  std::vector<Expr> result;
  for (Expr var : shape.vars)
    if (std::any_of(indices.begin(), indices.end() - 1, [&](Expr e) { return uses(e, var); }))
      result.push_back(var);
  result.push_back(indices.back());
  return result;
}

} // namespace

Index accessWidth(const Element &element, const MapShape &shape, Index limit, bool anyRows) {
  const Buffer &buffer = *element.buffer;
  if (element.indices.empty() || element.physical)
    return 1;
  limit = std::min(limit, widestAccess(buffer.dtype));
  limit = bufferRun(buffer, limit, shape.divides);
  if (limit <= 1)
    return 1;
  auto map = indexMap(shape.vars, shape.extents, element.indices);
  if (!map && anyRows)
    map = indexMap(shape.vars, shape.extents, standIns(shape, element.indices));
  if (!map)
    return 1;
  auto coordinates = composeExtended(map->layout, *shape.schedule);
  if (!coordinates)
    return 1;
  Index width = runAlongLast(*coordinates, limit);
  while (width > 1 && !shape.divides(map->outer.back(), width))
    width /= 2;
  return width;
}

namespace {

/// a < b (or a <= b): whether it holds alike for var = w*q + e, e in [0, w).
bool comparisonUniform(Expr a, Expr b, bool orEqual, Expr var, Index w, const Divides &divides) {
  Linear difference = linear(a.context().binary(BinaryOp::Sub, a, b)); // < 0, or <= 0
  std::int64_t coefficient = 0;
  Linear rest;
  rest.constant = difference.constant;
  for (auto &[term, c] : difference.terms) {
    if (term == var)
      coefficient = c;
    else if (uses(term, var))
      return false;
    else
      rest.terms.emplace_back(term, c);
  }
  if (coefficient == 0)
    return true;
  if (coefficient != 1 && coefficient != -1)
    return false;
  // var + rest < 0 flips at a multiple of w iff w divides rest; var + rest <= 0 is var + rest - 1 <
  // 0. -var + rest < 0 is not (var - rest - 1 < 0); -var + rest <= 0 is not (var - rest < 0).
  if (coefficient == 1 && orEqual)
    rest.constant -= 1;
  if (coefficient == -1 && !orEqual)
    rest.constant += 1;
  return divides(fromLinear(a.context(), a.dtype(), rest), w);
}

bool uniformAlong(Expr condition, Expr var, Index w, const Divides &divides) {
  if (!condition || !uses(condition, var))
    return true;
  if (condition.kind() == ExprKind::Unary && condition->unaryOp() == UnaryOp::Not)
    return uniformAlong(condition->operands[0], var, w, divides);
  if (condition.kind() != ExprKind::Binary)
    return false;
  Expr a = condition->operands[0], b = condition->operands[1];
  switch (condition->binaryOp()) {
  case BinaryOp::LogicalAnd:
  case BinaryOp::LogicalOr:
    return uniformAlong(a, var, w, divides) && uniformAlong(b, var, w, divides);
  case BinaryOp::Lt:
  case BinaryOp::Le:
    return a.dtype().isInt() &&
           comparisonUniform(a, b, condition->binaryOp() == BinaryOp::Le, var, w, divides);
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return a.dtype().isInt() &&
           comparisonUniform(b, a, condition->binaryOp() == BinaryOp::Ge, var, w, divides);
  default:
    return false;
  }
}

} // namespace

bool uniformInGroup(Expr condition, const MapShape &shape, Index w) {
  if (!condition || w <= 1)
    return true;
  for (std::size_t d = 0; d < shape.vars.size(); ++d) {
    if (!uses(condition, shape.vars[d]))
      continue;
    // Which variables move within a group is the schedule's affair: the lowest register bits of
    // output d.
    bool moves = false;
    for (const Term &term : shape.schedule->outputs[d].terms) {
      for (int digit = 0; digit < shape.schedule->digitCount(); ++digit)
        if (term.digits >> digit & 1) {
          auto [axis, place] = shape.schedule->place(digit);
          moves |= axis == 0 && place < w;
        }
    }
    if (moves && !uniformAlong(condition, shape.vars[d], w, shape.divides))
      return false;
  }
  return true;
}

} // namespace tlc::passes
