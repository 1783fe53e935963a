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
// are saved, 1 to 3 % of attention, or lost, since the assembler orders a round anew; who asks says
// up to how many elements of a thread for a sum.
//
// A walk over tiles may need the sum of one tile after it has begun the next one (join-tiles): what
// registers hold is followed along all ways, and made whole wherever parts meet a reader.
#pragma once

#include "ir/Function.h"

#include <set>

namespace tlc::passes {

/// Puts `finalize` where sums of the launch are first needed as a whole; gives the reductions that
/// shall leave their parts where they are. `warp`: its threads; `lanes`: also where parts lie in
/// one warp, of up to so many elements of a thread for a sum. Layouts must be decided.
std::set<const ir::ReduceStmt *> deferSums(ir::Launch &launch, Index warp, Index lanes);

} // namespace tlc::passes
