// Where an element is, once layouts are decided: physical elements for the thread phase.
#pragma once

#include "ir/Buffer.h"
#include "ir/Function.h"

#include <span>

namespace tlc::passes {

/// Registers that each thread holds of a fragment: the size of its layout's "reg" axis.
std::int64_t registerCount(const ir::Buffer &fragment);
/// Whether every thread holds all of a fragment, so that scalar code may use any element.
bool heldByAll(const ir::Buffer &fragment);
/// Elements that a shared or local buffer takes per version: the size of its layout, or the product
/// of its shape.
std::int64_t physicalSize(const ir::Buffer &buffer);

/// The physical element at logical `indices` (one per dim) of a global, shared or local buffer, or
/// of a fragment that every thread holds whole (its layout's thread digits are all free). Views are
/// resolved to their storage where dtypes agree; a view of another dtype keeps itself, with offsets
/// in its own elements.
ir::Element physicalElement(ir::Buffer &buffer, std::span<const ir::Expr> indices,
                            ir::Expr version = {});
inline ir::Element physicalElement(const ir::Element &e) {
  return e.physical ? e : physicalElement(*e.buffer, e.indices, e.version);
}
/// Register `index` of a fragment (or of a local array).
ir::Element registerElement(ir::Buffer &fragment, ir::Expr index);

} // namespace tlc::passes
