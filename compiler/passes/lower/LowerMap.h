// One map as the loop of a thread. Used by lower-map; see LowerMap.cpp.
#pragma once

#include "ir/Builder.h"
#include "passes/lower/MapVectors.h"
#include "support/Diagnostics.h"

namespace tlc::passes {

struct MapThread {
  ir::Expr index;         ///< of the executing thread in its role, from 0
  std::int64_t count = 1; ///< threads of the role
  Divides divides;
  DiagnosticEngine *diagnostics = nullptr; ///< told of accesses that no thread can make
  bool concurrent = true;                  ///< whether other threads run at the same time (GPUs)
  bool atomicVectors = false; ///< whether neighbours in global memory can be added at once
  bool vectors = true; ///< whether wide accesses exist (GPUs); otherwise loops are left to the
                       ///< downstream compiler
};

/// Appends to the builder's block what the executing thread does of `map`.
void lowerMapStmt(ir::Builder &builder, ir::MapStmt &map, const MapThread &thread);

} // namespace tlc::passes
