// Lookup, checks and the matrix layouts. The rows are in CudaAtoms.cpp and CpuAtoms.cpp.
#include "target/Atoms.h"

#include "support/Check.h"
#include "target/AtomTables.h"

#include <algorithm>
#include <set>

namespace tlc {

namespace {

Index registersOf(const Layout &l) { return l.hasInput("reg") ? l.input("reg").size() : 1; }

/// Each element of the box is held by some thread; each thread holds no element twice.
void checkOperand(const Atom &atom, const Layout &layout, const char *operand, Index rows,
                  Index columns) {
  std::string who = atom.name + ", operand " + operand + ": ";
  layout.check();
  TLC_CHECK(layout.inputs.size() == 2 && layout.inputs[0].name == "reg" &&
                layout.inputs[1].name == "thread",
            who + "not a map from (reg, thread)");
  TLC_CHECK(layout.input("thread").size() == atom.threads, who + "another number of threads");
  TLC_CHECK(layout.outputs.size() == 2 && layout.outputs[0].size == rows &&
                layout.outputs[1].size == columns,
            who + "another shape");
  std::set<Point> all, own;
  Index thread = -1;
  for (Index t = 0; t < atom.threads; ++t)
    for (Index r = 0; r < registersOf(layout); ++r) {
      if (t != thread)
        own.clear();
      thread = t;
      Point at = layout({r, t});
      TLC_CHECK(own.insert(at).second, who + "a thread holds an element twice");
      all.insert(at);
    }
  TLC_CHECK(static_cast<Index>(all.size()) == rows * columns, who + "an element is held by nobody");
}

/// A panel is a dense reordering of its box.
void checkPanel(const Atom &atom, const Layout &layout, Index rows) {
  layout.check();
  TLC_CHECK(layout.domainSize() == rows * atom.k && layout.outputs.size() == 1 &&
                layout.outputs[0].size == rows * atom.k && invert(layout).has_value(),
            atom.name + ": a panel that is not dense");
}

} // namespace

Index Atom::aRegisters() const { return registersOf(aLayout); }
Index Atom::bRegisters() const { return registersOf(bLayout); }
Index Atom::cRegisters() const { return registersOf(cLayout); }

void checkAtom(const Atom &atom) {
  TLC_CHECK(!atom.name.empty() && atom.m > 0 && atom.n > 0 && atom.k > 0 && atom.cycles > 0,
            "an atom without name, shape or cost");
  checkOperand(atom, atom.cLayout, "c", atom.m, atom.n);
  if (atom.kind == AtomKind::MicroKernel) {
    checkPanel(atom, atom.aLayout, atom.m);
    checkPanel(atom, atom.bLayout, atom.n);
    return;
  }
  checkOperand(atom, atom.aLayout, "a", atom.m, atom.k);
  checkOperand(atom, atom.bLayout, "b", atom.n, atom.k);
  if (atom.kind == AtomKind::Scalar)
    return;
  for (auto [dtype, count] : {std::pair(atom.a, atom.aRegisters()), {atom.b, atom.bRegisters()}})
    TLC_CHECK(dtype.bits() * static_cast<unsigned>(count) % 32 == 0,
              atom.name + ": operands that do not fill 32-bit registers");
}

std::span<const Atom> atomTable(Family family) {
  switch (family) {
  case Family::Cuda: {
    static const std::vector<Atom> rows = detail::cudaAtoms();
    return rows;
  }
  case Family::Cpu: {
    static const std::vector<Atom> rows = detail::cpuAtoms();
    return rows;
  }
  case Family::Hip:
    break;
  }
  return {};
}

namespace {

const Atom &scalarAtom(Family family) {
  static const auto make = [](Family f) {
    Atom atom;
    atom.name = "fma";
    atom.kind = AtomKind::Scalar;
    atom.family = f;
    Layout one = Layout::make({{"reg", {}}, {"thread", {}}}, {});
    auto tile = [&](const char *row, const char *column) {
      Layout l = one;
      l.outputs = {{row, 1, 0, {}}, {column, 1, 0, {}}};
      return l;
    };
    atom.aLayout = tile("m", "k");
    atom.bLayout = tile("n", "k");
    atom.cLayout = tile("m", "n");
    // One instruction of a warp multiplies 32 elements.
    atom.cycles = f == Family::Cpu ? 1 : 1.0 / 32;
    return atom;
  };
  static const Atom cuda = make(Family::Cuda), hip = make(Family::Hip), cpu = make(Family::Cpu);
  return family == Family::Cuda ? cuda : family == Family::Hip ? hip : cpu;
}

bool available(const Target &target, const Atom &atom) {
  if (atom.kind == AtomKind::MicroKernel)
    return atom.family == target.family && target.vector.bits == atom.minimumArchitecture;
  // Instructions of one architecture, which later ones do not keep.
  if (atom.kind == AtomKind::WarpGroup)
    return target.has(Feature::Wgmma) && target.architecture == atom.minimumArchitecture;
  return atom.family == target.family && target.architecture >= atom.minimumArchitecture;
}

} // namespace

std::vector<const Atom *> atomsFor(const Target &target, DType a, DType b, DType c) {
  std::vector<const Atom *> found;
  for (const Atom &atom : atomTable(target.family))
    if (available(target, atom) && atom.a == a && atom.b == b && atom.c == c)
      found.push_back(&atom);
  std::stable_sort(found.begin(), found.end(), [](const Atom *x, const Atom *y) {
    return std::pair(x->throughput(), x->k) > std::pair(y->throughput(), y->k);
  });
  found.push_back(&scalarAtom(target.family));
  return found;
}

const Atom *findAtom(const Target &target, std::string_view name) {
  for (const Atom &atom : atomTable(target.family))
    if (available(target, atom) && atom.name == name)
      return &atom;
  const Atom &scalar = scalarAtom(target.family);
  return scalar.name == name ? &scalar : nullptr;
}

Index warpGroupColumns(const Atom &atom, Index columns) {
  Index widest = std::min<Index>(columns, 256) / atom.n * atom.n;
  // Of integers only 8, 24 and the multiples of 16 exist.
  if (atom.c.isInteger() && widest > 24)
    widest = widest / 16 * 16;
  return widest;
}

std::string warpGroupFunction(const Atom &atom, Index columns, bool registersA) {
  return detail::matrixName("wgmma", atom.m, columns, atom.k, atom.a, atom.b, atom.c) +
         (registersA ? "_rs" : "_ss");
}

Layout matrixLayout(unsigned bits, bool transposed) {
  TLC_CHECK(bits >= 4 && bits <= 32 && 32 % bits == 0 && (!transposed || bits == 16),
            "no matrix of such elements");
  Index word = 32 / bits;
  if (transposed)
    return Layout::make({{"reg", {{2, "r"}}}, {"thread", {{4, "r", 2}, {8, "c"}}}},
                        {{"r", 8}, {"c", 8}});
  return Layout::make({{"reg", {{word, "c"}}}, {"thread", {{4, "c", word}, {8, "r"}}}},
                      {{"r", 8}, {"c", 4 * word}});
}

Layout matrixRows(unsigned bits, Index down, Index right) {
  Index width = 128 / bits;
  TLC_CHECK(down * right == 1 || down * right == 2 || down * right == 4, "1, 2 or 4 matrices");
  return Layout::make(
      {{"reg", {{width, "c"}}},
       {"thread", {{8, "r"}, {down, "r", 8}, {right, "c", width}, {4 / down / right}}}},
      {{"r", 8 * down}, {"c", width * right}});
}

} // namespace tlc
