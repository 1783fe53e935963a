// Loops of kernels.
#pragma once

#include "elaborate/tile/TCall.h"

namespace tlc::elaborate {

/// Around the body of a run-time loop: what `break` may leave, and whether tile ops may stand in
/// it.
class LoopScope {
public:
  LoopScope(Elaborator &e, bool breakAllowed, bool isMap = false);
  ~LoopScope();
  LoopScope(const LoopScope &) = delete;
  LoopScope &operator=(const LoopScope &) = delete;

private:
  RuntimeState &runtime;
  struct {
    bool breakAllowed;
    unsigned loopDepth, mapDepth;
  } saved;
};

/// What T.serial, T.Pipelined … and run-time ranges give.
struct LoopValue : NativeObject {
  std::string name; ///< "T.serial"
  ir::ForKind kind = ir::ForKind::Serial;
  ir::Expr lo, hi, step;
  bool expand = false;
  std::int64_t unrollFactor = 0, stages = 0;
  std::vector<std::int64_t> order, stage;
  std::vector<std::vector<std::int64_t>> group;
  SourceRange range;
  std::string typeName() const override { return "loop of `" + name + "`"; }
  bool runFor(Elaborator &, const ast::For &) override;
  std::optional<std::vector<Value>> items(Elaborator &) override;
};

/// T.Parallel and T.grid.
struct NestValue : NativeObject {
  std::string name;
  bool parallel = false;
  std::vector<ir::Expr> extents;
  std::int64_t coalescedWidth = 0;
  Value layout = Value::none();
  SourceRange layoutRange, range;
  std::string typeName() const override { return "loop nest of `" + name + "`"; }
  bool runFor(Elaborator &, const ast::For &) override;
};

/// T.thread_binding(n, thread="threadIdx.x"): its variable is a thread or block index.
struct BindingValue : ScalarValue {
  ir::Expr lo, extent;
  char axis = 'x';
  bool isBlock = false;
  SourceRange range;
  std::string typeName() const override { return "loop of `T.thread_binding`"; }
  ir::Expr scalar(Elaborator &, SourceRange) override;
  bool runFor(Elaborator &, const ast::For &) override;
};

/// T.Persistent: tiles of a domain, one after the other for each worker.
struct PersistentValue : NativeObject {
  std::vector<ir::Expr> domain;
  ir::Expr wave, index, group;
  SourceRange range;
  std::string typeName() const override { return "loop of `T.Persistent`"; }
  bool runFor(Elaborator &, const ast::For &) override;
};

/// T.comm_reducer(lambda x, y: x + y, [0]).
struct CommReducer : NativeObject {
  ir::ReduceOp op = ir::ReduceOp::Sum;
  std::string typeName() const override { return "reducer of `T.comm_reducer`"; }
};

/// The innermost launch's index of one axis ('x', 'y', 'z'), made on first use. Null after a
/// report.
ir::Expr threadIndex(Elaborator &, unsigned dim, SourceRange range);
ir::Expr blockIndex(Elaborator &, unsigned dim, SourceRange range);

} // namespace tlc::elaborate
