// Products of warpgroups. Descriptors are what the hardware makes of them, but for the address,
// which counts from the start of the buffer: the product says which buffer it reads. Elements are
// found by the rule of the instruction set's manual, not by the layouts that the compiler works
// with.
#include "interpret/Calls.h"

#include "target/Atoms.h"

#include <map>

namespace tlc::interpret {

namespace {

constexpr std::int64_t unitBytes = 16;

/// What a name says: the atom and how many of its columns stand side by side.
struct WarpGroupProduct {
  const Atom *atom = nullptr;
  Index columns = 0;
  bool registersA = false;
};

const std::map<std::string, WarpGroupProduct, std::less<>> &products() {
  static const auto all = [] {
    std::map<std::string, WarpGroupProduct, std::less<>> made;
    for (const Atom &atom : atomTable(Family::Cuda))
      for (Index columns = atom.n; atom.kind == AtomKind::WarpGroup && columns <= 256;
           columns += atom.n)
        for (bool registersA : {false, true})
          if (warpGroupColumns(atom, columns) == columns)
            made[warpGroupFunction(atom, columns, registersA)] = {&atom, columns, registersA};
    return made;
  }();
  return all;
}

/// The first lane of the warp that is here.
std::uint32_t speaker(const WarpLanes &warp) {
  return static_cast<std::uint32_t>(warp.lane[std::countr_zero(warp.mask)]);
}

std::int64_t argument(Group &group, const CallNode &node, std::size_t i, std::uint32_t lane) {
  return group.lanes.get(node.args.at(i).value.at(0), lane).i;
}

/// An operand as its descriptor finds it.
class Described {
public:
  Described(std::uint64_t bits, bool transposed, std::int64_t elementBytes)
      : start((bits & 0x3fff) * unitBytes), leading((bits >> 16 & 0x3fff) * unitBytes),
        stride((bits >> 32 & 0x3fff) * unitBytes), transposed(transposed),
        elementBytes(elementBytes) {
    constexpr std::int64_t widths[] = {0, 128, 64, 32};
    swizzle = widths[bits >> 62];
  }

  /// Byte of element (row of m or n, k) in the buffer.
  std::int64_t byte(std::int64_t row, std::int64_t k) const {
    std::int64_t width = swizzle ? swizzle : unitBytes;
    std::int64_t along = (transposed ? row : k) * elementBytes, across = transposed ? k : row;
    std::int64_t at = start + across % 8 * width + along % width;
    bool exchanged = transposed && !swizzle; // then the two strides change places
    if (transposed || !swizzle)
      at += along / width * (exchanged ? stride : leading);
    else
      at += along / width * width; // stays within the row
    at += across / 8 * (exchanged ? leading : stride);
    // The swizzle looks at the address.
    if (swizzle)
      at ^= (at >> 7 & (swizzle / unitBytes - 1)) * unitBytes;
    return at;
  }

private:
  std::int64_t start, leading, stride;
  bool transposed;
  std::int64_t elementBytes;
  std::int64_t swizzle = 0;
};

/// One element with whether it was ever written.
struct Number {
  double value = 0;
  bool defined = true;
};

Number numberAt(Group &group, const View &v, std::int64_t at, DType type, std::uint32_t lane) {
  const Codec &c = codec(type.scalar);
  Value ignored{}, held = c.load(v.storage->data + (at >> 3), static_cast<unsigned>(at & 7));
  Number n{type.isFloat() ? held.f : static_cast<double>(held.i), true};
  if (type.scalar == Scalar::TFloat32)
    n.value = roundTo(type, n.value);
  n.defined = group.readToCarry(v, at / v.bits() * v.bits(), lane, ignored);
  return n;
}

/// One warp's part of a product: 16 of the 64 rows.
class Product {
public:
  Product(Group &group, const CallNode &node, const WarpLanes &warp, const WarpGroupProduct &what)
      : group(group), node(node), warp(warp), what(what), atom(*what.atom), lane(speaker(warp)) {}

  void run() {
    std::size_t touched = what.registersA ? 1 : 2;
    if (node.args.size() != 4 || node.touches.size() != touched)
      return group.report(ReportKind::Unsupported, "a product takes d, a, b, whether to add, and "
                                                   "says which tiles it touches");
    rowsOfA();
    const std::vector<std::int64_t> &turned = node.call->templateArgs;
    b = describedMatrix(2, node.touches.back(), what.columns, 0,
                        !turned.empty() && turned.back() != 0, atom.b);
    for (unsigned t = 0; t < 32; ++t)
      if (warp.lane[t] >= 0)
        accumulate(t, static_cast<std::uint32_t>(warp.lane[t]));
  }

private:
  using Matrix = std::vector<Number>; ///< [row * k + position]

  Group &group;
  const CallNode &node;
  const WarpLanes &warp;
  const WarpGroupProduct &what;
  const Atom &atom;
  std::uint32_t lane;
  Matrix a, b;

  Index firstThread() const { return group.threadOf(lane) % atom.threads / 32 * 32; }

