// What the variables of a thread can hold, wherever they are read.
//
//   store %slot[] = 0
//   for ... { load %s = %slot[]                        %slot holds 0 to 5
//             store %slot[] = select(%s == 5, 0, %s + 1) }
#pragma once

#include "analysis/Interval.h"
#include "ir/Function.h"

#include <unordered_map>

namespace tlc::analysis {

/// Of the integer variables of a launch that are only loaded and stored as a whole: an interval
/// that every value stored lies in, wrapped arithmetic included. Variables that may hold anything
/// are not listed. (Reading a variable before it is stored to has no meaning.)
std::unordered_map<const ir::Buffer *, Interval> variableIntervals(const ir::Launch &launch);

} // namespace tlc::analysis
