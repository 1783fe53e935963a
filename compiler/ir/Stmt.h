// Statements of the tile IR: a mutable tree of plain structs. See README.md for the phases.
#pragma once

#include "ir/Buffer.h"
#include "ir/Expr.h"
#include "layout/Conversion.h"
#include "layout/Layout.h"
#include "support/SourceRange.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tlc {
struct Atom; // target/Atoms.h
}

namespace tlc::ir {

enum class StmtKind : std::uint8_t {
#define TLC_STMT(NAME, ...) NAME,
#include "ir/Nodes.def"
};
const char *stmtName(StmtKind kind);

struct Stmt {
  const StmtKind kind;
  SourceRange range;
  /// Statements that one elementwise tile op was lowered to share a number: what their threads and
  /// the rounds of their own loops touch is disjoint, so nothing among them needs a barrier. 0: not
  /// from such an op.
  std::uint32_t op = 0;
  virtual ~Stmt() = default;

protected:
  Stmt(StmtKind kind, SourceRange range) : kind(kind), range(range) {}
};
using StmtPtr = std::unique_ptr<Stmt>;

/// Statements in order. Copying copies the statements too, nested ones included; buffers and
/// variables are shared.
struct Block : std::vector<StmtPtr> {
  Block() = default;
  Block(Block &&) = default;
  Block &operator=(Block &&) = default;
  Block(const Block &other);
  Block &operator=(const Block &other);
};

/// Gives a statement struct its kind, a constructor from a range, and what isa/dynCast need.
template <StmtKind K> struct StmtOf : Stmt {
  static constexpr StmtKind Kind = K;
  explicit StmtOf(SourceRange range = {}) : Stmt(K, range) {}
};
template <typename T> bool isa(const Stmt &s) { return s.kind == T::Kind; }
template <typename T> T *dynCast(Stmt *s) {
  return s && s->kind == T::Kind ? static_cast<T *>(s) : nullptr;
}
template <typename T> const T *dynCast(const Stmt *s) {
  return s && s->kind == T::Kind ? static_cast<const T *>(s) : nullptr;
}
template <typename T> T &cast(Stmt &s) { return static_cast<T &>(s); }
template <typename T> const T &cast(const Stmt &s) { return static_cast<const T &>(s); }

// ---- Names and memory
// ---------------------------------------------------------------------------------------------

/// Starts the life of a buffer (contents undefined from here) or names a view (buffer->base is
/// set).
struct AllocStmt : StmtOf<StmtKind::Alloc> {
  using StmtOf::StmtOf;
  Buffer *buffer = nullptr;
  Expr init; ///< alloc_var's initial value, stored at each execution; null: undefined
};

/// Binds a variable to a pure expression.
struct LetStmt : StmtOf<StmtKind::Let> {
  using StmtOf::StmtOf;
  Expr var, value;
  bool kept = false; ///< in a register: nobody, the downstream compiler included, computes it anew
};

/// var = predicate ? source : otherwise. The read does not happen when the predicate is false.
/// The lanes of var's dtype say how many consecutive elements are read.
struct LoadStmt : StmtOf<StmtKind::Load> {
  using StmtOf::StmtOf;
  Expr var;
  Element source;
  Expr predicate; ///< bool; null: true
  Expr otherwise; ///< null: zero
};

struct StoreStmt : StmtOf<StmtKind::Store> {
  using StmtOf::StmtOf;
  Element target;
  Expr value;
  Expr predicate; ///< null: true
};

enum class AtomicOp : std::uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exchange,
  CompareExchange,
  Load,
  Store
};
enum class MemoryOrder : std::uint8_t { Relaxed, Consume, Acquire, Release, AcqRel, SeqCst };
enum class MemoryScope : std::uint8_t { Block, Cluster, Device, System };

/// One atomic on one element (or `lanes` of value's dtype, for the packed forms), once per
/// executing thread.
struct AtomicStmt : StmtOf<StmtKind::Atomic> {
  using StmtOf::StmtOf;
  AtomicOp op = AtomicOp::Add;
  Element target;
  Expr value;     ///< null for Load
  Expr compare;   ///< CompareExchange only
  Expr predicate; ///< null: true
  MemoryOrder order = MemoryOrder::Relaxed;
  MemoryScope scope = MemoryScope::Device;
  Expr result; ///< variable that gets the previous value; null if unused
};

