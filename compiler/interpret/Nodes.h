// Statements of a thread (or of a map's point), compiled.
#pragma once

#include "interpret/Machine.h"

namespace tlc::interpret {

struct LetNode : Node {
  void run(Group &) override {} // its code is all
};

struct AllocNode : Node {
  std::uint32_t buffer = 0;
  bool isView = false, isPerLane = false, keepsContents = false;
  Ref init;
  void run(Group &group) override;
};

struct LoadNode : Node {
  ElementRef source;
  Refs to;
  Ref predicate;
  Refs otherwise; ///< empty: zero
  void run(Group &group) override;
};

struct StoreNode : Node {
  ElementRef target;
  Refs value;
  Ref predicate;
  void run(Group &group) override;
};

struct AtomicNode : Node {
  ir::AtomicOp op = ir::AtomicOp::Add;
  ElementRef target;
  Refs value, compare, result;
  Ref predicate;
  void run(Group &group) override;
};

struct MoveNode : Node {
  ElementRef source, target;
  unsigned count = 1;
  bool isAsync = false;
  Ref predicate, fill;
  void run(Group &group) override;
};

/// Compiled Argument of a call.
struct ArgumentRef {
  Refs value; ///< of an expression
  DType dtype;
  bool isPointer = false;
  ElementRef element;
  Ref count;
  ir::Access access = ir::Access::Read;
};

struct CallNode : Node {
  const ir::CallStmt *call = nullptr;
  std::vector<ArgumentRef> args;
  std::vector<std::uint32_t> touches; ///< numbers of the buffers
  Refs result;
  void run(Group &group) override; // Calls.cpp
};

struct PrintNode : Node {
  Refs value, index;
  DType dtype;
  bool hasBuffer = false;
  std::uint32_t buffer = 0;
  void run(Group &group) override;
};

struct AssertNode : Node {
  Ref condition;
  std::string message;
  bool isAssumption = false;
  void run(Group &group) override;
};

struct UnsupportedNode : Node {
  std::string message;
  void run(Group &group) override;
};

struct KillNode : Node {
  LaneState how = Exited;
  void run(Group &group) override { group.kill(how); }
};

// ---- Control

struct IfNode : Node {
  Ref condition;
  NodeList then, otherwise;
  bool forks = false; ///< the arms may wait for each other
  void run(Group &group) override;
};

struct WhileNode : Node {
  NodeList conditionList, body;
  Code conditionCode;
  Ref condition;
  void run(Group &group) override;
};

struct ForNode : Node {
  Ref var, lo, hi, step;
  NodeList body;
  bool stops = false; ///< lanes may break, continue or exit in it
  void run(Group &group) override;
};

/// Roles that stand side by side run at the same time.
struct RolesNode : Node {
  struct Role {
    std::int64_t first = 0, count = 0;
    NodeList body;
    const ir::Stmt *stmt = nullptr;
  };
  std::vector<Role> roles;
  void run(Group &group) override;
};

/// Runs `tasks` (each with its lanes) beside each other, as groups of their own.
struct Arm {
  std::vector<std::uint32_t> lanes;
  const NodeList *body;
  bool isRole = false;
  std::int64_t first = 0;
};
void runArms(Group &group, std::vector<Arm> arms);

// ---- Synchronisation

struct BarrierNode : Node {
  const ir::BarrierStmt *barrier = nullptr;
  Ref id, count, mask, value, result;
  void run(Group &group) override;

private:
  void ofWarp(Group &group);
  void ofBlock(Group &group);
  void ofSome(Group &group);
  void ofBlocks(Group &group);
};

struct MbarNode : Node {
  ir::MbarOp op = ir::MbarOp::Arrive;
  ElementRef barrier;
  Ref value, cta;
  void run(Group &group) override;
};

struct AsyncNode : Node {
  ir::AsyncKind what = ir::AsyncKind::CpAsync;
  bool commit = false;
  std::size_t pending = 0;
  void run(Group &group) override;
};

/// The barrier object at an element; null (and reported) if there is none.
MbarState *mbarAt(Group &group, const ElementRef &e, std::uint32_t lane, BlockState &block);
/// Bytes of asynchronous copies have arrived on it.
void bytesArrived(MbarState &bar, std::int64_t bytes);

} // namespace tlc::interpret
