// Conversions between fragments. See Conversion.h.
#include "layout/Conversion.h"
#include "layout/Algebra.h"
#include "layout/F2.h"
#include "layout/Fit.h"
#include "layout/Shape.h"

#include <algorithm>
#include <map>
#include <numeric>

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
/// vectors, in round k lane l receives register k ^ Q l, so it reads lane M l ^ T k with
/// M = T_ll ^ T_lr Q. Q is grown until the register wanted from a lane depends on that lane only.
class ShufflePlanner {
public:
  ShufflePlanner(Layout map, Index warp) : source(std::move(map)), warp(warp) {
    splitBits(source);
    threadAxis = inputIndex(source, "thread");
    threads = source.input("thread").size();
    registers = source.input("reg").size();
  }

  std::optional<ShufflePlan> plan(Index elementBytes) {
    if (source.inputs[0].name != "reg" || !sortDigits() || !readThreadTerms() ||
        !readRegisterTerms())
      return std::nullopt;
    for (int d : regDigit)
      perReg.push_back(column[d]);
    for (int d : laneDigit)
      perLane.push_back(column[d]);
    q.assign(laneDigit.size(), 0);
    if (!growQ())
      return std::nullopt;
    return write(elementBytes);
  }

private:
  Layout source;
  Index warp, threads = 0, registers = 0;
  int threadAxis = 0;
  std::vector<int> laneDigit, regDigit; ///< destination digits that are bits
  std::vector<Index> sourceReg;         ///< place value of each source register bit
  DigitSet lanes = 0, warps = 0, odd = 0;
  /// By destination digit: source lane bits, then source register bits from bit 32.
  std::vector<Word> column = std::vector<Word>(64, 0);
  std::vector<Term> wide; ///< register digits that pass through
  std::vector<Word> perReg, perLane, q;
  std::vector<std::pair<Word, Word>> reads; ///< source lanes (reduced) -> register part

  static Word lanePart(Word v) { return v & 0xffffffffu; }
  static Word regPart(Word v) { return v >> 32; }
  int laneCount() const { return static_cast<int>(laneDigit.size()); }

  bool sortDigits() {
    for (int d = 0; d < source.digitCount(); ++d) {
      auto [a, p] = source.place(d);
      if (a != threadAxis) {
        if (source.radix(d) > 2)
          odd |= bit(d);
        else
          regDigit.push_back(d);
        continue;
      }
      (p < warp ? lanes : warps) |= bit(d);
      if (p >= warp)
        continue;
      if (source.radix(d) > 2)
        return false;
      laneDigit.push_back(d);
    }
    return true;
  }

  /// Warps must stay where they are; lane bits go into the columns.
  bool readThreadTerms() {
    const OutputAxis &thread = source.output("thread");
    for (const Term &t : thread.terms) {
      if (t.flip)
        return false;
      if (t.weight >= warp || t.weight >= threads) {
        if (!isDigit(t) || !(t.digits & warps) ||
            source.place(std::countr_zero(t.digits)).second != t.weight)
          return false;
        warps &= ~t.digits;
        continue;
      }
      if (t.digits & (warps | odd) || !isPowerOfTwo(t.weight))
        return false;
      for (DigitSet s = t.digits; s; s &= s - 1)
        column[std::countr_zero(s)] |= static_cast<Word>(t.weight);
    }
    return !warps && !thread.base;
  }

  bool readRegisterTerms() {
    const OutputAxis &reg = source.output("reg");
    for (const Term &t : reg.terms) {
      if (isDigit(t) && (t.digits & odd)) {
        wide.push_back(t);
        continue;
      }
      if (t.flip || (t.digits & odd))
        return false;
      for (DigitSet s = t.digits; s; s &= s - 1) {
        int d = std::countr_zero(s);
        if (!(bit(d) & lanes) && source.place(d).first == threadAxis)
          return false;
        column[d] |= bit(32 + static_cast<int>(sourceReg.size()));
      }
      sourceReg.push_back(t.weight);
    }
    return !reg.base;
  }

  /// A combination of lanes that reads one lane but two of its registers; 0 if there is none, and
  /// then `reads` is filled.
  Word findClash() {
    reads.clear();
    Span image;
    std::vector<Word> m(laneDigit.size());
    for (int j = 0; j < laneCount(); ++j) {
      m[j] = perLane[j] ^ combine(perReg, q[j]);
      Word made = bit(j);
      if (image.reduce(lanePart(m[j]), &made) == 0 && regPart(combine(m, made)) != 0)
        return made;
      image.insert(lanePart(m[j]), j);
    }
    for (auto &[vector, made] : image.rows())
      reads.emplace_back(vector, regPart(combine(m, made)));
    return 0;
  }

