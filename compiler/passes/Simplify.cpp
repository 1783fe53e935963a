// simplify: what ranges decide is decided.
//
//   for %i in 0 .. 1 {                       let %x = %bx * 128        (the only trip; a branch
//   that
//     let %x = %bx * 128 + %i        =>      store %A[%x] = 1.0         is always taken)
//     if %i < 4 { store %A[%x] = 1.0 }
//   }
//
// Stands first, because every later question gets a smaller answer, and last, because lowering
// leaves products of constants and guards that ranges decide. On thread code it also replaces floor
// division of what is not negative by C's, which prints as / and %.
#include "analysis/Ranges.h"
#include "ir/Size.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

namespace tlc::passes {

using namespace ir;
using analysis::Interval;
using analysis::Ranges;

namespace {

class Simplifier {
public:
  Simplifier(Function &function, Ranges &ranges)
      : function(function), context(*function.context), ranges(ranges),
        truncates(function.phase >= Phase::Thread) {}

  void block(Block &b) {
    Block out;
    for (StmtPtr &stmt : b)
      statement(std::move(stmt), out);
    b = std::move(out);
  }

private:
  // ---- Expressions

  Expr simplified(Expr e) {
    if (!e || e.isConstant())
      return e;
    if (auto found = memo.find(e.get()); found != memo.end())
      return found->second;
    Expr result = rebuilt(e);
    result = decided(result);
    memo.emplace(e.get(), result);
    return result;
  }

  Expr rebuilt(Expr e) {
    if (e.isVar()) {
      auto found = replacements.find(e.get());
      return found == replacements.end() ? e : found->second;
    }
    if (e->operands.empty())
      return e;
    if (e.kind() == ExprKind::Select)
      if (auto side = ranges.decide(simplified(e->operands[0])))
        return simplified(e->operands[*side ? 1 : 2]);
    llvm::SmallVector<Expr, 3> operands;
    bool same = true;
    for (Expr operand : e->operands) {
      operands.push_back(simplified(operand));
      same &= operands.back() == operand;
    }
    return same ? e : rebuild(e, operands);
  }

  Expr decided(Expr e) {
    if (e.isConstant() || e.dtype().isVector() || e.dtype().isFloat())
      return e;
    if (e.dtype().isBool()) {
      auto value = ranges.decide(e);
      return value ? context.boolean(*value) : e;
    }
    Interval values = ranges.interval(e);
    if (values.isPoint())
      return context.integer(e.dtype(), values.lo);
    if (e.kind() != ExprKind::Binary)
      return e;
    Expr a = e->operands[0], b = e->operands[1];
    switch (e->binaryOp()) {
    case BinaryOp::Min:
    case BinaryOp::Max: {
      bool isMin = e->binaryOp() == BinaryOp::Min;
      if (ranges.lessEqual(a, b))
        return isMin ? a : b;
      if (ranges.lessEqual(b, a))
        return isMin ? b : a;
      return e;
    }
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
      break;
    default:
      return e;
    }
    // The normal form, where it is the shorter one.
    const analysis::Poly &poly = ranges.poly(e);
    unsigned size = exprSize(e);
    if (!poly.valid || leastSize(poly) >= size)
      return e;
    Expr normal = toExpr(context, e.dtype(), poly);
    return exprSize(normal) < size ? normal : e;
  }

  /// Nodes that the polynomial has as an expression, at least.
  static unsigned leastSize(const analysis::Poly &poly) {
    std::size_t nodes = 0, summands = poly.terms.size();
    for (const auto &[monomial, coefficient] : poly.terms)
      nodes += 2 * monomial.size() - 1 + (coefficient != 1 ? 2 : 0);
    if (poly.constant != 0 || summands == 0)
      ++nodes, ++summands;
    return static_cast<unsigned>(nodes + summands - 1);
  }

