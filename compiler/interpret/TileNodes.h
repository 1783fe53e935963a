// Tile ops, compiled: executed once for a role, on whole tiles.
#pragma once

#include "interpret/Nodes.h"

namespace tlc::interpret {

/// A region at one moment: its extents and where each element is, row-major.
struct Tile {
  const View *view = nullptr;
  std::vector<std::int64_t> extents; ///< of dims that are not dropped
  std::vector<std::int64_t> at;      ///< bit offsets; -1: outside a global tensor
  std::size_t count() const { return at.size(); }
};

/// An operation that every thread does for itself where it works on local memory, and all together
/// else.
struct TileNode : Node {
  bool isPerThread = false, isAnybody = false;
  void run(Group &group) override;
  /// `lane`: whose values count.
  virtual void once(Group &group, std::uint32_t lane) = 0;
};

/// Reports what is out of range, except of global tensors.
Tile gather(Group &group, const RegionRef &region, std::uint32_t lane, bool isWrite);
/// For each element of a tile of `extents` the element of one of `from`, whose extents are these
/// or 1.
std::vector<std::size_t> broadcastMap(const std::vector<std::int64_t> &extents,
                                      const std::vector<std::int64_t> &from);

struct CopyNode : TileNode {
  RegionRef source, target;
  bool isAsync = false, hasBarrier = false, isMulticast = false;
  ElementRef barrier;
  void once(Group &group, std::uint32_t lane) override;
};

struct GemmNode : TileNode {
  RegionRef a, b, c;
  bool transposeA = false, transposeB = false, isAsync = false, hasBarrier = false;
  Ref clear;
  ElementRef barrier;
  void once(Group &group, std::uint32_t lane) override;
};

struct FillNode : TileNode {
  RegionRef target;
  Ref value;
  void once(Group &group, std::uint32_t lane) override;
};

struct ReduceNode : TileNode {
  ir::ReduceOp op = ir::ReduceOp::Sum;
  RegionRef source, target;
  unsigned axis = 0;
  bool clear = true, nanPropagate = false;
  void once(Group &group, std::uint32_t lane) override;
};

struct ScanNode : TileNode {
  ir::ReduceOp op = ir::ReduceOp::Sum;
  RegionRef source, target;
  unsigned axis = 0;
  bool reverse = false;
  void once(Group &group, std::uint32_t lane) override;
};

struct AtomicTileNode : TileNode {
  ir::AtomicOp op = ir::AtomicOp::Add;
  RegionRef source, target;
  bool hasSource = false;
  Ref value;
  DType valueType;
  void once(Group &group, std::uint32_t lane) override;
};

struct ConvertNode : TileNode {
  std::uint32_t source = 0, target = 0;
  void once(Group &group, std::uint32_t lane) override;
};

/// Init and Finalize.
struct ReducerNode : TileNode {
  ir::ReduceOp op = ir::ReduceOp::Sum;
  bool isInit = false;
  RegionRef reducer, target;
  bool hasTarget = false;
  Ref value;
  void once(Group &group, std::uint32_t lane) override;
};

/// Update: of each thread or point.
struct UpdateNode : Node {
  ir::ReduceOp op = ir::ReduceOp::Sum;
  ElementRef element;
  Ref value;
  void run(Group &group) override;
};

struct MapNode : Node {
  std::vector<Ref> vars, extents;
  std::vector<DType> types;
  SlotTable slots;
  NodeList body;
  unsigned frame = 0;
  bool isWatched = false;
  std::vector<std::uint32_t> outerLocals; ///< local buffers of the threads that the body writes
  explicit MapNode(SlotTable *outer) : slots(outer) {}
  void run(Group &group) override;
};

/// What a reduction starts from, and one step of it (in double or int64, not rounded).
Value neutral(ir::ReduceOp op, DType type);
Value reduceStep(ir::ReduceOp op, DType type, Value a, Value b, bool nanPropagate);
/// Rounded, or wrapped.
Value settled(DType type, Value v);

/// One step of an atomic, rounded.
Value atomicStep(ir::AtomicOp op, DType type, Value old, Value value, Value compare);

} // namespace tlc::interpret
