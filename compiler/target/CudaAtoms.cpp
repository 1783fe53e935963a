// mma.sync and wgmma. Every operand in registers is made of 32-bit words that hold a run of k:
// thread t has row (or column) t / 4, its word the run t % 4; further words step 8 rows and 4 runs.
// Accumulators are pairs along n. A warpgroup is four such warps, one below the other.
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

// Of m64n8; cycles as above, of a quarter of an SM while all four warps multiply.
constexpr Row warpGroupRows[] = {
    {64, 8, 16, Scalar::Float16, Scalar::Float16, Scalar::Float32, 90, 4},
    {64, 8, 16, Scalar::Float16, Scalar::Float16, Scalar::Float16, 90, 4},
    {64, 8, 16, Scalar::BFloat16, Scalar::BFloat16, Scalar::Float32, 90, 4},
    {64, 8, 8, Scalar::TFloat32, Scalar::TFloat32, Scalar::Float32, 90, 4},
    {64, 8, 32, Scalar::Int8, Scalar::Int8, Scalar::Int32, 90, 4},
    {64, 8, 32, Scalar::UInt8, Scalar::UInt8, Scalar::Int32, 90, 4},
    {64, 8, 32, Scalar::Int8, Scalar::UInt8, Scalar::Int32, 90, 4},
    {64, 8, 32, Scalar::UInt8, Scalar::Int8, Scalar::Int32, 90, 4},
    {64, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E4M3FN, Scalar::Float32, 90, 4},
    {64, 8, 32, Scalar::Float8E5M2, Scalar::Float8E5M2, Scalar::Float32, 90, 4},
    {64, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E5M2, Scalar::Float32, 90, 4},
    {64, 8, 32, Scalar::Float8E5M2, Scalar::Float8E4M3FN, Scalar::Float32, 90, 4},
    {64, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E4M3FN, Scalar::Float16, 90, 4},
    {64, 8, 32, Scalar::Float8E5M2, Scalar::Float8E5M2, Scalar::Float16, 90, 4},
    {64, 8, 32, Scalar::Float8E4M3FN, Scalar::Float8E5M2, Scalar::Float16, 90, 4},
    {64, 8, 32, Scalar::Float8E5M2, Scalar::Float8E4M3FN, Scalar::Float16, 90, 4},
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

/// Rows (8, 16, or 16 for each warp of a group) by k, as registers of `run` consecutive k. Of 8
/// rows all warps of a group hold the same.
Layout operand(const char *row, Index rowCount, Index k, Index run, Index warps) {
  std::vector<Digit> reg{{run, "k"}}, thread{{4, "k", run}, {8, row}};
  if (rowCount >= 16)
    reg.push_back({2, row, 8});
  if (k > 4 * run)
    reg.push_back({k / (4 * run), "k", 4 * run});
  if (warps > 1)
    thread.push_back(rowCount > 8 ? Digit{warps, row, 16} : Digit{warps});
  return Layout::make({{"reg", reg}, {"thread", thread}}, {{row, rowCount}, {"k", k}});
}

Atom make(const Row &row, AtomKind kind) {
  Atom atom;
  atom.kind = kind;
  atom.family = Family::Cuda;
  atom.minimumArchitecture = row.architecture;
  atom.m = row.m;
  atom.n = row.n;
  atom.k = row.k;
  atom.a = DType(row.a);
  atom.b = DType(row.b);
  atom.c = DType(row.c);
  Index warps = kind == AtomKind::WarpGroup ? 4 : 1;
  atom.threads = 32 * warps;
  Index run = std::max<Index>(1, 32 / atom.a.bits());
  atom.aLayout = operand("m", row.m, row.k, run, warps);
  atom.bLayout = operand("n", row.n, row.k, run, warps);
  std::vector<Digit> reg{{2, "n"}}, thread{{4, "n", 2}, {8, "m"}};
  if (row.m >= 16)
    reg.push_back({2, "m", 8});
  if (warps > 1)
    thread.push_back({warps, "m", 16});
  atom.cLayout = Layout::make({{"reg", reg}, {"thread", thread}}, {{"m", row.m}, {"n", row.n}});
  atom.cycles = row.cycles;
  atom.name = matrixName(warps > 1 ? "wgmma" : "mma", row.m, row.n, row.k, atom.a, atom.b, atom.c);
  return atom;
}

} // namespace

std::string matrixName(const char *instruction, Index m, Index n, Index k, DType a, DType b,
                       DType c) {
  std::string name = instruction;
  for (auto [letter, size] : {std::pair("_m", m), {"n", n}, {"k", k}})
    name += letter + std::to_string(size);
  for (DType dtype : {a, b, c})
    name += std::string("_") + shortName(dtype.scalar);
  return name;
}

std::vector<Atom> cudaAtoms() {
  std::vector<Atom> atoms;
  for (const Row &row : rows)
    atoms.push_back(make(row, AtomKind::Matrix));
  for (const Row &row : warpGroupRows)
    atoms.push_back(make(row, AtomKind::WarpGroup));
  return atoms;
}

} // namespace tlc::detail
