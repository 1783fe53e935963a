// Micro-kernels: a block of c in vector registers, one column of a's panel broadcast against one
// row of b's panel per step. The sizes leave registers for one row of b and one broadcast: 6 x 2
// vectors of 16, 12 x 2 vectors of 32.
#include "target/AtomTables.h"

namespace tlc::detail {

namespace {

struct Row {
  Scalar scalar;
  int vectorBits;
  Index rows, vectors; ///< block of c: rows by vectors of vectorBits
};

constexpr Row rows[] = {
    {Scalar::Float32, 128, 4, 2}, {Scalar::Float64, 128, 4, 2},  {Scalar::Float32, 256, 6, 2},
    {Scalar::Float64, 256, 6, 2}, {Scalar::Float32, 512, 12, 2}, {Scalar::Float64, 512, 12, 2},
};

Atom make(const Row &row) {
  Atom atom;
  atom.kind = AtomKind::MicroKernel;
  atom.family = Family::Cpu;
  atom.minimumArchitecture = row.vectorBits; // of micro-kernels: the vector width it is made for
  atom.a = atom.b = atom.c = DType(row.scalar);
  Index lanes = row.vectorBits / atom.c.bits();
  atom.m = row.rows;
  atom.n = row.vectors * lanes;
  atom.k = 1;
  atom.aLayout = Layout::rowMajor({{"k", 1}, {"m", atom.m}});
  atom.bLayout = Layout::rowMajor({{"k", 1}, {"n", atom.n}});
  atom.cLayout = Layout::make({{"reg", {{atom.n, "n"}, {atom.m, "m"}}}, {"thread", {}}},
                              {{"m", atom.m}, {"n", atom.n}});
  atom.cycles = static_cast<double>(row.rows * row.vectors) / 2; // two vector units
  atom.name = "micro_" + std::string(row.scalar == Scalar::Float32 ? "f32" : "f64") + "_" +
              std::to_string(atom.m) + "x" + std::to_string(atom.n);
  return atom;
}

} // namespace

std::vector<Atom> cpuAtoms() {
  std::vector<Atom> atoms;
  for (const Row &row : rows)
    atoms.push_back(make(row));
  return atoms;
}

} // namespace tlc::detail
