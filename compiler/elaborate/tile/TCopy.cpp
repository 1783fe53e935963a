// Copies and fills.
#include "elaborate/tile/TLayout.h"
#include "elaborate/tile/TTiles.h"
#include "ir/Unfold.h"
#include "ir/Walk.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

bool perThread(const Tile &t) { return t.region.buffer->scope == ir::Scope::Local; }

/// A loop nest of the executing thread over the extents of a tile; the innermost is a vector.
void threadLoops(Elaborator &e, const std::vector<Expr> &extents,
                 const std::function<void(const std::vector<Expr> &)> &body) {
  std::vector<Expr> index;
  std::function<void(std::size_t)> level = [&](std::size_t d) {
    if (d == extents.size()) {
      body(index);
      return;
    }
    bool last = d + 1 == extents.size();
    e.builder().loop("i", e.context.zero(extents[d].dtype()), extents[d],
                     last && extents[d].constant() ? ir::ForKind::Vector : ir::ForKind::Serial,
                     [&](Expr i) {
                       index.push_back(i);
                       level(d + 1);
                       index.pop_back();
                     });
  };
  level(0);
}

/// Copies of which each thread does its own: one side is memory of the thread.
void copyPerThread(Elaborator &e, const Tile &source, const Tile &target, SourceRange range) {
  threadLoops(e, target.region.tileExtents(), [&](const std::vector<Expr> &index) {
    Expr x = load(e, elementAt(source.region, index), 1, range);
    if (x)
      e.builder().store(elementAt(target.region, index),
                        convert(e, x, target.region.buffer->dtype));
  });
}

/// Both sides are single elements.
Value copyElement(Elaborator &e, const Tile &source, const Tile &target, SourceRange range) {
  ir::Element from{source.region.buffer, source.region.offsets, {}};
  ir::Element to{target.region.buffer, target.region.offsets, {}};
  Expr x = load(e, from, 1, range);
  if (!x)
    return Value::error();
  store(e, to, Value::expr(x), range);
  return Value::none();
}

bool isCorner(const Tile &t) { return t.corner || t.region.extents.empty(); }

std::optional<std::string> eviction(TCall &c) {
  const Value *v = c.find("eviction_policy");
  if (!v)
    return std::string();
  if (v->isIntegral()) {
    static constexpr const char *words[] = {"evict_normal", "evict_first", "evict_last"};
    std::optional<std::int64_t> i = v->asInt64();
    if (i && *i >= 0 && *i < 3)
      return std::string(words[*i]);
  }
  if (v->isStr())
    if (std::string word = v->asText();
        word == "evict_normal" || word == "evict_first" || word == "evict_last")
      return word;
  c.e.report(diag::WrongChoice, c.rangeOf("eviction_policy"), c.info.name, "eviction_policy",
             "`evict_normal`, `evict_first`, `evict_last`", repr(*v));
  return std::nullopt;
}

bool checkTensorMapCopy(TCall &c, const Tile &source, const Tile &target) {
  bool load = source.region.buffer->scope == ir::Scope::Global &&
              target.region.buffer->scope == ir::Scope::Shared;
  bool store = source.region.buffer->scope == ir::Scope::Shared &&
               target.region.buffer->scope == ir::Scope::Global;
  if (!load && !store) {
    c.e.report(diag::TmaScopes, c.range, ir::scopeName(source.region.buffer->scope),
               ir::scopeName(target.region.buffer->scope));
    return false;
  }
  if (load && !c.find("barrier")) {
    c.e.report(diag::TmaBarrier, c.range)
        .help("allocate one with T.alloc_barrier and give it as barrier=");
    return false;
  }
  if (source.region.buffer->dtype != target.region.buffer->dtype) {
    c.e.report(diag::CopyConverts, c.range, c.name(), source.region.buffer->dtype.str(),
               target.region.buffer->dtype.str());
    return false;
  }
  return true;
}

/// What all copies share: the statement with matched regions; null after a report, or where no tile
/// statement is needed.
ir::CopyStmt *copyStatement(TCall &c, Tile source, Tile target, bool allowThread) {
  Elaborator &e = c.e;
  if (isCorner(source) && isCorner(target)) {
    copyElement(e, source, target, c.range);
    return nullptr;
  }
  if (!matchTiles(e, c.name(), source, target, true, c.range))
    return nullptr;
  if (allowThread && (perThread(source) || perThread(target))) {
    copyPerThread(e, source, target, c.range);
    return nullptr;
  }
  if (!c.tileOp())
    return nullptr;
  if (hasTensorLayout(e, source.region) || hasTensorLayout(e, target.region)) {
    elementMap(e, target.region.tileExtents(), [&](const std::vector<Expr> &index) {
      Expr x = load(e, elementAt(source.region, index), 1, c.range);
      if (x)
        store(e, elementAt(target.region, index), Value::expr(x), c.range);
    });
    return nullptr;
  }
  auto &stmt = e.builder().add<ir::CopyStmt>();
  stmt.source = source.region;
  stmt.target = target.region;
  return &stmt;
}