/// Copies `count` elements between two addresses of one dtype, as one access of a thread (4, 8 or
/// 16 bytes where the target can). Predicate false: with `fill` target gets it `count` times,
/// without `fill` nothing happens.
struct MoveStmt : StmtOf<StmtKind::Move> {
  using StmtOf::StmtOf;
  Element target, source;
  std::int64_t count = 1;
  Expr predicate;     ///< null: true
  Expr fill;          ///< value for a false predicate; null: target is left alone
  bool async = false; ///< cp.async: complete only after an Async wait; fill must be null or 0
};

// ---- Calls
// --------------------------------------------------------------------------------------------------------

enum class Access : std::uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

/// `count` elements from an element on, passed as a pointer (or, for whole register arrays, by
/// reference). Of 0 elements only the address is taken.
struct Pointer {
  Element element;
  Expr count;
  Access access = Access::Read;
};

/// What the hardware that copies boxes of tensors (TMA) has to know of one: the launcher makes a
/// descriptor of it from the tensor's address, extents and strides, and hands it to the kernel.
/// Equal maps are one descriptor.
struct TensorMap {
  Buffer *tensor = nullptr;      ///< Scope::Global
  std::vector<std::int64_t> box; ///< elements per dim of the tensor, each 1 to 256
  std::int64_t swizzleBytes = 0; ///< 128, 64 or 32: how tiles lie in shared memory; 0: as rows
  Access access = Access::Read;  ///< of the tensor, by the call
  /// Of an image that is copied unfolded; its box is {1, 1, pixels, channels}.
  std::optional<Unfold> unfold = {};

  /// Whether the two may be one descriptor.
  bool sameAs(const TensorMap &other) const {
    return tensor == other.tensor && box == other.box && swizzleBytes == other.swizzleBytes &&
           unfold == other.unfold;
  }
};
/// A string is a C string literal.
using Argument = std::variant<Expr, Pointer, std::string, TensorMap>;

/// How many threads must reach a call together.
enum class Collective : std::uint8_t { Thread, Warp, WarpGroup, Block };

/// A runtime function (runtime/<target>/…, `tlc::` in the emitted text) or a user's extern C
/// function.
struct CallStmt : StmtOf<StmtKind::Call> {
  using StmtOf::StmtOf;
  Expr result; ///< variable that gets the result; null if none
  std::string callee;
  std::vector<std::int64_t> templateArgs; ///< printed as callee<a, b>
  std::vector<DType> templateTypes;       ///< printed before templateArgs
  std::vector<Argument> args;
  /// Memory that the call reaches without a pointer to it, by descriptors: not printed.
  std::vector<Pointer> touches;
  Collective collective = Collective::Thread;
  bool isExtern =
      false; ///< the user's: printed without namespace, may have any effect on what it is given
  bool hasEffect = false; ///< more than its pointer arguments say: must be kept and not moved
};

/// Whether the call copies a box of a tensor.
inline bool usesTensorMap(const CallStmt &call) {
  for (const Argument &arg : call.args)
    if (std::holds_alternative<TensorMap>(arg))
      return true;
  return false;
}

/// Whether the call writes to the places of its pointers in other blocks of the cluster.
inline bool writesOtherBlocks(const CallStmt &call) { return call.callee == "put_cluster"; }

// ---- Control
// ------------------------------------------------------------------------------------------------------

struct IfStmt : StmtOf<StmtKind::If> {
  using StmtOf::StmtOf;
  Expr condition;
  Block then, otherwise;
};

/// Each round runs `conditionBlock` (loads that the condition needs), then tests, then runs `body`.
struct WhileStmt : StmtOf<StmtKind::While> {
  using StmtOf::StmtOf;
  Block conditionBlock;
  Expr condition;
  Block body;
};

enum class ForKind : std::uint8_t {
  Serial,
  Unroll,    ///< to be unrolled: by the downstream compiler (pragma), or by the unroll pass if
             ///< `expand`
  Vector,    ///< T.vectorized: iterations are independent and per thread
  Pipelined, ///< T.Pipelined; plain serial after the pipeline pass
  Threads,   ///< CPU only, from serialize-threads: runs the body for each thread of the block
};

/// for var in lo, lo + step, … while < hi (hi exclusive; step a positive or negative constant or
/// expression).
struct ForStmt : StmtOf<StmtKind::For> {
  using StmtOf::StmtOf;
  Expr var, lo, hi, step;
  ForKind kind = ForKind::Serial;
  bool expand = false;                    ///< Unroll: T.unroll(explicit=True)
  std::int64_t unrollFactor = 0;          ///< 0: whole
  std::int64_t stages = 0;                ///< Pipelined: num_stages as written (0: no pipelining)
  std::vector<std::int64_t> order, stage; ///< per statement of body, as written; empty: planned
  std::vector<std::vector<std::int64_t>> group;
  Block body;
};

