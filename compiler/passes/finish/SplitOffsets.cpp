// split-offsets: offsets as a part that stands still in a loop plus what the loop adds to it.
//
//   for %k in 0 .. %n {                                         for %k in 0 .. %n {
//     move %B![i64((%k + 2)*32 + %row) * %N + i64(%col)]   =>     move %B![(i64(64 + %row) * %N +
//     i64(%col)) + i64(%k) * 32 * %N]
//   }                                                           }
//
// The downstream compiler does not look through the widening of a sum, so it would multiply anew in
// each round. In this form it keeps the first part in a register and adds; it does not overflow
// where the whole did not.
//
// It does not keep it where it is short of registers, though, as in loops of matrix products, and
// computes the whole address of each copy anew, in the time of the products. So what stands still
// in the addresses of asynchronous copies is computed once in front of the loop, in a way that it
// has to respect (in other loops registers are better left to it):
//
//   for %k in 0 .. %n {                              let %A_at = i64(%by*128 + %tid//4)*i64(%K)
//   kept
//     for %g in 0 .. 4 unroll {                =>    for %k in 0 .. %n { for %g in 0 .. 4 unroll {
//       move %A![i64(%by*128 + (%g*32 +                move %A![%A_at + (i64(%g)*32*i64(%K) +
//       %tid//4))*i64(%K) + i64(%k)*32] -> … async     i64(%k)*32)] -> … async
//
// Addresses in shared memory that an unrolled loop goes through by an XOR (swizzled tiles) are one
// kept value whose bits are flipped, where nothing is carried into or out of those bits:
//
//   %B_s![%row*64 + (%g ^ %tid//2) % 4 * 16]   =>   %B_s![%B_s_at ^ %g % 4 * 16]
//
// Why here: on final addresses, after everything that simplifies them; only the text follows.
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Poly;

namespace {

class Splitter {
public:
  explicit Splitter(Function &function) : context(*function.context), ranges(function) {}

  void run(Block &block) {
    Block out;
    for (StmtPtr &stmt : block) {
      auto *loop = dynCast<ForStmt>(stmt.get());
      bool counts = loop && (loop->kind == ForKind::Serial || loop->kind == ForKind::Pipelined);
      if (counts)
        loops.push_back({loop->range, loop->var, multipliesMatrices(loop->body), {}, {}, {}});
      else if (!loops.empty())
        define(*stmt);
      if (!loops.empty())
        visit(*stmt);
      if (loop)
        around.push_back(loop->var);
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
      if (loop)
        around.pop_back();
      if (counts) {
        std::move(loops.back().kept.begin(), loops.back().kept.end(), std::back_inserter(out));
        loops.pop_back();
      }
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

private:
  struct Loop {
    SourceRange range;
    Expr var;
    bool matrices;              ///< products of matrices are computed in it
    std::vector<Expr> unrolled; ///< variables of loops inside that will be constants
    std::vector<Expr> defined;  ///< other variables that are bound inside
    Block kept;                 ///< lets that go in front of the loop
  };

  static bool multipliesMatrices(const Block &body) {
    bool found = false;
    walk(body, [&](const Stmt &stmt) {
      auto *call = dynCast<CallStmt>(&stmt);
      found = found || (call && call->collective == Collective::Warp);
      return !found;
    });
    return found;
  }

  void define(const Stmt &stmt) {
    auto *loop = dynCast<ForStmt>(&stmt);
    bool unrolled = loop && loop->kind == ForKind::Unroll;
    forEachDefinition(stmt, [&](Expr var) {
      (unrolled ? loops.back().unrolled : loops.back().defined).push_back(var);
    });
  }

  void visit(Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.element && use.element->physical && use.buffer->storage()->scope == Scope::Global)
        split(use.element->indices[0]);
    });
    if (!loops.back().matrices)
      return;
    if (auto *move = dynCast<MoveStmt>(&stmt); move && move->async)
      for (Element *element : {&move->source, &move->target})
        keep(element->indices[0], *element->buffer);
    auto *call = dynCast<CallStmt>(&stmt);
    if (call && call->collective == Collective::Warp)
      for (Argument &argument : call->args)
        if (auto *pointer = std::get_if<Pointer>(&argument);
            pointer && pointer->element.physical &&
            pointer->element.buffer->storage()->scope == Scope::Shared)
          keepFlipped(pointer->element.indices[0], *pointer->element.buffer);
  }

