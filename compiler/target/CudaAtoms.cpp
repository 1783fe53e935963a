// mma.sync. Every one of its operands is made of 32-bit registers that hold a run of k: thread t
// has row (or column) t / 4, its register the run t % 4; further registers step 8 rows and 4 runs.
// Accumulators are pairs along n.
#include "target/AtomTables.h"

namespace tlc::detail {

namespace {

struct Row {
  Index m, n, k;
  Scalar a, b, c;
  int architecture;
  double cycles; ///< of a quarter of an SM of that architecture
};

// Cycles follow the dense rates of the first architecture that has the row: 256 16-bit
// multiply-adds per cycle on sm80.
constexpr Row rows[] = {
    {16, 8, 8, Scalar::Float16, Scalar::Float16, Scalar::Float32, 75, 8},
    {16, 8, 8, Scalar::Float16, Scalar::Float16, Scalar::Float16, 75, 8},
    {8, 8, 16, Scalar::Int8, Scalar::Int8, Scalar::Int32, 75, 4},
    {8, 8, 16, Scalar::UInt8, Scalar::UInt8, Scalar::Int32, 75, 4},
    {8, 8, 16, Scalar::Int8, Scalar::UInt8, Scalar::Int32, 75, 4},
    {8, 8, 16, Scalar::UInt8, Scalar::Int8, Scalar::Int32, 75, 4},
    {8, 8, 32, Scalar::Int4, Scalar::Int4, Scalar::Int32, 75, 4},
    {8, 8, 32, Scalar::UInt4, Scalar::UInt4, Scalar::Int32, 75, 4},
    {16, 8, 16, Scalar::Float16, Scalar::Float16, Scalar::Float32, 80, 8},
    {16, 8, 16, Scalar::Float16, Scalar::Float16, Scalar::Float16, 80, 8},
    {16, 8, 16, Scalar::BFloat16, Scalar::BFloat16, Scalar::Float32, 80, 8},
    {16, 8, 8, Scalar::BFloat16, Scalar::BFloat16, Scalar::Float32, 80, 5},
    {16, 8, 8, Scalar::TFloat32, Scalar::TFloat32, Scalar::Float32, 80, 8},
    {16, 8, 4, Scalar::TFloat32, Scalar::TFloat32, Scalar::Float32, 80, 5},
    {16, 8, 32, Scalar::Int8, Scalar::Int8, Scalar::Int32, 80, 8},
    {16, 8, 32, Scalar::UInt8, Scalar::UInt8, Scalar::Int32, 80, 8},
    {16, 8, 32, Scalar::Int8, Scalar::UInt8, Scalar::Int32, 80, 8},
    {16, 8, 32, Scalar::UInt8, Scalar::Int8, Scalar::Int32, 80, 8},
    {16, 8, 16, Scalar::Int8, Scalar::Int8, Scalar::Int32, 80, 5},
    {16, 8, 16, Scalar::UInt8, Scalar::UInt8, Scalar::Int32, 80, 5},
    {16, 8, 64, Scalar::Int4, Scalar::Int4, Scalar::Int32, 80, 8},
    {16, 8, 64, Scalar::UInt4, Scalar::UInt4, Scalar::Int32, 80, 8},
    {8, 8, 4, Scalar::Float64, Scalar::Float64, Scalar::Float64, 80, 16},
    {16, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E4M3FN, Scalar::Float32, 89, 8},
    {16, 8, 32, Scalar::Float8E5M2, Scalar::Float8E5M2, Scalar::Float32, 89, 8},
    {16, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E5M2, Scalar::Float32, 89, 8},
    {16, 8, 32, Scalar::Float8E5M2, Scalar::Float8E4M3FN, Scalar::Float32, 89, 8},
};

const char *shortName(Scalar scalar) {
  switch (scalar) {
  case Scalar::Float16:
    return "f16";
  case Scalar::BFloat16:
    return "bf16";
  case Scalar::TFloat32:
    return "tf32";
  case Scalar::Float32:
    return "f32";
  case Scalar::Float64:
    return "f64";
  case Scalar::Int4:
    return "s4";
  case Scalar::UInt4:
    return "u4";
  case Scalar::Int8:
    return "s8";
  case Scalar::UInt8:
    return "u8";
  case Scalar::Int32:
    return "s32";
  case Scalar::Float8E4M3FN:
    return "e4m3";
  case Scalar::Float8E5M2:
    return "e5m2";
  default:
    return "";
  }
}

/// Rows (8 or 16) by k, as registers of `run` consecutive k.
Layout operand(const char *row, Index rowCount, Index k, Index run) {
  std::vector<Digit> reg{{run, "k"}};
  if (rowCount == 16)
    reg.push_back({2, row, 8});
  if (k > 4 * run)
    reg.push_back({k / (4 * run), "k", 4 * run});
  return Layout::make({{"reg", reg}, {"thread", {{4, "k", run}, {8, row}}}},
                      {{row, rowCount}, {"k", k}});
}

Atom make(const Row &row) {
  Atom atom;
  atom.kind = AtomKind::Matrix;
  atom.family = Family::Cuda;
  atom.minimumArchitecture = row.architecture;
  atom.m = row.m;
  atom.n = row.n;
  atom.k = row.k;
  atom.a = DType(row.a);
  atom.b = DType(row.b);
  atom.c = DType(row.c);
  atom.threads = 32;
  Index run = std::max<Index>(1, 32 / atom.a.bits());
  atom.aLayout = operand("m", row.m, row.k, run);
  atom.bLayout = operand("n", row.n, row.k, run);
  std::vector<Digit> reg{{2, "n"}};
  if (row.m == 16)
    reg.push_back({2, "m", 8});
  atom.cLayout = Layout::make({{"reg", reg}, {"thread", {{4, "n", 2}, {8, "m"}}}},
                              {{"m", row.m}, {"n", row.n}});
  atom.cycles = row.cycles;
  atom.name = "mma_m" + std::to_string(row.m) + "n" + std::to_string(row.n) + "k" +
              std::to_string(row.k) + "_" + shortName(row.a) + "_" + shortName(row.b) + "_" +
              shortName(row.c);
  return atom;
}

} // namespace

std::vector<Atom> cudaAtoms() {
  std::vector<Atom> atoms;
  for (const Row &row : rows)
    atoms.push_back(make(row));
  return atoms;
}

} // namespace tlc::detail