bool schedule(TCall &c, ir::CopyStmt &stmt) {
  if (const Value *layout = c.find("loop_layout")) {
    std::optional<Layout> l =
        fragmentLayout(c.e, *layout, stmt.target.tileExtents(), c.rangeOf("loop_layout"));
    if (!l)
      return false;
    stmt.layout = *l;
  }
  std::optional<std::int64_t> width = c.integer("coalesced_width", 0);
  if (!width)
    return false;
  stmt.coalescedWidth = *width;
  return true;
}

Value copy(TCall &c) {
  std::optional<Tile> source = c.tile("src"), target = c.tile("dst");
  std::optional<std::string> evict = eviction(c);
  std::optional<std::size_t> how =
      c.find("prefer_instruction")
          ? c.choice("prefer_instruction", {"tma", "cp_async", "sync"}, "sync")
          : std::optional<std::size_t>(3);
  if (!source || !target || !evict || !how || !c.statement())
    return Value::none();
  ir::CopyStmt *stmt = copyStatement(c, *source, *target, true);
  if (!stmt)
    return Value::none();
  stmt->eviction = *evict;
  static constexpr ir::CopyKind kinds[] = {ir::CopyKind::Tma, ir::CopyKind::CpAsync,
                                           ir::CopyKind::Sync, ir::CopyKind::Auto};
  stmt->copyKind = kinds[*how];
  // Without TMA the best of the rest is still free to be chosen.
  if (c.flag("disable_tma") && stmt->copyKind == ir::CopyKind::Auto && c.e.target.has(Feature::Tma))
    stmt->copyKind = ir::CopyKind::CpAsync;
  schedule(c, *stmt);
  return Value::none();
}

/// cp.async that the program waits for.
Value asyncCopy(TCall &c) {
  std::optional<Tile> source = c.tile("src"), target = c.tile("dst");
  if (!source || !target || !c.tileOp())
    return Value::none();
  if (source->region.buffer->dtype != target->region.buffer->dtype) {
    c.e.report(diag::CopyConverts, c.range, c.name(), source->region.buffer->dtype.str(),
               target->region.buffer->dtype.str());
    return Value::none();
  }
  ir::CopyStmt *stmt = copyStatement(c, *source, *target, false);
  if (!stmt)
    return Value::none();
  stmt->copyKind = ir::CopyKind::CpAsync;
  stmt->async = true;
  schedule(c, *stmt);
  return Value::none();
}

Value tmaCopy(TCall &c) {
  std::optional<Tile> source = c.tile("src"), target = c.tile("dst");
  std::optional<std::string> evict = eviction(c);
  if (!source || !target || !evict || !c.tileOp() || !checkTensorMapCopy(c, *source, *target))
    return Value::none();
  std::optional<ir::Element> barrier;
  if (c.find("barrier")) {
    barrier = c.barrier("barrier");
    if (!barrier)
      return Value::none();
  }
  Expr mask = c.index("cluster_mask");
  ir::CopyStmt *stmt = copyStatement(c, *source, *target, false);
  if (!stmt)
    return Value::none();
  stmt->copyKind = ir::CopyKind::Tma;
  stmt->async = true;
  stmt->eviction = *evict;
  if (barrier)
    stmt->barrier = *barrier;
  stmt->multicast = mask;
  return Value::none();
}

Value tmaStoreArrive(TCall &c) {
  if (c.statement())
    c.builder().commit(ir::AsyncKind::Bulk);
  return Value::none();
}

Value tmaStoreWait(TCall &c) {
  std::optional<std::int64_t> n = c.integer("count", 0);
  if (n && c.statement())
    c.builder().wait(*n, ir::AsyncKind::Bulk).readsOnly = c.flag("read");
  return Value::none();
}

Value commitGroup(TCall &c) {
  if (c.statement())
    c.builder().commit(ir::AsyncKind::CpAsync);
  return Value::none();
}

