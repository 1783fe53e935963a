// The rules of tile ops: ranks and extents of their operands.
#include "ir/VerifyState.h"

#include <algorithm>

namespace tlc::ir {
namespace {

using Extents = std::vector<Expr>;

bool isScope(const Region &r, std::initializer_list<Scope> scopes) {
  for (Scope s : scopes)
    if (r.buffer->scope == s)
      return true;
  return false;
}

void map(VerifyState &v, const MapStmt &s) {
  if (!v.need(!s.vars.empty() && s.vars.size() == s.extents.size(),
              "variables and extents of the box differ in number"))
    return;
  for (std::size_t d = 0; d < s.vars.size(); ++d) {
    v.integer(s.extents[d], "an extent");
    if (s.vars[d] && s.extents[d])
      v.need(s.vars[d].dtype() == s.extents[d].dtype(),
             "a variable has another dtype than its extent");
  }
  // Threads walk a box of run-time size point by point.
  bool constant = std::all_of(s.extents.begin(), s.extents.end(),
                              [](Expr extent) { return extent && extent.isInt(); });
  v.need(!v.isScheduled() || s.layout || !constant, "the map has no schedule");
}

/// Extents agree, or are 1 on the source where that is a broadcast.
void sameExtents(VerifyState &v, const Extents &source, const Extents &target, bool mayBroadcast) {
  if (!v.need(source.size() == target.size(), [&] {
        return "the tiles differ in rank: " + std::to_string(source.size()) + " and " +
               std::to_string(target.size());
      }))
    return;
  for (std::size_t d = 0; d < source.size(); ++d) {
    auto difference = source[d] == target[d] ? std::optional<std::int64_t>(0)
                      : source[d].constant() && target[d].constant()
                          ? std::optional(*source[d].constant() - *target[d].constant())
                          : std::nullopt;
    // What is known at run time only is the program's to guarantee.
    v.need(!difference || *difference == 0 || (mayBroadcast && source[d].isConstant(1)),
           [&] { return "the tiles differ in extent " + std::to_string(d); });
  }
}

void checkBounds(VerifyState &v, const Region &global, const std::vector<bool> &low,
                 const std::vector<bool> &high) {
  for (const auto *list : {&low, &high})
    v.need(list->empty() || list->size() == global.buffer->rank(),
           "the list of checks has another length than the rank");
}

void copy(VerifyState &v, const CopyStmt &s) {
  if (!(v.region(s.source, "the source") & v.region(s.target, "the target")))
    return;
  sameExtents(v, s.source.tileExtents(), s.target.tileExtents(), true);
  if (s.barrier.buffer)
    v.element(s.barrier, "the barrier");
  v.optional(s.multicast, "the multicast mask");
  checkBounds(v, s.source.buffer->scope == Scope::Global ? s.source : s.target, s.checkLow,
              s.checkHigh);
  v.need(s.target.buffer->writable, [&] { return "%" + s.target.buffer->name + " is read only"; });
}

void gemm(VerifyState &v, const GemmStmt &s) {
  if (!(v.region(s.a, "A") & v.region(s.b, "B") & v.region(s.c, "C")))
    return;
  v.condition(s.clear, "the clear flag", true);
  if (s.barrier.buffer)
    v.element(s.barrier, "the barrier");
  auto a = s.a.constantTileExtents(), b = s.b.constantTileExtents(), c = s.c.constantTileExtents();
  if (!v.need(a && b && c, "an operand's extents are not constant") ||
      !v.need(a->size() == 2 && b->size() == 2 && c->size() == 2, "an operand is no matrix"))
    return;
  auto m = (*a)[s.transposeA], k = (*a)[!s.transposeA];
  auto n = (*b)[!s.transposeB], otherK = (*b)[s.transposeB];
  v.need(k == otherK, [&] {
    return "A and B differ in k: " + std::to_string(k) + " and " + std::to_string(otherK);
  });
  v.need(m == (*c)[0] && n == (*c)[1], "C is not [m, n]");
  v.need(!v.isScheduled() || s.atom, "the gemm has no atom");
}

void fill(VerifyState &v, const FillStmt &s) {
  bool hasValue = v.expr(s.value, "the value");
  if (v.region(s.target, "the target") && hasValue)
    v.need(s.value.dtype() == s.target.buffer->dtype,
           "the value has another dtype than the buffer");
}

/// Target: the source without its axis, or with extent 1 there.
void alongAxis(VerifyState &v, const Region &source, const Region &target, unsigned axis,
               bool isScan) {
  Extents from = source.tileExtents(), to = target.tileExtents();
  if (!v.need(axis < from.size(), "there is no such axis"))
    return;
  if (!isScan) {
    if (to.size() == from.size())
      v.need(to[axis].isConstant(1), "the target's extent along the axis is not 1");
    if (to.size() == from.size())
      to.erase(to.begin() + axis);
    from.erase(from.begin() + axis);
    // A tile that is reduced to one value may have a target of one element.
    if (from.empty() && to.size() == 1 && to[0].isConstant(1))
      return;
  }
  sameExtents(v, from, to, false);
}

void reducer(VerifyState &v, const ReducerStmt &s) {
  if (!v.buffer(s.reducer, "the reducer"))
    return;
  if (s.action == ReducerAction::Update) {
    if (v.element(s.element, "the element"))
      v.need(s.element.buffer->storage() == s.reducer->storage(),
             "the element belongs to another buffer");
    v.expr(s.value, "the value");
  } else {
    v.optional(s.value, "the value");
  }
  if (s.target.buffer)
    v.region(s.target, "the target");
}

void convert(VerifyState &v, const ConvertStmt &s) {
  if (!(v.buffer(s.source, "the source") & v.buffer(s.target, "the target")))
    return;
  v.need(s.source->scope == Scope::Fragment && s.target->scope == Scope::Fragment,
         "conversions are between fragments");
  v.need(s.source->dtype == s.target->dtype, "source and target differ in dtype");
  v.need(s.source->constantShape() == s.target->constantShape(),
         "source and target differ in shape");
}

void atomicTile(VerifyState &v, const AtomicTileStmt &s) {
  if (!v.region(s.target, "the target"))
    return;
  v.need(isScope(s.target, {Scope::Global, Scope::Shared}),
         "atomics work on global and shared memory");
  if (!s.source.buffer) {
    v.expr(s.value, "the value");
    return;
  }
  if (v.region(s.source, "the source"))
    sameExtents(v, s.source.tileExtents(), s.target.tileExtents(), true);
  checkBounds(v, s.target, s.checkLow, s.checkHigh);
}

} // namespace

bool isTileOp(StmtKind kind) { return kind >= StmtKind::Map && kind <= StmtKind::Convert; }

void verifyTileOp(VerifyState &v, const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Map:
    return map(v, cast<MapStmt>(stmt));
  case StmtKind::Copy:
    return copy(v, cast<CopyStmt>(stmt));
  case StmtKind::Gemm:
    return gemm(v, cast<GemmStmt>(stmt));
  case StmtKind::Fill:
    return fill(v, cast<FillStmt>(stmt));
  case StmtKind::Reduce: {
    const auto &s = cast<ReduceStmt>(stmt);
    if (v.region(s.source, "the source") & v.region(s.target, "the target"))
      alongAxis(v, s.source, s.target, s.axis, false);
    return;
  }
  case StmtKind::Scan: {
    const auto &s = cast<ScanStmt>(stmt);
    v.need(s.op == ReduceOp::Sum || s.op == ReduceOp::Max, "scans are sums and maxima");
    if (v.region(s.source, "the source") & v.region(s.target, "the target"))
      alongAxis(v, s.source, s.target, s.axis, true);
    return;
  }
  case StmtKind::AtomicTile:
    return atomicTile(v, cast<AtomicTileStmt>(stmt));
  case StmtKind::Reducer:
    return reducer(v, cast<ReducerStmt>(stmt));
  case StmtKind::Convert:
    return convert(v, cast<ConvertStmt>(stmt));
  default:
    return;
  }
}

} // namespace tlc::ir
