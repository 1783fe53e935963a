// Which registers hold which elements. See Registers.h.
#include "passes/infer/Registers.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

Expr RegisterMap::at(Expr reg) const {
  Context &context = reg.context();
  Expr value;
  if (auto r = reg.constant(); r && !table.empty())
    value = context.integer(reg.dtype(), table.at(static_cast<std::size_t>(*r)));
  else {
    TLC_CHECK(layout.has_value(), "a register that is neither constant nor a function of digits");
    value = layoutExpr(*layout, layout->outputs[0], std::span(&reg, 1));
  }
  return dynamic ? value + context.cast(value.dtype(), dynamic) : value;
}

Index RegisterMap::runLength(Index limit) const {
  if (table.empty())
    return 1;
  Index best = 1;
  for (Index v = 2; v <= limit && static_cast<Index>(table.size()) % v == 0; v *= 2) {
    for (std::size_t r = 0; r < table.size(); ++r)
      if (table[r] % v != static_cast<Index>(r) % v ||
          table[r] != table[r - r % static_cast<std::size_t>(v)] + static_cast<Index>(r) % v)
        return best;
    best = v;
  }
  if (dynamic) {
    Linear l = linear(dynamic);
    while (best > 1) {
      bool divides = l.constant % best == 0;
      for (auto &[term, coefficient] : l.terms)
        divides = divides && coefficient % best == 0;
      if (divides)
        break;
      best /= 2;
    }
  }
  return best;
}

namespace {

bool isZero(const IndexMap &map) {
  auto c = map.constants();
  return c && std::all_of(c->begin(), c->end(), [](Index v) { return v == 0; });
}

} // namespace

std::optional<IndexMap> onStorage(const Buffer &buffer, IndexMap map) {
  if (!buffer.base)
    return map;
  const Buffer &base = *buffer.base;
  auto shape = buffer.constantShape(), baseShape = base.constantShape();
  if (!shape || !baseShape || base.dtype != buffer.dtype ||
      (buffer.baseOffset && !buffer.baseOffset.isConstant(0)))
    return std::nullopt;
  if (*shape == *baseShape)
    return onStorage(base, std::move(map));
  if (!isZero(map) || buffer.elementCount() != base.elementCount())
    return std::nullopt;
  auto view = compose(Layout::unflatten("flat", dimSizes(*baseShape)),
                      Layout::rowMajor(dimSizes(*shape), "flat"));
  auto whole = view ? compose(*view, map.layout) : std::nullopt;
  if (!whole)
    return std::nullopt;
  IndexMap out;
  out.layout = std::move(*whole);
  Context &context = buffer.shape.at(0).context();
  out.outer.assign(baseShape->size(), context.int32(0));
  return onStorage(base, std::move(out));
}

std::optional<Layout> wantedLayout(const IndexMap &map, const Layout &schedule) {
  auto constants = map.constants();
  if (!constants)
    return std::nullopt;
  auto wanted = composeExtended(map.layout, schedule);
  if (!wanted)
    return std::nullopt;
  for (std::size_t d = 0; d < constants->size(); ++d) {
    if ((*constants)[d] < 0)
      return std::nullopt;
    wanted->outputs[d].base += (*constants)[d];
    wanted->outputs[d].size += (*constants)[d];
  }
  return wanted;
}

namespace {

DigitSet axisDigits(const Layout &l, const std::string &axis) {
  DigitSet digits = 0;
  for (int d = 0; d < l.digitCount(); ++d)
    if (l.inputs[static_cast<std::size_t>(l.place(d).first)].name == axis)
      digits |= DigitSet{1} << d;
  return digits;
}

/// Register distance of `index` on dim `d`, which must lie in registers alone, apart from all other
/// dims.
std::optional<Expr> dynamicRegisters(const Layout &inverse, std::size_t d, Expr index, bool alone) {
  DigitSet digits = axisDigits(inverse, dimName(d));
  for (const Term &t : inverse.output("thread").terms)
    if (t.digits & digits)
      return std::nullopt;
  OutputAxis part{"reg", inverse.output("reg").size, 0, {}};
  for (const Term &t : inverse.output("reg").terms) {
    if (!(t.digits & digits))
      continue;
    if (t.flip || (t.digits & (t.digits - 1)))
      return std::nullopt;
    part.terms.push_back(t);
  }
  // A sum of two indices needs a linear map; one alone may have several digits.
  if (!alone && (digits & (digits - 1)))
    return std::nullopt;
  Context &context = index.context();
  std::vector<Expr> inputs(inverse.inputs.size(), context.int32(0));
  for (std::size_t a = 0; a < inverse.inputs.size(); ++a)
    if (inverse.inputs[a].name == dimName(d))
      inputs[a] = context.cast(DType(Scalar::Int32), index);
  return layoutExpr(inverse, part, inputs);
}

/// An access as what it wants of the home at constant indices, and the distance in registers of
/// those known at run time only (null: none).
struct Access {
  Layout wanted;
  Expr dynamic;
};

std::optional<Access> accessOf(const Layout &home, const IndexMap &map, const Layout &schedule) {
  Expr dynamic;
  IndexMap rest = map;
  std::optional<Layout> inverse;
  for (std::size_t d = 0; d < map.outer.size(); ++d) {
    if (map.outer[d].constant())
      continue;
    if (!inverse)
      inverse = invert(home);
    if (!inverse)
      return std::nullopt;
    auto distance =
        dynamicRegisters(*inverse, d, map.outer[d], map.layout.outputs[d].terms.empty());
    if (!distance)
      return std::nullopt;
    dynamic = dynamic ? dynamic + *distance : *distance;
    rest.outer[d] = map.outer[d].context().int32(0);
  }
  auto wanted = wantedLayout(rest, schedule);
  if (!wanted || wanted->input("thread").size() != home.input("thread").size())
    return std::nullopt;
  return Access{std::move(*wanted), dynamic};
}

} // namespace

bool reaches(const Layout &home, std::span<const Index> shape, const IndexMap &map,
             const Layout &schedule) {
  auto access = accessOf(home, map, schedule);
  return access && isHeldIn(home, access->wanted, dimSizes(shape));
}

std::optional<RegisterMap> registerMap(const Buffer &fragment, const IndexMap &map,
                                       const Layout &schedule) {
  const Buffer &owner = *fragment.storage();
  auto shape = owner.constantShape();
  TLC_CHECK(shape && owner.layout, "registers of `" + fragment.name + "`, which has no layout");
  const Layout &home = *owner.layout;
  auto whole = onStorage(fragment, map);
  auto access = whole ? accessOf(home, *whole, schedule) : std::nullopt;
  auto held = access ? heldIn(home, access->wanted, dimSizes(*shape)) : std::nullopt;
  if (!held)
    return std::nullopt;
  return RegisterMap{std::move(held->registers), std::move(held->registerMap), access->dynamic};
}

std::optional<RegisterMap> registerMap(const Region &region, const Layout &schedule) {
  auto tile = region.constantTileExtents();
  if (!tile)
    return std::nullopt;
  return registerMap(*region.buffer, regionMap(region, *tile), schedule);
}

Layout replicatedLayout(std::span<const Index> shape, Index threads) {
  std::vector<Digit> reg;
  Sizes sizes = dimSizes(shape);
  for (std::size_t d = shape.size(); d-- > 0;)
    reg.push_back({shape[d], dimName(d)});
  return Layout::make({{"reg", reg}, {"thread", {{threads}}}}, sizes);
}

} // namespace tlc::passes