  /// The innermost loop's part is taken out; what remains is invariant there.
  void split(Expr &index) {
    Expr var = loops.back().var;
    if (!uses(index, var) || index.dtype().bits() < 64)
      return;
    Expr still = substitute(index, {{var, context.integer(var.dtype(), 0)}});
    if (Expr part =
            moving(index, still, [&](Expr atom) { return atom == var || !uses(atom, var); }))
      index = still + part;
  }

  /// What stands still in the innermost loop, with the first round of loops that are unrolled, gets
  /// a register.
  void keep(Expr &index, const Buffer &buffer) {
    Loop &loop = loops.back();
    Substitution first{{loop.var, context.integer(loop.var.dtype(), 0)}};
    for (Expr var : loop.unrolled)
      first.emplace_back(var, context.integer(var.dtype(), 0));
    Expr still = substitute(index, first);
    if (still->operands.empty() || usesAny(still, loop.defined))
      return;
    if (Expr part = moving(index, still, [&](Expr atom) { return plain(atom, loop); }))
      index = keptValue(loop, still, buffer) + part;
  }

  /// Bits of an offset that unrolled loops flip: (by ^ still) % size * weight.
  struct Flip {
    Expr by, field; ///< with rounds of 0: (by ^ still) % size
    std::int64_t weight = 0, size = 0;
  };

  /// As keep, for offsets whose flips depend on the innermost loop around.
  void keepFlipped(Expr &index, const Buffer &buffer) {
    Loop &loop = loops.back();
    if (around.back() == loop.var || !uses(index, around.back()) || usesAny(index, loop.defined))
      return;
    Linear all = linear(index), still, rest;
    rest.constant = all.constant; // behind the flips, where it is an offset of the instruction
    std::vector<Flip> flips;
    for (const auto &[term, coefficient] : all.terms) {
      if (auto flip = flipOf(term, coefficient, loop)) {
        still.terms.emplace_back(flip->field, coefficient);
        flips.push_back(*flip);
      } else if (!plain(term, loop)) {
        return;
      } else {
        bool moves = uses(term, loop.var) || usesAny(term, loop.unrolled);
        (moves ? rest : still).terms.emplace_back(term, coefficient);
      }
    }
    Expr bits = context.integer(index.dtype(), 0);
    bool innermost = false;
    for (const Flip &flip : flips) {
      if (!apart(still, flip))
        return;
      Expr rounds = context.binary(BinaryOp::Xor, flip.by, withoutRounds(flip.by, loop));
      bits = bits + floorMod(rounds, flip.size) * flip.weight;
      innermost = innermost || uses(flip.by, around.back());
    }
    if (!innermost)
      return;
    Expr base = keptValue(loop, fromLinear(context, index.dtype(), still), buffer);
    index = context.binary(BinaryOp::Xor, base, bits) + fromLinear(context, index.dtype(), rest);
  }

  Expr withoutRounds(Expr e, const Loop &loop) const {
    Substitution first;
    for (Expr var : loop.unrolled)
      first.emplace_back(var, context.integer(var.dtype(), 0));
    return substitute(e, first);
  }

