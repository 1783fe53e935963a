// pin-values: decides which values have names in the emitted text.
//
//   let %i = %g*32 + %tid//4                      let %row = %tid//4        (used in many places:
//   named once, at the top) let %j = %tid%4*8                     =>      for %g in 0 .. 4 { move 8
//   %A_s{%i*32 + %j} <- ...                  move 8 %A_s{(%g*32 + %row)*32 + %tid%4*8} <- ...
//
// A let that is used once, or is as short as its name, is folded into its uses; one that nobody
// uses is dropped. What is left of repeated work on the launch's own variables is bound once at the
// top of the launch, under a name that says how it is made: tid_div8, by_x128.
//
// Why here: last; it changes no meaning, only text, so nothing after it may rewrite expressions.
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

/// Longest expression, in nodes, that may be folded into more than one use.
constexpr unsigned shortValue = 1;
/// Longest expression that may be folded into its only use; longer ones stay readable as two
/// statements.
constexpr unsigned longestFold = 24;
/// Longest name that is made of how a value is made.
constexpr std::size_t longestName = 20;

unsigned size(Expr e) {
  unsigned n = 1;
  for (Expr operand : e->operands)
    n += size(operand);
  return n;
}

struct VarUse {
  unsigned count = 0;
  bool inLoop = false; ///< used in a loop deeper than its let: folding would repeat the work
};

class Pinning {
public:
  explicit Pinning(Function &function) : function(function) {}

  void run(Launch &launch) {
    // Folding one let can make another foldable; uses only ever go down, so few rounds settle it.
    for (bool changed = true; changed;) {
      count(launch.body);
      changed = fold(launch.body);
    }
    nameRepeated(launch);
  }

private:
  void count(const Block &block) {
    uses.clear();
    depthOf.clear();
    countBlock(block, 0);
  }

  void countBlock(const Block &block, unsigned depth) {
    for (const StmtPtr &stmt : block) {
      forEachExpr(std::as_const(*stmt), [&](Expr e) { countExpr(e, depth); });
      if (isa<LetStmt>(*stmt))
        depthOf[cast<LetStmt>(*stmt).var.get()] = depth;
      bool loops = isa<ForStmt>(*stmt) || isa<WhileStmt>(*stmt);
      forEachBlock(std::as_const(*stmt),
                   [&](const Block &inner) { countBlock(inner, depth + (loops ? 1 : 0)); });
    }
  }

  void countExpr(Expr e, unsigned depth) {
    if (e.isVar()) {
      VarUse &use = uses[e.get()];
      ++use.count;
      auto found = depthOf.find(e.get());
      use.inLoop |= found != depthOf.end() && found->second < depth;
    }
    for (Expr operand : e->operands)
      countExpr(operand, depth);
  }

  bool folds(const LetStmt &let) const {
    auto found = uses.find(let.var.get());
    if (found == uses.end())
      return true;
    unsigned length = size(let.value);
    if (length <= shortValue)
      return true;
    return found->second.count == 1 && !found->second.inLoop && length <= longestFold;
  }

  bool fold(Block &body) {
    Substitution map;
    collect(body, map);
    if (map.empty())
      return false;
    substitute(body, map);
    return true;
  }

