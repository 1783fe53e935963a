// A kernel as a function: its parameters, dimensions and outputs.
#include "elaborate/tile/TParams.h"

#include "ir/Print.h"
#include "ir/Walk.h"

#include <algorithm>
#include <set>

namespace tlc::elaborate {

using ir::Expr;

void beginKernel(Elaborator &e, FunctionObject &) {
  if (!e.kernel->runtime)
    e.kernel->runtime = std::make_shared<RuntimeState>();
}

// ---- Parameters

namespace {

Value declareTensor(Elaborator &e, const std::string &name, const TensorType &type,
                    SourceRange range) {
  ir::Function &f = e.kernel->function;
  bool pointer = type.kind == TensorType::Kind::Pointer;
  // A pointer is a tensor of unknown length; T.make_tensor gives it a shape.
  std::vector<Expr> shape = type.shape;
  if (pointer)
    shape = {e.context.integer(Scalar::Int64, std::int64_t(1) << 40)};
  ir::Buffer &b = f.addBuffer(name, type.dtype, ir::Scope::Global, shape, range);
  b.strides = type.strides;
  // -D A.strides=dynamic: every stride but the last is an argument, as in BLAS.
  if (const Define *define = e.findDefine("strides", name);
      define && define->dynamic && b.strides.empty() && !pointer) {
    for (std::size_t i = 0; i + 1 < shape.size(); ++i)
      b.strides.push_back(
          e.context.var(name + "_stride" + std::to_string(i), DType(Scalar::Int64)));
    b.strides.push_back(e.context.integer(DType(Scalar::Int64), 1));
  }
  f.params.push_back({&b, {}, name, range});
  if (!pointer)
    return Value::buffer(&b);
  auto *value = e.heap.make<PointerValue>();
  value->buffer = &b;
  return Value::object(value);
}

} // namespace

Value declareParameter(Elaborator &e, const std::string &name, const Value &annotation,
                       SourceRange nameRange, SourceRange annotationRange) {
  if (annotation.isError())
    return annotation;
  beginKernel(e, *e.kernel->kernel);
  if (TensorType *type = annotation.native<TensorType>();
      type && type->kind != TensorType::Kind::MacroTile)
    return declareTensor(e, name, *type, nameRange);
  if (TypeConstructor *type = annotation.native<TypeConstructor>();
      type && type->info.id == sema::Builtin::Ptr) {
    TensorType bytes; // `p: T.ptr`
    bytes.kind = TensorType::Kind::Pointer;
    bytes.dtype = Scalar::UInt8;
    return declareTensor(e, name, bytes, nameRange);
  }
  bool scalar = annotation.isDType() && annotation.dtypeExtra() == DTypeExtra::None;
  if (scalar) {
    Expr var = e.context.var(name, annotation.asDType());
    e.kernel->function.params.push_back({nullptr, var, name, nameRange});
    return Value::expr(var);
  }
  auto report =
      e.report(diag::ParameterType, annotationRange, name, typeNameWithArticle(annotation));
  report.help("write `" + name + ": T.Tensor((M, N), T.float16)` or `" + name + ": T.int32`");
  return Value::error();
}

Value annotateName(Elaborator &e, const std::string &name, const Value &annotation,
                   const Value *value, SourceRange nameRange, SourceRange annotationRange) {
  if (annotation.isError())
    return annotation;
  if (!value)
    return declareParameter(e, name, annotation, nameRange, annotationRange);
  if (!annotation.isDType() || annotation.dtypeExtra() != DTypeExtra::None)
    return *value;
  if (!isScalar(*value)) {
    e.report(diag::NotAScalar, annotationRange, typeNameWithArticle(*value));
    return Value::error();
  }
  Expr x = toExpr(e, *value, annotation.asDType(), annotationRange);
  return x ? pin(e, Value::expr(x), name, nameRange) : Value::error();
}

// ---- pass_configs

namespace {

std::string configName(const Value &key) {
  std::string text;
  if (auto *member = key.as<EnumMemberObject>())
    text = member->name;
  else if (key.isText())
    text = key.asText();
  for (char &ch : text)
    ch = ch == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
  return text;
}

} // namespace

void applyPassConfigs(Elaborator &e, const Value &configs, SourceRange range) {
  DictObject *dict = configs.as<DictObject>();
  if (!dict || !e.kernel)
    return;
  ir::FunctionOptions &options = e.kernel->function.options;
  dict->table.forEach([&](const Value &key, const Value &value) {
    std::string name = configName(key);
    std::optional<bool> on = value.isPoison() ? std::nullopt : e.truth(value, range);
    if (!on)
      return;
    if (name == "TL_ENABLE_FAST_MATH")
      options.fastMath = options.fastMath || *on;
    else if (name == "TL_DISABLE_FAST_MATH")
      options.fastMath = options.fastMath && !*on;
    else if (name == "TL_DISABLE_THREAD_STORAGE_SYNC")
      options.disableThreadStorageSync = *on;
    else if (name == "TL_DISABLE_TMA_LOWER")
      options.disableTma = *on;
    else if (name == "TL_DISABLE_WARP_SPECIALIZED")
      options.disableWarpSpecialize = *on;
  });
}

// ---- Facts

bool knownToLauncher(Elaborator &e, Expr condition) {
  ir::Launch *launch = e.kernel->launch;
  if (!launch)
    return true;
  std::vector<Expr> vars;
  ir::collectVars(condition, vars);
  std::set<const ir::ExprNode *> host;
  for (const ir::Param &p : e.kernel->function.params) {
    if (p.scalar)
      host.insert(p.scalar.get());
    if (!p.buffer)
      continue;
    std::vector<Expr> dims;
    for (const Expr &x : p.buffer->shape)
      ir::collectVars(x, dims);
    for (const Expr &x : p.buffer->strides)
      ir::collectVars(x, dims);
    for (const Expr &x : dims)
      host.insert(x.get());
  }
  return std::all_of(vars.begin(), vars.end(),
                     [&](const Expr &v) { return host.count(v.get()) > 0; });
}

bool madeByKernel(Elaborator &e, Expr x) {
  ir::Launch *launch = e.kernel->launch;
  if (!launch)
    return false;
  std::vector<Expr> vars;
  ir::collectVars(x, vars);
  auto depends = [&](Expr made) {
    return made && std::find(vars.begin(), vars.end(), made) != vars.end();
  };
  bool found = depends(launch->tid);
  for (const Expr &v : launch->blockVars)
    found = found || depends(v);
  for (const Expr &v : launch->threadVars)
    found = found || depends(v);
  ir::walk(launch->body, [&](ir::Stmt &s) {
    ir::forEachDefinition(s, [&](Expr &v) { found = found || depends(v); });
    return !found;
  });
  return found;
}

void addFact(Elaborator &e, Expr condition, SourceRange range, const Value &message,
             bool isAssert) {
  std::string text = std::string(e.sources.text(range));
  if (message.isStr() && isAssert)
    text = message.asText();
  if (condition.isFalse()) {
    e.report(diag::FalseFact, range, text);
    return;
  }
  if (condition.isTrue())
    return;
  if (knownToLauncher(e, condition)) {
    e.kernel->function.constraints.push_back({condition, text, range});
    return;
  }
  if (isAssert) {
    auto &stmt = e.builder().add<ir::AssertStmt>();
    stmt.condition = condition;
    stmt.message = text;
    return;
  }
  e.builder().add<ir::AssumeStmt>().condition = condition;
}

void runtimeAssert(Elaborator &e, const Value &condition, const Value &message, SourceRange range) {
  if (!e.kernel)
    return;
  if (Expr x = toCondition(e, condition, range))
    addFact(e, x, range, message, true);
}

// ---- The end of a kernel

namespace {

struct Finisher {
  Elaborator &e;
  ir::Function &f;
  FunctionObject &kernel;

