// Vector widths, bank conflicts and sectors. See Analysis.h.
#include "layout/Analysis.h"
#include "layout/Digits.h"
#include "layout/Shape.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace tlc {

using namespace detail;

namespace {

/// The register bits that step through `vector` consecutive offsets. Digits must have been split
/// into bits.
std::optional<DigitSet> vectorDigits(const Layout &access, Index vector, const std::string &reg) {
  if (access.outputs.size() != 1)
    throw LayoutError("an access has one output");
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

/// The instructions of an access, brought down to kinds: instructions of one kind touch the same
/// pattern of bytes, moved by a multiple of some granule. Swizzles make a few kinds, everything
/// else one, so that a tile costs as much to judge as a warp.
class Instructions {
public:
  /// `lanes` in the order of service; `granule` in bytes.
  Instructions(const Layout &whole, Index vector, Index elementBytes,
               const std::vector<Index> &lanes, Index granule)
      : access(whole), elementBytes(elementBytes), lanes(lanes) {
    splitBits(access);
    auto digits = vectorDigits(access, vector, "reg");
    if (!digits)
      throw LayoutError("registers do not form vectors of " + std::to_string(vector));
    fixToZero(access, *digits);
    registers = coordinates("reg");
    threads = coordinates("thread");
    sortTerms();
    collect(granule);
  }

  /// Calls `f(byte addresses of the lanes that take part, number of instructions)` for each kind.
  template <typename F> void forEachKind(F &&f) const {
    llvm::SmallVector<Index, 64> bytes;
    llvm::SmallVector<std::pair<DigitSet, Index>, 64> ofLanes; // parities of terms, and the rest
    Index warp = -1;                                           // that these are of
    for (const Kind &kind : kinds) {
      if (std::exchange(warp, kind.first) != kind.first) {
        ofLanes.clear();
        for (Index lane : lanes)
          if (kind.first + lane < static_cast<Index>(threads.size())) {
            const Coordinate &thread = threads[static_cast<std::size_t>(kind.first + lane)];
            ofLanes.emplace_back(parities(thread.ones), thread.odd);
          }
      }
      const Coordinate &reg = registers[static_cast<std::size_t>(kind.reg)];
      DigitSet ofRegister = parities(reg.ones) ^ flips;
      bytes.clear();
      for (auto [ofLane, odd] : ofLanes) {
        Index sum = access.outputs[0].base + reg.odd + odd;
        for (DigitSet on = ofRegister ^ ofLane; on; on &= on - 1)
          sum += bits[static_cast<std::size_t>(std::countr_zero(on))].weight;
        bytes.push_back(sum * elementBytes);
      }
      f(std::as_const(bytes), kind.count);
    }
  }

private:
  /// A coordinate: its bits, and what its other digits are worth.
  struct Coordinate {
    DigitSet ones = 0;
    Index odd = 0;
  };
  struct Kind {
    DigitSet parities; ///< of the terms that mix bits of the lane with others
    Index remainder, active;
    Index reg, first, count; ///< one instruction of the kind, and how many there are
  };

  std::vector<Coordinate> coordinates(const std::string &name) const {
    int axis = inputIndex(access, name);
    const auto &radices = access.inputs[static_cast<std::size_t>(axis)].radices;
    int low = std::countr_zero(digitsOf(access, axis));
    std::vector<Coordinate> all(1);
    all.reserve(static_cast<std::size_t>(access.input(name).size()));
    for (std::size_t i = 0; i < radices.size(); ++i) {
      int d = low + static_cast<int>(i);
      Index worth = 0;
      for (const Term &t : access.outputs[0].terms)
        if (t.digits == bit(d) && radices[i] != 2)
          worth += t.weight;
      std::size_t place = all.size();
      for (Index value = 1; value < radices[i]; ++value)
        for (std::size_t x = 0; x < place; ++x) {
          all.push_back(all[x]);
          if (radices[i] == 2)
            all.back().ones |= bit(d);
          else
            all.back().odd += worth * value;
        }
    }
    return all;
  }

  static unsigned parity(DigitSet s) { return static_cast<unsigned>(__builtin_parityll(s)); }

  static Index valueOf(const Term &t, DigitSet ones) {
    return t.weight * (parity(ones & t.digits) ^ t.flip);
  }

  /// Bit i: of term i of `bits`, from these digits alone.
  DigitSet parities(DigitSet ones) const {
    DigitSet all = 0;
    for (std::size_t i = 0; i < bits.size(); ++i)
      all |= DigitSet{parity(ones & bits[i].digits)} << i;
    return all;
  }

  void sortTerms() {
    for (const Term &t : access.outputs[0].terms)
      if (!isDigit(t) || access.radix(std::countr_zero(t.digits)) == 2) {
        flips |= DigitSet{t.flip} << bits.size();
        bits.push_back(t);
      }
    // Bits of the thread number below the size of a warp, which must be what its digits make up.
    Index warp = static_cast<Index>(lanes.size()), place = 1;
    int axis = inputIndex(access, "thread"), d = std::countr_zero(digitsOf(access, axis));
    DigitSet ofLane = 0;
    for (Index radix : access.inputs[static_cast<std::size_t>(axis)].radices) {
      if (place < warp)
        ofLane |= bit(d);
      if (place < warp && place * radix > warp)
        return;
      place *= radix;
      ++d;
    }
    separable = true;
    for (const Term &t : bits)
      if (!(t.digits & ofLane))
        common.push_back(t);
      else if (t.digits & ~ofLane)
        mixed.push_back({t.digits & ~ofLane, t.weight, t.flip});
  }

  /// What a register or the first thread of a warp brings to an instruction.
  struct Share {
    DigitSet parities = 0; ///< of the mixed terms
    Index sum = 0;         ///< of the common terms that nobody else has bits of
  };

  Share shareOf(const Coordinate &c, const llvm::SmallVectorImpl<Term> &own) const {
    Share share{0, c.odd};
    for (const Term &t : own)
      share.sum += valueOf(t, c.ones);
    for (const Term &t : mixed)
      share.parities = share.parities << 1 | parity(c.ones & t.digits);
    return share;
  }

  void collect(Index granule) {
    DigitSet ofRegisters = digitsOf(access, inputIndex(access, "reg"));
    llvm::SmallVector<Term, 16> regTerms, threadTerms, both;
    for (const Term &t : common)
      (!(t.digits & ofRegisters)    ? threadTerms
       : !(t.digits & ~ofRegisters) ? regTerms
                                    : both)
          .push_back(t);
    const llvm::SmallVector<Alike, 64> alike = registersAlike(regTerms, both.empty() ? granule : 0);
    Index count = static_cast<Index>(threads.size()), warp = static_cast<Index>(lanes.size());
    for (Index first = 0; first < count; first += warp) {
      const Coordinate &start = threads[static_cast<std::size_t>(first)];
      Share of = separable ? shareOf(start, threadTerms) : Share();
      for (const Alike &regs : alike) {
        Kind kind{0, 0, std::min(warp, count - first), regs.first, first, regs.count};
        if (separable) {
          Index base = access.outputs[0].base + regs.share.sum + of.sum;
          for (const Term &t : both)
            base += valueOf(t, registers[static_cast<std::size_t>(regs.first)].ones | start.ones);
          kind.parities = regs.share.parities ^ of.parities;
          kind.remainder = base * elementBytes % granule;
        }
        add(kind);
      }
    }
  }

  /// Registers that make instructions of one kind with whatever thread.
  struct Alike {
    Share share;
    Index first, count;
  };

  /// With granule 0 each register by itself.
  llvm::SmallVector<Alike, 64> registersAlike(const llvm::SmallVectorImpl<Term> &own,
                                              Index granule) const {
    llvm::SmallVector<Alike, 64> all;
    for (std::size_t r = 0; r < registers.size(); ++r) {
      Share share = separable ? shareOf(registers[r], own) : Share();
      auto same = all.end();
      if (separable && granule)
        same = std::find_if(all.begin(), all.end(), [&](const Alike &a) {
          return a.share.parities == share.parities &&
                 (a.share.sum - share.sum) * elementBytes % granule == 0;
        });
      if (same != all.end())
        ++same->count;
      else
        all.push_back({share, static_cast<Index>(r), 1});
    }
    return all;
  }

  /// Instructions that are not known to be alike are kinds of their own.
  void add(const Kind &kind) {
    auto same = kinds.end();
    if (separable)
      same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind &known) {
        return known.parities == kind.parities && known.remainder == kind.remainder &&
               known.active == kind.active;
      });
    if (same != kinds.end())
      same->count += kind.count;
    else
      kinds.push_back(kind);
  }

