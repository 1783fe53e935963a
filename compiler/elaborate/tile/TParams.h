// Types of kernel parameters, and names that stand for them.
#pragma once

#include "elaborate/tile/TCall.h"

namespace tlc::elaborate {

/// `T.Tensor` itself: `T.Tensor(shape, dtype)` and `T.Tensor[shape, dtype]` give a TensorType.
struct TypeConstructor : NativeObject {
  explicit TypeConstructor(const sema::BuiltinInfo &info) : info(info) {}
  const sema::BuiltinInfo &info;
  std::string typeName() const override { return "type constructor"; }
  std::string repr() const override { return "T." + std::string(info.name); }
  std::optional<Value> call(Elaborator &, CallArgs &) override;
  std::optional<Value> subscript(Elaborator &, const Value &, const ast::Subscript &) override;
};

bool isTypeConstructor(sema::Builtin id);

/// pass_configs of jit and T.annotate_pass_configs.
void applyPassConfigs(Elaborator &, const Value &configs, SourceRange range);
/// A fact from T.assume or an assert: a check of the launcher where it can be one, else a
/// statement.
void addFact(Elaborator &, ir::Expr condition, SourceRange range, const Value &message,
             bool isAssert);

} // namespace tlc::elaborate
