// Which accesses of shared memory are not yet ordered by a barrier, at each point of thread code.
//
// The analysis runs through the statements in order with a list of pending accesses, over loop
// back-edges (where entries move one iteration into the past) and both arms of branches. Where an
// access may meet a pending one of another thread, a barrier is missing; it is noted, and taken as
// there from then on.
#pragma once

#include "analysis/Addresses.h"
#include "analysis/Uniformity.h"
#include "ir/Function.h"

#include <llvm/ADT/SmallVector.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tlc::passes {

/// Where a statement stands.
struct Place {
  const ir::Stmt *parent = nullptr; ///< null: the launch's body
  ir::Block *block = nullptr;       ///< that holds it
  std::size_t index = 0;            ///< in the block
};

/// A barrier to be put in front of a statement.
struct SyncPoint {
  bool drain = false;                 ///< waits for asynchronous copies first
  bool drainProducts = false;         ///< waits for the warpgroup's products first
  const ir::RoleStmt *role = nullptr; ///< whose threads it joins; null: the block's
};
/// In the order in which they were found.
using SyncPoints = std::vector<std::pair<const ir::Stmt *, SyncPoint>>;

/// A missing barrier for which there is no place.
struct Unplaceable {
  const ir::Stmt *earlier = nullptr, *later = nullptr;
  const ir::Stmt *cause = nullptr; ///< what makes the control divergent
};

class SyncAnalysis {
public:
  SyncAnalysis(ir::Function &function, ir::Launch &launch);

  /// Adds to `points` until nothing is missing.
  void complete(SyncPoints &points);
  /// Whether nothing is missing with these. Costs nothing if the last run was the one that found
  /// so.
  bool sufficient(const SyncPoints &points);
  /// After `sufficient` said yes: whether nothing is missing without the barrier in front of `stmt`
  /// either. If so, it is left out from now on. Takes time for the statements between this barrier
  /// and those next to it, not for the whole launch.
  bool superfluous(const ir::Stmt &stmt);

  std::vector<Unplaceable> unplaceable; ///< found by complete
  /// Barriers, and statements with points in front, that must stand behind a fence: they order
  /// ordinary writes before reads by descriptor, which go another way to shared memory. Of the last
  /// run.
  std::unordered_set<const ir::Stmt *> fences;
  bool readsByDescriptor() const { return !described.empty(); }
  const Place &placeOf(const ir::Stmt &stmt) const { return places.at(&stmt); }

private:
  /// Back-edges after which an asynchronous write is no longer followed exactly; more than any
  /// pipeline has stages.
  static constexpr int maxShifts = 16;
  /// How far an asynchronous access is.
  enum class Flight : std::uint8_t { Done, Open, Committed };
  struct Pending {
    analysis::Address address;
    const ir::Stmt *origin = nullptr;    ///< from where on a barrier orders it
    const ir::Stmt *carriedBy = nullptr; ///< loop whose back-edge it has crossed last
    Flight flight = Flight::Done;
    bool fenced = false; ///< a write that reads by descriptor may see, once it is ordered
    bool inWarp = false; ///< ordered for the warp that made it
    const analysis::WarpElements *warps = nullptr; ///< null: not known
    std::int64_t age = 0;                          ///< Committed: commits since, up to `oldest`
    int shifts = 0; ///< back-edges of its loop that it has crossed since it was known exactly
    /// Conditions under which it happened, in terms of loop variables.
    llvm::SmallVector<ir::Expr, 6> guards;
    const ir::RoleStmt *role = nullptr;
    bool operator==(const Pending &) const = default;
  };
  struct State {
    bool live = true; ///< can be reached
    std::vector<Pending> pending;
    bool operator==(const State &) const = default;
  };
  /// What a statement contains, nested ones included.
  struct Summary {
    bool accesses = false; ///< of memory that threads share
    bool writes = false;
    bool synchronises = false; ///< barriers, waits, commits
    bool jumps = false;        ///< break, continue, exit
    bool async = false;        ///< waits and commits
  };
  /// How expressions of one iteration read in the next; null: they cannot be followed.
  struct Shifted {
    std::unordered_map<const ir::ExprNode *, ir::Expr> followed, forgotten;
  };
  /// The state at the head of a loop in a loop when its rounds had settled last.
  struct Settled {
    analysis::States::Id known; ///< what ranges knew there
    unsigned revision;          ///< of the points, before its first round and since
    State head;
  };
  struct LoopFrame {
    const ir::Stmt *loop = nullptr;
    std::vector<State> breaks, continues;
    bool singly = false; ///< one round with a known number is looked at
  };