  /// Remainders of what is smaller than the divisor are that; after all else, which is better off
  /// with the whole of a sum.
  Expr withoutRemainders(Expr e) {
    if (!e || e->operands.empty())
      return e;
    if (auto found = wholeMemo.find(e.get()); found != wholeMemo.end())
      return found->second;
    llvm::SmallVector<Expr, 3> operands;
    for (Expr operand : e->operands)
      operands.push_back(withoutRemainders(operand));
    Expr result = operands == e->operands ? e : rebuild(e, operands);
    if (result.kind() == ExprKind::Binary && result->binaryOp() == BinaryOp::FloorMod &&
        !result.dtype().isVector())
      if (auto n = result->operands[1].constant();
          n && *n > 0 && ranges.interval(result->operands[0]).within({0, *n - 1}))
        result = result->operands[0];
    wholeMemo.emplace(e.get(), result);
    return result;
  }

  static bool isPowerOfTwo(Expr e) {
    auto c = e.constant();
    return c && *c > 0 && (*c & (*c - 1)) == 0;
  }

  /// x // c and x % c of non-negative x, as C has them.
  Expr truncated(Expr e) {
    if (!e || e->operands.empty())
      return e;
    if (auto found = truncatedMemo.find(e.get()); found != truncatedMemo.end())
      return found->second;
    llvm::SmallVector<Expr, 3> operands;
    for (Expr operand : e->operands)
      operands.push_back(truncated(operand));
    Expr result = operands == e->operands ? e : rebuild(e, operands);
    bool isFloor = e.kind() == ExprKind::Binary &&
                   (e->binaryOp() == BinaryOp::FloorDiv || e->binaryOp() == BinaryOp::FloorMod);
    // By powers of two shifts and masks are right for any sign and cheaper than what C makes of
    // signed division.
    if (isFloor && !e.dtype().isVector() && !isPowerOfTwo(e->operands[1]) &&
        ranges.nonNegative(e->operands[0]) && ranges.interval(e->operands[1]).lo > 0)
      result = context.binary(e->binaryOp() == BinaryOp::FloorDiv ? BinaryOp::TruncDiv
                                                                  : BinaryOp::TruncMod,
                              operands[0], operands[1]);
    truncatedMemo.emplace(e.get(), result);
    return result;
  }

  void expressions(Stmt &stmt) {
    memo.clear();
    truncatedMemo.clear();
    wholeMemo.clear();
    forEachExpr(stmt, [&](Expr &e) {
      e = withoutRemainders(simplified(e));
      if (truncates)
        e = truncated(e);
    });
  }

  void replace(Expr var, Expr value) { replacements[var.get()] = value; }

  // ---- Statements

  void statement(StmtPtr stmt, Block &out) {
    expressions(*stmt);
    switch (stmt->kind) {
    case StmtKind::Let:
      return let(std::move(stmt), out);
    case StmtKind::Load:
      return load(std::move(stmt), out);
    case StmtKind::If:
      return branch(std::move(stmt), out);
    case StmtKind::For:
      return loop(std::move(stmt), out);
    case StmtKind::Map:
      return map(std::move(stmt), out);
    case StmtKind::Store: {
      auto &store = cast<StoreStmt>(*stmt);
      if (dropTrue(store.predicate))
        out.push_back(std::move(stmt));
      return;
    }
    case StmtKind::Atomic: {
      auto &atomic = cast<AtomicStmt>(*stmt);
      if (dropTrue(atomic.predicate) || atomic.result)
        out.push_back(std::move(stmt));
      return;
    }
    case StmtKind::Move: {
      auto &move = cast<MoveStmt>(*stmt);
      if (dropTrue(move.predicate) || move.fill)
        out.push_back(std::move(stmt));
      return;
    }
    case StmtKind::Assert:
      if (!cast<AssertStmt>(*stmt).condition.isTrue())
        out.push_back(std::move(stmt));
      return;
    case StmtKind::Assume: {
      Expr condition = cast<AssumeStmt>(*stmt).condition;
      if (condition.isTrue())
        return;
      ranges.assume(condition);
      out.push_back(std::move(stmt));
      return;
    }
    default:
      forEachBlock(*stmt, [&](Block &inner) {
        Ranges::Scope scope(ranges);
        if (auto *role = dynCast<RoleStmt>(stmt.get()))
          ranges.bind(*role);
        block(inner);
      });
      out.push_back(std::move(stmt));
    }
  }

