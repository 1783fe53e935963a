// Atoms: what one instruction (or one micro-kernel) computes and who holds which element of its
// operands.
//
// An atom is a row of data. Passes tile it over registers and threads (layout/Algebra.h: product)
// and never ask for its name; the printer writes the name of its runtime function and never asks
// for its layouts. The unit tests check every row.
#pragma once

#include "support/DType.h"
#include "target/Target.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc {

enum class AtomKind : std::uint8_t {
  Matrix,      ///< a warp's matrix instruction, operands in registers
  WarpGroup,   ///< a warpgroup's, asynchronous: A in shared memory or registers, B in shared memory
  Scalar,      ///< multiply and add of one element per thread: fits everything
  MicroKernel, ///< a register-blocked loop of one thread over packed panels
};

/// c[m, n] += a[m, k] * b[n, k], all operands spread over `threads` threads.
struct Atom {
  std::string name; ///< of the runtime function, and in texts
  AtomKind kind = AtomKind::Scalar;
  Family family = Family::Cuda;
  int minimumArchitecture = 0;
  Index m = 1, n = 1, k = 1;
  DType a, b, c;
  Index threads = 1;
  /// (reg, thread) -> (m, k), (n, k) and (m, n). Of micro-kernels: coordinates of the packed panel
  /// -> offset for one step of `k`, and (reg, thread) -> (m, n) for c.
  Layout aLayout, bLayout, cLayout;
  double cycles = 1; ///< issue slots of a quarter of an SM (CPU: of a core)

  /// Elements that one thread holds of each operand.
  Index aRegisters() const;
  Index bRegisters() const;
  Index cRegisters() const;
  /// Multiply-adds per issue slot: what to prefer.
  double throughput() const { return static_cast<double>(m * n * k) / cycles; }
};

/// The atoms of a target that multiply `a` by `b` into `c`, best first; the last is always one of
/// kind Scalar, which takes any dtypes (it computes in `c`).
std::vector<const Atom *> atomsFor(const Target &target, DType a, DType b, DType c);
/// The widest product that a row of kind WarpGroup stands for, at most `columns` wide: its rows are
/// eight columns wide, and one instruction may do several of them side by side.
Index warpGroupColumns(const Atom &atom, Index columns);
/// The runtime function for that many columns.
std::string warpGroupFunction(const Atom &atom, Index columns, bool registersA);
/// By name, null if there is none.
const Atom *findAtom(const Target &target, std::string_view name);
/// All rows of a family, for listings and tests.
std::span<const Atom> atomTable(Family family);

/// One 8-row matrix of ldmatrix and stmatrix, 16 bytes a row, as it lies in a warp's registers:
/// (reg, thread) -> (r, c), c counting elements of `bits` bits. `transposed` (16-bit only)
/// exchanges rows and columns.
Layout matrixLayout(unsigned bits, bool transposed = false);
/// ldmatrix/stmatrix of 8 * down rows by right * 16 bytes as an access of shared memory: lane i
/// supplies row i % 8 of matrix i / 8, matrices numbered down first; `reg` runs over the 16 bytes.
/// down * right is 1, 2 or 4; lanes that supply nothing repeat.
Layout matrixRows(unsigned bits, Index down, Index right);

/// Throws InternalError if a row contradicts itself: a shape that its layouts do not cover exactly,
/// a thread count that differs, registers that do not fill 32-bit words.
void checkAtom(const Atom &atom);

} // namespace tlc