  Matrix describedMatrix(std::size_t arg, std::uint32_t buffer, Index rows, Index firstRow,
                         bool transposed, DType type) {
    const View &v = group.view(buffer);
    Described tile(static_cast<std::uint64_t>(argument(group, node, arg, lane)), transposed,
                   type.bits() / 8);
    Matrix out;
    for (Index r = 0; r < rows; ++r)
      for (Index k = 0; k < atom.k; ++k) {
        std::int64_t at = v.base + tile.byte(firstRow + r, k) * 8;
        bool inside = at + type.bits() <= v.base + v.versionBits * v.versions;
        if (!inside) {
          group.report(ReportKind::OutOfRange, "a descriptor leads out of its buffer");
          return Matrix(static_cast<std::size_t>(rows * atom.k));
        }
        out.push_back(numberAt(group, v, at, type, lane));
      }
    return out;
  }

  void rowsOfA() {
    Index first = firstThread() / 32 * 16;
    if (!what.registersA) {
      bool transposed = node.call->templateArgs.size() == 2 && node.call->templateArgs[0] != 0;
      a = describedMatrix(1, node.touches[0], 16, first, transposed, atom.a);
      return;
    }
    a.assign(static_cast<std::size_t>(16 * atom.k), {});
    const View &v = group.view(node.args[1].element.buffer);
    Index count = atom.aRegisters();
    for (unsigned t = 0; t < 32; ++t) {
      if (warp.lane[t] < 0)
        continue;
      auto holder = static_cast<std::uint32_t>(warp.lane[t]);
      std::int64_t at = addressOf(group, node.args[1], holder, static_cast<unsigned>(count));
      for (Index r = 0; at >= 0 && r < count; ++r) {
        Point p = atom.aLayout({r, firstThread() + t});
        a[static_cast<std::size_t>((p[0] - first) * atom.k + p[1])] =
            numberAt(group, v, at + r * v.bits(), atom.a, holder);
      }
    }
  }

  void accumulate(unsigned t, std::uint32_t holder) {
    const View &v = group.view(node.args[0].element.buffer);
    Index perAtom = atom.cRegisters(), count = what.columns / atom.n * perAtom;
    std::int64_t at = addressOf(group, node.args[0], holder, static_cast<unsigned>(count));
    bool adds = argument(group, node, 3, holder) != 0;
    for (Index r = 0; at >= 0 && r < count; ++r, at += v.bits()) {
      Point p = atom.cLayout({r % perAtom, firstThread() + t});
      auto row = static_cast<std::size_t>((p[0] - firstThread() / 32 * 16) * atom.k);
      auto column = static_cast<std::size_t>((p[1] + r / perAtom * atom.n) * atom.k);
      Number sum;
      for (std::size_t k = 0; k < static_cast<std::size_t>(atom.k); ++k) {
        sum.value += a[row + k].value * b[column + k].value;
        sum.defined = sum.defined && a[row + k].defined && b[column + k].defined;
      }
      if (adds) {
        Number before = numberAt(group, v, at, atom.c, holder);
        sum.value += before.value;
        sum.defined = sum.defined && before.defined;
      }
      Value value = atom.c.isFloat()
                        ? Value{.f = roundTo(atom.c, sum.value)}
                        : Value{.i = wrapInteger(atom.c, static_cast<std::int64_t>(sum.value))};
      group.write(v, at, holder, false, value);
      if (!sum.defined)
        group.markWritten(v, at, NeverWritten);
    }
  }
};

void describe(Group &group, const CallNode &node, const WarpLanes &warp) {
  constexpr std::uint64_t field = 0x3fff;
  for (std::int32_t place : warp.lane) {
    if (place < 0)
      continue;
    auto lane = static_cast<std::uint32_t>(place);
    std::int64_t at = addressOf(group, node.args.at(0), lane, 1);
    if (at < 0)
      continue;
    const View &v = group.view(node.args[0].element.buffer);
    auto units = [&](std::int64_t bytes) {
      return static_cast<std::uint64_t>(bytes / unitBytes) & field;
    };
    std::int64_t swizzle = argument(group, node, 3, lane);
    std::uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    std::uint64_t bits = units((at - v.base) / 8) | units(argument(group, node, 1, lane)) << 16 |
                         units(argument(group, node, 2, lane)) << 32 | mode << 62;
    if (!node.result.empty())
      group.lanes.at(node.result[0])[lane] = {.i = static_cast<std::int64_t>(bits)};
  }
}

/// The value of the warp's first lane, for all.
void uniform(Group &group, const CallNode &node, const WarpLanes &warp) {
  std::int64_t value = argument(group, node, 0, speaker(warp));
  for (std::int32_t place : warp.lane)
    if (place >= 0 && !node.result.empty())
      group.lanes.at(node.result[0])[static_cast<std::uint32_t>(place)] = {.i = value};
}

} // namespace

bool warpGroupCall(Group &group, const CallNode &node, const WarpLanes &warp) {
  std::string_view name = node.call->callee;
  if (name == "wgmma_pin")
    return true;
  if (name == "wgmma_descriptor")
    return describe(group, node, warp), true;
  if (name == "warp_uniform")
    return uniform(group, node, warp), true;
  auto found = products().find(name);
  if (found == products().end())
    return false;
  Product(group, node, warp, found->second).run();
  return true;
}

} // namespace tlc::interpret
