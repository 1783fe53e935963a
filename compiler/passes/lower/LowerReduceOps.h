// The operators of reductions and scans: neutral values, how two values combine, in which type.
#pragma once

#include "ir/Stmt.h"

namespace tlc::passes {

class Folder {
public:
  Folder(ir::Context &context, ir::ReduceOp op, bool nanPropagate, DType element);

  /// The type in which values are combined: float32 for narrow floats.
  DType dtype() const { return type; }
  ir::Expr neutral() const;
  /// An element of the source, ready to be combined (abs for abssum and absmax).
  ir::Expr prepare(ir::Expr element) const;
  /// A value that the target held before.
  ir::Expr prepareOld(ir::Expr value) const;
  ir::Expr combine(ir::Expr a, ir::Expr b) const;
  /// The result of a fold that began with an element instead of the neutral value: a maximum passes
  /// over NaNs, but it may have begun with one and met no others.
  ir::Expr settled(ir::Expr value) const;

private:
  ir::Context &context;
  ir::ReduceOp op;
  bool nanPropagate;
  DType type;
};

} // namespace tlc::passes
