// lower-sums: sums that the blocks of a cluster share are exchanged register by register.
//
//   call send_sums<8, 1>(write %inbox[0] : 3584, read %C_l[0, 0] : 4096, %tid, %part, %doublings)
//     =>
//   call send_sums<8, 1, 32, 128>(write %inbox[0] : 3584, read %C_l![0] : 32, …)
//
// The thread of the same number in another block holds the same elements, so nothing is asked of
// where they lie but that pieces of columns are runs of registers.
//
// Why here: a thread's registers are known since layouts are; afterwards no fragment is left.
#include "ir/Walk.h"
#include "layout/Layout.h"
#include "passes/Pass.h"
#include "passes/lower/LowerRole.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// Whether thread 0 holds `pieces` runs of columns one after the other in each of `runs` runs of
/// its registers.
bool liesInPieces(const Buffer &sums, std::int64_t pieces, std::int64_t runs) {
  const Layout &home = *sums.layout;
  const bool regFirst = home.inputs.front().name == "reg";
  const std::int64_t count = registerCount(sums), width = sums.constantShape()->back() / pieces;
  for (std::int64_t r = 0; r < count; ++r) {
    Point at = regFirst ? home({r, 0}) : home({0, r});
    if (at[1] / width != r % (count / runs) * pieces * runs / count)
      return false;
  }
  return true;
}

} // namespace

void lowerSums(Function &function, PassContext &context) {
  lowerInRoles(function, context.target,
               [&](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
                 auto *call = dynCast<CallStmt>(stmt.get());
                 if (!call || (call->callee != "send_sums" && call->callee != "add_sums"))
                   return false;
                 for (Argument &argument : call->args)
                   if (auto *pointer = std::get_if<Pointer>(&argument);
                       pointer && pointer->element.buffer->scope == Scope::Fragment) {
                     Buffer &sums = *pointer->element.buffer;
                     TLC_CHECK(sums.layout &&
                                   liesInPieces(sums, call->templateArgs[0], call->templateArgs[1]),
                               "sums that do not lie as their products leave them");
                     const std::int64_t count = registerCount(sums);
                     call->templateArgs.push_back(count);
                     call->templateArgs.push_back(threads.count);
                     pointer->element = registerElement(sums, b.context().int32(0));
                     pointer->count = b.context().int32(count);
                   }
                 b.add(std::move(stmt));
                 return true;
               });
}

} // namespace tlc::passes
