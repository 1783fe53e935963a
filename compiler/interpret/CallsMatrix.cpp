// Matrix instructions of a warp, by the layouts of target/Atoms.h.
#include "interpret/Calls.h"

#include "target/Atoms.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tlc::interpret {

const Atom *findMatrixAtom(std::string_view name) {
  for (Family family : {Family::Cuda, Family::Hip})
    for (const Atom &atom : atomTable(family))
      if (atom.name == name && atom.kind == AtomKind::Matrix && atom.threads == 32)
        return &atom;
  return nullptr;
}

namespace {

/// For each (thread, register) the element of a row-major matrix.
struct OperandTable {
  Index registers = 0, rows = 0, columns = 0;
  std::vector<std::size_t> element; ///< [thread * registers + register]
};

OperandTable tableOf(const Layout &l, Index registers, Index rows, Index columns) {
  OperandTable table{registers, rows, columns, {}};
  for (Index t = 0; t < 32; ++t)
    for (Index r = 0; r < registers; ++r) {
      Point p = l({r, t});
      table.element.push_back(static_cast<std::size_t>(p[0] * columns + p[1]));
    }
  return table;
}

struct AtomTables {
  OperandTable a, b, c;
};

const AtomTables &tablesOf(const Atom &atom) {
  static std::map<const Atom *, AtomTables> known;
  auto [at, isNew] = known.try_emplace(&atom);
  if (isNew)
    at->second = {tableOf(atom.aLayout, atom.aRegisters(), atom.m, atom.k),
                  tableOf(atom.bLayout, atom.bRegisters(), atom.n, atom.k),
                  tableOf(atom.cLayout, atom.cRegisters(), atom.m, atom.n)};
  return at->second;
}

/// An operand as a row-major matrix. Elements that were never written (rows beyond a tile) make
/// undefined what they are multiplied into, and are a mistake only if that is used.
struct Operand {
  std::vector<double> values;
  std::vector<std::uint8_t> defined;
};

/// Reads an operand from the lanes' registers. Registers hold the atom's elements packed, whatever
/// the array's dtype.
Operand gatherOperand(Group &group, const ArgumentRef &arg, const WarpLanes &warp,
                      const OperandTable &table, DType type) {
  const View &v = group.view(arg.element.buffer);
  const Codec &c = codec(type.scalar);
  auto size = static_cast<std::size_t>(table.rows * table.columns);
  Operand out{std::vector<double>(size), std::vector<std::uint8_t>(size)};
  auto elements = static_cast<unsigned>(table.registers * c.bits / v.bits());
  for (unsigned t = 0; t < 32; ++t) {
    if (warp.lane[t] < 0)
      continue;
    auto lane = static_cast<std::uint32_t>(warp.lane[t]);
    std::int64_t at = addressOf(group, arg, lane, elements);
    if (at < 0)
      continue;
    for (Index r = 0; r < table.registers; ++r) {
      std::int64_t bit = at + r * c.bits;
      Value value{}, held = c.load(v.storage->data + (bit >> 3), static_cast<unsigned>(bit & 7));
      double number = type.isFloat() ? held.f : static_cast<double>(held.i);
      if (type.scalar == Scalar::TFloat32)
        number = roundTo(type, number);
      std::size_t n =
          table
              .element[t * static_cast<std::size_t>(table.registers) + static_cast<std::size_t>(r)];
      out.values[n] = number;
      out.defined[n] = group.readToCarry(v, at + r * c.bits / v.bits() * v.bits(), lane, value);
    }
  }
  return out;
}

/// Which rows of an operand are defined throughout.
std::vector<std::uint8_t> definedRows(const Operand &o, std::size_t columns) {
  std::vector<std::uint8_t> rows;
  for (std::size_t i = 0; i < o.defined.size(); i += columns) {
    auto row = o.defined.begin() + static_cast<std::ptrdiff_t>(i);
    rows.push_back(std::all_of(row, row + static_cast<std::ptrdiff_t>(columns),
                               [](std::uint8_t d) { return d; }));
  }
  return rows;
}

} // namespace

