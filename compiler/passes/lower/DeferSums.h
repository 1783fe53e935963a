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
// barriers then happens once instead of once a round. Where parts lie in one warp only butterflies
// are saved: where rounds of products are short and a thread has up to 16 elements for each sum
// (attention of 64 columns and 64 dimensions) it is 1 to 3 % faster without them. With 32 elements,
// under a causal mask, or between longer products it was 1 to 4 % slower (H200; the assembler
// orders a round anew).
//
// A walk over tiles may need the sum of one tile after it has begun the next one (join-tiles): what
// registers hold is followed along all ways, and made whole wherever parts meet a reader.
#pragma once

#include "ir/Function.h"

#include <set>

namespace tlc::passes {

/// Puts `finalize` where sums of the launch are first needed as a whole; gives the reductions that
/// shall leave their parts where they are. `warp`: its threads; `lanes`: also where parts lie in
/// one warp, if elements are few. Layouts must be decided.
std::set<const ir::ReduceStmt *> deferSums(ir::Launch &launch, Index warp, bool lanes);

} // namespace tlc::passes
