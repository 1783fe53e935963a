#include "ir/Builder.h"

namespace tlc::ir {

Expr Builder::let(std::string_view name, Expr value) {
  if (value.isConstant() || value.isVar())
    return value;
  auto &stmt = add<LetStmt>();
  stmt.var = context().var(name, value.dtype());
  stmt.value = value;
  return stmt.var;
}

Expr Builder::load(std::string_view name, Element source, Expr predicate, Expr otherwise) {
  auto &stmt = add<LoadStmt>();
  stmt.var = context().var(name, source.buffer->dtype);
  stmt.source = std::move(source);
  stmt.predicate = predicate;
  stmt.otherwise = otherwise;
  return stmt.var;
}

Expr Builder::load(std::string_view name, Buffer &buffer, std::vector<Expr> indices) {
  return load(name, Element{&buffer, std::move(indices), {}});
}

Expr Builder::loadVector(std::string_view name, Element source, unsigned lanes) {
  Expr var = load(name, std::move(source));
  auto &stmt = cast<LoadStmt>(*block().back());
  stmt.var = context().var(name, var.dtype().withLanes(lanes));
  return stmt.var;
}

StoreStmt &Builder::store(Element target, Expr value, Expr predicate) {
  auto &stmt = add<StoreStmt>();
  stmt.target = std::move(target);
  stmt.value = value;
  stmt.predicate = predicate;
  return stmt;
}

StoreStmt &Builder::store(Buffer &buffer, std::vector<Expr> indices, Expr value) {
  return store(Element{&buffer, std::move(indices), {}}, value);
}

AllocStmt &Builder::alloc(Buffer &buffer) {
  auto &stmt = add<AllocStmt>();
  stmt.buffer = &buffer;
  return stmt;
}

BarrierStmt &Builder::barrier() { return add<BarrierStmt>(); }

AsyncStmt &Builder::commit(AsyncKind kind) {
  auto &stmt = add<AsyncStmt>();
  stmt.what = kind;
  stmt.commit = true;
  return stmt;
}

AsyncStmt &Builder::wait(std::int64_t pending, AsyncKind kind) {
  auto &stmt = add<AsyncStmt>();
  stmt.what = kind;
  stmt.pending = pending;
  return stmt;
}

ForStmt &Builder::loop(std::string_view name, Expr lo, Expr hi, ForKind kind,
                       const std::function<void(Expr)> &body) {
  auto &stmt = add<ForStmt>();
  stmt.var = context().var(name, hi.dtype());
  stmt.lo = lo;
  stmt.hi = hi;
  stmt.step = context().integer(hi.dtype(), 1);
  stmt.kind = kind;
  in(stmt.body, [&] { body(stmt.var); });
  return stmt;
}

void Builder::unrolled(std::string_view name, std::int64_t count,
                       const std::function<void(Expr)> &body) {
  if (count == 1)
    body(context().int32(0));
  else if (count > 1)
    loop(name, context().int32(0), context().int32(count), ForKind::Unroll, body);
}

IfStmt &Builder::when(Expr condition, const std::function<void()> &body) {
  auto &stmt = add<IfStmt>();
  stmt.condition = condition;
  in(stmt.then, body);
  return stmt;
}

} // namespace tlc::ir
