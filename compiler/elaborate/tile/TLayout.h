// Layouts that the program writes down: T.Layout, T.Fragment and the helpers that make them.
#pragma once

#include "elaborate/tile/TCall.h"

#include "layout/Layout.h"

namespace tlc::elaborate {

/// A layout as a value. A helper that only asks for a good one (make_swizzled_layout) is a hint
/// without a form.
struct LayoutObject : NativeObject {
  bool isFragment = false;
  bool hint = false;
  std::vector<std::int64_t> shape;
  /// T.Layout: the function, traced.
  std::vector<ir::Expr> extents, vars, results;
  SourceRange range;
  std::optional<Layout> layout; ///< fragment: (reg, thread) -> d0, d1 …; memory: d0, d1 … -> offset
  std::string typeName() const override { return isFragment ? "fragment layout" : "layout"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;
};

/// loop_layout=...: a T.Fragment over a box of these extents, or a report.
std::optional<Layout> fragmentLayout(Elaborator &, const Value &,
                                     const std::vector<ir::Expr> &extents, SourceRange range);

/// The value of an integer expression at a point; nullopt if it reads anything else than `vars`.
std::optional<std::int64_t> evaluateAt(ir::Expr e, std::span<const ir::Expr> vars,
                                       std::span<const std::int64_t> point);

} // namespace tlc::elaborate