void multiplyMatrix(Group &group, const CallNode &node, const WarpLanes &warp, const Atom &atom) {
  const AtomTables &tables = tablesOf(atom);
  if (node.args.size() != 3)
    return group.report(ReportKind::Unsupported, "a matrix instruction takes c, a and b");
  Operand c = gatherOperand(group, node.args[0], warp, tables.c, atom.c);
  Operand a = gatherOperand(group, node.args[1], warp, tables.a, atom.a);
  Operand b = gatherOperand(group, node.args[2], warp, tables.b, atom.b);
  auto k = static_cast<std::size_t>(atom.k), n = static_cast<std::size_t>(atom.n);
  std::vector<std::uint8_t> rowsA = definedRows(a, k), rowsB = definedRows(b, k);
  for (std::size_t i = 0; i < static_cast<std::size_t>(atom.m); ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l)
        sum += a.values[i * k + l] * b.values[j * k + l];
      c.values[i * n + j] += sum;
      c.defined[i * n + j] &= rowsA[i] & rowsB[j];
    }
  const View &v = group.view(node.args[0].element.buffer);
  for (unsigned t = 0; t < 32; ++t) {
    if (warp.lane[t] < 0)
      continue;
    auto lane = static_cast<std::uint32_t>(warp.lane[t]);
    std::int64_t at =
        addressOf(group, node.args[0], lane, static_cast<unsigned>(tables.c.registers));
    if (at < 0)
      continue;
    for (Index r = 0; r < tables.c.registers; ++r, at += v.bits()) {
      std::size_t e = tables.c.element[t * static_cast<std::size_t>(tables.c.registers) +
                                       static_cast<std::size_t>(r)];
      Value value = atom.c.isFloat()
                        ? Value{.f = roundTo(atom.c, c.values[e])}
                        : Value{.i = wrapInteger(atom.c, static_cast<std::int64_t>(c.values[e]))};
      group.write(v, at, lane, false, value);
      if (!c.defined[e])
        group.markWritten(v, at, NeverWritten);
    }
  }
}

namespace {

/// One 16-byte row of shared memory that a lane supplies.
struct MatrixRow {
  std::int64_t at = -1;
  std::uint32_t lane = 0;
};

void touchRow(Group &group, const View &v, const MatrixRow &row, bool isWrite) {
  // What is written comes from many lanes; for the watch it differs from what is there.
  Value other = v.dtype.isFloat() ? Value{.f = std::numeric_limits<double>::quiet_NaN()} : Value{};
  for (unsigned i = 0; i < 128 / v.bits(); ++i) {
    std::int64_t at = row.at + i * v.bits();
    if (!v.dtype.isFloat())
      other.i = ~v.load(at).i;
    if (isWrite)
      group.noteWrite(v, at, row.lane, false, other);
    else if (group.stateOf(v, at) != NeverWritten) // else it is carried along
      group.noteRead(v, at, row.lane, false);
  }
}

/// Byte of the row in matrix `m` that lane `t` holds as byte `b` of its word: (row, byte).
std::pair<unsigned, unsigned> placeOf(unsigned t, unsigned b, bool isTransposed) {
  if (!isTransposed)
    return {t / 4, t % 4 * 4 + b};
  return {t % 4 * 2 + b / 2, t / 4 * 2 + b % 2};
}

} // namespace

