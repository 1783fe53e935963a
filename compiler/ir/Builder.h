// Making statements in order: a cursor into nested blocks.
#pragma once

#include "ir/Function.h"

#include <functional>
#include <utility>

namespace tlc::ir {

/// Appends statements to the innermost open block. `range` is given to every statement made, so set
/// it per source statement.
class Builder {
public:
  Builder(Function &function, Block &block) : function(function), stack{&block} {}

  Function &function;
  SourceRange range;

  Context &context() { return *function.context; }
  Block &block() { return *stack.back(); }
  void push(Block &block) { stack.push_back(&block); }
  void pop() { stack.pop_back(); }
  /// Runs `f` with `block` open.
  template <typename F> void in(Block &block, F &&f) {
    push(block);
    f();
    pop();
  }

  template <typename T> T &add() {
    auto stmt = std::make_unique<T>(range);
    T &result = *stmt;
    block().push_back(std::move(stmt));
    return result;
  }
  void add(StmtPtr stmt) { block().push_back(std::move(stmt)); }

  Expr let(std::string_view name, Expr value); ///< constants and variables are returned as they are
  Expr load(std::string_view name, Element source, Expr predicate = {}, Expr otherwise = {});
  Expr load(std::string_view name, Buffer &buffer, std::vector<Expr> indices);
  /// A run of `lanes` elements.
  Expr loadVector(std::string_view name, Element source, unsigned lanes);
  StoreStmt &store(Element target, Expr value, Expr predicate = {});
  StoreStmt &store(Buffer &buffer, std::vector<Expr> indices, Expr value);
  AllocStmt &alloc(Buffer &buffer);
  BarrierStmt &barrier();
  AsyncStmt &commit(AsyncKind kind = AsyncKind::CpAsync);
  AsyncStmt &wait(std::int64_t pending, AsyncKind kind = AsyncKind::CpAsync);
  /// `body` gets the loop variable.
  ForStmt &loop(std::string_view name, Expr lo, Expr hi, ForKind kind,
                const std::function<void(Expr)> &body);
  /// Unrolled 0..count; runs `body` once with 0 and makes no loop if count is 1.
  void unrolled(std::string_view name, std::int64_t count, const std::function<void(Expr)> &body);
  IfStmt &when(Expr condition, const std::function<void()> &body);

private:
  std::vector<Block *> stack;
};

} // namespace tlc::ir
