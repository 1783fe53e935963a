// Buffers: everything that has elements.
#pragma once

#include "ir/Expr.h"
#include "layout/Layout.h"
#include "support/SourceRange.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlc::ir {

enum class Scope : std::uint8_t {
  Global,   ///< a parameter, a workspace; strides are in elements
  Shared,   ///< per block
  Fragment, ///< per block, spread over the threads' registers by `layout`; gone after lowering
  Local,    ///< per thread: alloc_local, alloc_var (shape {}), and registers of lowered fragments
  Barrier,  ///< mbarrier objects in shared memory; shape {n}
};
const char *scopeName(Scope scope);

/// Where a layout came from; later decisions weigh it and diagnostics name it.
enum class LayoutOrigin : std::uint8_t { None, User, Hint, Strict, Propagated, Free };

/// An image [N, H, W, C] seen as the left operand of a convolution by products: a row for each
/// pixel of the result, a column for each (kernel y, kernel x, channel). What a kernel reaches
/// beside the image is 0.
struct Unfold {
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool operator==(const Unfold &) const = default;
};

struct Buffer {
  std::string name; ///< the user's, a hint: printers make it unique
  DType dtype;
  Scope scope = Scope::Shared;
  std::vector<Expr> shape;   ///< int32 or int64; constants except for Global
  std::vector<Expr> strides; ///< Global only; empty: row-major
  SourceRange range;

  /// A view: the same storage read with another shape or dtype, elements in the base's logical
  /// row-major order.
  Buffer *base = nullptr;
  Expr baseOffset; ///< in elements of this dtype from the base's start; null: 0
  /// Global views of an image, in which no element has an address: copies from them are made by
  /// tensor maps or become maps (ir/Unfold.h).
  std::optional<Unfold> unfold;

  /// How many copies a pipelined loop keeps; Region and Element choose one by `version`. Never a
  /// dim of shape or layout.
  std::int64_t versions = 1;

  /// Fragment: (reg, thread) -> coordinates "d0", "d1" …; Shared: coordinates -> "offset" in
  /// elements. See layout/Layout.h.
  std::optional<Layout> layout;
  LayoutOrigin origin = LayoutOrigin::None;

  /// Arena byte offset of version 0 and bytes between versions, set by plan-shared; -1: not placed.
  std::int64_t sharedOffset = -1;
  std::int64_t versionBytes = 0;
  /// Teams of a role that have a copy each (RoleStmt), and bytes between those, set by plan-shared.
  std::int64_t teams = 1, teamBytes = 0;
  /// Alignment of version 0 that uses insist on, in bytes.
  std::int64_t alignment = 16;

  Expr safeValue;               ///< Global: what an out-of-range read gives; null: 0
  bool writable = true;         ///< Global: false for inputs never written (const in the header)
  bool noRestrict = false;      ///< Global: may alias other parameters
  bool zeroInitialised = false; ///< workspace that must start as zero and is left zero
  /// Workspace that callers may leave out: the tensor whose rows are copied here, where others can
  /// begin than the tensor's own do; and whether the sizes of a call want that.
  Buffer *rowsOf = nullptr;
  Expr wanted;
  bool output = false; ///< Global: listed in out_idx or returned; an output pointer in C

  /// The buffer that owns the storage: itself, or the end of the chain of views.
  Buffer *storage() { return base ? base->storage() : this; }
  const Buffer *storage() const { return base ? base->storage() : this; }
  unsigned rank() const { return static_cast<unsigned>(shape.size()); }
  /// Shape as numbers; none if some extent is not constant.
  std::optional<std::vector<std::int64_t>> constantShape() const;
  /// Product of a constant shape (1 for rank 0); none if not constant.
  std::optional<std::int64_t> elementCount() const;
};

/// One element, or after lowering a run of `lanes` elements from it (the dtype of the value says
/// how many).
struct Element {
  Buffer *buffer = nullptr;
  std::vector<Expr> indices; ///< logical: one per dim; physical: one (none for rank 0, a variable)
  Expr version;              ///< which copy of a multi-version buffer; null: 0
  /// The index is the offset in elements from the start of the version (the register number of a
  /// fragment), layouts and strides applied. Lowering passes write such elements
  /// (passes/lower/Physical.h); no other is left in the thread phase.
  bool physical = false;
};

/// A box of a buffer: the operand of every tile op. Rank of the tile = dims that are not `dropped`.
struct Region {
  Buffer *buffer = nullptr;
  std::vector<Expr> offsets; ///< one per buffer dim
  std::vector<Expr> extents; ///< one per buffer dim; constants for tiles, may be expressions where
                             ///< a copy allows it
  std::uint64_t dropped =
      0; ///< bit d: dim d is indexed by a scalar (extent 1) and no dim of the tile
  Expr version;

  bool isDropped(unsigned dim) const { return (dropped >> dim) & 1; }
  unsigned tileRank() const;
  std::vector<Expr> tileExtents() const; ///< extents of the dims that are not dropped
  std::optional<std::vector<std::int64_t>> constantTileExtents() const;
  /// Product of constant extents; none if not constant.
  std::optional<std::int64_t> elementCount() const;
  bool wholeBuffer() const; ///< offsets 0, extents = shape
};

/// The whole of a buffer.
Region wholeRegion(Context &context, Buffer &buffer);

} // namespace tlc::ir
