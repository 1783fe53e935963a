// T.PersistentTileScheduler: a worker's walk over a two-dimensional grid of tiles.
#include "elaborate/Parts.h"
#include "elaborate/shims/Shims.h"
#include "elaborate/tile/TCall.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

/// Worker w handles the linear indices w, w + workers, … . The grid is cut into panels of `swizzle`
/// tiles along the slow axis; a panel is swept along the fast axis, its tiles in turn.
struct Scheduler : NativeObject {
  Expr rows, columns, workers; ///< rows in clusters
  std::int64_t swizzle = 1;
  bool columnMajor = true;
  ir::Buffer *m = nullptr, *n = nullptr, *linear = nullptr, *iteration = nullptr;

  std::string typeName() const override { return "tile scheduler"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;

  std::pair<Expr, Expr> coordinates(Expr id) const {
    Expr fast = columnMajor ? rows : columns, slow = columnMajor ? columns : rows;
    Expr tiles = fast * swizzle;
    Expr panel = ir::floorDiv(id, tiles), rest = ir::floorMod(id, tiles);
    Expr first = panel * swizzle;
    // The last panel may be narrower. It is at least 1 wide, so that indices past the end divide.
    Expr one = id.context().integer(id.dtype(), 1);
    Expr width = ir::maximum(ir::minimum(one * swizzle, slow - first), one);
    Expr slowIndex = first + ir::floorMod(rest, width), fastIndex = ir::floorDiv(rest, width);
    return columnMajor ? std::pair(fastIndex, slowIndex) : std::pair(slowIndex, fastIndex);
  }

  void moveTo(Elaborator &e, Expr id) const {
    auto [row, column] = coordinates(id);
    e.builder().store(*m, {}, row);
    e.builder().store(*n, {}, column);
  }
  Expr read(Elaborator &e, ir::Buffer *cell, SourceRange range) const {
    return load(e, {cell, {}, {}}, 1, range);
  }
};

using Method = std::function<Value(Elaborator &, CallArgs &)>;

Value method(Elaborator &e, std::string_view name, Method f) {
  return makeClosure(e.heap, "scheduler." + std::string(name), std::move(f));
}

/// The one integer argument; null after a report, `otherwise` if it may be left out.
Expr indexArgument(Elaborator &e, CallArgs &args, std::string_view signature, std::string_view name,
                   Expr otherwise) {
  Binding binding(e, args, signature);
  if (!binding.ok)
    return {};
  const CallArg *given = binding.at(name);
  if (!given)
    return otherwise;
  Expr x = toIndex(e, given->value, given->range, "a tile index");
  return x ? convert(e, x, Scalar::Int32) : x;
}

std::optional<Value> Scheduler::attribute(Elaborator &e, std::string_view name, SourceRange) {
  if (name == "coord")
    return method(e, name, [this](Elaborator &el, CallArgs &args) {
      Expr id = indexArgument(el, args, "tile_id", "tile_id", {});
      if (!id)
        return Value::error();
      auto [row, column] = coordinates(id);
      return el.heap.tuple({Value::expr(row), Value::expr(column)});
    });
  if (!linear) // stateful=False
    return std::nullopt;
  if (name == "m_idx")
    return Value::cell(m);
  if (name == "n_idx")
    return Value::cell(n);
  if (name == "linear_idx")
    return Value::cell(linear);
  if (name == "current_iter")
    return Value::cell(iteration);
  if (name == "valid")
    return method(e, name, [this](Elaborator &el, CallArgs &args) {
      Expr now = read(el, linear, args.range);
      return now ? Value::expr(ir::lessThan(now, rows * columns)) : Value::error();
    });
  if (name == "init")
    return method(e, name, [this](Elaborator &el, CallArgs &args) {
      Expr id = indexArgument(el, args, "linear_init", "linear_init", {});
      if (!id || !requireLaunch(el, args.range, "a scheduler is started"))
        return Value::none();
      el.builder().store(*iteration, {}, el.context.int32(0));
      el.builder().store(*linear, {}, id);
      moveTo(el, id);
      return Value::none();
    });
  if (name == "next_tile")
    return method(e, name, [this](Elaborator &el, CallArgs &args) {
      Expr step = indexArgument(el, args, "step=", "step", workers);
      Expr now = step ? read(el, linear, args.range) : Expr();
      if (!now)
        return Value::none();
      Expr count = read(el, iteration, args.range);
      el.builder().store(*iteration, {}, count + 1);
      Expr next = now + step;
      el.builder().store(*linear, {}, next);
      moveTo(el, next);
      return Value::none();
    });
  return std::nullopt;
}

Value scheduler(TCall &c) {
  auto *s = c.e.heap.make<Scheduler>();
  Expr rows = c.index("num_m_tiles"), columns = c.index("num_n_tiles");
  std::optional<std::int64_t> swizzle = c.integer("swizzle_size", 1),
                              cluster = c.integer("cluster_size", 1);
  if (!rows || !columns || !swizzle || !cluster)
    return Value::error();
  if (*swizzle < 1 || *cluster < 1) {
    c.outOfRange(*swizzle < 1 ? "swizzle_size" : "cluster_size", "1 or more",
                 std::to_string(std::min(*swizzle, *cluster)));
    return Value::error();
  }
  s->rows = ir::ceilDiv(convert(c.e, rows, Scalar::Int32), *cluster);
  s->columns = convert(c.e, columns, Scalar::Int32);
  s->swizzle = *swizzle;
  s->columnMajor = c.flag("column_major", true);
  Expr workers = c.find("num_workers") ? c.index("num_workers")
                                       : ir::floorDiv(multiprocessorCount(c.e), *cluster);
  if (!workers)
    return Value::error();
  s->workers = convert(c.e, workers, Scalar::Int32);
  if (!c.flag("stateful", true))
    return Value::object(s);
  if (!c.statement())
    return Value::error();
  std::string prefix = c.text("name").value_or("");
  auto cell = [&](const char *name) {
    ir::Buffer &b = allocate(c.e, ir::Scope::Local, Scalar::Int32, {}, c.range);
    b.name = prefix.empty() ? name : prefix + "_" + name;
    return &b;
  };
  s->m = cell("m_idx");
  s->n = cell("n_idx");
  s->linear = cell("linear_idx");
  s->iteration = cell("current_iter");
  return Value::object(s);
}

} // namespace

void addScheduler(Handlers &t) { handle(t, Builtin::PersistentTileScheduler, scheduler); }

} // namespace tlc::elaborate
