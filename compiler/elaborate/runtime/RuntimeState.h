// Values and state of the run-time half: what Runtime.h keeps per kernel, and the native values
// that stand for parts of buffers.
#pragma once

#include "elaborate/runtime/Runtime.h"
#include "sema/Builtins.h"

#include <array>
#include <map>
#include <unordered_map>

namespace tlc::elaborate {

/// alloc_reducer's buffer: how its values are combined.
struct ReducerInfo {
  ir::ReduceOp op = ir::ReduceOp::Sum;
};

/// A tensor whose elements lie elsewhere than row-major: T.annotate_layout on a parameter.
struct TensorLayout {
  std::vector<ir::Expr> vars,
      results;                    ///< coordinates, and the physical ones as expressions of them
  ir::Buffer *physical = nullptr; ///< a view with the physical shape
};

/// Kept per kernel, in KernelState::runtime.
struct RuntimeState {
  /// Under which loads and atomics happen: the left sides of `and`, `or` and ternaries around the
  /// expression being evaluated. Null: always.
  ir::Expr predicate;
  /// Statements that a lazily evaluated expression may not contain are refused with this word:
  /// "and", "a ternary". Empty outside.
  std::string lazyWord;
  unsigned mapDepth = 0;     ///< inside T.Parallel
  unsigned loopDepth = 0;    ///< run-time loops that `break` may leave
  bool breakAllowed = false; ///< the innermost of them is none of T.Parallel, T.vectorized
  std::int64_t roleFirst = 0;
  ir::RoleStmt *role = nullptr; ///< innermost T.ws
  std::unordered_map<const ir::Buffer *, ReducerInfo> reducers;
  std::unordered_map<const ir::Buffer *, TensorLayout> tensorLayouts;
  /// How T.tvm_thread_allreduce combines, inside T.attr(T.comm_reducer(...), ...).
  std::optional<ir::ReduceOp> threadReduction;
  /// T.empty results in the order of their creation.
  std::vector<ir::Buffer *> empties;
};

inline RuntimeState &state(Elaborator &e) { return *e.kernel->runtime; }
/// Whether statements can be made here; reports `what` outside of T.Kernel, unless something was
/// reported before.
bool requireLaunch(Elaborator &e, SourceRange range, std::string_view what);

/// Evaluates in such a way that loads happen only where `condition` holds.
class LazyScope {
public:
  LazyScope(Elaborator &e, ir::Expr condition, std::string word);
  ~LazyScope();
  LazyScope(const LazyScope &) = delete;
  LazyScope &operator=(const LazyScope &) = delete;

private:
  RuntimeState *runtime = nullptr;
  ir::Expr previous;
  std::string previousWord;
};

/// `A[i, j]`: not read yet. A tile op takes it as the corner of a region.
struct ElementValue : NativeObject {
  ir::Element element;
  SourceRange range;
  /// Vector access `A[T.Ramp(...)]`: lanes of the value; 1 otherwise.
  unsigned lanes = 1;
  std::string typeName() const override { return "element of `" + element.buffer->name + "`"; }
  bool isRuntime() const override { return true; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;
};

/// A scalar that is more than an expression: T.thread_binding, a loop and an index.
struct ScalarValue : NativeObject {
  bool isRuntime() const override { return true; }
  /// Null after a report.
  virtual ir::Expr scalar(Elaborator &, SourceRange) = 0;
};

/// `A[a:b, c]`: an operand of tile ops.
struct RegionValue : NativeObject {
  ir::Region region;
  SourceRange range;
  std::string typeName() const override { return "region of `" + region.buffer->name + "`"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;
};

/// `T.Tensor((M, N), dtype)` and its relatives, as an annotation.
struct TensorType : NativeObject {
  enum class Kind : std::uint8_t { Tensor, Pointer, MacroTile } kind = Kind::Tensor;
  std::vector<ir::Expr> shape, strides; ///< strides empty: row-major
  DType dtype;
  SourceRange range;
  std::string typeName() const override { return "tensor type"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;
};

/// A parameter of type T.ptr.
struct PointerValue : NativeObject {
  ir::Buffer *buffer = nullptr;
  std::string typeName() const override { return "pointer"; }
};

/// Names of T, once per elaboration.
struct Language {
  std::unordered_map<std::string, Value> names;
  ClassObject *warpPolicy = nullptr;
};
Language &language(Elaborator &e);

// ---- Buffers (BufferAccess.cpp)

ir::Expr load(Elaborator &, const ir::Element &, unsigned lanes, SourceRange range,
              std::string_view hint = {});
void store(Elaborator &, const ir::Element &, const Value &, SourceRange range);
/// Where the element of a tensor with a layout of its own lies; `predicate` gets what must hold for
/// the access to be in range. Leaves all others alone.
void toPhysical(Elaborator &, ir::Element &, ir::Expr &predicate);
bool hasTensorLayout(Elaborator &, const ir::Region &);
/// `base[index]`, where base is a buffer: an ElementValue or a RegionValue.
Value indexBuffer(Elaborator &, ir::Buffer &, const Value &index, const ast::Expr *node,
                  SourceRange range);
/// Provably outside; reports and returns false for memory of the block, warns for tensors.
bool checkIndex(Elaborator &, const ir::Buffer &, unsigned dim, ir::Expr index, SourceRange range);
/// Offsets and extents together, per dim.
bool checkRegion(Elaborator &, const ir::Region &, SourceRange range);
/// "`A` (128, 32)".
std::string describe(const ir::Buffer &);
std::string shapeText(std::span<const ir::Expr> extents);
std::string text(ir::Expr e);
/// Whether it depends on what only the running kernel knows: indices of blocks and threads, values
/// that it computes.
bool madeByKernel(Elaborator &, ir::Expr);
/// Whether the launcher can evaluate it: dims, parameters and launch constants only.
bool knownToLauncher(Elaborator &, ir::Expr);
/// The memory of `base` in another shape and type, of equal size.
Value makeView(Elaborator &, ir::Buffer &base, const std::vector<ir::Expr> &shape, DType,
               SourceRange range);
/// target = value, both tiles; in memory of one thread a loop of the thread.
void copyRegions(Elaborator &, const Value &value, SourceRange valueRange, const ir::Region &target,
                 SourceRange targetRange);
/// A new buffer and its alloc statement. The name is given when it is bound.
ir::Buffer &allocate(Elaborator &, ir::Scope, DType, std::vector<ir::Expr> shape, SourceRange);

} // namespace tlc::elaborate
