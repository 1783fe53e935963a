// A function: what becomes one C entry point, with all its launches, buffers and host-side facts.
#pragma once

#include "ir/Stmt.h"

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tlc::ir {

enum class Phase : std::uint8_t { Tile, Scheduled, Thread, Named };
const char *phaseName(Phase phase);

/// One argument of the C entry, in the order of the user's declaration: a tensor, or a scalar
/// variable.
struct Param {
  Buffer *buffer = nullptr; ///< tensor
  Expr scalar;              ///< otherwise
  std::string name;
  SourceRange range;
};

/// A run-time dimension or stride: an int64 argument of the C entry, after the tensors, in order of
/// declaration.
struct Dim {
  Expr var;
  std::string name;
  bool isStride = false;
  SourceRange range;
};

/// What the launcher checks before anything is started (T.assume, --assume, shapes equal to bound
/// values).
struct Constraint {
  Expr condition;
  std::string text; ///< as the user wrote it
  SourceRange range;
};

/// A number that the launcher finds out, on the device of the call, and hands to the kernels that
/// use it.
struct LaunchConstant {
  enum class What : std::uint8_t {
    MultiprocessorCount,
    WorkspaceBytes, ///< that the caller has given, int64; 0 if it may not be used
    Computed,
  } what = What::MultiprocessorCount;
  Expr var;
  Expr value; ///< Computed: over params, dims and the constants before it
};

/// T.use_swizzle: blocks walk the grid in panels of `panel` rows or columns, for L2 reuse. 0: plain
/// order.
struct Raster {
  std::int64_t panel = 0;
  bool columnMajor = false;
};

/// One kernel launch.
struct Launch {
  std::string name;
  std::vector<Expr> grid; ///< 1 to 3 extents, over params, dims and launch constants
  std::array<std::int64_t, 3> threads = {128, 1, 1}; ///< what the program sees
  /// How many of the program's blocks one does, along each grid dimension (widen-tiles).
  std::array<std::int64_t, 3> tiles = {1, 1, 1};
  std::int64_t extraThreads = 0;  ///< producer warps added by the compiler
  std::vector<Expr> blockVars;    ///< one per grid dim
  std::array<Expr, 3> threadVars; ///< int32 variables; null if the program never asks
  Expr tid;                       ///< linear thread index in the block, int32; always set
  std::array<std::int64_t, 3> cluster = {1, 1, 1};
  Expr clusterSize; ///< 1 or cluster[0], as the launcher finds out; null: cluster[0]
  bool cooperative = false;
  /// Two groups of `threads` compute, each the whole of every other tile (alternate-tiles).
  bool alternates = false;
  Raster raster;
  std::int64_t minBlocksPerSm = 0; ///< 0: unsaid
  std::string prelude;             ///< user's C text before the kernel
  std::int64_t sharedBytes = 0;    ///< set by plan-shared
  Block body;
  SourceRange range;
  /// What passes made of it that no word of a schedule says, and why: for people (`tlc report`).
  std::vector<std::string> notes;

  /// Adds to the notes what is not among them.
  void note(const std::string &text);
  std::int64_t threadCount() const { return threads[0] * threads[1] * threads[2]; }
  /// Those that compute, of a launch that is to have warps for other work.
  std::int64_t computingThreads() const { return threadCount() * (alternates ? 2 : 1); }
};

/// Whether an expression asks which thread of the launch evaluates it.
bool usesThread(const Launch &launch, Expr e);

/// Options that came from pass_configs or flags and change what the kernel means or how it is
/// scheduled.
struct FunctionOptions {
  bool fastMath = false;
  bool disableThreadStorageSync = false;
  bool disableTma = false;
  bool disableWarpSpecialize = false;
  bool hintsAreBinding = false; ///< --schedule=as-written
};

struct Function {
  explicit Function(Context &context) : context(&context) {}

  Context *context;
  std::string name; ///< the C symbol without prefix
  Phase phase = Phase::Tile;
  std::vector<Param> params;
  std::vector<Dim> dims;
  std::vector<Constraint> constraints;
  std::vector<Buffer *> workspace; ///< alloc_global, in order; Scope::Global
  std::vector<LaunchConstant> launchConstants;
  std::vector<std::string> sources; ///< T.import_source, pasted once at file level
  std::vector<std::unique_ptr<Launch>> launches;
  std::vector<std::unique_ptr<Buffer>> buffers; ///< owns all buffers
  FunctionOptions options;
  std::uint32_t lastOp = 0; ///< largest Stmt::op given out
  SourceRange range;

  /// A new buffer owned by the function.
  Buffer &addBuffer(std::string name, DType dtype, Scope scope, std::vector<Expr> shape,
                    SourceRange range = {});
};

/// A deep copy with its own buffers, launches and statements; expressions are shared (same
/// context).
std::unique_ptr<Function> clone(const Function &function);
/// A deep copy of statements; buffers are shared, bound variables are kept as they are.
Block cloneBlock(const Block &block);
/// Buffers that a block allocates become new ones, which `owner` owns.
void renewBuffers(Block &block, std::vector<std::unique_ptr<Buffer>> &owner);
StmtPtr cloneStmt(const Stmt &stmt);

} // namespace tlc::ir