bool moveMatrices(Group &group, const CallNode &node, const WarpLanes &warp) {
  std::string_view name = node.call->callee;
  bool isLoad = name.starts_with("ldmatrix_x");
  if ((!isLoad && !name.starts_with("stmatrix_x")) || name.size() < 11 || node.args.size() != 2)
    return false;
  auto count = static_cast<unsigned>(name[10] - '0');
  bool isTransposed = name.ends_with("_trans");
  if ((count != 1 && count != 2 && count != 4) || name.size() != (isTransposed ? 17u : 11u))
    return false;
  const ArgumentRef &registers = node.args[isLoad ? 0 : 1], &rows = node.args[isLoad ? 1 : 0];
  const View &shared = group.view(rows.element.buffer),
             &local = group.view(registers.element.buffer);
  std::array<MatrixRow, 32> row;
  for (unsigned i = 0; i < 8 * count; ++i) {
    if (warp.lane[i] < 0)
      continue;
    row[i].lane = static_cast<std::uint32_t>(warp.lane[i]);
    row[i].at = addressOf(group, rows, row[i].lane, 128 / shared.bits());
    if (row[i].at >= 0 && row[i].at % 128 != 0) {
      group.report(ReportKind::OutOfRange,
                   group.threadName(row[i].lane) +
                       " supplies a row that is not a multiple of 16 bytes from the start");
      row[i].at = -1;
    }
    if (row[i].at >= 0)
      touchRow(group, shared, row[i], !isLoad);
  }
  for (unsigned t = 0; t < 32; ++t) {
    if (warp.lane[t] < 0)
      continue;
    auto lane = static_cast<std::uint32_t>(warp.lane[t]);
    std::int64_t at = addressOf(group, registers, lane, 32 * count / local.bits());
    if (at < 0)
      continue;
    // The bytes move, and with them whether they were ever written.
    for (unsigned m = 0; m < count; ++m)
      for (unsigned b = 0; b < 4; ++b) {
        auto [r, column] = placeOf(t, b, isTransposed);
        const MatrixRow &source = row[m * 8 + r];
        if (source.at < 0)
          continue;
        std::int64_t there = source.at + column * 8, own = at + (m * 4 + b) * 8;
        const View &from = isLoad ? shared : local, &to = isLoad ? local : shared;
        std::int64_t fromBit = isLoad ? there : own, toBit = isLoad ? own : there;
        State known = group.stateOf(from, fromBit / from.bits() * from.bits());
        if (!isLoad && known == InFlight)
          group.noteRead(from, fromBit, lane, false);
        to.storage->data[toBit / 8] = from.storage->data[fromBit / 8];
        if (!to.storage->state.empty())
          to.storage->state[static_cast<std::size_t>(toBit / 8)] = known;
      }
  }
  return true;
}

namespace {

/// A matrix in memory: rows of `pitch` elements from a pointer argument on.
struct MemoryMatrix {
  const View &view;
  std::int64_t start = -1, pitch = 0;

  std::int64_t at(std::int64_t i, std::int64_t j) const {
    return start + (i * pitch + j) * static_cast<std::int64_t>(view.bits());
  }
  double read(Group &group, std::int64_t i, std::int64_t j, std::uint32_t lane) const {
    group.noteRead(view, at(i, j), lane, false);
    Value value = view.load(at(i, j));
    return view.dtype.isFloat() ? value.f : static_cast<double>(value.i);
  }
};

} // namespace

void multiplyTile(Group &group, const CallNode &node, const WarpLanes &warp) {
  const std::vector<std::int64_t> &shape = node.call->templateArgs;
  if (shape.size() != 5 || node.args.size() != 6)
    return group.report(ReportKind::Unsupported, "gemm_tile takes c, a, b and their pitches");
  std::int64_t m = shape[0], n = shape[1], k = shape[2];
  bool turnA = shape[3] != 0, turnB = shape[4] != 0;
  for (std::int32_t place : warp.lane) {
    if (place < 0)
      continue;
    auto lane = static_cast<std::uint32_t>(place);
    auto matrix = [&](std::size_t arg, std::int64_t rows, std::int64_t columns) {
      std::int64_t pitch = group.lanes.get(node.args[arg + 3].value[0], lane).i;
      std::int64_t span = (rows - 1) * pitch + columns;
      return MemoryMatrix{group.view(node.args[arg].element.buffer),
                          addressOf(group, node.args[arg], lane, static_cast<unsigned>(span)),
                          pitch};
    };
    MemoryMatrix c = matrix(0, m, n), a = turnA ? matrix(1, k, m) : matrix(1, m, k),
                 b = turnB ? matrix(2, n, k) : matrix(2, k, n);
    if (c.start < 0 || a.start < 0 || b.start < 0)
      continue;
    group.countProduct(m, n, k);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = c.read(group, i, j, lane);
        for (std::int64_t x = 0; x < k; ++x)
          sum += (turnA ? a.read(group, x, i, lane) : a.read(group, i, x, lane)) *
                 (turnB ? b.read(group, j, x, lane) : b.read(group, x, j, lane));
        Value value = c.view.dtype.isFloat()
                          ? Value{.f = roundTo(c.view.dtype, sum)}
                          : Value{.i = wrapInteger(c.view.dtype, static_cast<std::int64_t>(sum))};
        group.write(c.view, c.at(i, j), lane, false, value);
      }
  }
}

} // namespace tlc::interpret
