// Layouts from sampled functions.
#pragma once

#include "layout/Layout.h"

#include <variant>

namespace tlc {

/// The first point at which a sampled function is no Layout.
struct Misfit {
  Point at;
  Point expected, fitted;
};
std::variant<Layout, Misfit> fit(const Sizes &inputs, const Sizes &outputs,
                                 const std::function<Point(const Point &)> &f);

} // namespace tlc