Value waitGroup(TCall &c) {
  std::optional<std::int64_t> n = c.integer("n");
  if (n && c.statement())
    c.builder().wait(*n, ir::AsyncKind::CpAsync);
  return Value::none();
}

// ---- Fills

Value fillWith(TCall &c, const Value &value, SourceRange valueRange) {
  std::optional<Tile> target = c.tile("buffer");
  if (!target || !c.statement())
    return Value::none();
  ir::Region &r = target->region;
  Expr x = toExpr(c.e, value, r.buffer->dtype, valueRange);
  if (!x)
    return Value::none();
  if (isCorner(*target)) {
    c.builder().store({r.buffer, r.offsets, {}}, x, state(c.e).predicate);
    return Value::none();
  }
  if (r.buffer->scope == ir::Scope::Local) {
    threadLoops(c.e, r.tileExtents(),
                [&](const std::vector<Expr> &index) { c.builder().store(elementAt(r, index), x); });
    return Value::none();
  }
  if (!c.tileOp())
    return Value::none();
  if (hasTensorLayout(c.e, r)) {
    elementMap(c.e, r.tileExtents(), [&](const std::vector<Expr> &index) {
      store(c.e, elementAt(r, index), Value::expr(x), c.range);
    });
    return Value::none();
  }
  auto reducer = state(c.e).reducers.find(r.buffer);
  if (reducer != state(c.e).reducers.end() && r.wholeBuffer()) {
    // Filling a reducer begins an epoch.
    auto &init = c.builder().add<ir::ReducerStmt>();
    init.action = ir::ReducerAction::Init;
    init.op = reducer->second.op;
    init.reducer = r.buffer;
    init.value = x;
    return Value::none();
  }
  auto &stmt = c.builder().add<ir::FillStmt>();
  stmt.target = r;
  stmt.value = x;
  return Value::none();
}

Value fill(TCall &c) { return fillWith(c, c.value("value"), c.rangeOf("value")); }
Value clear(TCall &c) { return fillWith(c, Value::integer(0), c.range); }

// ---- Transpositions and convolution tiles

/// A map over the tile whose body reads `source` at permuted coordinates.
Value transpose(TCall &c) {
  std::optional<Tile> source = c.tile("src"), target = c.tile("dst");
  if (!source || !target || !c.tileOp())
    return Value::none();
  std::vector<Expr> from = source->region.tileExtents(), to = target->region.tileExtents();
  bool fits = from.size() == 2 && to.size() == 2 &&
              ir::constantDifference(from[0], to[1]) == std::int64_t(0) &&
              ir::constantDifference(from[1], to[0]) == std::int64_t(0);
  if (!fits) {
    c.e.report(diag::TransposeShapes, c.range, extentsText(source->region),
               extentsText(target->region));
    return Value::none();
  }
  auto &map = c.builder().add<ir::MapStmt>();
  map.vars = {c.context().var("i", to[0].dtype()), c.context().var("j", to[1].dtype())};
  map.extents = to;
  c.builder().in(map.body, [&] {
    Expr x = load(c.e, elementAt(source->region, {map.vars[1], map.vars[0]}), 1, c.range);
    if (x)
      c.builder().store(elementAt(target->region, map.vars),
                        convert(c.e, x, target->region.buffer->dtype));
  });
  return Value::none();
}

/// How a convolution unfolds an image of such a shape.
std::optional<ir::Unfold> unfoldOf(TCall &c, const ir::Buffer &image) {
  // Sizes of the unfolded image are computed from these.
  constexpr std::int64_t most = 4096;
  std::array<std::int64_t, 4> values{};
  bool right = true;
  for (std::size_t i = 0; const char *name : {"kernel", "stride", "dilation", "pad"}) {
    std::optional<std::int64_t> value = c.integer(name);
    const std::int64_t least = i == 3 ? -most : 1;
    if (value && (*value < least || *value > most))
      c.outOfRange(name, "between " + std::to_string(least) + " and " + std::to_string(most),
                   std::to_string(*value));
    right = right && value && *value >= least && *value <= most;
    values[i++] = value.value_or(0);
  }
  if (!right)
    return std::nullopt;
  ir::Unfold unfold{values[0], values[1], values[2], values[3]};
  for (unsigned d : {1u, 2u})
    if (auto extent = ir::unfoldedExtent(image, d, unfold).constant(); extent && *extent < 1) {
      c.outOfRange("kernel", "no larger than the image with its padding",
                   std::to_string(unfold.kernel));
      return std::nullopt;
    }
  return unfold;
}

