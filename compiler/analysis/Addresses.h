// Accesses of thread code to memory that threads share, and whether two of them can meet.
#pragma once

#include "analysis/Effects.h"
#include "analysis/Ranges.h"
#include "analysis/Uniformity.h"
#include "ir/Function.h"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
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
  /// The elements that each warp's threads may touch, for all values of the variables in scope;
  /// empty: nothing is known.
  std::vector<std::vector<Interval>> byWarps(const Address &address, Ranges &ranges) const;

private:
  using Values = std::vector<std::int64_t>; ///< by thread

  bool isThread(ir::Expr var) const;
  const Values *inThreads(ir::Expr e);
  const Values *threadPart(ir::Expr index, const Ranges &ranges);
  static bool keptApart(const Values &values, std::int64_t count, std::int64_t distance,
                        std::int64_t otherCount);

  const ir::Launch &launch;
  const Uniformity &uniformity;
  std::unordered_map<const ir::ExprNode *, std::optional<Values>> inThread;
  /// The summands of an index that depend on the thread.
  std::unordered_map<const ir::ExprNode *, std::optional<Values>> parts;
  std::map<std::tuple<const Values *, std::int64_t, std::int64_t, std::int64_t>, bool> apart;
};

/// Whether the two may touch a common byte: storage in the arena, versions and element ranges are
/// looked at. Two reads never meet, nor do two atomics.
bool mayMeet(const Address &a, const Address &b, const Ranges &ranges);
/// The same in whatever versions.
bool elementsMayMeet(const Address &a, const Address &b);

/// `e` with lets replaced by their definitions.
ir::Expr expandLets(ir::Expr e, const Ranges &ranges);

} // namespace tlc::analysis
