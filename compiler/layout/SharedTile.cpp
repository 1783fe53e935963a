// Shared-memory layouts by linear algebra on the bits. See SharedTile.h.
#include "layout/SharedTile.h"
#include "layout/Algebra.h"
#include "layout/F2.h"
#include "layout/Shape.h"

#include <algorithm>
#include <map>
#include <set>

namespace tlc {

using namespace detail;

namespace {

/// The tile as digits that both fragments respect: bits are numbered as F2 coordinates, odd digits
/// stand apart.
struct TileDigits {
  struct Digit {
    std::size_t output;
    Index place, radix;
    int bitId;
  };
  std::vector<Digit> digits;
  int bits = 0;
  Word at(std::size_t output, Index place) const {
    for (const Digit &d : digits)
      if (d.output == output && d.place == place && d.bitId >= 0)
        return bit(d.bitId);
    return 0;
  }
};

/// Fragments must have been split into bits. The last output axis comes first, so that row-major
/// order is natural. A fragment's digit that does not fit the others' (or the guarded part beyond
/// the tile) stays unknown.
TileDigits tileDigits(const std::vector<const Layout *> &fragments, const Sizes &tile) {
  TileDigits out;
  for (std::size_t o = tile.size(); o-- > 0;) {
    std::set<Index> cuts{1, tile[o].second};
    auto add = [&](Index c) {
      auto above = cuts.upper_bound(c);
      if (above != cuts.end() && *above % c == 0 && c % *std::prev(above) == 0)
        cuts.insert(c);
    };
    for (const Layout *l : fragments)
      for (const Term &t : l->outputs[o].terms)
        add(t.weight), add(t.weight * (isDigit(t) ? l->radix(std::countr_zero(t.digits)) : 2));
    for (auto c = cuts.begin(); std::next(c) != cuts.end(); ++c) {
      Index place = *c, ratio = *std::next(c) / *c;
      for (; ratio % 2 == 0; ratio /= 2, place *= 2)
        out.digits.push_back({o, place, 2, out.bits++});
      if (ratio > 1)
        out.digits.push_back({o, place, ratio, -1});
    }
  }
  return out;
}

/// Tile vectors of the bits of one input axis, by place value; none for a bit that is unknown to
/// the tile's digits.
std::map<Index, std::optional<Word>> bitVectors(const Layout &fragment, const std::string &axis,
                                                const TileDigits &tile) {
  std::map<Index, std::optional<Word>> out;
  DigitSet digits = digitsOf(fragment, inputIndex(fragment, axis));
  for (int d = 0; d < fragment.digitCount(); ++d) {
    if (!(digits & bit(d)) || fragment.radix(d) != 2)
      continue;
    std::optional<Word> v = 0;
    for (std::size_t o = 0; o < fragment.outputs.size(); ++o)
      for (const Term &t : fragment.outputs[o].terms)
        if (Word w = tile.at(o, t.weight); v && (t.digits & bit(d)))
          v = w ? std::optional(*v ^ w) : std::nullopt;
    out[fragment.place(d).second] = v;
  }
  return out;
}

/// A fragment in terms of a tile's digits.
struct TileFragment {
  TileFragment(const Layout &fragment, const TileDigits &tile)
      : threads(fragment.input("thread").size()), thread(bitVectors(fragment, "thread", tile)) {
    for (auto &[place, w] : bitVectors(fragment, "reg", tile))
      if (w.value_or(0))
        registers.push_back(*w);
    std::sort(registers.begin(), registers.end());
  }

  Index threads;
  std::map<Index, std::optional<Word>> thread;
  std::vector<Word> registers; ///< vector candidates, the fastest tile axis first
};

/// Vectors that differ between the lanes of one phase.
std::optional<std::vector<Word>> phaseVectors(const TileFragment &fragment, Index lanes,
                                              const SharedMemory &m) {
  const auto &[threads, thread, registers] = fragment;
  std::vector<Word> out;
  for (std::size_t b = 0; b < m.laneBasis.size() && (Index{1} << b) < lanes; ++b) {
    Word v = 0;
    for (Index lane = m.laneBasis[b]; lane; lane &= lane - 1) {
      Index place = lane & -lane;
      if (place >= threads)
        continue;
      auto hit = thread.find(place);
      if (hit == thread.end() || !hit->second)
        return std::nullopt; // not a bit of the tile
      v ^= *hit->second;
    }
    out.push_back(v);
  }
  return out;
}

/// Two fragments in terms of the digits that both respect.
struct TilePair {
  TilePair(const Layout &storing, const Layout &loading, const Sizes &tileSizes)
      : TilePair(inBits(storing), inBits(loading), tileSizes, 0) {}

