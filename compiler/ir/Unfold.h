// Images unfolded for convolutions: the view whose rows are output pixels and whose columns are
// (kernel y, kernel x, channel), and what stands for its elements.
#pragma once

#include "ir/Function.h"

#include <functional>

namespace tlc::ir {

/// Height (dim 1) or width (dim 2) of the result of a convolution of the image.
Expr unfoldedExtent(const Buffer &image, unsigned dim, const Unfold &unfold);

/// The view as a new buffer of the function, not yet allocated.
Buffer &unfoldedView(Function &function, Buffer &image, const Unfold &unfold, DType index);

/// Where an element of the view lies in its image.
struct UnfoldedPixel {
  Expr n, y, x, channel; ///< x and y may lie outside of the image
  Expr kernelY, kernelX; ///< which tap of the kernel the column belongs to
  Expr startY, startX;   ///< where the kernel lies: the image's y and x for the first tap
};
UnfoldedPixel unfoldedPixel(const Buffer &view, Expr row, Expr column);

/// Copies from unfolded images become maps that read pixel by pixel, but those that `keeps` says;
/// views that nobody reads any more go.
void expandUnfolded(Function &function, const std::function<bool(const CopyStmt &)> &keeps);

/// Whether the function reads an unfolded image.
bool hasUnfolded(const Function &function);

} // namespace tlc::ir
