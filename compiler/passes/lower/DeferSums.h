// Sums over the rounds of a loop whose parts threads need not bring together before its end.
//
//   fill %sum = 0                                     fill %sum = 0
//   for … {                                           for … {
//     reduce sum %S -> %t axis 1                        %t: what each thread has of the sum
//     map %i { %sum[%i] = %sum[%i] * %f[%i]     =>      map %i { … } as before
//                         + %t[%i] }
//   }                                                 }
//                                                     reducer finalize sum %sum
//   copy %sum -> …                                    copy %sum -> …
//
// Softmax over tiles keeps such sums. All copies of an element are scaled alike, so it does not
// matter whether they hold the same value or parts of it; the trip through shared memory with its
// barriers then happens once instead of once a round. Only where the parts lie in several warps:
// without the butterflies of a single one attention with 128 columns of K was 1 % faster and, under
// a causal mask, 2 % slower, with three warpgroups 3 % slower (H200).
#pragma once

#include "ir/Function.h"

#include <set>

namespace tlc::passes {

/// Puts `finalize` where sums of the launch are first needed as a whole; gives the reductions that
/// shall leave their parts where they are. `warp`: its threads. Layouts must be decided.
std::set<const ir::ReduceStmt *> deferSums(ir::Launch &launch, Index warp);

} // namespace tlc::passes
