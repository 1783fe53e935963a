// What the gemm lowerings share. See LowerGemm.cpp.
#pragma once

#include "ir/Builder.h"
#include "passes/Pass.h"
#include "passes/infer/Registers.h"
#include "passes/lower/LowerRole.h"
#include "passes/plan/GemmLayouts.h"

#include <unordered_set>

namespace tlc::passes {

/// One gemm, about to be lowered in its role.
struct GemmContext {
  ir::Builder &b;
  const ir::GemmStmt &gemm;
  const Target &target;
  GemmShape shape;
  GemmGrid grid;
  ir::Expr thread;   ///< in its role, from 0
  Index threads = 1; ///< of the role

  ir::Context &context() const { return b.context(); }
  const ir::Region &region(Side side) const { return side == Side::A ? gemm.a : gemm.b; }
  bool kFirst(Side side) const { return passes::kFirst(gemm, side); }
  Index rows(Side side) const { return side == Side::A ? shape.m : shape.n; }
};

/// The physical element of a shared region that `access`, with inputs named and ordered as in
/// `inputs`, points to: access gives tile coordinates d0, d1. Coordinates at or beyond `limits` are
/// pulled back to the last legal one; limits of 0 need no care.
ir::Element sharedElement(const GemmContext &g, const ir::Region &region, const Layout &access,
                          const std::vector<ir::Expr> &inputs, const std::vector<Index> &limits);

/// The offset part of sharedElement as a layout, if indices are constants and digits fit; for
/// vector widths.
std::optional<Layout> sharedOffsets(const ir::Region &region, const Layout &access);

/// Calls `f(i)` for 0 .. count, in a loop that the downstream compiler unrolls.
void unrolledLoop(ir::Builder &b, const char *name, Index count,
                  const std::function<void(ir::Expr)> &f);

/// Statements that set the accumulators to zero where the gemm says so.
void clearAccumulators(const GemmContext &g, ir::Buffer &c, Index registers,
                       const RegisterMap &map);

GemmContext gemmContext(const ir::GemmStmt &gemm, ir::Builder &b, const Target &target,
                        const RoleThreads &threads);

void lowerMatrixGemm(const GemmContext &g);

/// Registers of an accumulator that lie together.
struct Accumulators {
  ir::Element first;
  Index count = 0;
};
/// What warpgroup products leave to be done when all gemms of a function are lowered.
struct WarpGroupCode {
  /// The products of one asynchronous gemm.
  struct Group {
    const ir::Stmt *commit = nullptr;
    std::vector<Accumulators> accumulators;
  };
  std::vector<Group> groups;
  bool any = false; ///< whether there are such products
  /// Registers of a thread that the sums of one instruction may take; 0: as many as there are.
  Index mostSums = 0;
  /// Fragments that products read.
  std::unordered_set<const ir::Buffer *> operands;
  /// Calls that only compute a value that loops do not change: descriptors and the like.
  std::unordered_set<const ir::Stmt *> values;
};
void lowerWarpGroupGemm(const GemmContext &g, WarpGroupCode &code);
/// Takes values out of loops; pins accumulators behind the waits that complete them, and what is
/// packed for a store.
void finishWarpGroups(ir::Function &function, const WarpGroupCode &code);
/// Keeps the downstream compiler from moving accesses to accumulators over what stands before.
void pinAccumulators(ir::Builder &b, const Accumulators &run);

/// A loop that waits for the tiles of a round, starts later copies and ends in a gemm: see
/// LowerGemmMatrix.cpp. False, and nothing is changed, if the loop is not like that.
bool lowerGemmLoop(ir::StmtPtr &loop, ir::Builder &b, const Target &target,
                   const RoleThreads &threads);
void lowerScalarGemm(const GemmContext &g);

} // namespace tlc::passes
