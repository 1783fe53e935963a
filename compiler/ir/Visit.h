// One list of the fields of every statement, from which walking, substituting, copying and use
// lists are made.
//
// A visitor has expr(Expr &), define(Expr &), element(Element &, Access), region(Region &, Access),
// block(Block &), tensorMap(TensorMap &) and whole(Buffer *&, Access). Fields come in the order in
// which the statement reads, then writes. Elements and regions whose buffer is null are not
// visited; null expressions are.
#pragma once

#include "ir/Stmt.h"

#include <type_traits>

namespace tlc::ir {

template <typename V> void visitPointerArgs(CallStmt &s, V &v) {
  for (Argument &arg : s.args) {
    if (auto *e = std::get_if<Expr>(&arg))
      v.expr(*e);
    else if (auto *p = std::get_if<Pointer>(&arg))
      v.pointer(*p);
    else if (auto *map = std::get_if<TensorMap>(&arg))
      v.tensorMap(*map);
  }
  for (Pointer &p : s.touches)
    v.pointer(p);
  v.define(s.result);
}

template <typename V> void visitFields(Stmt &stmt, V &v) {
  auto element = [&](Element &e, Access access) {
    if (e.buffer)
      v.element(e, access);
  };
  auto region = [&](Region &r, Access access) {
    if (r.buffer)
      v.region(r, access);
  };
  switch (stmt.kind) {
  case StmtKind::Alloc: {
    auto &s = cast<AllocStmt>(stmt);
    v.expr(s.init);
    v.allocates(s.buffer);
    break;
  }
  case StmtKind::Let: {
    auto &s = cast<LetStmt>(stmt);
    v.expr(s.value);
    v.define(s.var);
    break;
  }
  case StmtKind::Load: {
    auto &s = cast<LoadStmt>(stmt);
    v.expr(s.predicate);
    element(s.source, Access::Read);
    v.expr(s.otherwise);
    v.define(s.var);
    break;
  }
  case StmtKind::Store: {
    auto &s = cast<StoreStmt>(stmt);
    v.expr(s.predicate);
    v.expr(s.value);
    element(s.target, Access::Write);
    break;
  }
  case StmtKind::Atomic: {
    auto &s = cast<AtomicStmt>(stmt);
    v.expr(s.predicate);
    v.expr(s.value);
    v.expr(s.compare);
    element(s.target, s.op == AtomicOp::Load    ? Access::Read
                      : s.op == AtomicOp::Store ? Access::Write
                                                : Access::ReadWrite);
    v.define(s.result);
    break;
  }
  case StmtKind::Move: {
    auto &s = cast<MoveStmt>(stmt);
    v.expr(s.predicate);
    v.expr(s.fill);
    element(s.source, Access::Read);
    element(s.target, Access::Write);
    break;
  }
  case StmtKind::Call:
    visitPointerArgs(cast<CallStmt>(stmt), v);
    break;
  case StmtKind::If: {
    auto &s = cast<IfStmt>(stmt);
    v.expr(s.condition);
    v.block(s.then);
    v.block(s.otherwise);
    break;
  }
  case StmtKind::While: {
    auto &s = cast<WhileStmt>(stmt);
    v.block(s.conditionBlock);
    v.expr(s.condition);
    v.block(s.body);
    break;
  }
  case StmtKind::For: {
    auto &s = cast<ForStmt>(stmt);
    v.expr(s.lo);
    v.expr(s.hi);
    v.expr(s.step);
    v.define(s.var);
    v.block(s.body);
    break;
  }
  case StmtKind::Role:
    v.block(cast<RoleStmt>(stmt).body);
    break;
  case StmtKind::Barrier: {
    auto &s = cast<BarrierStmt>(stmt);
    v.expr(s.id);
    v.expr(s.count);
    v.expr(s.mask);
    v.expr(s.value);
    v.define(s.result);
    break;
  }
  case StmtKind::Mbar: {
    auto &s = cast<MbarStmt>(stmt);
    v.expr(s.value);
    v.expr(s.cta);
    element(s.barrier, Access::ReadWrite);
    break;
  }
  case StmtKind::Print: {
    auto &s = cast<PrintStmt>(stmt);
    v.expr(s.value);
    v.expr(s.index);
    if (s.buffer)
      v.whole(s.buffer, Access::Read);
    break;
  }
  case StmtKind::Assert:
    v.expr(cast<AssertStmt>(stmt).condition);
    break;
  case StmtKind::Assume:
    v.expr(cast<AssumeStmt>(stmt).condition);
    break;
  case StmtKind::Map: {
    auto &s = cast<MapStmt>(stmt);
    for (Expr &extent : s.extents)
      v.expr(extent);
    for (Expr &var : s.vars)
      v.define(var);
    v.block(s.body);
    break;
  }
  case StmtKind::Copy: {
    auto &s = cast<CopyStmt>(stmt);
    v.expr(s.multicast);
    element(s.barrier, Access::ReadWrite);
    region(s.source, Access::Read);
    region(s.target, Access::Write);
    break;
  }
  case StmtKind::Gemm: {
    auto &s = cast<GemmStmt>(stmt);
    v.expr(s.clear);
    element(s.barrier, Access::ReadWrite);
    region(s.a, Access::Read);
    region(s.b, Access::Read);
    region(s.c, s.clear && s.clear.isTrue() ? Access::Write : Access::ReadWrite);
    break;
  }
  case StmtKind::Fill: {
    auto &s = cast<FillStmt>(stmt);
    v.expr(s.value);
    region(s.target, Access::Write);
    break;
  }
  case StmtKind::Reduce: {
    auto &s = cast<ReduceStmt>(stmt);
    region(s.source, Access::Read);
    region(s.target, s.clear ? Access::Write : Access::ReadWrite);
    break;
  }
  case StmtKind::Scan: {
    auto &s = cast<ScanStmt>(stmt);
    region(s.source, Access::Read);
    region(s.target, Access::Write);
    break;
  }
  case StmtKind::AtomicTile: {
    auto &s = cast<AtomicTileStmt>(stmt);
    v.expr(s.value);
    region(s.source, Access::Read);
    region(s.target, Access::ReadWrite);
    break;
  }
  case StmtKind::Reducer: {
    auto &s = cast<ReducerStmt>(stmt);
    v.expr(s.value);
    element(s.element, Access::ReadWrite);
    if (s.element.buffer)
      v.mentions(s.reducer); // whose element it is
    else
      v.whole(s.reducer, s.action == ReducerAction::Init ? Access::Write : Access::ReadWrite);
    region(s.target, Access::Write);
    break;
  }
  case StmtKind::Convert: {
    auto &s = cast<ConvertStmt>(stmt);
    v.whole(s.source, Access::Read);
    v.whole(s.target, Access::Write);
    break;
  }
  case StmtKind::Break:
  case StmtKind::Continue:
  case StmtKind::Exit:
  case StmtKind::Async:
  case StmtKind::Fence:
  case StmtKind::Source:
    break;
  }
}

/// A visitor that does nothing; derive and shadow what is wanted. `element` and `region` visit
/// their expressions.
template <typename Derived> struct FieldVisitor {
  Derived &self() { return static_cast<Derived &>(*this); }
  void expr(Expr &) {}
  void define(Expr &) {}
  void block(Block &) {}
  void allocates(Buffer *&) {}
  void whole(Buffer *&, Access) {}
  void mentions(Buffer *&) {}
  void tensorMap(TensorMap &map) { self().whole(map.tensor, map.access); }
  void element(Element &e, Access) {
    for (Expr &index : e.indices)
      self().expr(index);
    self().expr(e.version);
  }
  void region(Region &r, Access) {
    for (Expr &offset : r.offsets)
      self().expr(offset);
    for (Expr &extent : r.extents)
      self().expr(extent);
    self().expr(r.version);
  }
  void pointer(Pointer &p) {
    self().element(p.element, p.access);
    self().expr(p.count);
  }
};

} // namespace tlc::ir
