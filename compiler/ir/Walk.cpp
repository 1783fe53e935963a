#include "ir/Walk.h"

#include "ir/Substitute.h"
#include "ir/Visit.h"

#include <utility>

namespace tlc::ir {
namespace {

/// The visitors see mutable fields; the const entry points promise not to change them.
Stmt &mutableStmt(const Stmt &stmt) { return const_cast<Stmt &>(stmt); }

struct BlockVisitor : FieldVisitor<BlockVisitor> {
  const std::function<void(Block &)> &f;
  explicit BlockVisitor(const std::function<void(Block &)> &f) : f(f) {}
  void block(Block &b) { f(b); }
};

struct ExprVisitor : FieldVisitor<ExprVisitor> {
  const std::function<void(Expr &)> &f;
  explicit ExprVisitor(const std::function<void(Expr &)> &f) : f(f) {}
  void expr(Expr &e) {
    if (e)
      f(e);
  }
};

struct DefinitionVisitor : FieldVisitor<DefinitionVisitor> {
  const std::function<void(Expr &)> &f;
  explicit DefinitionVisitor(const std::function<void(Expr &)> &f) : f(f) {}
  void define(Expr &e) {
    if (e)
      f(e);
  }
};

struct UseVisitor : FieldVisitor<UseVisitor> {
  const std::function<void(const BufferUse &)> &f;
  explicit UseVisitor(const std::function<void(const BufferUse &)> &f) : f(f) {}
  void element(Element &e, Access access) { f({e.buffer, access, &e, nullptr, nullptr, nullptr}); }
  void region(Region &r, Access access) { f({r.buffer, access, nullptr, &r, nullptr, nullptr}); }
  void whole(Buffer *&b, Access access) { f({b, access, nullptr, nullptr, nullptr, nullptr}); }
  void pointer(Pointer &p) { f({p.element.buffer, p.access, &p.element, nullptr, &p, nullptr}); }
  void tensorMap(TensorMap &m) { f({m.tensor, m.access, nullptr, nullptr, nullptr, &m}); }
};

struct BufferReplacer : FieldVisitor<BufferReplacer> {
  Buffer *from, *to;
  BufferReplacer(Buffer *from, Buffer *to) : from(from), to(to) {}
  void replace(Buffer *&b) {
    if (b == from)
      b = to;
    else if (b && b->base == from)
      b->base = to;
  }
  void element(Element &e, Access) { replace(e.buffer); }
  void region(Region &r, Access) { replace(r.buffer); }
  void whole(Buffer *&b, Access) { replace(b); }
  void allocates(Buffer *&b) { replace(b); }
  void mentions(Buffer *&b) { replace(b); }
};

} // namespace

void forEachBlock(Stmt &stmt, const std::function<void(Block &)> &f) {
  BlockVisitor visitor(f);
  visitFields(stmt, visitor);
}

void forEachBlock(const Stmt &stmt, const std::function<void(const Block &)> &f) {
  forEachBlock(mutableStmt(stmt), [&](Block &b) { f(b); });
}

void walk(Block &block, const std::function<bool(Stmt &)> &f) {
  for (StmtPtr &stmt : block)
    walk(*stmt, f);
}

void walk(const Block &block, const std::function<bool(const Stmt &)> &f) {
  for (const StmtPtr &stmt : block)
    walk(std::as_const(*stmt), f);
}

void walk(Stmt &stmt, const std::function<bool(Stmt &)> &f) {
  if (f(stmt))
    forEachBlock(stmt, [&](Block &inner) { walk(inner, f); });
}

void walk(const Stmt &stmt, const std::function<bool(const Stmt &)> &f) {
  if (f(stmt))
    forEachBlock(stmt, [&](const Block &inner) { walk(inner, f); });
}

void forEachExpr(Stmt &stmt, const std::function<void(Expr &)> &f) {
  ExprVisitor visitor(f);
  visitFields(stmt, visitor);
}

void forEachExpr(const Stmt &stmt, const std::function<void(Expr)> &f) {
  forEachExpr(mutableStmt(stmt), [&](Expr &e) { f(e); });
}

void forEachDefinition(Stmt &stmt, const std::function<void(Expr &)> &f) {
  DefinitionVisitor visitor(f);
  visitFields(stmt, visitor);
}

void forEachDefinition(const Stmt &stmt, const std::function<void(Expr)> &f) {
  forEachDefinition(mutableStmt(stmt), [&](Expr &e) { f(e); });
}

void forEachUse(Stmt &stmt, const std::function<void(const BufferUse &)> &f) {
  UseVisitor visitor(f);
  visitFields(stmt, visitor);
}

void forEachUse(const Stmt &stmt, const std::function<void(const BufferUse &)> &f) {
  forEachUse(mutableStmt(stmt), f);
}

void substitute(Block &block, const Substitution &map) {
  if (map.empty())
    return;
  Substituter substituter(map);
  walk(block, [&](Stmt &stmt) {
    forEachExpr(stmt, [&](Expr &e) { e = substituter(e); });
    return true;
  });
}

void replaceBuffer(Block &block, Buffer *from, Buffer *to) {
  BufferReplacer replacer(from, to);
  walk(block, [&](Stmt &stmt) {
    visitFields(stmt, replacer);
    return true;
  });
}

void rewrite(Block &block, const std::function<void(StmtPtr stmt, Block &out)> &f) {
  Block out;
  for (StmtPtr &stmt : block) {
    forEachBlock(*stmt, [&](Block &inner) { rewrite(inner, f); });
    f(std::move(stmt), out);
  }
  block = std::move(out);
}

} // namespace tlc::ir