  TileDigits tile;
  TileFragment store, load;

private:
  TilePair(const Layout &storing, const Layout &loading, const Sizes &tileSizes, int)
      : tile(tileDigits({&storing, &loading}, tileSizes)), store(storing, tile),
        load(loading, tile) {}
  static Layout inBits(Layout fragment) {
    splitBits(fragment);
    return fragment;
  }
};

/// Conflict-free layout by linear algebra. Offsets are (vector | bank | row) bits. An access is
/// conflict-free iff no two lanes of a phase differ by an element of the subspace that keeps vector
/// and bank fixed; two subspaces of equal dimension always have a common complement, so one choice
/// of that subspace serves the store and the load.
class XorLayout {
public:
  /// `vectorBytes` limits vectors; `widen` lets one side use vectors that the other side cannot.
  XorLayout(const TilePair &pair, const Sizes &tileSizes, Index elementBytes, const SharedMemory &m,
            Index vectorBytes, bool widen)
      : store(pair.store), load(pair.load), tile(pair.tile), tileSizes(tileSizes),
        elementBytes(elementBytes), m(m), widen(widen) {
    auto bitsOf = [&](Index bytes) {
      return static_cast<std::size_t>(log2(std::max(Index{1}, bytes / elementBytes)));
    };
    std::size_t n = static_cast<std::size_t>(tile.bits);
    most = bitsOf(vectorBytes);
    wave = std::min(n, bitsOf(m.banks * m.bankBytes));
    word = std::min(n, bitsOf(m.bankBytes));
  }

  std::optional<Layout> run() {
    if (!isPowerOfTwo(elementBytes))
      return std::nullopt;
    chooseVectors();
    if (!choosePhases())
      return std::nullopt;
    growSubspaces();
    std::vector<Word> columns, rows = complement();
    Span all; // offset bit i moves by column i; the layout is the inverse of that matrix
    for (const auto &v : {low, storeBasis, rows})
      for (Word w : v)
        if (all.insert(w, static_cast<int>(columns.size())))
          columns.push_back(w);
    if (columns.size() != static_cast<std::size_t>(tile.bits))
      return std::nullopt;
    return write(all);
  }

private:
  const TileFragment &store, &load;
  const TileDigits &tile;
  const Sizes &tileSizes;
  Index elementBytes;
  const SharedMemory &m;
  bool widen;
  std::size_t most = 0, wave = 0, word = 0; ///< bits of a vector, of a wavefront, of a bank's word
  std::vector<Word> storeVector, loadVector, low;
  std::vector<Word> storePhase, loadPhase;
  std::vector<Word> storeBasis, loadBasis, units;
  Span loadSpan;

  void chooseVectors() {
    std::vector<Word> shared;
    for (Word v : store.registers)
      if (std::count(load.registers.begin(), load.registers.end(), v) && shared.size() < most)
        shared.push_back(v);
    auto extend = [&](const std::vector<Word> &regs) {
      std::vector<Word> v = shared;
      Span span;
      for (Word w : v)
        span.insert(w);
      for (Word w : regs)
        if (widen && v.size() < most && span.insert(w))
          v.push_back(w);
      return v;
    };
    storeVector = extend(store.registers);
    loadVector = storeVector.size() == shared.size() ? extend(load.registers) : shared;
    low = storeVector.size() > loadVector.size() ? storeVector : loadVector;
  }

  Index lanesOf(const std::vector<Word> &vector) const {
    Index bytes = std::max(elementBytes << vector.size(), m.bankBytes);
    return std::clamp(m.banks * m.bankBytes / bytes, Index{1}, m.warp());
  }

