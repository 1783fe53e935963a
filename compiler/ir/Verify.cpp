// Structure: binding, dominance, nesting, phases. The rules of single statements are in
// VerifyStmt.cpp and VerifyTile.cpp.
#include "ir/Verify.h"

#include "ir/VerifyState.h"
#include "ir/Walk.h"

namespace tlc::ir {
namespace {

bool mayAppear(StmtKind kind, Phase phase) {
  constexpr unsigned T = 1, S = 2, H = 4;
  constexpr unsigned phases[] = {
#define TLC_STMT(NAME, TEXT, PHASES) PHASES,
#include "ir/Nodes.def"
  };
  unsigned here = phase == Phase::Tile ? T : phase == Phase::Scheduled ? S : H;
  return phases[static_cast<unsigned>(kind)] & here;
}

/// What a statement stands in.
struct Place {
  unsigned loops = 0;
  bool inMap = false;
  std::int64_t threads = 0; ///< of the enclosing role or block
};

class Verifier {
public:
  explicit Verifier(const Function &function) : state(function), function(function) {}

  std::vector<Fault> run() {
    state.enter();
    state.range = function.range;
    interface();
    for (const auto &launch : function.launches)
      if (launch)
        this->launch(*launch);
    return std::move(state.found);
  }

private:
  void interface() {
    state.need(!function.name.empty(), "the function has no name");
    for (const Dim &d : function.dims) {
      state.bind(d.var);
      state.need(d.var && d.var.dtype().isInt(),
                 [&] { return "dim " + d.name + " is no integer"; });
    }
    for (const Param &p : function.params) {
      state.need((p.buffer != nullptr) != static_cast<bool>(p.scalar),
                 [&] { return "parameter " + p.name + " is not one of a tensor and a scalar"; });
      if (p.scalar)
        state.bind(p.scalar);
    }
    for (const LaunchConstant &c : function.launchConstants) {
      bool computed = c.what == LaunchConstant::What::Computed;
      state.need(computed == static_cast<bool>(c.value),
                 "a constant has a value exactly if it is computed");
      if (c.value)
        state.expr(c.value, "a constant");
      state.bind(c.var);
    }
    auto global = [&](const Buffer *b) {
      if (!state.need(b != nullptr, "a buffer is missing"))
        return;
      state.need(b->scope == Scope::Global, [&] { return "%" + b->name + " is no global buffer"; });
      state.need(!state.knows(b), [&] { return "%" + b->name + " is declared twice"; });
      state.introduce(b);
      state.buffer(*b);
    };
    for (const Param &p : function.params)
      if (p.buffer)
        global(p.buffer);
    for (const Buffer *b : function.workspace)
      global(b);
    for (const Constraint &c : function.constraints)
      state.condition(c.condition, "a constraint", false);
  }

  void launch(const Launch &l) {
    state.range = l.range;
    state.need(!l.grid.empty() && l.grid.size() <= 3, "a grid has 1 to 3 extents");
    for (Expr extent : l.grid)
      state.integer(extent, "the grid");
    if (l.clusterSize)
      state.integer(l.clusterSize, "the size of clusters");
    state.need(l.threads[0] > 0 && l.threads[1] > 0 && l.threads[2] > 0,
               "a launch without threads");
    state.enter();
    state.need(l.blockVars.size() == l.grid.size(),
               "one block variable per extent of the grid is wanted");
    for (Expr var : l.blockVars)
      state.bind(var);
    for (Expr var : l.threadVars)
      if (var)
        state.bind(var);
    state.bind(l.tid);
    state.need(l.tid && l.tid.dtype() == DType(Scalar::Int32), "the thread index is no int32");
    block(l.body, {0, false, l.threadCount() + l.extraThreads});
    state.leave();
  }

  void block(const Block &b, const Place &place) {
    state.enter();
    statements(b, place);
    state.leave();
  }

  void statements(const Block &b, const Place &place) {
    for (const StmtPtr &s : b)
      if (state.need(s != nullptr, "a statement is missing"))
        statement(*s, place);
  }

  void at(const Stmt &s) {
    state.current = &s;
    if (s.range.valid())
      state.range = s.range;
  }

  void statement(const Stmt &s, const Place &place) {
    at(s);
    if (!state.need(mayAppear(s.kind, function.phase), [&] {
          return std::string("this statement does not belong to the ") + phaseName(function.phase) +
                 " phase";
        }))
      return;
    verifyStmt(state, s);
    nesting(s, place);
    if (const auto *a = dynCast<AllocStmt>(&s); a && a->buffer)
      state.introduce(a->buffer);
    Place inner = place;
    if (isa<WhileStmt>(s))
      return whileLoop(cast<WhileStmt>(s), inner);
    if (isa<ForStmt>(s))
      ++inner.loops;
    if (isa<MapStmt>(s))
      inner = {0, true, place.threads};
    if (isa<RoleStmt>(s)) {
      inner.threads = cast<RoleStmt>(s).count;
      inner.loops = 0;
    }
    bool bindsInside = isa<ForStmt>(s) || isa<MapStmt>(s) || isa<RoleStmt>(s);
    if (bindsInside)
      state.enter();
    forEachDefinition(s, [&](Expr var) { state.bind(var); });
    forEachBlock(s, [&](const Block &b) { block(b, inner); });
    if (bindsInside)
      state.leave();
    state.current = nullptr;
    definitionsPresent(s);
  }

  /// What forEachDefinition skips because it is null.
  void definitionsPresent(const Stmt &s) {
    at(s);
    if (const auto *let = dynCast<LetStmt>(&s))
      state.need(static_cast<bool>(let->var), "the variable is missing");
    if (const auto *load = dynCast<LoadStmt>(&s))
      state.need(static_cast<bool>(load->var), "the variable is missing");
    if (const auto *loop = dynCast<ForStmt>(&s))
      state.need(static_cast<bool>(loop->var), "the variable is missing");
    if (const auto *role = dynCast<RoleStmt>(&s))
      state.need(role->team ? role->teams > 1 : role->teams == 1,
                 "a role has a variable for its teams if it has several");
    state.current = nullptr;
  }

  void whileLoop(const WhileStmt &s, Place inner) {
    ++inner.loops;
    state.enter();
    statements(s.conditionBlock, inner);
    at(s);
    state.condition(s.condition, "the condition", false);
    block(s.body, inner);
    state.leave();
    state.current = nullptr;
  }

  void nesting(const Stmt &s, const Place &place) {
    if (isa<BreakStmt>(s) || isa<ContinueStmt>(s))
      state.need(place.loops > 0, "there is no loop around it");
    bool isCollective = (isTileOp(s.kind) && !isa<ReducerStmt>(s)) || isa<RoleStmt>(s) ||
                        (isa<BarrierStmt>(s) && cast<BarrierStmt>(s).scope != BarrierScope::Warp);
    state.need(!place.inMap || !isCollective, "a collective in the body of a map");
    if (const auto *role = dynCast<RoleStmt>(&s))
      state.need(role->first >= 0 && role->count > 0 && role->teams > 0 &&
                     role->first + role->threads() <= place.threads,
                 "a role for threads that its surroundings do not have");
  }

  VerifyState state;
  const Function &function;
};

} // namespace

std::vector<Fault> faults(const Function &function) { return Verifier(function).run(); }

bool verify(const Function &function, DiagnosticEngine &diagnostics) {
  std::vector<Fault> found = faults(function);
  for (const Fault &fault : found)
    diagnostics.report(diag::InvalidIr, fault.range, phaseName(function.phase), fault.message);
  return found.empty();
}

} // namespace tlc::ir
