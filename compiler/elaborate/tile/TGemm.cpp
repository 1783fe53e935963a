// Matrix products.
#include "elaborate/tile/TTiles.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::Builtin;

namespace {

std::optional<ir::WarpPolicy> policy(TCall &c) {
  const Value *v = c.find("policy");
  if (!v)
    return ir::WarpPolicy::Square;
  Value value = *v;
  if (auto *member = value.as<EnumMemberObject>())
    value = member->value;
  std::optional<std::int64_t> i = value.isIntegral() ? value.asInt64() : std::nullopt;
  if (i && *i >= 0 && *i <= 2)
    return static_cast<ir::WarpPolicy>(*i);
  c.wrong("policy", "a member of T.GemmWarpPolicy");
  return std::nullopt;
}

/// The last two dims of an operand; leading ones must be 1.
std::optional<std::array<Expr, 2>> matrix(TCall &c, Tile &tile) {
  if (tile.corner || !dropTo(tile.region, 2)) {
    c.e.report(diag::GemmRank, tile.range, c.info.name, tile.name, extentsText(tile.region));
    return std::nullopt;
  }
  std::vector<Expr> extents = tile.region.tileExtents();
  return std::array<Expr, 2>{extents[0], extents[1]};
}

struct Operand {
  Tile tile;
  std::array<Expr, 2> extents;
  std::int64_t rows, columns;
  bool transposed;
};

std::optional<Operand> operand(TCall &c, std::string_view name, bool transposed) {
  std::optional<Tile> tile = c.tile(name);
  if (!tile)
    return std::nullopt;
  auto extents = matrix(c, *tile);
  if (!extents)
    return std::nullopt;
  std::optional<std::int64_t> r = (*extents)[0].constant(), k = (*extents)[1].constant();
  if (!r || !k) {
    constantExtents(c.e, c.name(), *tile);
    return std::nullopt;
  }
  if (transposed)
    std::swap(r, k);
  return Operand{*tile, *extents, *r, *k, transposed};
}

bool differ(TCall &c, const char *what, const Operand &x, std::int64_t xn, const Operand &y,
            std::int64_t yn) {
  if (xn == yn)
    return false;
  auto side = [](const Operand &o) {
    return "`" + o.tile.region.buffer->name + "` " + extentsText(o.tile.region) +
           (o.transposed ? ", transposed" : "");
  };
  auto report =
      c.e.report(diag::GemmExtents, c.range, c.info.name, what, x.tile.name, xn, y.tile.name, yn);
  report.label(x.tile.range, side(x)).label(y.tile.range, side(y));
  bool square = x.transposed == y.transposed;
  if (square && what[0] == 'K')
    report.help("is one of transpose_A=, transpose_B= missing?");
  return true;
}

bool checkTypes(TCall &c, DType a, DType b, DType acc) {
  // Two 8-bit floats may have different formats; everything else is of one type.
  bool both8 = a.isFloat() && b.isFloat() && a.bits() == 8 && b.bits() == 8;
  if (a != b && !both8 && !(a.isInteger() && b.isInteger() && a.bits() == b.bits())) {
    c.e.report(diag::GemmTypes, c.range, c.info.name, a.str(), b.str(), "A and B of one type");
    return false;
  }
  bool good = a.isFloat() ? acc.isFloat() && acc.bits() >= std::min(a.bits(), 16u)
                          : acc.isInteger() && acc.bits() >= 32;
  if (!good) {
    c.e.report(diag::GemmAccumulator, c.rangeOf("C"), c.info.name, acc.str(), a.str(),
               a.isFloat() ? "a float of at least 16 bits, usually float32" : "int32");
    return false;
  }
  return true;
}

Value gemm(TCall &c) {
  if (!c.tileOp())
    return Value::none();
  std::optional<Operand> a = operand(c, "A", c.flag("transpose_A"));
  std::optional<Operand> b = operand(c, "B", c.flag("transpose_B"));
  std::optional<Operand> acc = operand(c, "C", false);
  std::optional<ir::WarpPolicy> warps = policy(c);
  if (!a || !b || !acc || !warps)
    return Value::none();
  bool wrong = differ(c, "K", *a, a->columns, *b, b->rows);
  wrong = differ(c, "M", *a, a->rows, *acc, acc->rows) || wrong;
  wrong = differ(c, "N", *b, b->columns, *acc, acc->columns) || wrong;
  if (wrong || !checkTypes(c, a->tile.region.buffer->dtype, b->tile.region.buffer->dtype,
                           acc->tile.region.buffer->dtype))
    return Value::none();
  Expr clear;
  if (const Value *v = c.find("clear_accum")) {
    clear = toCondition(c.e, *v, c.rangeOf("clear_accum"));
    if (!clear)
      return Value::none();
    if (clear.isFalse())
      clear = {};
  }
  std::optional<std::int64_t> kPack =
      c.info.index("k_pack") >= 0 ? c.integer("k_pack", 1) : std::optional<std::int64_t>(1);
  if (!kPack)
    return Value::none();
  if (*kPack < 1 || *kPack > 4) {
    c.outOfRange("k_pack", "between 1 and 4", std::to_string(*kPack));
    return Value::none();
  }
  std::optional<ir::Element> barrier;
  if (c.info.index("mbar") >= 0 && c.find("mbar")) {
    barrier = c.barrier("mbar");
    if (!barrier)
      return Value::none();
  }
  auto &stmt = c.builder().add<ir::GemmStmt>();
  stmt.a = a->tile.region;
  stmt.b = b->tile.region;
  stmt.c = acc->tile.region;
  stmt.transposeA = a->transposed;
  stmt.transposeB = b->transposed;
  stmt.clear = clear;
  stmt.policy = *warps;
  stmt.kPack = *kPack;
  stmt.async = c.info.id == Builtin::WgmmaGemm;
  if (barrier)
    stmt.barrier = *barrier;
  return Value::none();
}

Value waitWgmma(TCall &c) {
  std::string_view parameter = c.info.parameters[0].name;
  std::optional<std::int64_t> n = c.integer(parameter, 0);
  if (n && *n < 0)
    c.outOfRange(parameter, "0 or more", std::to_string(*n));
  else if (n && c.statement())
    c.builder().wait(*n, ir::AsyncKind::Wgmma);
  return Value::none();
}

Value commitWgmma(TCall &c) {
  if (c.statement())
    c.builder().commit(ir::AsyncKind::Wgmma);
  return Value::none();
}

Value fenceWgmma(TCall &c) {
  if (c.statement())
    c.builder().add<ir::FenceStmt>().what = ir::FenceKind::Wgmma;
  return Value::none();
}

} // namespace

void addGemms(Handlers &t) {
  handle(t, Builtin::Gemm, gemm);
  handle(t, Builtin::WgmmaGemm, gemm);
  handle(t, Builtin::WaitWgmma, waitWgmma);
  handle(t, Builtin::WarpgroupWait, waitWgmma);
  handle(t, Builtin::WarpgroupCommitBatch, commitWgmma);
  handle(t, Builtin::WarpgroupArrive, fenceWgmma);
  handle(t, Builtin::WarpgroupFenceOperand, fenceWgmma);
}

} // namespace tlc::elaborate
