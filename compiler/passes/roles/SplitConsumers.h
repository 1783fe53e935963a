// Which part of a block's work a warpgroup of its own can do ahead of the others.
//
// A loop that multiplies a few rows twice, the second time into an accumulator so wide that the
// warpgroups share its columns, is a chain: the first product and what is done to its result are
// short of work for so many threads, and meanwhile the second product waits. The chain is cut where
// the wide accumulator begins. The program's own threads (the back) keep every statement that
// touches it; all the rest (the front) goes to one warpgroup more, which runs ahead as far as the
// tiles between the two allow.
#pragma once

#include "passes/roles/Channels.h"

namespace tlc::passes {

/// What the back reads of what the front computes, at one place of the program. All four statements
/// stand in `block`; accesses may be nested in them.
struct HandoverSite {
  const ir::Block *block = nullptr;
  const ir::Stmt *firstWriter = nullptr, *lastWriter = nullptr;
  const ir::Stmt *firstReader = nullptr;
};

/// One buffer that the front writes and the back reads, in as many rounds as its sites are met.
struct Handover {
  ir::Buffer *value = nullptr; ///< a fragment, or a shared tile that the front writes in place
  std::vector<HandoverSite> sites;
};

struct ConsumerSplit {
  /// Leaves (tile ops) of one side each; loops, branches and scalars are executed by both.
  std::unordered_set<const ir::Stmt *> front, back, both;
  std::vector<Handover> handovers;
  std::string reason; ///< why there is nothing to split; empty: there is
};

/// Looks, and changes nothing.
ConsumerSplit findConsumerSplit(const ir::Launch &launch, const ChannelPlan &channels);

/// Registers of a thread of the back for its sums and operands, if `threads` threads share them.
std::int64_t backRegisters(const ConsumerSplit &split, std::int64_t threads);

/// Shared memory that fragments need on their way from one side to the other.
std::int64_t handoverBytes(const ConsumerSplit &split);

/// Versions of a tile between the two sides: what is small does not make them wait for each other.
std::int64_t handoverVersions(const Handover &handover);

} // namespace tlc::passes