  /// Takes the lets that fold out of the block; their values refer to each other in order.
  void collect(Block &block, Substitution &map) {
    Block out;
    for (StmtPtr &stmt : block) {
      if (auto *let = dynCast<LetStmt>(stmt.get()); let && folds(*let)) {
        map.emplace_back(let->var, ir::substitute(let->value, map));
        continue;
      }
      forEachBlock(*stmt, [&](Block &inner) { collect(inner, map); });
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  // ---- Names for repeated values of the launch
  // -------------------------------------------------------------------

  /// Whether `e` is made of the launch's variables, dims, scalars and constants only.
  bool ofLaunch(Expr e) {
    if (e.isConstant())
      return true;
    if (e.isVar())
      return launchVars.count(e.get()) != 0;
    return std::all_of(e->operands.begin(), e->operands.end(), [&](Expr o) { return ofLaunch(o); });
  }

  void tally(Expr e, std::unordered_map<const ExprNode *, unsigned> &counts,
             std::vector<Expr> &order) {
    if (e->operands.empty())
      return;
    if (ofLaunch(e) && e.dtype().isInteger() && !e.isConstant()) {
      if (counts[e.get()]++ == 0)
        order.push_back(e);
    }
    for (Expr operand : e->operands)
      tally(operand, counts, order);
  }

  /// How a value is made, as a name: "tid_div8_mod2"; empty if that would be no help.
  static std::string describe(Expr e, Expr tid) {
    if (e.isVar())
      return e->name;
    if (e.kind() == ExprKind::Cast) {
      std::string inner = describe(e->operands[0], tid);
      return inner.empty() || e.dtype().bits() <= e->operands[0].dtype().bits() ? inner
                                                                                : inner + "_wide";
    }
    if (e.kind() != ExprKind::Binary)
      return "";
    Expr a = e->operands[0], b = e->operands[1];
    std::string left = describe(a, tid), number = b.isInt() ? std::to_string(b->integer) : "";
    if (number.empty()) {
      std::string right = describe(b, tid);
      return e->binaryOp() == BinaryOp::Add && !left.empty() && !right.empty()
                 ? left + "_plus_" + right
                 : "";
    }
    if (left.empty() || b->integer < 0)
      return "";
    switch (e->binaryOp()) {
    case BinaryOp::FloorDiv:
      if (a == tid && b.isConstant(32))
        return "warp";
      // (x + 7) // 8 rounds up.
      if (a.kind() == ExprKind::Binary && a->binaryOp() == BinaryOp::Add &&
          a->operands[1].isConstant(b->integer - 1))
        return describe(a->operands[0], tid) + "_ceildiv" + number;
      return left + "_div" + number;
    case BinaryOp::FloorMod:
      return a == tid && b.isConstant(32) ? "lane" : left + "_mod" + number;
    case BinaryOp::Mul:
      return left + "_x" + number;
    case BinaryOp::Add:
      return left + "_plus" + number;
    default:
      return "";
    }
  }

  static std::string nameFor(Expr e, Expr tid) {
    std::string name = describe(e, tid);
    if (!name.empty() && name.size() <= longestName)
      return name;
    return e.dtype().bits() == 64 ? "offset" : "index";
  }

  void nameRepeated(Launch &launch) {
    launchVars.clear();
    launchVars.insert(launch.tid.get());
    for (Expr v : launch.blockVars)
      launchVars.insert(v.get());
    for (Expr v : launch.threadVars)
      if (v)
        launchVars.insert(v.get());
    for (const Dim &dim : function.dims)
      launchVars.insert(dim.var.get());
    for (const Param &param : function.params)
      if (param.scalar)
        launchVars.insert(param.scalar.get());

    std::unordered_map<const ExprNode *, unsigned> counts;
    std::vector<Expr> order;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      forEachExpr(stmt, [&](Expr e) { tally(e, counts, order); });
      return true;
    });
    // The largest first: what is inside of a named value no longer counts for itself.
    std::stable_sort(order.begin(), order.end(), [](Expr a, Expr b) { return size(a) > size(b); });
    std::vector<std::pair<Expr, Expr>> names;
    for (Expr e : order) {
      if (counts[e.get()] < 3)
        continue;
      names.emplace_back(e, function.context->var(nameFor(e, launch.tid), e.dtype()));
      discount(e, counts[e.get()] - 1, counts);
    }
    if (names.empty())
      return;
    replaceAll(launch, names);
  }

  void discount(Expr e, unsigned by, std::unordered_map<const ExprNode *, unsigned> &counts) {
    for (Expr operand : e->operands) {
      if (auto found = counts.find(operand.get()); found != counts.end())
        found->second -= std::min(found->second, by);
      discount(operand, by, counts);
    }
  }

  Expr replaced(Expr e, const std::vector<std::pair<Expr, Expr>> &names, Expr except) {
    if (e != except)
      for (const auto &[value, name] : names)
        if (value == e)
          return name;
    if (e->operands.empty())
      return e;
    std::vector<Expr> operands;
    bool changed = false;
    for (Expr operand : e->operands) {
      operands.push_back(replaced(operand, names, {}));
      changed |= operands.back() != operand;
    }
    return changed ? rebuild(e, operands) : e;
  }

  void replaceAll(Launch &launch, const std::vector<std::pair<Expr, Expr>> &names) {
    walk(launch.body, [&](Stmt &stmt) {
      forEachExpr(stmt, [&](Expr &e) { e = replaced(e, names, {}); });
      return true;
    });
    Block lets;
    for (auto it = names.rbegin(); it != names.rend();
         ++it) { // smaller values first: larger ones use them
      auto let = std::make_unique<LetStmt>(launch.range);
      let->var = it->second;
      let->value = replaced(it->first, names, it->first);
      lets.push_back(std::move(let));
    }
    for (StmtPtr &stmt : launch.body)
      lets.push_back(std::move(stmt));
    launch.body = std::move(lets);
  }

  Function &function;
  std::unordered_map<const ExprNode *, VarUse> uses;
  std::unordered_map<const ExprNode *, unsigned> depthOf;
  std::unordered_set<const ExprNode *> launchVars;
};

} // namespace

void pinValues(Function &function, PassContext &) {
  Pinning pinning(function);
  for (auto &launch : function.launches)
    pinning.run(*launch);
  function.phase = Phase::Named;
}

} // namespace tlc::passes
