// Vector widths, bank conflicts and sectors. See Analysis.h.
#include "layout/Analysis.h"
#include "layout/Digits.h"
#include "layout/Shape.h"

#include <algorithm>
#include <map>
#include <set>

namespace tlc {

using namespace detail;

namespace {

/// Splits off the register bits that step through `vector` consecutive offsets; they are returned
/// as digits.
std::optional<DigitSet> vectorDigits(Layout &access, Index vector, const std::string &reg) {
  if (access.outputs.size() != 1)
    throw LayoutError("an access has one output");
  splitBits(access);
  DigitSet registers = digitsOf(access, inputIndex(access, reg)), used = 0;
  const OutputAxis &o = access.outputs[0];
  for (Index w = 1; w < vector; w *= 2) {
    auto t = std::find_if(o.terms.begin(), o.terms.end(), [&](const Term &x) {
      return x.weight == w && isDigit(x) && !x.flip && (x.digits & registers) &&
             access.radix(std::countr_zero(x.digits)) == 2;
    });
    if (t == o.terms.end() || (used & t->digits))
      return std::nullopt;
    used |= t->digits;
  }
  Index total = o.base % vector;
  for (const Term &t : o.terms) {
    if ((t.digits & used) && !(t.weight < vector && isDigit(t)))
      return std::nullopt;
    if (!(t.digits & used))
      total |= t.weight % vector;
  }
  return total ? std::nullopt : std::optional(used);
}

/// Calls `f(byte addresses of the lanes that take part)` per warp and instruction.
void forEachInstruction(Layout access, Index vector, Index elementBytes,
                        const std::vector<Index> &lanes,
                        const std::function<void(const std::vector<Index> &)> &f) {
  auto digits = vectorDigits(access, vector, "reg");
  if (!digits)
    throw LayoutError("registers do not form vectors of " + std::to_string(vector));
  fixToZero(access, *digits);
  Index threads = access.input("thread").size(), warp = static_cast<Index>(lanes.size());
  for (Index r = 0; r < access.input("reg").size(); ++r)
    for (Index first = 0; first < threads; first += warp) {
      std::vector<Index> bytes;
      for (Index lane : lanes)
        if (first + lane < threads)
          bytes.push_back(access(access.inputs[0].name == "reg" ? Point{r, first + lane}
                                                                : Point{first + lane, r})[0] *
                          elementBytes);
      f(bytes);
    }
}

} // namespace

Index vectorWidth(const Layout &access, Index limit, const std::string &reg) {
  Index v = 1;
  for (Index w = 2; w <= limit; w *= 2) {
    Layout copy = access;
    if (vectorDigits(copy, w, reg))
      v = w;
  }
  return v;
}

Index orderedWidth(const Layout &access, Index limit, const std::string &reg) {
  Index width = vectorWidth(access, limit, reg);
  auto alone = sliceToAxis(access, reg);
  while (width > 1 && !(alone && contiguity(*alone, reg) % width == 0))
    width /= 2;
  return width;
}

Index contiguity(const Layout &memory, const std::string &axis) {
  Layout l = memory;
  l.normalize();
  int a = inputIndex(l, axis);
  if (l.inputs[a].radices.empty())
    return 1;
  int d = std::countr_zero(digitsOf(l, a)), uses = 0;
  bool unit = false;
  for (const Term &t : l.outputs.at(0).terms)
    if (t.digits & bit(d))
      ++uses, unit = unit || (t == Term{bit(d), 1, false});
  return unit && uses == 1 ? l.radix(d) : 1;
}

AccessCost bankConflicts(const Layout &access, Index vector, Index elementBytes,
                         const SharedMemory &memory) {
  std::vector<Index> lanes; // in the order of service
  for (Index i = 0; i < memory.warp(); ++i) {
    Index lane = 0;
    for (std::size_t b = 0; b < memory.laneBasis.size(); ++b)
      if (i >> b & 1)
        lane ^= memory.laneBasis[b];
    lanes.push_back(lane);
  }
  Index bytes = vector * elementBytes;
  Index together = memory.banks * memory.bankBytes / std::max(bytes, memory.bankBytes);
  std::size_t phase = static_cast<std::size_t>(std::clamp(together, Index{1}, memory.warp()));
  AccessCost cost;
  forEachInstruction(access, vector, elementBytes, lanes, [&](const std::vector<Index> &addresses) {
    ++cost.instructions;
    for (std::size_t i = 0; i < addresses.size(); i += phase) {
      std::set<Index> words;
      for (std::size_t j = i; j < std::min(i + phase, addresses.size()); ++j)
        for (Index b = 0; b < bytes; b += std::min(bytes, memory.bankBytes))
          words.insert((addresses[j] + b) / memory.bankBytes);
      std::map<Index, Index> perBank;
      Index worst = 1;
      for (Index w : words)
        worst = std::max(worst, ++perBank[w % memory.banks]);
      cost.wavefronts += worst;
      cost.ideal += (static_cast<Index>(words.size()) + memory.banks - 1) / memory.banks;
    }
  });
  return cost;
}

AccessCost sectors(const Layout &access, Index vector, Index elementBytes, Index warp,
                   Index sectorBytes) {
  std::vector<Index> lanes;
  for (Index i = 0; i < warp; ++i)
    lanes.push_back(i);
  AccessCost cost;
  forEachInstruction(access, vector, elementBytes, lanes, [&](const std::vector<Index> &addresses) {
    ++cost.instructions;
    std::set<Index> touched, distinct(addresses.begin(), addresses.end());
    for (Index a : addresses)
      for (Index b = a / sectorBytes; b <= (a + vector * elementBytes - 1) / sectorBytes; ++b)
        touched.insert(b);
    cost.wavefronts += static_cast<Index>(touched.size());
    cost.ideal += (static_cast<Index>(distinct.size()) * vector * elementBytes + sectorBytes - 1) /
                  sectorBytes;
  });
  return cost;
}

} // namespace tlc
