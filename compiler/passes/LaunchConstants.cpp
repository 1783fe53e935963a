#include "passes/LaunchConstants.h"

namespace tlc::passes {

using namespace ir;

Expr multiprocessors(Function &function) {
  for (const LaunchConstant &constant : function.launchConstants)
    if (constant.what == LaunchConstant::What::MultiprocessorCount)
      return constant.var;
  LaunchConstant constant;
  constant.var = function.context->var("multiprocessors", Scalar::Int32);
  function.launchConstants.push_back(constant);
  return constant.var;
}

Expr launchConstant(Function &function, std::string_view name, Expr value) {
  if (value.isConstant() || value.isVar())
    return value;
  LaunchConstant constant;
  constant.what = LaunchConstant::What::Computed;
  constant.var = function.context->var(name, value.dtype());
  constant.value = value;
  function.launchConstants.push_back(constant);
  return constant.var;
}

} // namespace tlc::passes