  bool choosePhases() {
    auto storing = phaseVectors(store, lanesOf(storeVector), m),
         loading = phaseVectors(load, lanesOf(loadVector), m);
    if (!storing || !loading)
      return false;
    storePhase = std::move(*storing);
    loadPhase = std::move(*loading);
    // A word's worth of elements is below bank granularity: complete the low bits with neighbouring
    // lanes.
    Span lowSpan;
    std::erase_if(low, [&](Word w) { return !lowSpan.insert(w); });
    for (const auto *phase : {&storePhase, &loadPhase})
      for (Word w : *phase)
        if (low.size() < word && lowSpan.insert(w))
          low.push_back(w);
    return true;
  }

  /// The subspaces that must stay distinct, grown to one wavefront; towards each other first.
  void growSubspaces() {
    auto grow = [&](Span &span, std::vector<Word> &basis, const std::vector<Word> &from) {
      for (Word w : from)
        if (span.size() < wave && span.insert(w))
          basis.push_back(w);
    };
    Span storeSpan;
    for (int i = 0; i < tile.bits; ++i)
      units.push_back(bit(i));
    std::vector<Word> wordBits(low.begin(), low.begin() + std::min(word, low.size()));
    for (const auto &v : {wordBits, storeVector, storePhase})
      grow(storeSpan, storeBasis, v);
    for (const auto &v : {wordBits, loadVector, loadPhase})
      grow(loadSpan, loadBasis, v);
    for (const auto &v : {low, loadBasis, units})
      grow(storeSpan, storeBasis, v);
    for (const auto &v : {low, storeBasis, units})
      grow(loadSpan, loadBasis, v);
  }

  /// The rows: sums of what is in one subspace only, and everything that is in neither.
  std::vector<Word> complement() const {
    Span common, storeRest, loadRest, both;
    for (Word c = 1; c < bit(static_cast<int>(storeBasis.size())); ++c)
      if (Word w = combine(storeBasis, c); loadSpan.contains(w))
        common.insert(w);
    storeRest = loadRest = common;
    std::vector<Word> onlyStore, onlyLoad, rows;
    for (Word w : storeBasis)
      if (storeRest.insert(w))
        onlyStore.push_back(w);
    for (Word w : loadBasis)
      if (loadRest.insert(w))
        onlyLoad.push_back(w);
    for (std::size_t i = 0; i < onlyStore.size(); ++i)
      rows.push_back(onlyStore[i] ^ onlyLoad[i]);
    for (const auto *basis : {&storeBasis, &loadBasis})
      for (Word w : *basis)
        both.insert(w);
    for (Word w : units)
      if (both.insert(w))
        rows.push_back(w);
    return rows;
  }

  Layout write(const Span &all) const {
    Layout out;
    std::vector<int> id(tile.digits.size());
    int next = 0;
    for (std::size_t o = 0; o < tileSizes.size(); ++o) {
      out.inputs.push_back({tileSizes[o].first, {}});
      for (std::size_t i = 0; i < tile.digits.size(); ++i)
        if (tile.digits[i].output == o)
          out.inputs.back().radices.push_back(tile.digits[i].radix), id[i] = next++;
    }
    OutputAxis offset{"offset", Index{1} << tile.bits, 0, {}};
    std::vector<Term> terms(static_cast<std::size_t>(tile.bits));
    for (int i = 0; i < tile.bits; ++i)
      terms[i].weight = Index{1} << i;
    for (std::size_t i = 0; i < tile.digits.size(); ++i) {
      if (tile.digits[i].bitId < 0) { // odd digits go on top
        offset.terms.push_back({bit(id[i]), offset.size, false});
        offset.size *= tile.digits[i].radix;
        continue;
      }
      Word made = 0;
      all.reduce(bit(tile.digits[i].bitId), &made);
      for (; made; made &= made - 1)
        terms[std::countr_zero(made)].digits |= bit(id[i]);
    }
    offset.terms.insert(offset.terms.end(), terms.begin(), terms.end());
    out.outputs.push_back(std::move(offset));
    out.normalize();
    out.check();
    return out;
  }
};

} // namespace

SharedSearch::SharedSearch(const Layout &store, const Layout &load, Index elementBytes,
                           const SharedMemory &machine, const Sizes &shape)
    : fragments{store, load}, elementBytes(elementBytes), machine(machine),
      tile(store.outputSizes()), limit(std::max(Index{1}, machine.vectorBytes / elementBytes)) {
  cover = tile;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (load.outputs.at(i).name != tile[i].first)
      throw LayoutError("deriveShared: fragments of different tiles");
    cover[i].second = std::max(tile[i].second, load.outputs[i].size);
    tile[i].second =
        i < shape.size() ? shape[i].second : std::min(tile[i].second, load.outputs[i].size);
  }
  addXors();
  for (Index pad = 0; pad * elementBytes <= machine.banks * machine.bankBytes / 2;
       pad = pad ? pad * 2 : 1)
    makers.push_back([this, pad] { return Layout::rowMajor(tile, "offset", pad); });
  plain = makers.size();
  addSwizzledRows();
}

