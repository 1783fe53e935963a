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

/// An element or a region that is there.
template <typename V> void visitElement(Element &e, Access access, V &v) {
  if (e.buffer)
    v.element(e, access);
}
template <typename V> void visitRegion(Region &r, Access access, V &v) {
  if (r.buffer)
    v.region(r, access);
}

template <typename V> void visitOwnFields(AllocStmt &s, V &v) {
  v.expr(s.init);
  v.allocates(s.buffer);
}
template <typename V> void visitOwnFields(LetStmt &s, V &v) {
  v.expr(s.value);
  v.define(s.var);
}
template <typename V> void visitOwnFields(LoadStmt &s, V &v) {
  v.expr(s.predicate);
  visitElement(s.source, Access::Read, v);
  v.expr(s.otherwise);
  v.define(s.var);
}
template <typename V> void visitOwnFields(StoreStmt &s, V &v) {
  v.expr(s.predicate);
  v.expr(s.value);
  visitElement(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(AtomicStmt &s, V &v) {
  v.expr(s.predicate);
  v.expr(s.value);
  v.expr(s.compare);
  visitElement(s.target,
               s.op == AtomicOp::Load    ? Access::Read
               : s.op == AtomicOp::Store ? Access::Write
                                         : Access::ReadWrite,
               v);
  v.define(s.result);
}
template <typename V> void visitOwnFields(MoveStmt &s, V &v) {
  v.expr(s.predicate);
  v.expr(s.fill);
  visitElement(s.source, Access::Read, v);
  visitElement(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(CallStmt &s, V &v) {
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
template <typename V> void visitOwnFields(IfStmt &s, V &v) {
  v.expr(s.condition);
  v.block(s.then);
  v.block(s.otherwise);
}
template <typename V> void visitOwnFields(WhileStmt &s, V &v) {
  v.block(s.conditionBlock);
  v.expr(s.condition);
  v.block(s.body);
}
template <typename V> void visitOwnFields(ForStmt &s, V &v) {
  v.expr(s.lo);
  v.expr(s.hi);
  v.expr(s.step);
  v.define(s.var);
  v.block(s.body);
}
template <typename V> void visitOwnFields(RoleStmt &s, V &v) {
  v.define(s.team);
  v.block(s.body);
}
template <typename V> void visitOwnFields(BarrierStmt &s, V &v) {
  v.expr(s.id);
  v.expr(s.count);
  v.expr(s.mask);
  v.expr(s.value);
  v.define(s.result);
}
template <typename V> void visitOwnFields(MbarStmt &s, V &v) {
  v.expr(s.value);
  v.expr(s.cta);
  visitElement(s.barrier, Access::ReadWrite, v);
}
template <typename V> void visitOwnFields(PrintStmt &s, V &v) {
  v.expr(s.value);
  v.expr(s.index);
  if (s.buffer)
    v.whole(s.buffer, Access::Read);
}
template <typename V> void visitOwnFields(AssertStmt &s, V &v) { v.expr(s.condition); }
template <typename V> void visitOwnFields(AssumeStmt &s, V &v) { v.expr(s.condition); }
template <typename V> void visitOwnFields(MapStmt &s, V &v) {
  for (Expr &extent : s.extents)
    v.expr(extent);
  for (Expr &var : s.vars)
    v.define(var);
  v.block(s.body);
}
template <typename V> void visitOwnFields(CopyStmt &s, V &v) {
  v.expr(s.multicast);
  visitElement(s.barrier, Access::ReadWrite, v);
  visitRegion(s.source, Access::Read, v);
  visitRegion(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(GemmStmt &s, V &v) {
  v.expr(s.clear);
  visitElement(s.barrier, Access::ReadWrite, v);
  visitRegion(s.a, Access::Read, v);
  visitRegion(s.b, Access::Read, v);
  visitRegion(s.c, s.clear && s.clear.isTrue() ? Access::Write : Access::ReadWrite, v);
}
template <typename V> void visitOwnFields(FillStmt &s, V &v) {
  v.expr(s.value);
  visitRegion(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(ReduceStmt &s, V &v) {
  visitRegion(s.source, Access::Read, v);
  visitRegion(s.target, s.clear ? Access::Write : Access::ReadWrite, v);
}
template <typename V> void visitOwnFields(ScanStmt &s, V &v) {
  visitRegion(s.source, Access::Read, v);
  visitRegion(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(AtomicTileStmt &s, V &v) {
  v.expr(s.value);
  visitRegion(s.source, Access::Read, v);
  visitRegion(s.target, Access::ReadWrite, v);
}
template <typename V> void visitOwnFields(ReducerStmt &s, V &v) {
  v.expr(s.value);
  visitElement(s.element, Access::ReadWrite, v);
  if (s.element.buffer)
    v.mentions(s.reducer); // whose element it is
  else
    v.whole(s.reducer, s.action == ReducerAction::Init ? Access::Write : Access::ReadWrite);
  visitRegion(s.target, Access::Write, v);
}
template <typename V> void visitOwnFields(ConvertStmt &s, V &v) {
  v.whole(s.source, Access::Read);
  v.whole(s.target, Access::Write);
}
/// Statements without fields to visit.
template <typename V> void visitOwnFields(Stmt &, V &) {}

template <typename V> void visitFields(Stmt &stmt, V &v) {
  switch (stmt.kind) {
#define TLC_STMT(KIND, TEXT, PHASES)                                                               \
  case StmtKind::KIND:                                                                             \
    return visitOwnFields(cast<KIND##Stmt>(stmt), v);
#include "ir/Nodes.def"
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