  bool growQ() {
    for (int attempt = 0; attempt <= laneCount(); ++attempt) {
      Word clash = findClash();
      if (!clash)
        return true;
      int lane = std::bit_width(clash) - 1;
      Span others;
      for (int j = 0; j < laneCount(); ++j)
        others.insert(lanePart(perLane[j] ^ combine(perReg, q[j])));
      bool found = false;
      for (std::size_t k = 0; k < perReg.size() && !found; ++k)
        if (!others.contains(lanePart(perReg[k])))
          q[lane] ^= bit(static_cast<int>(k)), found = true;
      if (!found)
        return false;
    }
    return false;
  }

  /// The register that a lane receives into: k ^ Q l.
  void writeReceive(OutputAxis &out) const {
    for (std::size_t k = 0; k < regDigit.size(); ++k) {
      Term t{bit(regDigit[k]), source.place(regDigit[k]).second, false};
      for (int j = 0; j < laneCount(); ++j)
        if (q[j] >> k & 1)
          t.digits |= bit(laneDigit[j]);
      out.terms.push_back(t);
    }
    for (int d = 0; d < source.digitCount(); ++d)
      if (odd & bit(d))
        out.terms.push_back({bit(d), source.place(d).second, false});
  }

  /// The thread that a lane reads from; whether that is the lane itself when no register bit is
  /// set.
  bool writeSource(OutputAxis &out) const {
    bool still = true;
    for (int b = 0; b < laneCount(); ++b) {
      Term t{0, Index{1} << b, false};
      for (int j = 0; j < laneCount(); ++j)
        if ((perLane[j] ^ combine(perReg, q[j])) >> b & 1)
          t.digits |= bit(laneDigit[j]);
      still = still && t.digits == bit(laneDigit[b]);
      for (std::size_t k = 0; k < regDigit.size(); ++k)
        if (perReg[k] >> b & 1)
          t.digits |= bit(regDigit[k]);
      out.terms.push_back(t);
    }
    for (const Term &t : source.output("thread").terms)
      if (t.weight >= warp)
        out.terms.push_back(t);
    return still;
  }

  /// The register that a lane offers: P of the lane, moved by the round.
  void writeProvide(OutputAxis &out) const {
    std::vector<Word> p(32, 0);
    for (auto &[vector, taken] : reads)
      p[std::bit_width(vector) - 1] = taken;
    for (std::size_t s = 0; s < sourceReg.size(); ++s) {
      Term t{0, sourceReg[s], false};
      for (std::size_t k = 0; k < regDigit.size(); ++k)
        if ((regPart(perReg[k]) ^ combine(p, lanePart(perReg[k]))) >> s & 1)
          t.digits |= bit(regDigit[k]);
      for (int b = 0; b < laneCount(); ++b)
        if (p[b] >> s & 1)
          t.digits |= bit(laneDigit[b]);
      out.terms.push_back(t);
    }
    for (const Term &t : wide)
      out.terms.push_back(t);
  }

  /// The three maps over (round, thread); digits are those of the destination.
  ShufflePlan write(Index elementBytes) const {
    Few<InputAxis, 2> inputs{{"round", source.input("reg").radices},
                             {"thread", source.input("thread").radices}};
    ShufflePlan plan{{inputs, {{"reg", source.output("reg").size, 0, {}}}},
                     {inputs, {{"thread", threads, 0, {}}}},
                     {inputs, {{"reg", registers, 0, {}}}},
                     registers,
                     0};
    writeReceive(plan.receive.outputs[0]);
    bool still = writeSource(plan.source.outputs[0]);
    writeProvide(plan.provide.outputs[0]);
    for (Layout *l : {&plan.provide, &plan.source, &plan.receive})
      l->normalize(), l->check();
    Span moves; // rounds fall into classes with one source map each
    for (Word w : perReg)
      moves.insert(lanePart(w));
    Index classes = Index{1} << moves.size();
    plan.instructions = (classes - still) * ((registers / classes * elementBytes + 3) / 4);
    return plan;
  }
};

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
  if (equal(a, b)) {
    std::vector<Index> same(static_cast<std::size_t>(b.input("reg").size()));
    std::iota(same.begin(), same.end(), Index{0});
    return {std::nullopt, std::move(same)};
  }
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
  s.registers.emplace();
  for (Index r = 0; r < b.input("reg").size(); ++r)
    s.registers->push_back((*s.map)({r, 0})[0]);
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
  if (same) {
    c.registerMap = Layout::identity({{"reg", a.input("reg").size()}});
    return c;
  }
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

bool isHeldIn(const Layout &from, const Layout &to, const Sizes &shape) {
  return findSource(registersFirst(from), registersFirst(to), shape).registers.has_value();
}

Conversion planConversion(const Layout &from, const Layout &to, Index elementBytes,
                          const SharedMemory &machine, const Sizes &shape, Index maxShuffles) {
  Layout a = registersFirst(from), b = registersFirst(to);
  Source source = findSource(a, b, shape);
  if (source.registers)
    return renaming(a, b, std::move(*source.registers));
  Conversion c;
  if (source.map)
    c.shuffle = ShufflePlanner(*source.map, machine.warp()).plan(elementBytes);
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