  std::size_t positionOf(const ir::Param &p) const {
    const ast::Arguments &args = kernel.parameters();
    std::size_t i = 0;
    for (const std::vector<ast::Arg> *list : {&args.posOnly, &args.args, &args.kwOnly})
      for (const ast::Arg &arg : *list) {
        if (arg.name.id == p.name)
          return i;
        ++i;
      }
    return i;
  }

  /// T.empty results behind the parameters, in the order in which they are returned.
  void outputs(const Value &returned, SourceRange returnRange) {
    std::stable_sort(f.params.begin(), f.params.end(), [&](const ir::Param &a, const ir::Param &b) {
      return positionOf(a) < positionOf(b);
    });
    std::vector<ir::Buffer *> &empties = state(e).empties;
    if (!returned.isNone() && !returned.isError())
      for (const Value &v : e.toList(returned)) {
        if (!v.isBuffer() || v.asBuffer()->scope != ir::Scope::Global) {
          e.report(diag::ReturnsNoTensor, returnRange, typeNameWithArticle(v));
          continue;
        }
        ir::Buffer *b = v.asBuffer();
        b->output = true;
        auto made = std::find(empties.begin(), empties.end(), b);
        if (made == empties.end())
          continue;
        empties.erase(made);
        f.params.push_back({b, {}, b->name.empty() ? "out" : b->name, b->range});
      }
    for (ir::Buffer *b : empties) {
      e.report(diag::EmptyNotReturned, b->range, b->name);
      b->output = false;
      f.workspace.push_back(b);
    }
    empties.clear();
  }

