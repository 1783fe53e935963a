// Layout inference, conversions. See InferConvert.h.
//
//   map (i, j) layout S { … %X[i, j] … }      %X at home in H
//     =>
//   alloc %X_c: fragment layout S
//   convert %X -> %X_c
//   map (i, j) layout S { … %X_c[i, j] … }
//
// and a convert back if the op writes. Reads share a convert as long as nothing writes the source
// in between.
#include "passes/infer/InferConvert.h"

#include "passes/infer/Registers.h"

#include "ir/Builder.h"
#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

std::size_t positionOf(const Block &block, const Stmt *stmt) {
  for (std::size_t i = 0; i < block.size(); ++i)
    if (block[i].get() == stmt)
      return i;
  TLC_UNREACHABLE("a statement that is not in its block");
}

/// Statements made by `make`, inserted before (after) `stmt`.
template <typename F>
void insertAround(Function &function, Block &block, const Stmt *stmt, bool after, F &&make) {
  Block fresh;
  Builder builder(function, fresh);
  builder.range = stmt->range;
  make(builder);
  auto at = block.begin() + static_cast<std::ptrdiff_t>(positionOf(block, stmt)) + (after ? 1 : 0);
  block.insert(at, std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
}

/// The layout of a fragment that would suit the use.
std::optional<Layout> converted(const TileOp &op, const FragmentUse &use) {
  if (!use.fixed)
    return op.schedule ? homeFromSchedule(op, use, *op.schedule) : std::nullopt;
  auto shape = use.buffer->constantShape();
  Layout home = dropFree(*use.fixed, "reg");
  return shape && covers(home, *shape) ? std::optional(home) : std::nullopt;
}

void redirect(FragmentUse &use, Buffer *from, Buffer *to) {
  Buffer *&slot = use.region ? use.region->buffer : use.element->buffer;
  // A view of the fragment becomes the storage itself if it is the same tile.
  TLC_CHECK(slot == from || slot->shape == from->shape,
            "a conversion under a view of another shape");
  slot = to;
}

bool sameAccess(const FragmentUse &a, const FragmentUse &b) {
  return a.buffer == b.buffer && a.region == b.region && a.element == b.element;
}

} // namespace

bool convertible(const TileOp &op, const FragmentUse &use) {
  Buffer *slot = use.region ? use.region->buffer : use.element ? use.element->buffer : nullptr;
  if (use.partial) // a conversion takes one of the parts
    return false;
  if (!slot || (slot != use.buffer && slot->shape != use.buffer->shape))
    return false;
  auto layout = converted(op, use);
  return layout && agrees(op, use, *layout);
}

namespace {

class Converter {
public:
  Converter(InferenceGraph &graph, PassContext &context) : graph(graph), context(context) {}

  void run() {
    for (TileOp &op : graph.ops)
      for (FragmentUse &use : op.fragments) {
        const Home *home = graph.home(use.buffer);
        if (!home || (!op.schedule && !use.fixed) || agrees(op, use, home->layout))
          continue;
        convert(op, use, *home);
      }
  }

private:
  InferenceGraph &graph;
  PassContext &context;

  ConvertStmt &emit(Builder &builder, Buffer *from, Buffer *to) {
    auto &stmt = builder.add<ConvertStmt>();
    stmt.source = from;
    stmt.target = to;
    auto shape = from->constantShape();
    Index bytes = std::max<Index>(1, from->dtype.bits() * from->dtype.lanes / 8);
    stmt.plan = planConversion(*from->layout, *to->layout, bytes, context.target.sharedMemory(),
                               dimSizes(*shape));
    return stmt;
  }

  void convert(TileOp &op, FragmentUse &use, const Home &home) {
    auto layout = converted(op, use);
    TLC_CHECK(layout.has_value(), "a use that no conversion serves");
    Buffer *source = use.buffer;
    // Other uses by the same op that want the same share the fragment.
    Buffer &fresh = graph.function->addBuffer(source->name + "_c", source->dtype, Scope::Fragment,
                                              source->shape, op.stmt->range);
    fresh.layout = layout;
    fresh.origin = op.origin;
    bool reads = false, writes = false;
    for (FragmentUse &other : op.fragments) {
      if (other.buffer != source || (!sameAccess(other, use) && !agrees(op, other, *layout)))
        continue;
      reads = reads || other.reads() || !full(other);
      writes = writes || other.writes();
      redirect(other, source, &fresh);
      other.buffer = &fresh;
    }
    // Elements that the op might not write keep their values.
    if (op.stmt->kind == StmtKind::Map && writes)
      reads = true;
    graph.homes.emplace(&fresh, Home{*layout, op.origin, &op});
    ConversionKind kind = ConversionKind::None;
    insertAround(*graph.function, *op.block, op.stmt, false, [&](Builder &b) {
      b.alloc(fresh);
      if (reads)
        kind = emit(b, source, &fresh).plan.kind;
    });
    if (writes)
      insertAround(*graph.function, *op.block, op.stmt, true,
                   [&](Builder &b) { kind = std::max(kind, emit(b, &fresh, source).plan.kind); });
    if (kind >= ConversionKind::Shuffle)
      context.diagnostics
          .report(diag::LayoutConversion, op.stmt->range, source->name,
                  kind == ConversionKind::Shared ? "shared memory" : "shuffles")
          .note("the fragment is laid out as " + home.layout.str())
          .note("this statement wants " + layout->str());
  }

