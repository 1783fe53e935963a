// Which dims of tiles and variables of parallel loops always run together.
#pragma once

#include "ir/Function.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace tlc::passes {

/// Dims and variables, joined into classes by whoever looks at the statements. A class is spoilt
/// when one of its members is used in a way that not all have in common.
class TileDims {
public:
  /// A dim of a buffer, or a variable.
  using Node = std::pair<const void *, unsigned>;

  static Node variable(ir::Expr var) { return {var.get(), asVariable}; }
  static Node dim(const ir::Buffer &buffer, unsigned dim) { return {&buffer, dim}; }
  static bool isVariable(const Node &node) { return node.second == asVariable; }

  /// Makes the node known, alone in its class; spoilt if its extent is no constant.
  Node add(Node node, ir::Expr extent);
  Node addDim(const ir::Buffer &buffer, unsigned d) { return add(dim(buffer, d), buffer.shape[d]); }
  bool knows(Node node) const { return classes.count(node) != 0; }
  /// The node that stands for the class of a known one.
  Node find(Node node);
  bool together(Node a, Node b) { return find(a) == find(b); }
  /// Joins two classes, which are spoilt if they differ in extent.
  void unite(Node a, Node b);
  void spoil(Node node) { classes.at(find(node)).spoilt = true; }
  bool isSpoilt(Node node) { return classes.at(find(node)).spoilt; }
  std::int64_t extent(Node node) { return classes.at(find(node)).extent; }
  /// All nodes of a class, in no order that means anything.
  void forEach(Node ofClass, const std::function<void(Node)> &f);

private:
  static constexpr unsigned asVariable = ~0u;
  struct Class {
    Node parent;
    std::int64_t extent = 0;
    bool spoilt = false;
  };
  std::map<Node, Class> classes;
};

/// The buffer's dim that is dim `axis` of the tile.
unsigned bufferDim(const ir::Region &region, unsigned axis);

} // namespace tlc::passes
