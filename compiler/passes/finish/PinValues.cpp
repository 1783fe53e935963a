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
#include "ir/Substitute.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>
#include <numeric>
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

/// Counts of text saturate: an expression that shares its parts may be written out very long.
unsigned plus(unsigned a, unsigned b) {
  constexpr unsigned most = 1u << 30;
  return std::min(most, a + std::min(most, b));
}

unsigned times(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::min<std::uint64_t>(std::uint64_t{a} * b, 1u << 30));
}

/// The nodes of an expression in the order in which they are written first, each with the number of
/// times that it is written.
std::vector<std::pair<Expr, unsigned>> occurrences(Expr root) {
  std::vector<std::pair<Expr, unsigned>> found;
  std::unordered_map<const ExprNode *, std::size_t> at;
  auto visit = [&](auto &&self, Expr e) -> void {
    if (!at.emplace(e.get(), found.size()).second)
      return;
    found.emplace_back(e, 0);
    for (Expr operand : e->operands)
      self(self, operand);
  };
  visit(visit, root);
  // What a node is made of is older than it.
  std::vector<std::size_t> youngestFirst(found.size());
  std::iota(youngestFirst.begin(), youngestFirst.end(), std::size_t{0});
  std::sort(youngestFirst.begin(), youngestFirst.end(),
            [&](std::size_t a, std::size_t b) { return found[a].first->id > found[b].first->id; });
  found.front().second = 1;
  for (std::size_t i : youngestFirst)
    for (Expr operand : found[i].first->operands) {
      unsigned &count = found[at.at(operand.get())].second;
      count = plus(count, found[i].second);
    }
  return found;
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

  void countExpr(Expr root, unsigned depth) {
    for (auto [e, count] : occurrences(root)) {
      if (!e.isVar())
        continue;
      VarUse &use = uses[e.get()];
      use.count = plus(use.count, count);
      auto found = depthOf.find(e.get());
      use.inLoop |= found != depthOf.end() && found->second < depth;
    }
  }

  /// Nodes, shared ones counted each time.
  unsigned size(Expr e) {
    if (auto known = sizes.find(e.get()); known != sizes.end())
      return known->second;
    unsigned n = 1;
    for (Expr operand : e->operands)
      n = plus(n, size(operand));
    sizes.emplace(e.get(), n);
    return n;
  }

  bool folds(const LetStmt &let) {
    auto found = uses.find(let.var.get());
    if (found == uses.end())
      return true;
    if (let.kept)
      return false;
    unsigned length = size(let.value);
    if (length <= shortValue)
      return true;
    return found->second.count == 1 && !found->second.inLoop && length <= longestFold;
  }

  bool fold(Block &body) {
    Substituter folded;
    collect(body, folded);
    if (folded.empty())
      return false;
    walk(body, [&](Stmt &stmt) {
      forEachExpr(stmt, [&](Expr &e) { e = folded(e); });
      return true;
    });
    return true;
  }

  /// Takes the lets that fold out of the block; their values refer to each other in order.
  void collect(Block &block, Substituter &folded) {
    Block out;
    for (StmtPtr &stmt : block) {
      if (auto *let = dynCast<LetStmt>(stmt.get()); let && folds(*let)) {
        folded.add(let->var, folded(let->value));
        continue;
      }
      forEachBlock(*stmt, [&](Block &inner) { collect(inner, folded); });
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
    if (auto known = launchOnly.find(e.get()); known != launchOnly.end())
      return known->second;
    bool all = std::all_of(e->operands.begin(), e->operands.end(),
                           [&](Expr operand) { return ofLaunch(operand); });
    launchOnly.emplace(e.get(), all);
    return all;
  }

  void tally(Expr root, std::unordered_map<const ExprNode *, unsigned> &counts,
             std::vector<Expr> &order) {
    for (auto [e, count] : occurrences(root)) {
      if (e->operands.empty() || !ofLaunch(e) || !e.dtype().isInteger() || e.isConstant())
        continue;
      auto [known, isNew] = counts.emplace(e.get(), 0);
      if (isNew)
        order.push_back(e);
      known->second = plus(known->second, count);
    }
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
    BinaryOp op = e->binaryOp();
    bool named = op == BinaryOp::Add ||
                 (b.isInt() &&
                  (op == BinaryOp::Mul || op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod));
    std::string left = named ? describe(a, tid) : "";
    if (left.empty() || left.size() > longestName || (b.isInt() && b->integer < 0))
      return "";
    if (!b.isInt()) {
      std::string right = describe(b, tid);
      return right.empty() ? "" : left + "_plus_" + right;
    }
    std::string number = std::to_string(b->integer);
    switch (op) {
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
    launchOnly.clear();
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
    std::stable_sort(order.begin(), order.end(), [&](Expr a, Expr b) { return size(a) > size(b); });
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

  void discount(Expr root, unsigned by, std::unordered_map<const ExprNode *, unsigned> &counts) {
    for (auto [e, count] : occurrences(root))
      if (auto found = counts.find(e.get()); found != counts.end() && e != root)
        found->second -= std::min(found->second, times(by, count));
  }

  void replaceAll(Launch &launch, const std::vector<std::pair<Expr, Expr>> &names) {
    Substituter named(Substitution(names.begin(), names.end()));
    walk(launch.body, [&](Stmt &stmt) {
      forEachExpr(stmt, [&](Expr &e) { e = named(e); });
      return true;
    });
    Block lets;
    for (auto it = names.rbegin(); it != names.rend();
         ++it) { // smaller values first: larger ones use them
      auto let = std::make_unique<LetStmt>(launch.range);
      let->var = it->second;
      llvm::SmallVector<Expr, 3> operands;
      for (Expr operand : it->first->operands)
        operands.push_back(named(operand));
      bool changed = operands != it->first->operands;
      let->value = changed ? rebuild(it->first, operands) : it->first;
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
  std::unordered_map<const ExprNode *, bool> launchOnly;
  std::unordered_map<const ExprNode *, unsigned> sizes;
};

} // namespace

void pinValues(Function &function, PassContext &) {
  Pinning pinning(function);
  for (auto &launch : function.launches)
    pinning.run(*launch);
  function.phase = Phase::Named;
}

} // namespace tlc::passes