  /// (x ^ y) % size with a part of rounds of unrolled loops and another that stands still.
  std::optional<Flip> flipOf(Expr atom, std::int64_t weight, const Loop &loop) const {
    if (atom.kind() != ExprKind::Binary || atom->binaryOp() != BinaryOp::FloorMod || weight <= 0 ||
        (weight & (weight - 1)))
      return std::nullopt;
    auto size = atom->operands[1].constant();
    Expr sides = atom->operands[0];
    if (!size || *size <= 0 || (*size & (*size - 1)) || sides.kind() != ExprKind::Binary ||
        sides->binaryOp() != BinaryOp::Xor)
      return std::nullopt;
    Flip flip{{}, withoutRounds(atom, loop), weight, *size};
    std::vector<Expr> open{sides->operands[0], sides->operands[1]};
    while (!open.empty()) {
      Expr side = open.back();
      open.pop_back();
      if (side.kind() == ExprKind::Binary && side->binaryOp() == BinaryOp::Xor)
        open.insert(open.end(), side->operands.begin(), side->operands.end());
      else if (usesAny(side, loop.unrolled) && plain(side, loop))
        flip.by = flip.by ? context.binary(BinaryOp::Xor, flip.by, side) : side;
      else if (usesAny(side, loop.unrolled) || uses(side, loop.var))
        return std::nullopt;
    }
    return flip.by ? std::optional(flip) : std::nullopt;
  }

  /// Whether the flip's bits are zero in the other terms: they are multiples of what lies above
  /// them, or together less than what lies below.
  bool apart(const Linear &still, const Flip &flip) const {
    Linear low;
    bool own = true; // the first such term is the flip's
    for (const auto &term : still.terms)
      if (own && term == std::pair(flip.field, flip.weight))
        own = false;
      else if (term.second % (flip.weight * flip.size) != 0)
        low.terms.push_back(term);
    analysis::Interval values = ranges.interval(fromLinear(context, flip.by.dtype(), low));
    return values.lo >= 0 && values.hi < flip.weight;
  }

  /// Whether a factor stands still in the loop, is its variable, or depends on nothing but rounds
  /// of unrolled loops.
  static bool plain(Expr atom, const Loop &loop) {
    if (atom == loop.var || !(uses(atom, loop.var) || usesAny(atom, loop.unrolled)))
      return true;
    std::vector<Expr> vars;
    collectVars(atom, vars);
    return std::all_of(vars.begin(), vars.end(), [&](Expr var) {
      return std::count(loop.unrolled.begin(), loop.unrolled.end(), var) > 0;
    });
  }

  Expr keptValue(Loop &loop, Expr value, const Buffer &buffer) {
    for (const StmtPtr &known : loop.kept)
      if (const auto &let = cast<LetStmt>(*known); let.value == value)
        return let.var;
    auto let = std::make_unique<LetStmt>(loop.range);
    let->var = context.var(buffer.name + "_at", value.dtype());
    let->value = value;
    let->kept = true;
    Expr var = let->var;
    loop.kept.push_back(std::move(let));
    return var;
  }

  static bool usesAny(Expr e, const std::vector<Expr> &vars) {
    return std::any_of(vars.begin(), vars.end(), [&](Expr var) { return uses(e, var); });
  }

  /// index - still, if it is a sum of products whose factors all are `plain`; else null.
  template <typename F> Expr moving(Expr index, Expr still, F &&plain) {
    Poly difference = ranges.poly(index) - ranges.poly(still);
    if (difference.constant != 0 || !sumOf(difference, plain))
      return {};
    return analysis::toExpr(context, index.dtype(), difference);
  }

  template <typename F> static bool sumOf(const Poly &poly, F &&plain) {
    return poly.valid && std::all_of(poly.terms.begin(), poly.terms.end(), [&](const auto &term) {
             return std::all_of(term.first.begin(), term.first.end(), plain);
           });
  }

  Context &context;
  analysis::Ranges ranges;
  std::vector<Loop> loops;  ///< counted loops around, outermost first
  std::vector<Expr> around; ///< variables of all loops around
};

} // namespace

void splitOffsets(Function &function, PassContext &pass) {
  if (!pass.target.isGpu())
    return;
  for (auto &launch : function.launches)
    Splitter(function).run(launch->body);
}

} // namespace tlc::passes
