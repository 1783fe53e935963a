// lower-addresses: every element becomes physical; fragments become register arrays.
//
//   alloc %acc: fragment f32[128, 128] layout reg(...) thread(...)     alloc %acc: local f32[128]
//   let %x = load %A_s[%i, %j]                                   =>    let %x = load
//   %A_s{swizzle(%i, %j)} store %C[%by*128 + %i, %j] = %x                                    store
//   %C{(%by*128 + %i)*%N + %j} = %x
//
// Why here: last of the lowerings, which need logical indices and layouts; whoever comes after sees
// one index per element.
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// A view that stands for its storage everywhere by now needs no statement of its own.
bool resolvedView(const Buffer &buffer) {
  return buffer.base && buffer.base->dtype == buffer.dtype;
}

/// Whether thread code can say what the statement does; reports where not.
bool possible(Stmt &stmt, DiagnosticEngine &diagnostics) {
  bool held = true;
  forEachUse(stmt, [&](const BufferUse &use) {
    if (!held || !use.element || use.element->physical || use.buffer->scope != Scope::Fragment ||
        heldByAll(*use.buffer))
      return;
    held = false;
    diagnostics.report(diag::NoLayout, stmt.range, use.buffer->name,
                       "each thread would need elements that other threads hold; use it in "
                       "T.Parallel, or copy it to shared memory first");
  });
  return held;
}

void lowerBlock(Block &block, DiagnosticEngine &diagnostics) {
  rewrite(block, [&](StmtPtr stmt, Block &out) {
    if (!possible(*stmt, diagnostics))
      return;
    forEachUse(*stmt, [](const BufferUse &use) {
      TLC_CHECK(!use.region, "a tile op is left after lowering");
      if (use.element)
        *use.element = physicalElement(*use.element);
    });
    auto *alloc = dynCast<AllocStmt>(stmt.get());
    if (!alloc || !resolvedView(*alloc->buffer))
      out.push_back(std::move(stmt));
  });
}

} // namespace

void lowerAddresses(Function &function, PassContext &context) {
  for (auto &launch : function.launches)
    lowerBlock(launch->body, context.diagnostics);
  if (context.failed())
    return;
  // Only now: views and elements were resolved by way of the layouts.
  for (auto &buffer : function.buffers)
    if (buffer->scope == Scope::Fragment && !buffer->base && buffer->layout) {
      buffer->shape = {function.context->int32(registerCount(*buffer))};
      buffer->layout.reset();
    }
  for (auto &buffer : function.buffers)
    if (buffer->scope == Scope::Fragment)
      buffer->scope = Scope::Local;
  function.phase = Phase::Thread;
}

} // namespace tlc::passes