  static bool full(const FragmentUse &use) {
    Index count = 1;
    auto shape = use.buffer->constantShape();
    for (Index e : *shape)
      count *= e;
    return use.map.layout.domainSize() >= count;
  }
};

void copyRegion(Builder &builder, const Region &source, const Region &target) {
  auto &copy = builder.add<CopyStmt>();
  copy.source = source;
  copy.target = target;
  copy.boundsKnown = true;
}

Region freshLike(Function &function, const Region &like, Scope scope, const char *suffix) {
  std::vector<Expr> shape = like.tileExtents();
  if (shape.empty())
    shape.push_back(function.context->int32(1));
  Buffer &buffer = function.addBuffer(like.buffer->name + suffix, like.buffer->dtype, scope, shape,
                                      like.buffer->range);
  return wholeRegion(*function.context, buffer);
}

} // namespace

void insertConversions(InferenceGraph &graph, PassContext &context) {
  Converter(graph, context).run();
}

void legalizeReductions(Function &function, Launch &launch) {
  rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
    Region *source = nullptr, *target = nullptr;
    bool reads = false;
    if (auto *reduce = dynCast<ReduceStmt>(stmt.get()))
      source = &reduce->source, target = &reduce->target, reads = !reduce->clear;
    else if (auto *scan = dynCast<ScanStmt>(stmt.get()))
      source = &scan->source, target = &scan->target;
    auto inRegisters = [](const Region &r) {
      return r.buffer->storage()->scope == Scope::Fragment;
    };
    if (!source || (inRegisters(*source) && inRegisters(*target))) {
      out.push_back(std::move(stmt));
      return;
    }
    Builder builder(function, out);
    builder.range = stmt->range;
    std::optional<Region> result;
    Region fresh;
    if (!inRegisters(*source)) {
      fresh = freshLike(function, *source, Scope::Fragment, "_f");
      builder.alloc(*fresh.buffer);
      copyRegion(builder, *source, fresh);
      *source = fresh;
    }
    if (!inRegisters(*target)) {
      result = *target;
      fresh = freshLike(function, *target, Scope::Fragment, "_f");
      builder.alloc(*fresh.buffer);
      if (reads)
        copyRegion(builder, *target, fresh);
      if (result->tileRank() == 0) // a scalar of the target: the fragment has one element
        fresh.dropped = 1;
      *target = fresh;
    }
    out.push_back(std::move(stmt));
    if (result)
      copyRegion(builder, fresh, *result);
  });
}

namespace {

/// The op's uses of the fragment that neither its home nor a conversion serves.
std::vector<FragmentUse *> unservedUses(TileOp &op, InferenceGraph &graph, Buffer *buffer) {
  const Home *home = graph.home(buffer);
  std::vector<FragmentUse *> uses;
  if (op.stmt->kind == StmtKind::Gemm)
    return uses;
  for (FragmentUse &use : op.fragments) {
    if (use.buffer != buffer || !home) // nothing is decided yet: layouts may serve it
      continue;
    bool fits = (op.schedule || use.fixed) && agrees(op, use, home->layout);
    if (!fits && !convertible(op, use))
      uses.push_back(&use);
  }
  for (FragmentUse &use : op.unplaced)
    if (use.buffer == buffer)
      uses.push_back(&use);
  return uses;
}

/// Lets the use see `tile` instead of the fragment, through a view where it saw the fragment so.
void useTile(FragmentUse &use, Buffer &tile, Function &function, Block &allocations) {
  Buffer *&slot = use.region ? use.region->buffer : use.element->buffer;
  if (slot == use.buffer || slot->shape == use.buffer->shape) {
    slot = &tile;
    return;
  }
  Buffer &view =
      function.addBuffer(slot->name + "_s", slot->dtype, Scope::Shared, slot->shape, slot->range);
  view.base = &tile;
  view.baseOffset = slot->baseOffset;
  Builder(function, allocations).alloc(view);
  slot = &view;
}

} // namespace

bool stageThroughShared(InferenceGraph &graph, Buffer *buffer) {
  bool changed = false;
  Function &function = *graph.function;
  for (TileOp &op : graph.ops) {
    std::vector<FragmentUse *> uses = unservedUses(op, graph, buffer);
    if (uses.empty())
      continue;
    changed = true;
    Buffer &tile = function.addBuffer(buffer->name + "_s", buffer->dtype, Scope::Shared,
                                      buffer->shape, op.stmt->range);
    Block allocations;
    Builder(function, allocations).alloc(tile);
    bool writes = false;
    for (FragmentUse *use : uses) {
      writes = writes || use->writes();
      useTile(*use, tile, function, allocations);
    }
    Region whole = wholeRegion(*function.context, *buffer);
    Region staged = wholeRegion(*function.context, tile);
    insertAround(function, *op.block, op.stmt, false, [&](Builder &b) {
      for (StmtPtr &alloc : allocations)
        b.add(std::move(alloc));
      copyRegion(b, whole, staged);
    });
    if (writes)
      insertAround(function, *op.block, op.stmt, true,
                   [&](Builder &b) { copyRegion(b, staged, whole); });
  }
  return changed;
}

} // namespace tlc::passes