/// By linear algebra, for both sides or for the needs of one.
void SharedSearch::addXors() {
  for (auto [a, b] : {std::pair(0, 1), std::pair(1, 1), std::pair(0, 0)}) {
    auto pair = std::make_shared<std::optional<TilePair>>(); // made when it is wanted
    for (Index bytes = machine.vectorBytes; bytes >= std::min(elementBytes, machine.vectorBytes);
         bytes /= 2)
      for (bool widen : {true, false})
        makers.push_back([this, pair, a, b, bytes, widen] {
          if (!*pair)
            pair->emplace(fragments[a], fragments[b], tile);
          return XorLayout(**pair, tile, elementBytes, machine, bytes, widen).run();
        });
  }
}

/// Rows as they are or rounded up, vectors XORed with row bits.
void SharedSearch::addSwizzledRows() {
  for (Index round = limit; round <= 8 * limit; round *= 2)
    for (int bits = 1; bits <= 3; ++bits)
      for (int shift = 0; shift <= 3 && tile.size() > 1; ++shift)
        makers.push_back([this, round, bits, shift]() -> std::optional<Layout> {
          Sizes rows = tile;
          rows.back().second = (rows.back().second + round - 1) / round * round;
          Layout memory = Layout::rowMajor(rows);
          try {
            for (int b = 0; b < bits; ++b)
              memory.xorInto("offset", limit << b, rows[rows.size() - 2].first,
                             Index{1} << shift << b);
          } catch (const LayoutError &) { // no such bits in a row of this width
            return std::nullopt;
          }
          memory.normalize();
          return memory;
        });
}

/// The candidate of a maker; none if it makes nothing, or what was made before, or what does not
/// compose.
const SharedSearch::Candidate *SharedSearch::candidate(std::size_t maker) {
  if (maker < made.size())
    return made[maker].get();
  std::unique_ptr<Candidate> &result = made.emplace_back();
  std::optional<Layout> memory = makers[maker]();
  if (!memory || std::find(memories.begin(), memories.end(), *memory) != memories.end())
    return nullptr;
  Layout guarded = *memory;
  for (auto &[name, size] : cover)
    guarded = extendInput(guarded, name, size);
  memories.push_back(*memory);
  auto writes = compose(guarded, fragments[0]), reads = compose(guarded, fragments[1]);
  if (writes && reads)
    result = std::make_unique<Candidate>(
        Candidate{std::move(*memory), {std::move(*writes), {}}, {std::move(*reads), {}}});
  return result.get();
}

/// The cheapest way to make an access, and the vectors of which.
std::pair<AccessCost, Index> SharedSearch::cheapest(const Access &access, Vectors vectors) const {
  std::optional<AccessCost> best;
  Index vector = 1;
  Index widest = vectors == Vectors::InOrder ? orderedWidth(access.offsets, limit)
                                             : vectorWidth(access.offsets, limit);
  for (Index v = widest; v >= 1 && !(best && best->conflictFree()); v /= 2) {
    auto [cost, isNew] = access.costs.try_emplace(v);
    if (isNew)
      cost->second = bankConflicts(access.offsets, v, elementBytes, machine);
    if (!best || cost->second.wavefronts < best->wavefronts)
      best = cost->second, vector = v;
  }
  return {*best, vector};
}