  Summary index(ir::Block &block, const ir::Stmt *parent);
  bool hasPointInside(const ir::Stmt &stmt) const;
  const std::vector<analysis::Address> &addresses(const ir::Stmt &stmt);
  void start(const SyncPoints &points);
  void countPoint(const ir::Stmt &stmt, int more);
  bool resume(std::size_t first, State state);
  void step(const ir::Stmt &stmt, State &state);
  void learn(const ir::Stmt &stmt);
  void visit(const ir::Block &block, State &state);
  void visit(const ir::Stmt &stmt, State &state);
  void dropImpossible(State &state) const;
  void visitIf(const ir::IfStmt &stmt, State &state);
  void visitFor(const ir::ForStmt &loop, State &state);
  void visitWhile(const ir::WhileStmt &loop, State &state);
  void visitRole(const ir::RoleStmt &role, State &state);
  State runBody(const ir::ForStmt &loop, State state, ir::Expr exactly);
  void shift(const ir::ForStmt &loop, State &state);
  ir::Expr shifted(const ir::ForStmt &loop, ir::Expr e, bool follow);
  bool continues(const ir::Stmt &loop, State &head);
  bool settles(State &head, const State &after, int number);
  void note(const ir::Stmt &loop, const State &head, unsigned before);
  State leave(const ir::Stmt &loop, ir::Expr var, State exits);
  void forget(const ir::Stmt &loop, ir::Expr var, State &state);
  void visitAccesses(const ir::Stmt &stmt, State &state);
  void visitSync(const ir::Stmt &stmt, State &state);
  void handOver(const ir::Stmt &stmt, State &state);
  bool conflicts(const Pending &pending, const analysis::Address &address);
  bool bySameThreads(const Pending &pending) const;
  bool onlyOwn(const Pending &pending, const analysis::Address &address);
  ir::Expr inAllRounds(const ir::Stmt &loop, ir::Expr index);
  bool elsewhereEachTime(const Pending &pending, const analysis::Address &address);
  bool mayMeet(const Pending &pending, const analysis::Address &address);
  const ir::Stmt *missing(const Pending &pending, const ir::Stmt &stmt);
  void applyPoint(const SyncPoint &point, const ir::Stmt &stmt, State &state);
  void waitFor(ir::AsyncKind kind, std::int64_t open, const ir::Stmt &stmt, State &state);
  void order(const ir::RoleStmt *role, const ir::Stmt &stmt, State &state);
  void join(State &into, const State &from);
  void add(State &into, const Pending &entry);
  bool contains(const ir::Stmt &outer, const ir::Stmt &inner) const;
  std::vector<const ir::Stmt *> chain(const ir::Stmt &stmt) const;

  ir::Function &function;
  ir::Launch &launch;
  analysis::Uniformity uniformity;
  analysis::ThreadAddresses threads;
  std::unordered_map<const ir::Stmt *, Place> places;
  std::unordered_map<const ir::Stmt *, analysis::ExprSet> definitions; ///< inside each loop
  std::unordered_map<const ir::Stmt *, Shifted> shifts;                ///< of each loop
  /// Of loops of one elementwise op: a variable that stands for all of their rounds, and indices
  /// with it in place of the loop's own.
  struct EveryRound {
    ir::Expr var;
    std::unordered_map<const ir::ExprNode *, ir::Expr> indices;
  };
  std::unordered_map<const ir::Stmt *, EveryRound> everyRound;
  std::unordered_set<const ir::Buffer *> watchedGlobals; ///< read and written in the launch
  std::unordered_set<const ir::Buffer *> described;      ///< read by descriptor
  std::unordered_map<const ir::Stmt *, Summary> summaries;
  std::int64_t oldest = 0;   ///< no wait of the launch leaves more groups under way
  bool warpBarriers = false; ///< there are some, so it matters which warp accesses what
  /// Without their intervals, which depend on where the analysis stands.
  std::unordered_map<const ir::Stmt *, std::vector<analysis::Address>> addressCache;
  std::unordered_map<const ir::Stmt *, int> pointsInside;
  analysis::Ranges ranges;     ///< one for all runs: what it found out in one serves the next
  analysis::Ranges everywhere; ///< what all threads know in the whole launch
  std::map<const ir::Stmt *, SyncPoint> points;
  /// By index in the launch's body: the state before statements that have a point in front of them
  /// or inside, with the points as they are.
  std::map<std::size_t, State> checkpoints;
  unsigned revision = 0;       ///< of the points: one more with each that a run finds
  SyncPoints *found = nullptr; ///< null: only say whether something is missing
  bool missed = false;
  bool settled = false; ///< the last run was a whole one, with these points, and missed none
  std::unordered_map<const ir::Stmt *, Settled> heads; ///< of this run
  std::vector<LoopFrame> loops;
  std::vector<ir::Expr> guards;
  std::vector<const ir::RoleStmt *> roles;
};

} // namespace tlc::passes