  void outIdx(const JitOptions &options) {
    if (options.outIdx.isNone() || options.outIdx.isError())
      return;
    std::int64_t n = static_cast<std::int64_t>(f.params.size());
    for (const Value &v : e.toList(options.outIdx)) {
      std::optional<std::int64_t> i = e.toInt(v, options.outIdxRange, "an index of `out_idx`");
      if (!i)
        return;
      std::int64_t at = *i < 0 ? *i + n : *i;
      if (at < 0 || at >= n || !f.params[static_cast<std::size_t>(at)].buffer) {
        e.report(diag::OutIdx, options.outIdxRange, *i, n);
        continue;
      }
      f.params[static_cast<std::size_t>(at)].buffer->output = true;
    }
  }

  void addDims(Expr x, bool isStride, SourceRange range, std::set<const ir::ExprNode *> &bound) {
    std::vector<Expr> vars;
    ir::collectVars(x, vars);
    for (const Expr &v : vars)
      if (bound.insert(v.get()).second)
        f.dims.push_back({v, v->name, isStride, range});
  }

  /// Variables that nothing binds are the run-time dimensions: those of T.dynamic and T.const.
  void dims() {
    std::set<const ir::ExprNode *> bound;
    for (const ir::Param &p : f.params)
      if (p.scalar)
        bound.insert(p.scalar.get());
    for (const ir::LaunchConstant &c : f.launchConstants)
      bound.insert(c.var.get());
    for (bool strides : {false, true})
      for (const ir::Param &p : f.params)
        if (p.buffer)
          for (const Expr &x : strides ? p.buffer->strides : p.buffer->shape)
            addDims(x, strides, p.range, bound);
    for (const ir::Buffer *b : f.workspace)
      for (const Expr &x : b->shape)
        addDims(x, false, b->range, bound);
    for (const std::unique_ptr<ir::Launch> &launch : f.launches) {
      for (const Expr &x : launch->grid)
        addDims(x, false, launch->range, bound);
      for (const Expr &x : launch->blockVars)
        bound.insert(x.get());
      for (const Expr &x : launch->threadVars)
        if (x)
          bound.insert(x.get());
      bound.insert(launch->tid.get());
      ir::walk(launch->body, [&](ir::Stmt &s) {
        ir::forEachDefinition(s, [&](Expr &x) { bound.insert(x.get()); });
        return true;
      });
    }
    // Used in a body only.
    for (const std::unique_ptr<ir::Launch> &launch : f.launches)
      ir::walk(launch->body, [&](ir::Stmt &s) {
        ir::forEachExpr(s, [&](Expr &x) { addDims(x, false, s.range, bound); });
        return true;
      });
    std::stable_sort(f.dims.begin(), f.dims.end(), [](const ir::Dim &a, const ir::Dim &b) {
      return std::pair(a.isStride, a.var->id) < std::pair(b.isStride, b.var->id);
    });
  }

  void writes() {
    std::set<const ir::Buffer *> written;
    for (const std::unique_ptr<ir::Launch> &launch : f.launches)
      ir::walk(launch->body, [&](ir::Stmt &s) {
        ir::forEachUse(s, [&](const ir::BufferUse &use) {
          if (use.access != ir::Access::Read)
            written.insert(use.buffer->storage());
        });
        return true;
      });
    for (const ir::Param &p : f.params)
      if (p.buffer) {
        p.buffer->writable = p.buffer->output || written.count(p.buffer);
        if (p.buffer->output && !written.count(p.buffer))
          e.report(diag::OutputNotWritten, p.range, p.name);
      }
  }

  void names() {
    for (const std::unique_ptr<ir::Buffer> &b : f.buffers)
      if (b->name.empty())
        b->name = b->scope == ir::Scope::Global ? "workspace" : "tile";
    for (std::size_t i = 0; i < f.launches.size(); ++i)
      if (f.launches[i]->name.empty())
        f.launches[i]->name = f.launches.size() == 1 ? "main" : "part" + std::to_string(i + 1);
  }
};

} // namespace

void finishKernel(Elaborator &e, FunctionObject &kernel, const Value &returned,
                  SourceRange returnRange, const JitOptions &options) {
  beginKernel(e, kernel);
  ir::Function &f = e.kernel->function;
  applyPassConfigs(e, options.passConfigs, options.passConfigsRange);
  Finisher finisher{e, f, kernel};
  finisher.outputs(returned, returnRange);
  finisher.outIdx(options);
  finisher.dims();
  finisher.writes();
  finisher.names();
  if (f.launches.empty())
    e.report(diag::NoLaunch, kernel.nameRange(), kernel.name);
}

} // namespace tlc::elaborate
