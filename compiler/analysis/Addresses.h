// Accesses of thread code to memory that threads share, and whether two of them can meet.
#pragma once

#include "analysis/Effects.h"
#include "analysis/Ranges.h"
#include "analysis/Uniformity.h"
#include "ir/Function.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tlc::analysis {

/// One access of one thread (or, for warp operations, of a warp) to a run of elements.
struct Address {
  const ir::Stmt *stmt = nullptr;
  unsigned use = 0; ///< which of the statement's accesses
  ir::Buffer *buffer = nullptr;
  bool reads = false, writes = false, atomic = false;
  /// Not done before a wait: the write of a cp.async, what a warpgroup product or a tensor map
  /// reads.
  std::optional<ir::AsyncKind> async;
  bool warp = false; ///< the address is one lane's, but other lanes get the data
  ir::Expr index;    ///< first element, lets expanded; null: not known
  ir::Expr version;  ///< null: not known
  std::int64_t count = 1;
  /// All elements it may touch, for all values of the variables in scope.
  Interval elements;
  bool operator==(const Address &) const = default;
};

/// The accesses of a statement itself to shared and global memory, with what ranges know there.
/// Physical elements: one index.
std::vector<Address> addressesOf(const ir::Stmt &stmt, const Ranges &ranges);

/// By warp: the elements that its threads may touch.
using WarpElements = std::vector<std::vector<Interval>>;

/// Which threads compute a thread-dependent index; decides whether two accesses of one element are
/// always made by one thread.
class ThreadAddresses {
public:
  ThreadAddresses(const ir::Launch &launch, const Uniformity &uniformity)
      : launch(launch), uniformity(uniformity) {}
  /// Whether accesses a and b of one buffer and version touch common elements only when the same
  /// thread makes both: their indices differ by a constant, and the part that depends on the thread
  /// keeps the threads' runs apart.
  bool onlyOwn(const Address &a, const Address &b, const Ranges &ranges);
  /// A variable of a loop, and what it is in all rounds.
  struct Rounds {
    ir::Expr var;
    Interval values;
  };
  /// From now on `rounds.var` in an index means: at each of these values, in whatever order. (A
  /// variable of a loop that is over is replaced by one like this.)
  void standsForAll(const Rounds &rounds) { everyRound.emplace(rounds.var.get(), rounds); }
  /// As `onlyOwn`, of all accesses that indices with such variables stand for, thread by thread.
  /// `ranges` must know nothing that holds for some threads only: both are looked at in all.
  bool onlyOwnOfAll(const Address &a, const Address &b, const Ranges &ranges);
  /// Whether none of `threads` touches in one round of the first of some short loops, in whatever
  /// rounds of the others, what another one touches in another; what else the index depends on
  /// stays as it is.
  bool apartOver(const Address &address, std::span<const Rounds> loops, Interval threads,
                 const Ranges &ranges);
  /// The elements that each warp's threads may touch, for all values of the variables in scope;
  /// null: nothing is known. Kept as long as this lives; equal elements have equal addresses.
  const WarpElements *byWarps(const Address &address, Ranges &ranges);
  /// What either of two may touch.
  const WarpElements *either(const WarpElements *a, const WarpElements *b);
  /// Whether the two touch common elements only when threads of one warp make both.
  bool onlyOwnWarp(const WarpElements *a, const WarpElements *b);

private:
  using Values = std::vector<std::int64_t>; ///< by thread
  struct Run {
    std::int64_t begin = 0, end = 0;
    std::int64_t owner = 0; ///< runs of one owner may overlap
    auto operator<=>(const Run &) const = default;
  };
  /// What all threads touch, by its place; `rest` is added to each.
  struct Runs {
    std::vector<Run> runs;
    Poly rest;
  };

  bool isThread(ir::Expr var) const;
  const Values *inThreads(ir::Expr e);
  const Values *threadPart(ir::Expr index, const Ranges &ranges);
  WarpElements computeByWarps(const Address &address, Ranges &ranges) const;
  const WarpElements *kept(WarpElements elements);
  static bool keptApart(std::vector<Run> runs);
  /// Of all threads in at most so many rounds of each loop; null: not known.
  const Runs *runsOf(const Address &address, std::int64_t most, const Ranges &ranges);
  bool ownedAlike(const Runs &first, const Runs &second);
  bool fewCombinations(std::span<const Rounds> loops) const;
  bool computeApartOver(const Address &address, std::span<const Rounds> loops, Interval threads,
                        const Ranges &ranges);
  bool addRuns(const Address &address, ir::Expr index, std::span<const Rounds> loops,
               Interval threads, const Ranges &ranges, std::vector<Run> &runs,
               std::optional<Poly> &rest);

  const ir::Launch &launch;
  const Uniformity &uniformity;
  std::unordered_map<const ir::ExprNode *, Rounds> everyRound;
  std::unordered_map<const ir::ExprNode *, std::optional<Values>> inThread;
  /// The summands of an index that depend on the thread, by what is known of variables: it says
  /// which summands there are.
  std::map<std::pair<const ir::ExprNode *, States::Id>, const Values *> parts;
  std::set<Values> partValues; ///< of which `parts` has some
  std::map<std::tuple<const Values *, std::int64_t, std::int64_t, std::int64_t>, bool> apart;
  struct WarpElementsHash {
    std::size_t operator()(const WarpElements &elements) const;
  };
  std::unordered_set<WarpElements, WarpElementsHash> warpElements;
  /// By index, length of the run and what is known of variables.
  std::map<std::tuple<const ir::ExprNode *, std::int64_t, States::Id>, const WarpElements *>
      ofIndex;
  std::map<std::pair<const WarpElements *, const WarpElements *>, bool> inOwnWarp;
  /// By index, length of the run, threads and variables of loops with their ends, and what is known
  /// of others.
  using InRounds = std::vector<std::tuple<const ir::ExprNode *, std::int64_t, std::int64_t>>;
  std::map<std::tuple<const ir::ExprNode *, std::int64_t, InRounds, States::Id>, bool> apartIn;
  /// By index, length of the run, rounds of the longest loop and what is known of variables.
  std::map<std::tuple<const ir::ExprNode *, std::int64_t, std::int64_t, States::Id>,
           std::optional<Runs>>
      allRuns;
  std::map<std::pair<const Runs *, const Runs *>, bool> inOwnThread;
};

/// Whether the two may touch a common byte: storage in the arena, versions and element ranges are
/// looked at. Two reads never meet, nor do two atomics.
bool mayMeet(const Address &a, const Address &b, const Ranges &ranges);
/// The same in whatever versions.
bool elementsMayMeet(const Address &a, const Address &b);

/// `e` with lets replaced by their definitions.
ir::Expr expandLets(ir::Expr e, const Ranges &ranges);

} // namespace tlc::analysis