  Layout access;
  Index elementBytes;
  const std::vector<Index> &lanes;
  std::vector<Coordinate> registers, threads;
  llvm::SmallVector<Term, 16> bits, common, mixed; ///< on bits: all, without and partly of the lane
  DigitSet flips = 0;                              ///< bit i: of term i of `bits`
  bool separable = false;
  llvm::SmallVector<Kind, 16> kinds;
};

/// The most distinct words in one bank, and the number of distinct words.
struct Crowd {
  Index worst = 1, words = 0;
};

class Banks {
public:
  explicit Banks(Index banks) : banks(banks), newest(static_cast<std::size_t>(banks), none) {}

  void add(Index word) {
    std::size_t bank = bankOf(word);
    Index load = 1;
    for (int i = newest[bank]; i != none; i = words[static_cast<std::size_t>(i)].older, ++load)
      if (words[static_cast<std::size_t>(i)].word == word)
        return;
    words.push_back({word, newest[bank]});
    newest[bank] = static_cast<int>(words.size()) - 1;
    worst = std::max(worst, load);
  }

  Crowd crowd() const { return {worst, static_cast<Index>(words.size())}; }

  void clear() {
    for (const Entry &e : words)
      newest[bankOf(e.word)] = none;
    words.clear();
    worst = 1;
  }

private:
  std::size_t bankOf(Index word) const {
    bool mask = (banks & (banks - 1)) == 0; // on every machine so far, and much cheaper
    return static_cast<std::size_t>(mask ? word & (banks - 1) : word % banks);
  }

