// lower-gemm: gemms become loads of operand fragments and matrix instructions.
//
//   gemm %A_s, %B_s -> %C_l atom mma_m16n8k16_f16_f16_f32 warps 2 2
//     =>
//   alloc %a: local f16[64] ; alloc %b: local f16[64]
//   for %i in 0 .. 4 unroll { ldmatrix_x4(%a[%i*8], %A_s{…}) } …          the operands of the first
//   step along k for %k in 0 .. 1 unroll {
//     …                                                                   those of the next step,
//     in the other half for %i … for %j … { mma_m16n8k16_f16_f16_f32(%C_l[(%i*8 + %j)*4], %a[…],
//     %b[…]) }
//   }
//   …                                                                     the products of the last
//   step
//
// Operands are loaded one step ahead of their use, so that loads overlap with multiplications.
// Scalar atoms become loops over each thread's block of the result; products of warpgroups read
// shared memory themselves (LowerGemmWarpGroup.cpp).
//
// Before lower-addresses, which turns fragments into register arrays.
#include "passes/lower/LowerGemm.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/infer/Views.h"
#include "passes/lower/LowerRole.h"
#include "passes/lower/Physical.h"
#include "passes/roles/RoleRegisters.h"
#include "support/Check.h"

#include <unordered_map>

namespace tlc::passes {

using namespace ir;

void unrolledLoop(Builder &b, const char *name, Index count, const std::function<void(Expr)> &f) {
  b.unrolled(name, count, f);
}

std::optional<Layout> sharedOffsets(const Region &region, const Layout &access) {
  if (!region.buffer->layout)
    return std::nullopt;
  auto tile = region.constantTileExtents();
  IndexMap map = regionMap(region, *tile);
  auto constants = map.constants();
  auto coordinates = composeExtended(map.layout, access);
  if (!constants || !coordinates)
    return std::nullopt;
  Layout memory = *region.buffer->layout;
  for (std::size_t d = 0; d < constants->size(); ++d) {
    OutputAxis &o = coordinates->outputs[d];
    o.base += (*constants)[d];
    o.size += (*constants)[d];
    memory = extendInput(memory, o.name, o.size);
  }
  return compose(memory, *coordinates);
}

Element sharedElement(const GemmContext &g, const Region &region, const Layout &access,
                      const std::vector<Expr> &inputs, const std::vector<Index> &limits) {
  bool limited = false;
  for (Index l : limits)
    limited = limited || l > 0;
  if (!limited)
    if (auto offsets = sharedOffsets(region, access))
      return Element{
          &countedIn(*region.buffer), {offsetExpr(*offsets, inputs)}, region.version, true};
  std::vector<Expr> tile = layoutExprs(access, inputs), indices;
  for (std::size_t d = 0; d < tile.size(); ++d)
    if (d < limits.size() && limits[d] > 0)
      tile[d] = minimum(tile[d], g.context().integer(tile[d].dtype(), limits[d] - 1));
  std::size_t next = 0;
  for (unsigned d = 0; d < region.offsets.size(); ++d) {
    Expr offset = region.offsets[d];
    indices.push_back(
        region.isDropped(d) ? offset : offset + g.context().cast(offset.dtype(), tile.at(next++)));
  }
  return physicalElement(*region.buffer, indices, region.version);
}

void clearAccumulators(const GemmContext &g, Buffer &c, Index registers, const RegisterMap &map) {
  if (!g.gemm.clear || g.gemm.clear.isFalse())
    return;
  auto zero = [&] {
    unrolledLoop(g.b, "r", registers, [&](Expr r) {
      g.b.store(registerElement(c, map.at(r)), g.context().zero(c.dtype));
    });
  };
  if (g.gemm.clear.isTrue())
    zero();
  else
    g.b.when(g.gemm.clear, zero);
}

GemmContext gemmContext(const GemmStmt &gemm, Builder &b, const Target &target,
                        const RoleThreads &threads) {
  auto shape = gemmShape(gemm);
  TLC_CHECK(shape && gemm.atom, "a gemm without atom or shape");
  GemmGrid grid = gemmGrid(*gemm.atom, *shape, gemm.warpsM, gemm.warpsN, threads.count);
  return {b, gemm, target, *shape, grid, threads.index, threads.count};
}

/// The most sums of an instruction of each gemm: what its kernel's threads have before roles say
/// how many registers they get.
static std::unordered_map<const GemmStmt *, Index> sumsAtLaunch(const Function &function,
                                                                const Target &target) {
  std::unordered_map<const GemmStmt *, Index> most;
  for (const auto &launch : function.launches)
    walk(std::as_const(launch->body), [&](const Stmt &stmt) {
      if (const auto *gemm = dynCast<GemmStmt>(&stmt))
        most[gemm] = std::max<Index>(
            1, registersAtLaunch(*launch, target, launch->threadCount() + launch->extraThreads) -
                   besideInstruction);
      return true;
    });
  return most;
}

void lowerGemm(Function &function, PassContext &context) {
  WarpGroupCode warpGroups;
  std::unordered_map<const GemmStmt *, Index> most;
  if (context.target.has(Feature::Wgmma))
    most = sumsAtLaunch(function, context.target);
  lowerInRoles(function, context.target,
               [&](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
                 if (isa<ForStmt>(*stmt))
                   return lowerGemmLoop(stmt, b, context.target, threads);
                 auto *gemm = dynCast<GemmStmt>(stmt.get());
                 if (!gemm)
                   return false;
                 if (auto found = most.find(gemm); found != most.end())
                   warpGroups.mostSums = found->second;
                 GemmContext g = gemmContext(*gemm, b, context.target, threads);
                 if (gemm->atom->kind == AtomKind::Matrix)
                   lowerMatrixGemm(g);
                 else if (gemm->atom->kind == AtomKind::WarpGroup)
                   lowerWarpGroupGemm(g, warpGroups);
                 else
                   lowerScalarGemm(g);
                 return true;
               });
  finishWarpGroups(function, warpGroups);
}

} // namespace tlc::passes