/// Only threads [first, first + count) of the enclosing role (or block) run the body: warp
/// specialisation is structure. Of a role with teams, each of as many such runs of threads, one
/// behind the other, runs the body for itself; shared buffers that the body allocates are a team's
/// own, and teams meet only as roles do, at barriers that the program has.
struct RoleStmt : StmtOf<StmtKind::Role> {
  using StmtOf::StmtOf;
  std::int64_t first = 0, count = 0;
  std::int64_t teams = 1;
  Expr team;                  ///< variable, i32: which of them; null where there is one
  std::int64_t registers = 0; ///< setmaxnreg for the role; 0: leave
  Block body;

  std::int64_t threads() const { return count * teams; }
};

struct BreakStmt : StmtOf<StmtKind::Break> {
  using StmtOf::StmtOf;
};
struct ContinueStmt : StmtOf<StmtKind::Continue> {
  using StmtOf::StmtOf;
};
/// Ends the executing thread (thread_return).
struct ExitStmt : StmtOf<StmtKind::Exit> {
  using StmtOf::StmtOf;
};

// ---- Synchronisation
// ----------------------------------------------------------------------------------------------

enum class BarrierScope : std::uint8_t { Block, Named, Warp, Cluster, Grid };
enum class BarrierMode : std::uint8_t { Both, Arrive, Wait };
enum class Vote : std::uint8_t { None, Count, And, Or };

struct BarrierStmt : StmtOf<StmtKind::Barrier> {
  using StmtOf::StmtOf;
  BarrierScope scope = BarrierScope::Block;
  BarrierMode mode = BarrierMode::Both;
  Expr id;    ///< Named
  Expr count; ///< Named: threads
  Expr mask;  ///< Warp; null: all lanes
  Vote vote = Vote::None;
  Expr value;               ///< of the vote
  Expr result;              ///< variable; null if none
  bool userWritten = false; ///< from the source; insert-sync's own are not
};

enum class MbarOp : std::uint8_t { Init, Arrive, ArriveExpect, Expect, Wait, CpAsyncArrive };
struct MbarStmt : StmtOf<StmtKind::Mbar> {
  using StmtOf::StmtOf;
  MbarOp op = MbarOp::Arrive;
  Element barrier;
  Expr value; ///< Init: arrivals; Expect: bytes; Wait: parity
  Expr cta;   ///< remote arrive in a cluster; null: own
};

enum class AsyncKind : std::uint8_t { CpAsync, Bulk, Wgmma, Tcgen05 };
/// Closes a group of asynchronous operations, or waits until at most `pending` groups are open.
struct AsyncStmt : StmtOf<StmtKind::Async> {
  using StmtOf::StmtOf;
  AsyncKind what = AsyncKind::CpAsync;
  bool commit = false;
  std::int64_t pending = 0;
  /// Bulk: waits only until the shared tiles have been read, so that they may be written again.
  bool readsOnly = false;
};

enum class FenceKind : std::uint8_t { ProxyAsync, MbarInit, Wgmma, Block, Device, System };
struct FenceStmt : StmtOf<StmtKind::Fence> {
  using StmtOf::StmtOf;
  FenceKind what = FenceKind::ProxyAsync;
};

// ---- Debugging and facts
// ------------------------------------------------------------------------------------------

/// printf of a value or message, once if it is the same in all threads that get there; or of a
/// whole buffer.
struct PrintStmt : StmtOf<StmtKind::Print> {
  using StmtOf::StmtOf;
  std::string message;
  Expr value;               ///< null if a buffer or only a message
  Expr index;               ///< the value is the element of this number of what `message` names
  Buffer *buffer = nullptr; ///< printed element by element
};
struct AssertStmt : StmtOf<StmtKind::Assert> {
  using StmtOf::StmtOf;
  Expr condition;
  std::string message;
};
struct AssumeStmt : StmtOf<StmtKind::Assume> {
  using StmtOf::StmtOf;
  Expr condition;
};
/// The user's own C text.
struct SourceStmt : StmtOf<StmtKind::Source> {
  using StmtOf::StmtOf;
  std::string text;
};

// ---- Tile ops
// -----------------------------------------------------------------------------------------------------

/// T.Parallel: the body once per point of the box, iterations independent. `layout` is the schedule
/// (reg, thread) -> "d0", "d1" …, decided by infer-layouts (or given by loop_layout).
struct MapStmt : StmtOf<StmtKind::Map> {
  using StmtOf::StmtOf;
  std::vector<Expr> vars, extents;
  Block body;
  std::optional<Layout> layout;
  LayoutOrigin origin = LayoutOrigin::None;
  std::int64_t coalescedWidth = 0; ///< elements; 0: free
};

