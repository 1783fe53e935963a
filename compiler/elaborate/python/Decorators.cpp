// Definitions of functions, and what TileLang's decorators make of them.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

#include <algorithm>

namespace tlc::elaborate {

// ---- What kind of function it is

namespace {

std::string_view lastName(const ast::Expr &e) {
  if (auto *call = e.as<ast::Call>())
    return lastName(*call->func);
  if (auto *attr = e.as<ast::Attribute>())
    return attr->attr.id;
  if (auto *name = e.as<ast::Name>())
    return name->id;
  return {};
}

// Calls f on the statements of a block, nested ones included; functions and classes are given but
// not entered. Stops when f returns true.
bool anyStmt(const ast::Block &block, const std::function<bool(const ast::Stmt &)> &f) {
  for (const ast::Stmt *s : block) {
    if (f(*s))
      return true;
    if (auto *x = s->as<ast::If>()) {
      if (anyStmt(x->body, f) || anyStmt(x->orelse, f))
        return true;
    } else if (auto *x = s->as<ast::For>()) {
      if (anyStmt(x->body, f) || anyStmt(x->orelse, f))
        return true;
    } else if (auto *x = s->as<ast::While>()) {
      if (anyStmt(x->body, f) || anyStmt(x->orelse, f))
        return true;
    } else if (auto *x = s->as<ast::With>()) {
      if (anyStmt(x->body, f))
        return true;
    } else if (auto *x = s->as<ast::Try>()) {
      if (anyStmt(x->body, f) || anyStmt(x->orelse, f) || anyStmt(x->finalbody, f))
        return true;
    }
  }
  return false;
}

bool isKernelDecorator(const ast::Expr &decorator) {
  std::string_view name = lastName(decorator);
  return name == "prim_func" || name == "jit";
}

} // namespace

bool bodyIsKernel(const ast::FunctionDef &def) {
  bool inner = anyStmt(def.body, [](const ast::Stmt &s) {
    auto *f = s.as<ast::FunctionDef>();
    if (!f)
      return false;
    for (const ast::Expr *d : f->decorators)
      if (isKernelDecorator(*d))
        return true;
    return false;
  });
  if (inner)
    return false;
  return anyStmt(def.body, [](const ast::Stmt &s) {
    if (auto *with = s.as<ast::With>())
      for (const ast::WithItem &item : with->items)
        if (lastName(*item.contextExpr).ends_with("Kernel"))
          return true;
    if (auto *annotated = s.as<ast::AnnAssign>(); annotated && !annotated->value)
      return true;
    if (auto *assign = s.as<ast::Assign>())
      if (auto *call = assign->value->as<ast::Call>())
        return lastName(*call) == "const" || lastName(*call) == "empty";
    return false;
  });
}

namespace {

// Names that an expression reads, as far as a factory's `return` uses them: itself, arguments of
// calls, items of tuples.
bool mentions(const ast::Expr *e, const std::unordered_set<std::string> &names) {
  if (!e)
    return false;
  if (auto *name = e->as<ast::Name>())
    return names.contains(name->id);
  if (auto *attr = e->as<ast::Attribute>())
    return mentions(attr->value, names);
  if (auto *call = e->as<ast::Call>()) {
    bool any = mentions(call->func, names);
    for (const ast::Expr *arg : call->args)
      any = any || mentions(arg, names);
    for (const ast::Keyword &keyword : call->keywords)
      any = any || mentions(keyword.value, names);
    return any;
  }
  if (auto *tuple = e->as<ast::Tuple>()) {
    bool any = false;
    for (const ast::Expr *item : tuple->elements)
      any = any || mentions(item, names);
    return any;
  }
  if (auto *choice = e->as<ast::IfExp>())
    return mentions(choice->body, names) || mentions(choice->orelse, names);
  return false;
}

} // namespace

bool returnsKernel(const ast::FunctionDef &def) {
  std::unordered_set<std::string> kernels;
  return anyStmt(def.body, [&](const ast::Stmt &s) {
    if (auto *f = s.as<ast::FunctionDef>()) {
      bool decorated = std::any_of(f->decorators.begin(), f->decorators.end(),
                                   [](const ast::Expr *d) { return isKernelDecorator(*d); });
      if (decorated || returnsKernel(*f))
        kernels.insert(f->name.id);
    } else if (auto *assign = s.as<ast::Assign>()) {
      if (mentions(assign->value, kernels))
        for (const ast::Expr *target : assign->targets)
          collectTargetNames(*target, kernels);
    } else if (auto *result = s.as<ast::Return>())
      return mentions(result->value, kernels);
    return false;
  });
}

// ---- Definitions

namespace {

// prim_funcs and macros see the names of enclosing functions as they are at the decoration.
void captureNames(Elaborator &e, FunctionObject &function) {
  Scope *captured = nullptr;
  std::unordered_set<std::string> locals = localNames(*function.def);
  for (const std::string &name : readNames(*function.def)) {
    // Its parameters' annotations are evaluated with the captured names too.
    for (Scope *scope = function.closure; scope; scope = scope->parent) {
      bool isModule = scope->module && scope->module->globals == scope;
      if (isModule)
        break;
      if (scope->isClass && scope != function.closure)
        continue;
      Slot *slot = scope->find(name);
      if (!slot || !slot->bound)
        continue;
      if (!captured)
        captured = e.makeScope(function.closure);
      Slot &copy = captured->slot(name);
      copy.value = slot->value;
      copy.bound = true;
      copy.staleness = slot->staleness;
      copy.range = slot->range;
      break;
    }
  }
  if (captured)
    function.closure = captured;
}

void evaluateDefaults(Elaborator &e, FunctionObject &function) {
  const ast::Arguments &parameters = function.parameters();
  for (const auto *list : {&parameters.posOnly, &parameters.args, &parameters.kwOnly})
    for (const ast::Arg &arg : *list) {
      if (!arg.defaultValue)
        continue;
      // Host functions may have defaults that only Python can evaluate.
      auto mark = e.diagnostics.mark();
      Value value = e.evalPinned(*arg.defaultValue);
      if (e.diagnostics.errorCount() > mark.errors)
        e.diagnostics.rollback(mark);
      else if (!value.isError())
        function.defaults[arg.name.id] = value;
    }
}

Value withRole(Elaborator &e, const Value &given, FunctionRole role, std::string_view decorator,
               SourceRange range) {
  if (given.isError() || given.isPoison())
    return given;
  auto *function = given.as<FunctionObject>();
  if (!function || !function->def) {
    e.report(diag::WrongType, range, "what `" + std::string(decorator) + "` decorates",
             "a function", typeNameWithArticle(given));
    return Value::error();
  }
  auto *made = e.heap.make<FunctionObject>();
  made->name = function->name;
  made->def = function->def;
  made->closure = function->closure;
  made->defaults = function->defaults;
  made->jit = function->jit;
  made->owner = function->owner;
  made->role = role;
  if (role == FunctionRole::PrimFunc || role == FunctionRole::Macro)
    captureNames(e, *made);
  if (role == FunctionRole::Jit) {
    // jit of a prim_func: the function itself is the kernel.
    if (function->role == FunctionRole::PrimFunc) {
      made->role = FunctionRole::PrimFunc;
      made->closure = function->closure;
    } else
      made->eager = bodyIsKernel(*function->def);
  }
  return Value::object(made);
}

// A decorator that may stand with or without arguments: calls `apply` with the function, now or
// when it comes.
Value decorate(Elaborator &e, CallArgs &args, std::string name,
               const std::function<Value(Elaborator &, const Value &, SourceRange)> &apply) {
  if (!args.positional.empty()) {
    const Value &first = args.positional[0].value;
    bool isFunction = first.is(ValueKind::Function) || first.native<KernelValue>() ||
                      first.isPoison() || first.isError();
    if (isFunction)
      return apply(e, first, args.positional[0].range);
  }
  for (const CallArg &arg : args.positional)
    if (!arg.value.isNone())
      e.report(diag::WrongType, arg.range, "what `" + name + "` decorates", "a function",
               typeNameWithArticle(arg.value));
  return makeClosure(e.heap, name, [apply, name](Elaborator &e, CallArgs &inner) -> Value {
    if (inner.positional.size() != 1)
      return Value::error();
    return apply(e, inner.positional[0].value, inner.range);
  });
}

Value primFunc(Elaborator &e, CallArgs &args) {
  return decorate(e, args, "T.prim_func", [](Elaborator &e, const Value &f, SourceRange range) {
    return withRole(e, f, FunctionRole::PrimFunc, "T.prim_func", range);
  });
}

Value macro(Elaborator &e, CallArgs &args) {
  return decorate(e, args, "T.macro", [](Elaborator &e, const Value &f, SourceRange range) {
    return withRole(e, f, FunctionRole::Macro, "T.macro", range);
  });
}

// Keywords of jit, autotune and compile. Those without a use here concern running under Python:
// measuring, checking, caching.
enum class Keyword : std::uint8_t { OutIdx, PassConfigs, Configs, OfPython, Ignored };
const std::map<std::string_view, Keyword> &jitKeywords() {
  static const std::map<std::string_view, Keyword> table = {
      {"out_idx", Keyword::OutIdx},
      {"pass_configs", Keyword::PassConfigs},
      {"configs", Keyword::Configs},
      {"func", Keyword::OfPython},
      {"target", Keyword::Ignored},
      {"target_host", Keyword::OfPython},
      {"execution_backend", Keyword::OfPython},
      {"backend", Keyword::OfPython},
      {"mode", Keyword::OfPython},
      {"verbose", Keyword::OfPython},
      {"debug_root_path", Keyword::OfPython},
      {"compile_flags", Keyword::Ignored},
      {"warmup", Keyword::OfPython},
      {"rep", Keyword::OfPython},
      {"timeout", Keyword::OfPython},
      {"supply_type", Keyword::OfPython},
      {"supply_prog", Keyword::OfPython},
      {"ref_prog", Keyword::OfPython},
      {"rtol", Keyword::OfPython},
      {"atol", Keyword::OfPython},
      {"max_mismatched_ratio", Keyword::OfPython},
      {"skip_check", Keyword::OfPython},
      {"manual_check_prog", Keyword::OfPython},
      {"cache_input_tensors", Keyword::OfPython},
      {"do_not_specialize", Keyword::OfPython},
      {"early_stop", Keyword::OfPython},
      {"early_stop_factor", Keyword::OfPython},
      {"num_workers", Keyword::OfPython},
      {"ignore_error", Keyword::OfPython},
      {"use_pipeline", Keyword::OfPython},
      {"enable_grouped_compile", Keyword::OfPython},
      {"group_compile_size", Keyword::OfPython},
  };
  return table;
}

void readOptions(Elaborator &e, CallArgs &args, JitOptions &options) {
  for (const KeywordArg &keyword : args.keywords) {
    auto it = jitKeywords().find(keyword.name);
    if (it == jitKeywords().end()) {
      std::vector<std::string_view> names;
      for (auto &[name, use] : jitKeywords())
        names.push_back(name);
      e.report(diag::UnexpectedKeyword, keyword.nameRange, args.callee, keyword.name,
               didYouMeanText(keyword.name, names));
      continue;
    }
    switch (it->second) {
    case Keyword::OutIdx:
      options.outIdx = keyword.value;
      options.outIdxRange = keyword.range;
      break;
    case Keyword::PassConfigs:
      options.passConfigs = keyword.value;
      options.passConfigsRange = keyword.range;
      break;
    case Keyword::Configs:
      options.configs = keyword.value;
      options.configsRange = keyword.range;
      break;
    case Keyword::OfPython:
      break;
    case Keyword::Ignored: // said by --target, or to the compiler of the emitted file
      if (!keyword.value.isNone() && !keyword.value.isPoison())
        e.report(diag::OptionIgnored, keyword.nameRange, "`" + keyword.name + "`");
      break;
    }
  }
}

Value jit(Elaborator &e, CallArgs &args) {
  auto options = std::make_shared<JitOptions>();
  readOptions(e, args, *options);
  return decorate(e, args, "tilelang.jit",
                  [options](Elaborator &e, const Value &f, SourceRange range) {
                    Value made = withRole(e, f, FunctionRole::Jit, "tilelang.jit", range);
                    if (auto *function = made.as<FunctionObject>()) {
                      Value configs = function->jit.configs;
                      SourceRange where = function->jit.configsRange;
                      function->jit = *options;
                      if (function->jit.configs.isNone()) {
                        function->jit.configs = configs;
                        function->jit.configsRange = where;
                      }
                    }
                    return made;
                  });
}

Value autotune(Elaborator &e, CallArgs &args) {
  auto options = std::make_shared<JitOptions>();
  readOptions(e, args, *options);
  if (options->configs.isNone())
    for (const CallArg &arg : args.positional)
      if (arg.value.is(ValueKind::List)) {
        options->configs = arg.value;
        options->configsRange = arg.range;
        args.positional.clear();
        break;
      }
  return decorate(e, args, "tilelang.autotune",
                  [options](Elaborator &e, const Value &f, SourceRange) -> Value {
                    if (auto *function = f.as<FunctionObject>()) {
                      function->jit.configs = options->configs;
                      function->jit.configsRange = options->configsRange;
                    }
                    (void)e;
                    return f;
                  });
}

Value kernelValue(Elaborator &e, FunctionObject &function, SourceRange range) {
  auto *kernel = e.heap.make<KernelValue>();
  kernel->function = &function;
  kernel->options = function.jit;
  kernel->range = range;
  return Value::object(kernel);
}

void mergeOptions(JitOptions &into, const JitOptions &from) {
  if (!from.outIdx.isNone()) {
    into.outIdx = from.outIdx;
    into.outIdxRange = from.outIdxRange;
  }
  if (!from.passConfigs.isNone()) {
    into.passConfigs = from.passConfigs;
    into.passConfigsRange = from.passConfigsRange;
  }
  if (!from.configs.isNone()) {
    into.configs = from.configs;
    into.configsRange = from.configsRange;
  }
}

// tilelang.compile(prim_func, out_idx=..., ...)
Value compile(Elaborator &e, CallArgs &args) {
  if (args.positional.empty()) {
    for (KeywordArg &keyword : args.keywords)
      if (keyword.name == "func")
        args.positional.push_back({keyword.value, keyword.range, keyword.expr});
    if (args.positional.empty()) {
      e.report(diag::FunctionMissingArgument, args.range, args.callee, "func");
      return Value::error();
    }
  }
  const Value &given = args.positional[0].value;
  JitOptions options;
  if (args.positional.size() > 1) {
    options.outIdx = args.positional[1].value;
    options.outIdxRange = args.positional[1].range;
  }
  readOptions(e, args, options);
  if (auto *kernel = given.native<KernelValue>()) {
    mergeOptions(kernel->options, options);
    return given;
  }
  auto *function = given.as<FunctionObject>();
  if (!function || function->role == FunctionRole::Macro) {
    if (!given.isError() && !given.isPoison())
      e.report(diag::WrongType, args.positional[0].range, "what is compiled", "a kernel",
               typeNameWithArticle(given));
    return given.isPoison() ? given : Value::error();
  }
  Value made = kernelValue(e, *function, args.range);
  mergeOptions(made.native<KernelValue>()->options, options);
  return made;
}

// factory.compile(M=..., ...) and factory(...): the kernel with its arguments.
Value instantiateKernel(Elaborator &e, FunctionObject &function, CallArgs &args) {
  Value made = kernelValue(e, function, args.range);
  auto *kernel = made.native<KernelValue>();
  std::vector<const ast::Arg *> positional;
  for (const auto *list : {&function.parameters().posOnly, &function.parameters().args})
    for (const ast::Arg &arg : *list)
      positional.push_back(&arg);
  for (std::size_t i = 0; i < args.positional.size(); ++i) {
    if (i >= positional.size()) {
      e.report(diag::FunctionTooManyArguments, args.positional[i].range, function.name,
               positional.size(), args.positional.size());
      return Value::error();
    }
    kernel->arguments.emplace_back(positional[i]->name.id, args.positional[i].value);
  }
  for (const KeywordArg &keyword : args.keywords)
    kernel->arguments.emplace_back(keyword.name, keyword.value);
  return made;
}

} // namespace

Value defineFunction(Elaborator &e, const ast::FunctionDef &def) {
  auto *function = e.heap.make<FunctionObject>();
  function->name = def.name.id;
  function->def = &def;
  function->closure = e.frame().scope;
  evaluateDefaults(e, *function);
  Value value = Value::object(function);
  for (std::size_t i = def.decorators.size(); i-- > 0;) {
    const ast::Expr *decorator = def.decorators[i];
    Value applied = e.eval(*decorator);
    if (applied.isError())
      return applied;
    CallArgs args;
    args.range = args.calleeRange = decorator->range;
    args.callee = std::string(lastName(*decorator));
    args.positional.push_back({value, def.name.range, nullptr});
    value = e.call(applied, args);
  }
  return value;
}

std::optional<Value> decoratorAttribute(Elaborator &e, std::string_view name) {
  static const std::map<std::string_view, NativeFunction> table = {
      {"prim_func", primFunc}, {"macro", macro},     {"jit", jit},
      {"autotune", autotune},  {"compile", compile}, {"lazy_jit", jit},
  };
  auto it = table.find(name);
  if (it == table.end())
    return std::nullopt;
  return makeBuiltin(e.heap, "tilelang." + std::string(name), it->second);
}

std::optional<Value> functionAttribute(Elaborator &e, const Value &self, std::string_view name) {
  auto *function = self.as<FunctionObject>();
  if (name == "__name__" || name == "__qualname__")
    return e.str(function->name);
  if (name == "__doc__" || name == "__module__")
    return Value::none();
  bool kernel = function->role == FunctionRole::Jit || function->role == FunctionRole::PrimFunc;
  if (!kernel)
    return name == "__wrapped__" ? std::optional(self) : std::nullopt;
  if (name == "compile" || name == "get_kernel")
    return makeClosure(e.heap, function->name + ".compile",
                       [function](Elaborator &e, CallArgs &args) {
                         return instantiateKernel(e, *function, args);
                       });
  if (name == "func" || name == "fn" || name == "__wrapped__" || name == "prim_func")
    return self;
  if (name == "get_tir")
    return makeClosure(e.heap, function->name + "." + std::string(name),
                       [function](Elaborator &e, CallArgs &args) {
                         return instantiateKernel(e, *function, args);
                       });
  // What is left asks the running system: profilers, sources, attributes of TVM.
  return e.makePoison(function->name + "." + std::string(name), {});
}

// ---- Kernels with arguments

std::optional<Value> KernelValue::attribute(Elaborator &e, std::string_view name,
                                            SourceRange range) {
  Value self = Value::object(this);
  if (name == "prim_func" || name == "func" || name == "kernel")
    return self;
  // AutoTuner.from_kernel(k).set_compile_args(out_idx=...).set_profile_args(...).run()
  if (name == "set_compile_args" || name == "set_profile_args" || name == "run" ||
      name == "compile" || name == "with_attr" || name == "set_kernel_parameters")
    return makeClosure(e.heap, "kernel." + std::string(name),
                       [self, compileArgs = name == "set_compile_args" ||
                                            name == "compile"](Elaborator &e, CallArgs &args) {
                         if (compileArgs) {
                           JitOptions more;
                           readOptions(e, args, more);
                           mergeOptions(self.native<KernelValue>()->options, more);
                         }
                         return self;
                       });
  return e.makePoison(function->name + "." + std::string(name), range);
}

std::optional<Value> KernelValue::call(Elaborator &e, CallArgs &args) {
  return e.makePoison(function->name, args.range,
                      "the result of a kernel is known at run time only");
}

bool annotationRootedInT(Elaborator &e, const ast::Expr &annotation) {
  const ast::Expr *root = &annotation;
  while (true) {
    if (auto *attr = root->as<ast::Attribute>())
      root = attr->value;
    else if (auto *call = root->as<ast::Call>())
      root = call->func;
    else if (auto *sub = root->as<ast::Subscript>())
      root = sub->value;
    else
      break;
  }
  auto *name = root->as<ast::Name>();
  if (!name)
    return false;
  for (Scope *scope = e.frame().scope; scope; scope = scope->parent) {
    Slot *slot = scope->find(name->id);
    if (!slot || !slot->bound)
      continue;
    const Value &value = slot->value;
    if (auto *module = value.as<ModuleObject>())
      return module->name.starts_with("tilelang");
    if (auto *builtin = value.as<BuiltinObject>())
      return !builtin->isType; // Tensor imported by name; not int, float, list
    return value.isDType() || value.is(ValueKind::Native);
  }
  return false;
}

} // namespace tlc::elaborate
