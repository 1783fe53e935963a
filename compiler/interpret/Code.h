// Expressions as straight-line code over slots, executed for many lanes at once.
//
// A lane is a thread of a group, or a point of a map. A value that is the same in all lanes by
// construction (constants, block indices, loop variables with such bounds) has one slot for all of
// them and is computed once.
#pragma once

#include "interpret/Numeric.h"
#include "ir/Expr.h"

#include <unordered_map>
#include <vector>

namespace tlc::interpret {

/// A slot: uniform ones have the top bit set.
struct Ref {
  static constexpr std::uint32_t UniformBit = 1u << 31;
  std::uint32_t index = ~0u;

  bool isSet() const { return index != ~0u; }
  bool isUniform() const { return index & UniformBit; }
  std::uint32_t number() const { return index & ~UniformBit; }
  bool operator==(const Ref &) const = default;
};
/// One per lane of a vector dtype.
using Refs = std::vector<Ref>;

/// The lanes that execute, and where their values are.
struct Lanes {
  Value *varying = nullptr; ///< slot s of lane i: varying[s * width + i]
  Value *uniform = nullptr;
  std::uint32_t width = 0;
  std::vector<std::uint32_t> active; ///< ascending
  bool isDense = false;              ///< active is 0, 1, … count - 1

  Value *at(Ref r) {
    return r.isUniform() ? uniform + r.number() : varying + std::size_t{r.number()} * width;
  }
  const Value &get(Ref r, std::uint32_t lane) const {
    return r.isUniform() ? uniform[r.number()] : varying[std::size_t{r.number()} * width + lane];
  }
  void setActive(std::vector<std::uint32_t> lanes) {
    active = std::move(lanes);
    isDense = active.empty() || active.back() + 1 == active.size();
  }
  template <class F> void each(F f) const {
    auto count = static_cast<std::uint32_t>(active.size());
    if (isDense)
      for (std::uint32_t i = 0; i < count; ++i)
        f(i);
    else
      for (std::uint32_t k = 0; k < count; ++k)
        f(active[k]);
  }
};

struct Op {
  void (*run)(const Op &, Lanes &) = nullptr;
  Ref to, a, b, c;
  DType type, from;           ///< of the result, of the operands
  std::uint16_t detail = 0;   ///< operator, function, saturation
  std::uint16_t list = 0;     ///< of bitcasts: how many operands follow
  std::vector<Ref> refs = {}; ///< bitcasts: operands, then results
};
using Code = std::vector<Op>;

inline void execute(const Code &code, Lanes &lanes) {
  for (const Op &op : code)
    op.run(op, lanes);
}

/// Where variables live, and how slots are given out.
class SlotTable {
public:
  /// A table for the body of a map starts from the variables around it.
  explicit SlotTable(SlotTable *outer = nullptr) : outer(outer) {}

  Ref newUniform() {
    std::uint32_t &n = root().uniforms;
    return {n++ | Ref::UniformBit};
  }
  Ref newVarying() {
    if (++varying > mostVarying)
      mostVarying = varying;
    return {varying - 1};
  }
  Refs newRefs(DType dtype, bool isUniform) {
    Refs refs;
    for (unsigned i = 0; i < dtype.lanes; ++i)
      refs.push_back(isUniform ? newUniform() : newVarying());
    return refs;
  }
  Ref constant(const ir::Expr &e);

  void bind(ir::Expr var, Refs refs) { vars[var.get()] = std::move(refs); }
  /// A varying variable of an outer table is captured: it gets a slot here, filled at entry.
  const Refs &lookUp(ir::Expr var);

  std::uint32_t mark() const { return varying; }
  void release(std::uint32_t mark) { varying = mark; }
  std::uint32_t width() const { return mostVarying; }
  std::uint32_t uniformCount() { return root().uniforms; }

  struct Captured {
    Ref outside, inside;
    std::string name;
    DType dtype;
  };
  std::vector<Captured> captured;
  std::vector<std::pair<Ref, Value>> constants; ///< of the root: uniform slots to fill once

private:
  SlotTable &root() { return outer ? outer->root() : *this; }

  SlotTable *outer;
  std::unordered_map<const ir::ExprNode *, Refs> vars;
  std::unordered_map<const ir::ExprNode *, Ref> known;
  std::uint32_t uniforms = 0, varying = 0, mostVarying = 0;
};

/// Compiles expressions of one statement; equal subexpressions are computed once.
class ExprCompiler {
public:
  ExprCompiler(SlotTable &slots, Code &code) : slots(slots), code(code) {}

  Refs compile(ir::Expr e);
  Ref scalar(ir::Expr e) { return compile(e)[0]; }
  /// Null gives an unset Ref.
  Ref optional(ir::Expr e) { return e ? scalar(e) : Ref{}; }
  /// Into these slots.
  void into(ir::Expr e, const Refs &to);

private:
  Refs make(ir::Expr e);
  Ref elementwise(ir::Expr e, const std::vector<Refs> &operands, unsigned lane);
  Refs bitcast(ir::Expr e, const Refs &operand);

  SlotTable &slots;
  Code &code;
  std::unordered_map<const ir::ExprNode *, Refs> done;
};

} // namespace tlc::interpret
