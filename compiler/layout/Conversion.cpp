// Conversions between fragments. See Conversion.h.
#include "layout/Conversion.h"
#include "layout/Algebra.h"
#include "layout/F2.h"
#include "layout/Fit.h"
#include "layout/Shape.h"

#include <algorithm>
#include <map>

namespace tlc {

using namespace detail;

namespace {

/// (reg, thread) of `to` -> (reg, thread) of `from` that holds the same element, staying on the
/// same thread where possible.
std::optional<Layout> sourceMap(Layout from, Layout to) {
  from.normalize();
  auto first = invertWithFree(from);
  if (!first)
    return std::nullopt;
  OutputAxis freeFrom{"free", 1, 0, {}},
      freeTo{"free", 1, 0, {}}; // redundant thread digits: take the destination's
  int thread = inputIndex(from, "thread"), threadTo = inputIndex(to, "thread");
  for (int d = 0; d < from.digitCount(); ++d) {
    if (!(first->free & digitsOf(from, thread) & bit(d)))
      continue;
    Index p = from.place(d).second, r = from.radix(d);
    if (!to.cut(threadTo, p) || !to.cut(threadTo, p * r))
      return std::nullopt;
    freeFrom.terms.push_back({bit(d), freeFrom.size, false});
    freeFrom.size *= r;
  }
  for (int d = 0; d < from.digitCount(); ++d) {
    if (!(first->free & digitsOf(from, thread) & bit(d)))
      continue;
    Index p = from.place(d).second, end = p * from.radix(d);
    for (int e = 0; e < to.digitCount(); ++e)
      if (auto [a, q] = to.place(e); a == threadTo && q >= p && q < end)
        freeTo.terms.push_back({bit(e), freeTo.size * (q / p), false});
    freeTo.size *= end / p;
  }
  from.outputs.push_back(freeFrom);
  to.outputs.push_back(freeTo);
  from.normalize();
  auto inverse = invertWithFree(from);
  return inverse ? compose(inverse->layout, to) : std::nullopt;
}

/// The thread is the destination's own and the register does not depend on it.
bool staysInThread(const Layout &source) {
  int thread = inputIndex(source, "thread");
  DigitSet threads = digitsOf(source, thread), seen = 0;
  for (const Term &t : source.output("thread").terms) {
    if (!isDigit(t) || !(t.digits & threads) ||
        source.place(std::countr_zero(t.digits)).second != t.weight)
      return false;
    seen |= t.digits;
  }
  for (const Term &t : source.output("reg").terms)
    if (t.digits & threads)
      return false;
  return seen == threads;
}

/// By enumeration, for fragments whose digits do not fit: the register of each thread that holds
/// what it needs, if that is the same register in all threads.
std::optional<std::vector<Index>> heldRegisters(const Layout &a, const Layout &b,
                                                const Sizes &shape) {
  Index threads = b.input("thread").size(), registersA = a.input("reg").size(),
        registersB = b.input("reg").size();
  std::vector<std::vector<Index>> choices(registersB);
  for (Index r = 0; r < registersB; ++r)
    for (Index s = 0; s < registersA; ++s)
      choices[r].push_back(s);
  for (Index t = 0; t < threads; ++t) {
    std::map<Point, std::vector<Index>> held;
    for (Index s = 0; s < registersA; ++s)
      held[a({s, t})].push_back(s);
    for (Index r = 0; r < registersB; ++r) {
      Point p = b({r, t});
      bool wanted = true;
      for (std::size_t i = 0; i < shape.size(); ++i)
        wanted = wanted && p[i] < shape[i].second;
      if (!wanted)
        continue;
      const std::vector<Index> &here = held[p];
      std::erase_if(choices[r],
                    [&](Index s) { return !std::binary_search(here.begin(), here.end(), s); });
      if (choices[r].empty())
        return std::nullopt;
    }
  }
  std::vector<Index> registers;
  for (Index r = 0; r < registersB; ++r)
    registers.push_back(
        std::binary_search(choices[r].begin(), choices[r].end(), r) ? r : choices[r].front());
  return registers;
}

/// Rounds of shuffles for a source map that stays inside warps. With lane and register bits as F2
/// vectors, in round k lane l receives register k ^ Q l, so it reads lane M l ^ T k with M = T_ll ^
/// T_lr Q. Q is grown until the register wanted from a lane depends on that lane only.
std::optional<ShufflePlan> planShuffles(Layout source, Index warp, Index elementBytes) {
  splitBits(source);
  const OutputAxis &reg = source.output("reg"), &thread = source.output("thread");
  std::vector<int> laneDigit,
      regDigit;                 // destination digits that are bits; F2 coordinates are lanes first
  std::vector<Index> sourceReg; // place value of each source register bit
  DigitSet lanes = 0, warps = 0, odd = 0;
  int threadAxis = inputIndex(source, "thread");
  for (int d = 0; d < source.digitCount(); ++d) {
    auto [a, p] = source.place(d);
    if (a == threadAxis)
      (p < warp ? lanes : warps) |= bit(d);
    else if (source.radix(d) > 2)
      odd |= bit(d);
    else
      regDigit.push_back(d);
    if (a == threadAxis && p < warp) {
      if (source.radix(d) > 2)
        return std::nullopt;
      laneDigit.push_back(d);
    }
  }
  int laneCount = static_cast<int>(laneDigit.size());
  std::vector<Word> column(
      64, 0); // by destination digit: source lane bits, then source register bits from bit 32
  std::vector<Term> wide; // register digits that pass through
  Index threads = source.input("thread").size();
  for (const Term &t : thread.terms) {
    if (t.flip)
      return std::nullopt;
    if (t.weight >= warp || t.weight >= threads) {
      if (!isDigit(t) || !(t.digits & warps) ||
          source.place(std::countr_zero(t.digits)).second != t.weight)
        return std::nullopt;
      warps &= ~t.digits;
      continue;
    }
    if (t.digits & (warps | odd) || !isPowerOfTwo(t.weight))
      return std::nullopt;
    for (DigitSet s = t.digits; s; s &= s - 1)
      column[std::countr_zero(s)] |= static_cast<Word>(t.weight);
  }
  if (warps || thread.base || reg.base)
    return std::nullopt;
  for (const Term &t : reg.terms) {
    if (isDigit(t) && (t.digits & odd)) {
      wide.push_back(t);
      continue;
    }
    if (t.flip || (t.digits & odd))
      return std::nullopt;
    for (DigitSet s = t.digits; s; s &= s - 1) {
      if (!(bit(std::countr_zero(s)) & lanes) &&
          source.place(std::countr_zero(s)).first == threadAxis)
        return std::nullopt;
      column[std::countr_zero(s)] |= bit(32 + static_cast<int>(sourceReg.size()));
    }
    sourceReg.push_back(t.weight);
  }
  auto lanePart = [](Word v) { return v & 0xffffffffu; };
  auto regPart = [](Word v) { return v >> 32; };
  std::vector<Word> perReg, perLane, q(laneCount, 0);
  for (int d : regDigit)
    perReg.push_back(column[d]);
  for (int d : laneDigit)
    perLane.push_back(column[d]);
  // Eliminate lanes against what they read; a lane combination that reads the same lane but another
  // register needs Q.
  std::vector<std::pair<Word, Word>> reads; // source lanes (reduced) -> register part
  for (int attempt = 0;; ++attempt) {
    if (attempt > laneCount)
      return std::nullopt;
    reads.clear();
    Span image;
    std::vector<Word> m(laneCount);
    Word clash = 0;
    for (int j = 0; j < laneCount; ++j) {
      m[j] = perLane[j] ^ combine(perReg, q[j]);
      Word made = bit(j);
      if (image.reduce(lanePart(m[j]), &made) == 0 && regPart(combine(m, made)) != 0) {
        clash = made;
        break;
      }
      image.insert(lanePart(m[j]), j);
    }
    if (!clash) {
      for (auto &[vector, made] : image.rows())
        reads.emplace_back(vector, regPart(combine(m, made)));
      break;
    }
    int lane = std::bit_width(clash) - 1;
    Span others;
    for (int j = 0; j < laneCount; ++j)
      others.insert(lanePart(perLane[j] ^ combine(perReg, q[j])));
    bool found = false;
    for (std::size_t k = 0; k < perReg.size() && !found; ++k)
      if (!others.contains(lanePart(perReg[k])))
        q[lane] ^= bit(static_cast<int>(k)), found = true;
    if (!found)
      return std::nullopt;
  }
  // P: source lane -> register it offers (in round 0).
  std::vector<Word> p(32, 0);
  for (auto &[vector, registers] : reads)
    p[std::bit_width(vector) - 1] = registers;
  // Write the three maps over (round, thread); digits are those of the destination registers and
  // threads.
  std::vector<InputAxis> inputs{{"round", source.input("reg").radices},
                                {"thread", source.input("thread").radices}};
  if (source.inputs[0].name != "reg")
    return std::nullopt;
  Index registers = source.input("reg").size();
  ShufflePlan plan{{inputs, {{"reg", reg.size, 0, {}}}},
                   {inputs, {{"thread", threads, 0, {}}}},
                   {inputs, {{"reg", registers, 0, {}}}},
                   registers,
                   0};
  for (std::size_t k = 0; k < regDigit.size(); ++k) {
    Term t{bit(regDigit[k]), source.place(regDigit[k]).second, false};
    for (int j = 0; j < laneCount; ++j)
      if (q[j] >> k & 1)
        t.digits |= bit(laneDigit[j]);
    plan.receive.outputs[0].terms.push_back(t);
  }
  for (int d = 0; d < source.digitCount(); ++d)
    if (odd & bit(d))
      plan.receive.outputs[0].terms.push_back({bit(d), source.place(d).second, false});
  bool still = true;
  for (int b = 0; b < laneCount; ++b) {
    Term t{0, Index{1} << b, false};
    for (int j = 0; j < laneCount; ++j)
      if ((perLane[j] ^ combine(perReg, q[j])) >> b & 1)
        t.digits |= bit(laneDigit[j]);
    still = still && t.digits == bit(laneDigit[b]);
    for (std::size_t k = 0; k < regDigit.size(); ++k)
      if (perReg[k] >> b & 1)
        t.digits |= bit(regDigit[k]);
    plan.source.outputs[0].terms.push_back(t);
  }
  for (const Term &t : thread.terms)
    if (t.weight >= warp)
      plan.source.outputs[0].terms.push_back(t);
  for (std::size_t s = 0; s < sourceReg.size(); ++s) {
    Term t{0, sourceReg[s], false};
    for (std::size_t k = 0; k < regDigit.size(); ++k)
      if ((regPart(perReg[k]) ^ combine(p, lanePart(perReg[k]))) >> s & 1)
        t.digits |= bit(regDigit[k]);
    for (int b = 0; b < laneCount; ++b)
      if (p[b] >> s & 1)
        t.digits |= bit(laneDigit[b]);
    plan.provide.outputs[0].terms.push_back(t);
  }
  for (const Term &t : wide)
    plan.provide.outputs[0].terms.push_back(t);
  for (Layout *l : {&plan.provide, &plan.source, &plan.receive})
    l->normalize(), l->check();
  Span moves; // rounds fall into classes with one source map each
  for (Word w : perReg)
    moves.insert(lanePart(w));
  Index classes = Index{1} << moves.size();
  plan.instructions = (classes - still) * ((registers / classes * elementBytes + 3) / 4);
  return plan;
}

} // namespace

namespace {

Layout registersFirst(const Layout &l) {
  return l.inputs.at(0).name == "reg" ? l
                                      : permuteInputs(l, {{"reg", "reg"}, {"thread", "thread"}});
}

/// What planConversion decides first: the source map if the digits fit, and the registers if no
/// thread needs another.
struct Source {
  std::optional<Layout> map;
  std::optional<std::vector<Index>> registers;
};
Source findSource(const Layout &a, const Layout &b, const Sizes &shape) {
  if (a.input("thread").size() != b.input("thread").size())
    throw LayoutError("fragments of different thread counts");
  if (a.outputs.size() != b.outputs.size())
    throw LayoutError("fragments of different tiles");
  Source s{sourceMap(a, b), {}};
  if (s.map) {
    auto back = compose(a, *s.map);
    if (!back || !equal(*back, b))
      s.map.reset();
  }
  if (!s.map)
    s.registers = heldRegisters(a, b, shape);
  if (!s.map || !staysInThread(*s.map))
    return s;
  bool same = equal(a, b);
  s.registers.emplace();
  for (Index r = 0; r < b.input("reg").size(); ++r)
    s.registers->push_back(same ? r : (*s.map)({r, 0})[0]);
  return s;
}

} // namespace

bool sameHolders(const Layout &from, const Layout &to) {
  Layout a = registersFirst(from), b = registersFirst(to);
  return findSource(a, b, {}).registers && findSource(b, a, {}).registers;
}

namespace {

Conversion renaming(const Layout &a, const Layout &b, std::vector<Index> registers) {
  Conversion c;
  c.registers = std::move(registers);
  bool same = c.registers.size() == static_cast<std::size_t>(a.input("reg").size());
  for (std::size_t r = 0; r < c.registers.size(); ++r)
    same = same && c.registers[r] == static_cast<Index>(r);
  c.kind = same ? ConversionKind::None : ConversionKind::Registers;
  auto map =
      fit({{"reg", b.input("reg").size()}}, {{"reg", a.input("reg").size()}},
          [&](const Point &r) { return Point{c.registers[static_cast<std::size_t>(r[0])]}; });
  if (auto *layout = std::get_if<Layout>(&map))
    c.registerMap = std::move(*layout);
  return c;
}

} // namespace

std::optional<Conversion> heldIn(const Layout &from, const Layout &to, const Sizes &shape) {
  Layout a = registersFirst(from), b = registersFirst(to);
  Source source = findSource(a, b, shape);
  if (!source.registers)
    return std::nullopt;
  return renaming(a, b, std::move(*source.registers));
}

Conversion planConversion(const Layout &from, const Layout &to, Index elementBytes,
                          const SharedMemory &machine, const Sizes &shape, Index maxShuffles) {
  Layout a = registersFirst(from), b = registersFirst(to);
  Source source = findSource(a, b, shape);
  if (source.registers)
    return renaming(a, b, std::move(*source.registers));
  Conversion c;
  if (source.map)
    c.shuffle = planShuffles(*source.map, machine.warp(), elementBytes);
  if (c.shuffle && c.shuffle->instructions <= maxShuffles) {
    c.kind = ConversionKind::Shuffle;
    return c;
  }
  c.shuffle.reset();
  c.kind = ConversionKind::Shared;
  c.shared = deriveShared(a, b, elementBytes, machine, shape);
  return c;
}

} // namespace tlc