enum class CopyKind : std::uint8_t { Auto, Sync, CpAsync, Tma };
/// Tile ranks agree after dropping; extents equal, or 1 on the source (broadcast). Converts dtypes.
/// Global elements out of range are not written and read as the buffer's safe value.
struct CopyStmt : StmtOf<StmtKind::Copy> {
  using StmtOf::StmtOf;
  Region source, target;
  CopyKind copyKind = CopyKind::Auto;
  bool async = false; ///< completes only after an Async wait (or on `barrier`)
  /// The mbarrier that a TMA load completes on, and to whose phase it adds its bytes when it is
  /// issued; buffer null: none.
  Element barrier;
  Expr multicast;                  ///< cluster mask; null: none
  std::int64_t coalescedWidth = 0; ///< elements; 0: free
  std::string eviction;            ///< "", "evict_first", "evict_last", "evict_normal"
  /// Schedule over the tile: (reg, thread) -> "d0", "d1" … Of a store by tensor maps: each warp
  /// stores what the schedule gives to its threads, without waiting for the others.
  std::optional<Layout> layout;
  /// From bounds: for each dim of the global side, whether the lower/upper limit must be checked at
  /// run time.
  std::vector<bool> checkLow, checkHigh;
  bool boundsKnown = false; ///< whether the two above were computed
};

enum class WarpPolicy : std::uint8_t { Square, FullRow, FullCol };
/// C = (clear ? 0 : C) + op(A) op(B). A: [M, K] ([K, M] if transposeA); B: [K, N] ([N, K] if
/// transposeB); C: [M, N].
struct GemmStmt : StmtOf<StmtKind::Gemm> {
  using StmtOf::StmtOf;
  Region a, b, c;
  bool transposeA = false, transposeB = false;
  Expr clear; ///< bool; null: false
  WarpPolicy policy = WarpPolicy::Square;
  std::int64_t kPack = 1;
  bool async =
      false;       ///< wgmma_gemm, tcgen05_gemm: completes only after an Async wait or on `barrier`
  Element barrier; ///< buffer null: none
  // Decided by select-atoms:
  const Atom *atom = nullptr;
  std::int64_t warpsM = 0, warpsN = 0;
};

struct FillStmt : StmtOf<StmtKind::Fill> {
  using StmtOf::StmtOf;
  Region target;
  Expr value;
  std::optional<Layout> layout;
};

enum class ReduceOp : std::uint8_t { Sum, Max, Min, AbsSum, AbsMax, And, Or, Xor };
/// target = reduction of source over tile dim `axis`. target has that dim dropped or of extent 1.
struct ReduceStmt : StmtOf<StmtKind::Reduce> {
  using StmtOf::StmtOf;
  ReduceOp op = ReduceOp::Sum;
  Region source, target;
  unsigned axis = 0;
  bool clear = true; ///< false: combine with what target holds
  bool nanPropagate = false;
};

struct ScanStmt : StmtOf<StmtKind::Scan> {
  using StmtOf::StmtOf;
  ReduceOp op = ReduceOp::Sum; ///< Sum or Max
  Region source, target;
  unsigned axis = 0;
  bool reverse = false;
};

/// target[...] op= value for each element of the tile, once per element.
struct AtomicTileStmt : StmtOf<StmtKind::AtomicTile> {
  using StmtOf::StmtOf;
  AtomicOp op = AtomicOp::Add;
  Region target;
  Region source; ///< buffer null: `value` is used
  Expr value;
  MemoryOrder order = MemoryOrder::Relaxed;
  bool useTma = false;
  std::optional<Layout> layout;
  std::vector<bool> checkLow, checkHigh; ///< as in CopyStmt
  bool boundsKnown = false;
};

enum class ReducerAction : std::uint8_t { Init, Update, Finalize };
/// alloc_reducer's protocol. Update is per executing thread at `element`.
struct ReducerStmt : StmtOf<StmtKind::Reducer> {
  using StmtOf::StmtOf;
  ReducerAction action = ReducerAction::Init;
  ReduceOp op = ReduceOp::Sum;
  Buffer *reducer = nullptr;
  Element element; ///< Update
  Expr value;      ///< Init (null: neutral), Update
  Region target;   ///< Finalize; buffer null: in place
};

/// target = source, another layout of the same tile (both fragments). The plan was made by
/// infer-layouts.
struct ConvertStmt : StmtOf<StmtKind::Convert> {
  using StmtOf::StmtOf;
  Buffer *source = nullptr, *target = nullptr;
  Conversion plan;
};

} // namespace tlc::ir
