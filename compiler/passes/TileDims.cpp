#include "passes/TileDims.h"

namespace tlc::passes {

TileDims::Node TileDims::add(Node node, ir::Expr extent) {
  auto value = extent.constant();
  classes.try_emplace(node, Class{node, value.value_or(0), !value});
  return node;
}

TileDims::Node TileDims::find(Node node) {
  Node &parent = classes.at(node).parent;
  return parent == node ? node : parent = find(parent);
}

void TileDims::unite(Node a, Node b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  Class &from = classes.at(a), &to = classes.at(b);
  to.spoilt |= from.spoilt || from.extent != to.extent;
  from.parent = b;
}

void TileDims::forEach(Node ofClass, const std::function<void(Node)> &f) {
  const Node root = find(ofClass);
  for (const auto &[node, entry] : classes)
    if (find(node) == root)
      f(node);
}

unsigned bufferDim(const ir::Region &region, unsigned axis) {
  for (unsigned d = 0;; ++d)
    if (!region.isDropped(d) && axis-- == 0)
      return d;
}

} // namespace tlc::passes