  /// False if the predicate is never true.
  bool dropTrue(Expr &predicate) {
    if (predicate && predicate.isTrue())
      predicate = {};
    return !predicate || !predicate.isFalse();
  }

  void let(StmtPtr stmt, Block &out) {
    auto &s = cast<LetStmt>(*stmt);
    if (s.value.isConstant() || s.value.isVar()) {
      replace(s.var, s.value);
      return;
    }
    ranges.bind(s);
    out.push_back(std::move(stmt));
  }

  void load(StmtPtr stmt, Block &out) {
    auto &s = cast<LoadStmt>(*stmt);
    if (dropTrue(s.predicate)) {
      out.push_back(std::move(stmt));
      return;
    }
    replace(s.var, s.otherwise ? s.otherwise : context.zero(s.var.dtype()));
  }

  void branch(StmtPtr stmt, Block &out) {
    auto &s = cast<IfStmt>(*stmt);
    for (bool side : {true, false}) {
      // Where one side is impossible the other is all that is left.
      if (s.condition.isConstant() && s.condition.isTrue() != side)
        continue;
      Ranges::Scope scope(ranges);
      ranges.assume(s.condition, side);
      block(side ? s.then : s.otherwise);
    }
    if (s.condition.isConstant()) {
      Block &taken = s.condition.isTrue() ? s.then : s.otherwise;
      for (StmtPtr &inner : taken) {
        if (auto *let = dynCast<LetStmt>(inner.get()))
          ranges.bind(*let);
        out.push_back(std::move(inner));
      }
      return;
    }
    if (s.then.empty() && !s.otherwise.empty()) {
      std::swap(s.then, s.otherwise);
      s.condition = logicalNot(s.condition);
    }
    if (!s.then.empty() || !s.otherwise.empty())
      out.push_back(std::move(stmt));
  }

  void loop(StmtPtr stmt, Block &out) {
    auto &s = cast<ForStmt>(*stmt);
    Expr one = context.integer(s.lo.dtype(), 1);
    Expr step = s.step ? s.step : one;
    bool upwards = ranges.interval(step).lo > 0;
    if (upwards && ranges.lessEqual(s.hi, s.lo))
      return;
    // A loop of the threads is what it is, however few they are.
    bool once = upwards && s.kind != ForKind::Threads && ranges.less(s.lo, s.hi) &&
                ranges.lessEqual(s.hi, s.lo + step) && !leavesLoop(s.body);
    if (once) {
      replace(s.var, s.lo);
      for (StmtPtr &inner : s.body)
        statement(std::move(inner), out);
      return;
    }
    Ranges::Scope scope(ranges);
    ranges.bind(s);
    block(s.body);
    if (!s.body.empty())
      out.push_back(std::move(stmt));
  }

  void map(StmtPtr stmt, Block &out) {
    auto &s = cast<MapStmt>(*stmt);
    for (Expr extent : s.extents)
      if (ranges.interval(extent).hi <= 0)
        return;
    Ranges::Scope scope(ranges);
    ranges.bind(s);
    block(s.body);
    if (!s.body.empty())
      out.push_back(std::move(stmt));
  }

  Function &function;
  Context &context;
  Ranges &ranges;
  bool truncates;
  std::unordered_map<const ExprNode *, Expr> replacements, memo, wholeMemo, truncatedMemo;
};

} // namespace

void simplify(Function &function, PassContext &) {
  Ranges ranges(function);
  for (auto &launch : function.launches) {
    Ranges::Scope scope(ranges);
    ranges.enter(*launch);
    Simplifier(function, ranges).block(launch->body);
  }
  removeDeadCode(function);
}

} // namespace tlc::passes