SharedPlan SharedSearch::find(Vectors vectors) {
  std::optional<SharedPlan> best;
  auto key = [](const SharedPlan &p) {
    return std::tuple(p.store.wavefronts + p.load.wavefronts,
                      p.store.instructions + p.load.instructions, p.memory.outputs[0].size);
  };
  for (std::size_t maker = 0; maker < makers.size(); ++maker) {
    if (maker == plain && best->store.conflictFree() && best->load.conflictFree())
      break;
    const Candidate *found = candidate(maker);
    if (!found)
      continue;
    SharedPlan plan{found->memory, 1, 1, {}, {}};
    std::tie(plan.store, plan.storeVector) = cheapest(found->writes, vectors);
    if (best && plan.store.wavefronts > best->store.wavefronts + best->load.wavefronts)
      continue;
    std::tie(plan.load, plan.loadVector) = cheapest(found->reads, vectors);
    if (!best || key(plan) < key(*best))
      best = plan;
    if (plan.store.conflictFree() && plan.load.conflictFree() && plan.storeVector == limit &&
        plan.loadVector == limit)
      break; // nothing can be better
  }
  return *best; // plain row-major always composes
}

SharedPlan deriveShared(const Layout &store, const Layout &load, Index elementBytes,
                        const SharedMemory &machine, const Sizes &shape, Vectors vectors) {
  return SharedSearch(store, load, elementBytes, machine, shape).find(vectors);
}

// ---- Panels ----

namespace {

/// Bytes of a panel's row, widest first; 0 stands for 16 bytes without swizzle.
constexpr Index panelModes[] = {128, 64, 32, 0};

Index panelElements(unsigned elementBits, Index swizzleBytes) {
  return (swizzleBytes ? swizzleBytes : 16) * 8 / elementBits;
}

Index rowsOf(const Sizes &shape) { return shape.size() > 1 ? shape[shape.size() - 2].second : 1; }

bool hasPanels(const Sizes &shape, unsigned elementBits, Index swizzleBytes) {
  return !shape.empty() && 128 % elementBits == 0 &&
         shape.back().second % panelElements(elementBits, swizzleBytes) == 0 &&
         (swizzleBytes == 0 || rowsOf(shape) % 8 == 0);
}

} // namespace

Layout swizzledPanels(const Sizes &shape, unsigned elementBits, Index swizzleBytes) {
  if (!hasPanels(shape, elementBits, swizzleBytes))
    throw LayoutError("swizzledPanels: a tile that is no whole number of panels");
  Index width = panelElements(elementBits, swizzleBytes), rows = rowsOf(shape);
  Index span = 1;
  for (auto &[name, size] : shape)
    span *= size;
  std::vector<std::pair<std::string, std::vector<Digit>>> inputs;
  Index outer = span;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto &[name, size] = shape[d];
    if (d + 1 == shape.size())
      inputs.push_back({name, {{width, "offset"}, {size / width, "offset", rows * width}}});
    else if (d + 2 == shape.size())
      inputs.push_back({name, {{size, "offset", width}}});
    else
      inputs.push_back({name, {{size, "offset", outer /= size}}});
  }
  Layout memory = Layout::make(inputs, {{"offset", span}});
  // Units of a wider panel change with each row, those of narrower ones with every second or
  // fourth.
  Index unit = 128 / elementBits;
  for (Index bit = 1; bit * 16 < swizzleBytes; bit *= 2)
    memory.xorInto("offset", unit * bit, shape[shape.size() - 2].first, 128 / swizzleBytes * bit);
  memory.normalize();
  return memory;
}

std::optional<Index> panelSwizzle(const Layout &memory, const Sizes &shape, unsigned elementBits) {
  for (Index mode : panelModes)
    if (hasPanels(shape, elementBits, mode) &&
        equal(memory, swizzledPanels(shape, elementBits, mode)))
      return mode;
  return std::nullopt;
}

std::optional<Index> widestPanels(const Sizes &shape, unsigned elementBits) {
  for (Index mode : panelModes)
    if (hasPanels(shape, elementBits, mode))
      return mode;
  return std::nullopt;
}

} // namespace tlc
