// wrap-integers: sums and products of a kernel's own integers wrap around, as the language says.
//
//   load %x = %A[%i]                                    load %x = %A[%i]
//   store %B[%i] = %x*1664525 + 1013904223      =>      store %B[%i] = i32(u32(%x)*1664525 +
//   1013904223)
//
// In C and C++ overflow of signed numbers is undefined, of unsigned ones it wraps. Only values are
// rewritten that are made of loaded numbers, scalar arguments and results of calls, and only where
// ranges and what variables are known to hold do not show that nothing overflows; arithmetic on
// block, thread and loop indices is exact by itself (semantics.md §4) and stays as it reads.
// Narrower integers are computed as int anyway.
//
// Why here: behind the last simplification, which knows more about signed numbers than about
// unsigned ones; before pin-values, because this is about text.
#include "analysis/Ranges.h"
#include "analysis/Variables.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <unordered_map>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;
using analysis::Interval;
using analysis::Ranges;

namespace {

class Wrapping {
public:
  explicit Wrapping(Function &function) : function(function) {
    for (const Dim &dim : function.dims)
      indices.insert(dim.var.get());
    for (const LaunchConstant &constant : function.launchConstants)
      indices.insert(constant.var.get());
  }

  void run() {
    std::unordered_map<const Launch *, std::unordered_map<const Buffer *, Interval>> variables;
    for (auto &launch : function.launches)
      variables.emplace(launch.get(), analysis::variableIntervals(*launch));
    analysis::walkWithRanges(function, [&](Launch &launch, Stmt &stmt, Ranges &ranges) {
      noteIndices(launch, stmt);
      noteInterval(variables.at(&launch), stmt, ranges);
      made.clear();
      overflowing.clear();
      forEachExpr(stmt, [&](Expr &e) {
        if (e)
          e = rewritten(e, ranges);
      });
      return true;
    });
  }

private:
  void noteIndices(const Launch &launch, const Stmt &stmt) {
    auto add = [&](Expr var) {
      if (var)
        indices.insert(var.get());
    };
    add(launch.tid);
    for (Expr var : launch.blockVars)
      add(var);
    for (Expr var : launch.threadVars)
      add(var);
    if (auto *loop = dynCast<ForStmt>(&stmt))
      add(loop->var);
    else if (auto *let = dynCast<LetStmt>(&stmt); let && !ofValues(let->value))
      add(let->var);
  }

  /// What a variable is known to hold, and what a call hands through.
  void noteInterval(const std::unordered_map<const Buffer *, Interval> &variables, const Stmt &stmt,
                    Ranges &ranges) {
    if (auto *load = dynCast<LoadStmt>(&stmt)) {
      if (auto held = variables.find(load->source.buffer);
          held != variables.end() && !load->predicate)
        ranges.bindVar(load->var, held->second);
    } else if (auto *call = dynCast<CallStmt>(&stmt); call && call->callee == "warp_uniform") {
      Expr handed = std::get<Expr>(call->args.front());
      ranges.bindVar(call->result, ranges.interval(handed));
      if (!ofValues(handed))
        indices.insert(call->result.get());
    }
  }

  /// Whether a loaded number, an argument or the result of a call is in it.
  bool ofValues(Expr e) const {
    const std::vector<Expr> &vars = variablesOf(e);
    return std::any_of(vars.begin(), vars.end(),
                       [&](Expr var) { return !indices.contains(var.get()); });
  }

  Expr rewritten(Expr e, const Ranges &ranges) {
    if (e->operands.empty())
      return e;
    if (auto known = made.find(e.get()); known != made.end())
      return known->second;
    std::vector<Expr> operands;
    bool changed = false;
    for (Expr operand : e->operands) {
      operands.push_back(rewritten(operand, ranges));
      changed |= operands.back() != operand;
    }
    Expr result = overflows(e, ranges) ? unsignedForm(e, operands)
                  : changed            ? rebuild(e, operands)
                                       : e;
    made.emplace(e.get(), result);
    return result;
  }

  static bool isNegation(Expr e) {
    return e.kind() == ExprKind::Unary && e->unaryOp() == UnaryOp::Neg;
  }

  bool overflows(Expr e, const Ranges &ranges) {
    if (auto known = overflowing.find(e.get()); known != overflowing.end())
      return known->second;
    bool result = mayOverflow(e, ranges);
    overflowing.emplace(e.get(), result);
    return result;
  }

  bool mayOverflow(Expr e, const Ranges &ranges) {
    if (e.kind() != ExprKind::Binary && !isNegation(e))
      return false;
    DType dtype = e.dtype();
    if (!dtype.isInt() || dtype.bits() < 32 || dtype.isVector() || !ofValues(e))
      return false;
    // Ranges take it that nothing overflows; what does may be anything.
    auto range = [&](Expr operand) {
      return overflows(operand, ranges) ? ranges.interval(function.context->var("", dtype))
                                        : ranges.interval(operand);
    };
    Interval a = range(e->operands[0]);
    auto fits = [&](__int128 value) {
      __int128 limit = static_cast<__int128>(1) << (dtype.bits() - 1);
      return value >= -limit && value < limit;
    };
    if (isNegation(e))
      return !fits(-static_cast<__int128>(a.lo));
    Interval b = range(e->operands[1]);
    const __int128 al = a.lo, ah = a.hi, bl = b.lo, bh = b.hi;
    switch (e->binaryOp()) {
    case BinaryOp::Add:
      return !fits(al + bl) || !fits(ah + bh);
    case BinaryOp::Sub:
      return !fits(al - bh) || !fits(ah - bl);
    case BinaryOp::Mul:
      return !fits(al * bl) || !fits(al * bh) || !fits(ah * bl) || !fits(ah * bh);
    default:
      return false;
    }
  }

  Expr unsignedForm(Expr e, const std::vector<Expr> &operands) {
    Context &context = *function.context;
    DType wide(e.dtype().bits() == 64 ? Scalar::UInt64 : Scalar::UInt32);
    Expr a = context.cast(wide, operands[0]);
    Expr result = isNegation(e) ? context.binary(BinaryOp::Sub, context.integer(wide, 0), a)
                                : context.binary(e->binaryOp(), a, context.cast(wide, operands[1]));
    return context.cast(e.dtype(), result);
  }

  Function &function;
  std::unordered_set<const ExprNode *> indices; ///< variables that count blocks, threads, rounds
  // Of the statement that is looked at: operations are shared by many others.
  std::unordered_map<const ExprNode *, Expr> made;
  std::unordered_map<const ExprNode *, bool> overflowing;
};

} // namespace

void wrapIntegers(Function &function, PassContext &) { Wrapping(function).run(); }

} // namespace tlc::passes