/// Puts `view` behind the statement that allocates its base, itself a view. Returns whether it is
/// in this block.
bool allocateBehind(ir::Block &block, const ir::Buffer &base, ir::StmtPtr &view) {
  for (auto at = block.begin(); at != block.end(); ++at) {
    if (auto *alloc = ir::dynCast<ir::AllocStmt>(at->get()); alloc && alloc->buffer == &base) {
      block.insert(at + 1, std::move(view));
      return true;
    }
    bool found = false;
    ir::forEachBlock(**at,
                     [&](ir::Block &inner) { found = found || allocateBehind(inner, base, view); });
    if (found)
      return true;
  }
  return false;
}

/// One tile of the unfolded image of a convolution, NHWC.
Value im2col(TCall &c) {
  std::optional<Tile> image = c.tile("img"), column = c.tile("col");
  Expr nhw = c.index("nhw_step"), step = c.index("c_step");
  if (!image || !column || !nhw || !step || !c.tileOp())
    return Value::none();
  ir::Buffer &img = *image->region.buffer;
  std::vector<Expr> tile = column->region.tileExtents();
  if (img.rank() != 4 || tile.size() != 2) {
    c.e.report(diag::Im2colShapes, c.range, describe(img), extentsText(column->region));
    return Value::none();
  }
  if (!image->region.wholeBuffer()) {
    c.wrong("img", "a whole image");
    return Value::none();
  }
  std::optional<ir::Unfold> unfold = unfoldOf(c, img);
  if (!unfold)
    return Value::none();
  // One index type for all: the widest that occurs.
  const std::vector<Expr> &shape = img.shape;
  DType type = Scalar::Int32;
  for (const Expr &x : {nhw, step, shape[0], shape[1], shape[2], shape[3]})
    if (x.dtype().bits() > 32)
      type = Scalar::Int64;
  for (Expr *x : {&nhw, &step, &tile[0], &tile[1]})
    *x = convert(c.e, *x, type);
  ir::Buffer &view = ir::unfoldedView(c.e.kernel->function, img, *unfold, type);
  auto alloc = std::make_unique<ir::AllocStmt>(c.range);
  alloc->buffer = &view;
  ir::StmtPtr statement = std::move(alloc);
  ir::Block &body = c.e.kernel->launch->body;
  if (!allocateBehind(body, img, statement))
    body.insert(body.begin(), std::move(statement));
  auto &copy = c.builder().add<ir::CopyStmt>();
  copy.source = {&view, {nhw * tile[0], step * tile[1]}, tile, 0, {}};
  copy.target = column->region;
  return Value::none();
}

} // namespace

void copyRegions(Elaborator &e, const Value &value, SourceRange valueRange,
                 const ir::Region &target, SourceRange targetRange) {
  Tile to;
  to.region = target;
  to.range = targetRange;
  if (isScalar(value)) {
    // Memory of one thread.
    Expr x = toExpr(e, value, target.buffer->dtype, valueRange);
    if (x)
      threadLoops(e, target.tileExtents(), [&](const std::vector<Expr> &index) {
        e.builder().store(elementAt(target, index), x);
      });
    return;
  }
  std::optional<Tile> from = asTile(e, value, valueRange);
  if (!from) {
    e.report(diag::NotAScalar, valueRange, typeNameWithArticle(value));
    return;
  }
  if (!matchTiles(e, "an assignment", *from, to, true, join(targetRange, valueRange)))
    return;
  if (perThread(*from) || perThread(to)) {
    copyPerThread(e, *from, to, valueRange);
    return;
  }
  if (state(e).mapDepth > 0) {
    e.report(diag::TileOpInParallel, targetRange, "an assignment to a region");
    return;
  }
  auto &stmt = e.builder().add<ir::CopyStmt>();
  stmt.source = from->region;
  stmt.target = to.region;
}

void addCopies(Handlers &t) {
  handle(t, Builtin::Copy, copy);
  handle(t, Builtin::AsyncCopy, asyncCopy);
  handle(t, Builtin::TmaCopy, tmaCopy);
  handle(t, Builtin::TmaStoreArrive, tmaStoreArrive);
  handle(t, Builtin::TmaStoreWait, tmaStoreWait);
  handle(t, Builtin::PtxCommitGroup, commitGroup);
  handle(t, Builtin::PtxWaitGroup, waitGroup);
  handle(t, Builtin::Fill, fill);
  handle(t, Builtin::Clear, clear);
  handle(t, Builtin::Transpose, transpose);
  handle(t, Builtin::Im2col, im2col);
}

} // namespace tlc::elaborate