  static constexpr int none = -1;
  struct Entry {
    Index word;
    int older; ///< the one before it in its bank
  };
  Index banks, worst = 1;
  llvm::SmallVector<int, 64> newest; ///< by bank
  llvm::SmallVector<Entry, 64> words;
};

Index distinct(llvm::SmallVectorImpl<Index> &values) {
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

} // namespace

Index vectorWidth(const Layout &access, Index limit, const std::string &reg) {
  Layout bits = access;
  splitBits(bits);
  Index v = 1;
  for (Index w = 2; w <= limit; w *= 2)
    if (vectorDigits(bits, w, reg))
      v = w;
  return v;
}

Index orderedWidth(const Layout &access, Index limit, const std::string &reg) {
  Index width = vectorWidth(access, limit, reg);
  if (width == 1)
    return width;
  Index run = contiguity(sliceToAxis(access, reg), reg);
  while (run % width != 0)
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
  Index words = (bytes + memory.bankBytes - 1) / memory.bankBytes;
  Index together = memory.banks * memory.bankBytes / std::max(bytes, memory.bankBytes);
  std::size_t phase = static_cast<std::size_t>(std::clamp(together, Index{1}, memory.warp()));
  AccessCost cost;
  Banks banks(memory.banks);
  Instructions(access, vector, elementBytes, lanes, memory.bankBytes)
      .forEachKind([&](const auto &addresses, Index times) {
        cost.instructions += times;
        for (std::size_t i = 0; i < addresses.size(); i += phase) {
          banks.clear();
          for (std::size_t j = i; j < std::min(i + phase, addresses.size()); ++j)
            for (Index word = addresses[j] / memory.bankBytes, end = word + words; word < end;
                 ++word)
              banks.add(word);
          Crowd crowd = banks.crowd();
          cost.wavefronts += times * crowd.worst;
          cost.ideal += times * ((crowd.words + memory.banks - 1) / memory.banks);
        }
      });
  return cost;
}

namespace {

/// Adds what instructions with these addresses cost, in units of `unit` bytes.
template <typename Addresses>
void addUnits(AccessCost &cost, const Addresses &addresses, Index times, Index bytes, Index unit) {
  cost.instructions += times;
  llvm::SmallVector<Index, 64> starts(addresses), touched;
  for (Index a : addresses)
    for (Index b = a / unit; b <= (a + bytes - 1) / unit; ++b)
      touched.push_back(b);
  cost.wavefronts += times * distinct(touched);
  cost.ideal += times * ((distinct(starts) * bytes + unit - 1) / unit);
}

std::vector<Index> lanesInOrder(Index warp) {
  std::vector<Index> lanes(static_cast<std::size_t>(warp));
  std::iota(lanes.begin(), lanes.end(), Index{0});
  return lanes;
}

} // namespace

AccessCost sectors(const Layout &access, Index vector, Index elementBytes, Index warp,
                   Index sectorBytes) {
  std::vector<Index> lanes = lanesInOrder(warp);
  AccessCost cost;
  Instructions(access, vector, elementBytes, lanes, sectorBytes)
      .forEachKind([&](const auto &addresses, Index times) {
        addUnits(cost, addresses, times, vector * elementBytes, sectorBytes);
      });
  return cost;
}

GlobalCost globalCost(const Layout &access, Index vector, Index elementBytes, Index warp) {
  constexpr Index sector = 32, line = 128;
  std::vector<Index> lanes = lanesInOrder(warp);
  GlobalCost cost;
  Instructions(access, vector, elementBytes, lanes, line)
      .forEachKind([&](const auto &addresses, Index times) {
        addUnits(cost.sectors, addresses, times, vector * elementBytes, sector);
        addUnits(cost.lines, addresses, times, vector * elementBytes, line);
      });
  return cost;
}

} // namespace tlc
