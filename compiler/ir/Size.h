// How long an expression is when it is written out.
#pragma once

#include "ir/Expr.h"

namespace tlc::ir {

/// Operations and leaves, shared ones counted each time, as far as `limit`.
unsigned exprSize(Expr e, unsigned limit = 1000);

} // namespace tlc::ir
