// Calls: evaluating arguments, binding them to parameters, running bodies.
#include "elaborate/python/Call.h"

#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

namespace tlc::elaborate {

// ---- Functions written in C++

Value makeBuiltin(Heap &heap, std::string name, NativeFunction function, bool isType) {
  auto *object = heap.make<BuiltinObject>();
  object->name = std::move(name);
  object->function = function;
  object->isType = isType;
  return Value::object(object);
}

Value makeClosure(Heap &heap, std::string name,
                  std::function<Value(Elaborator &, CallArgs &)> function) {
  auto *object = heap.make<BuiltinObject>();
  object->name = std::move(name);
  object->closure = std::move(function);
  return Value::object(object);
}

namespace {

struct Signature {
  struct Item {
    std::string name;
    bool optional = false, keywordOnly = false, positionalOnly = false;
  };
  std::vector<Item> items;
  bool takesRest = false, takesKeywords = false;

  explicit Signature(std::string_view text) {
    bool keywordOnly = false;
    while (!text.empty()) {
      std::size_t comma = text.find(',');
      std::string_view part = text.substr(0, comma);
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
      while (!part.empty() && part.front() == ' ')
        part.remove_prefix(1);
      if (part == "*")
        keywordOnly = true;
      else if (part == "/") {
        for (Item &item : items)
          item.positionalOnly = true;
      } else if (part.starts_with("**"))
        takesKeywords = true;
      else if (part.starts_with("*"))
        takesRest = keywordOnly = true;
      else if (!part.empty()) {
        bool optional = part.ends_with("=");
        if (optional)
          part.remove_suffix(1);
        items.push_back({std::string(part), optional, keywordOnly, false});
      }
    }
  }
};

} // namespace

Binding::Binding(Elaborator &e, CallArgs &args, std::string_view signature)
    : callRange(args.range) {
  Signature s(signature);
  std::vector<std::string_view> known;
  for (const Signature::Item &item : s.items) {
    names.push_back(item.name);
    if (!item.positionalOnly)
      known.push_back(item.name);
  }
  values.resize(names.size());
  given.resize(names.size());
  std::size_t positional = 0;
  for (const Signature::Item &item : s.items)
    positional += !item.keywordOnly;
  for (std::size_t i = 0; i < args.positional.size(); ++i) {
    if (i < positional) {
      values[i] = args.positional[i];
      given[i] = true;
    } else if (s.takesRest)
      rest.push_back(args.positional[i]);
    else {
      e.report(diag::FunctionTooManyArguments, args.positional[i].range, args.callee, positional,
               args.positional.size());
      ok = false;
      break;
    }
  }
  for (KeywordArg &keyword : args.keywords) {
    std::size_t i = 0;
    while (i < names.size() && (names[i] != keyword.name || s.items[i].positionalOnly))
      ++i;
    if (i == names.size()) {
      if (s.takesKeywords) {
        keywords.push_back(keyword);
        continue;
      }
      e.report(diag::UnexpectedKeyword, keyword.nameRange, args.callee, keyword.name,
               didYouMeanText(keyword.name, known));
      ok = false;
      continue;
    }
    if (given[i]) {
      e.report(diag::DoubledArgument, keyword.nameRange, args.callee, keyword.name);
      ok = false;
      continue;
    }
    values[i] = {keyword.value, keyword.range, keyword.expr};
    given[i] = true;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!given[i] && !s.items[i].optional) {
      e.report(diag::FunctionMissingArgument, args.range, args.callee, names[i]);
      ok = false;
    }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (given[i] && values[i].value.isError())
      ok = false;
  for (const CallArg &arg : rest)
    ok = ok && !arg.value.isError();
}

std::size_t Binding::indexOf(std::string_view parameter) const {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == parameter)
      return i;
  return names.size();
}

const CallArg *Binding::at(std::string_view parameter) const {
  std::size_t i = indexOf(parameter);
  return i < names.size() && given[i] ? &values[i] : nullptr;
}

Value Binding::value(std::string_view parameter, Value otherwise) const {
  const CallArg *arg = at(parameter);
  return arg ? arg->value : otherwise;
}

SourceRange Binding::range(std::string_view parameter) const {
  const CallArg *arg = at(parameter);
  return arg ? arg->range : callRange;
}

// ---- Arguments

CallArgs Elaborator::evalArguments(const ast::Call &node) {
  CallArgs args;
  args.range = node.range;
  args.calleeRange = node.func->range;
  args.callee = std::string(sources.text(node.func->range));
  // A callee that spans lines reads badly in a message.
  if (args.callee.find('\n') != std::string::npos)
    args.callee = "this call";
  for (const ast::Expr *arg : node.args) {
    auto *star = arg->as<ast::Starred>();
    if (!star) {
      args.positional.push_back({eval(*arg), arg->range, arg});
      continue;
    }
    Value value = eval(*star->value);
    if (value.isError() || value.isPoison()) {
      args.positional.push_back({value, arg->range, nullptr});
      continue;
    }
    if (auto more = items(value, star->range))
      for (const Value &v : *more)
        args.positional.push_back({v, arg->range, nullptr});
    else
      args.positional.push_back({Value::error(), arg->range, nullptr});
  }
  for (const ast::Keyword &keyword : node.keywords) {
    Value value = eval(*keyword.value);
    if (!keyword.name.empty()) {
      args.keywords.push_back(
          {keyword.name.id, keyword.name.range, value, keyword.value->range, keyword.value});
      continue;
    }
    if (auto *dict = value.as<DictObject>()) {
      dict->table.forEach([&](const Value &key, const Value &item) {
        if (key.isText())
          args.keywords.push_back({key.asText(), keyword.range, item, keyword.range, nullptr});
      });
    } else if (!value.isError() && !value.isPoison())
      report(diag::WrongType, keyword.value->range, "what follows `**`", "a dict",
             typeNameWithArticle(value));
  }
  return args;
}

Value Elaborator::callWith(const Value &callee, std::vector<Value> values, SourceRange range) {
  CallArgs args;
  args.range = args.calleeRange = range;
  args.callee = callee.is(ValueKind::Function)  ? callee.as<FunctionObject>()->name
                : callee.is(ValueKind::Builtin) ? callee.as<BuiltinObject>()->name
                                                : "this function";
  for (const Value &value : values)
    args.positional.push_back({value, range, nullptr});
  return call(callee, args);
}

bool Elaborator::callable(const Value &value) {
  switch (value.kind()) {
  case ValueKind::Function:
  case ValueKind::BoundMethod:
  case ValueKind::Builtin:
  case ValueKind::Class:
  case ValueKind::DType:
  case ValueKind::Poison:
    return true;
  case ValueKind::Instance:
    return classAttribute(*this, *value.as<InstanceObject>()->cls, "__call__").has_value();
  default:
    return false;
  }
}

Value Elaborator::call(const Value &callee, CallArgs &args) {
  switch (callee.kind()) {
  case ValueKind::Error:
    return callee;
  case ValueKind::Poison: {
    const auto *poison = callee.as<PoisonObject>();
    return makePoison(poison->origin, poison->range.valid() ? poison->range : args.range,
                      poison->reason);
  }
  case ValueKind::Function:
    return callFunction(*callee.as<FunctionObject>(), args);
  case ValueKind::BoundMethod: {
    auto *method = callee.as<BoundMethodObject>();
    args.positional.insert(args.positional.begin(),
                           CallArg{method->self, args.calleeRange, nullptr});
    return call(method->function, args);
  }
  case ValueKind::Builtin: {
    auto *builtin = callee.as<BuiltinObject>();
    if (builtin->function)
      return builtin->function(*this, args);
    if (builtin->closure)
      return builtin->closure(*this, args);
    report(diag::NotAtCompileTime, args.range, "`" + builtin->name + "` called this way");
    return Value::error();
  }
  case ValueKind::Class:
    return instantiate(*this, *callee.as<ClassObject>(), args);
  case ValueKind::Instance:
    if (auto method = classAttribute(*this, *callee.as<InstanceObject>()->cls, "__call__")) {
      args.positional.insert(args.positional.begin(), CallArg{callee, args.calleeRange, nullptr});
      return call(*method, args);
    }
    break;
  case ValueKind::DType: // a cast
    if (auto cast = languageAttribute(*this, "cast")) {
      CallArgs castArgs = args;
      castArgs.positional.push_back({callee, args.calleeRange, nullptr});
      if (args.positional.size() == 1)
        return call(*cast, castArgs);
      if (args.positional.empty() && args.keywords.empty())
        return callee; // T.float32() as an annotation
    }
    break;
  case ValueKind::Native:
    if (auto result = static_cast<NativeObject *>(callee.asObject())->call(*this, args))
      return *result;
    break;
  default:
    break;
  }
  report(diag::NotCallable, args.calleeRange, typeNameWithArticle(callee));
  return Value::error();
}

// ---- Functions of the program

namespace {

class ParameterBinder {
public:
  ParameterBinder(Elaborator &e, FunctionObject &function, CallArgs &args)
      : e(e), function(function), args(args), parameters(function.parameters()) {}

  Scope *bind() {
    auto &locals =
        e.parts->locals[function.def ? static_cast<const void *>(function.def) : function.lambda];
    if (locals.empty())
      locals = function.def ? localNames(*function.def) : localNames(*function.lambda);
    scope = e.makeScope(function.closure);
    scope->locals = &locals;
    for (const auto *list : {&parameters.posOnly, &parameters.args})
      for (const ast::Arg &arg : *list)
        positional.push_back(&arg);
    bindPositional();
    for (auto &[name, value] : function.boundKeywords)
      if (!bound(name))
        set(name, value, {});
    bindKeywords();
    bindDefaults();
    return ok ? scope : nullptr;
  }

private:
  bool bound(const std::string &name) {
    Slot *slot = scope->find(name);
    return slot && slot->bound;
  }
  void set(const std::string &name, const Value &value, SourceRange range) {
    Slot &slot = scope->slot(name);
    slot.value = value;
    slot.bound = true;
    slot.range = range;
  }

  void bindPositional() {
    std::vector<CallArg> values;
    for (const Value &v : function.boundPositional)
      values.push_back({v, args.range, nullptr});
    values.insert(values.end(), args.positional.begin(), args.positional.end());
    std::vector<Value> rest;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i < positional.size()) {
        set(positional[i]->name.id, values[i].value, values[i].range);
      } else if (parameters.vararg)
        rest.push_back(values[i].value);
      else {
        e.report(diag::FunctionTooManyArguments, values[i].range, function.name, positional.size(),
                 values.size())
            .label(function.nameRange(), "defined here");
        ok = false;
        return;
      }
    }
    if (parameters.vararg)
      set(parameters.vararg->name.id, e.heap.tuple(std::move(rest)), {});
  }

  void bindKeywords() {
    auto *dict = parameters.kwarg ? e.heap.make<DictObject>() : nullptr;
    for (const KeywordArg &keyword : args.keywords) {
      if (takes(keyword.name)) {
        bool fixedByPartial = false;
        for (auto &[name, value] : function.boundKeywords)
          fixedByPartial = fixedByPartial || name == keyword.name;
        if (bound(keyword.name) && !fixedByPartial) {
          e.report(diag::DoubledArgument, keyword.nameRange, function.name, keyword.name);
          ok = false;
        } else
          set(keyword.name, keyword.value, keyword.range);
      } else if (dict)
        dict->table.set(e.str(keyword.name), keyword.value);
      else {
        reportUnknown(keyword);
        ok = false;
      }
    }
    if (dict)
      set(parameters.kwarg->name.id, Value::object(dict), {});
  }

  bool takes(const std::string &name) {
    for (const auto *list : {&parameters.args, &parameters.kwOnly})
      for (const ast::Arg &arg : *list)
        if (arg.name.id == name)
          return true;
    return false;
  }

  void reportUnknown(const KeywordArg &keyword) {
    std::vector<std::string_view> names;
    for (const auto *list : {&parameters.args, &parameters.kwOnly})
      for (const ast::Arg &arg : *list)
        names.push_back(arg.name.id);
    for (const ast::Arg &arg : parameters.posOnly)
      if (arg.name.id == keyword.name) {
        e.report(diag::PositionalOnly, keyword.nameRange, function.name, keyword.name);
        return;
      }
    e.report(diag::UnexpectedKeyword, keyword.nameRange, function.name, keyword.name,
             didYouMeanText(keyword.name, names))
        .label(function.nameRange(), "defined here");
  }

  void bindDefaults() {
    std::string missing;
    for (const auto *list : {&parameters.posOnly, &parameters.args, &parameters.kwOnly})
      for (const ast::Arg &arg : *list) {
        if (bound(arg.name.id))
          continue;
        if (auto it = function.defaults.find(arg.name.id); it != function.defaults.end())
          set(arg.name.id, it->second, arg.range);
        else if (arg.defaultValue)
          set(arg.name.id, lateDefault(*arg.defaultValue), arg.range);
        else
          missing += (missing.empty() ? "" : "`, `") + arg.name.id;
      }
    if (missing.empty())
      return;
    e.report(diag::FunctionMissingArgument, args.range, function.name, missing)
        .label(function.nameRange(), "defined here");
    ok = false;
  }

  // A default that could not be evaluated at the definition: now its error is of interest.
  Value lateDefault(const ast::Expr &expr) {
    auto frame = std::make_unique<Frame>();
    frame->scope = function.closure;
    e.frames.push_back(std::move(frame));
    Value value = e.eval(expr);
    e.frames.pop_back();
    return value;
  }

  Elaborator &e;
  FunctionObject &function;
  CallArgs &args;
  const ast::Arguments &parameters;
  std::vector<const ast::Arg *> positional;
  Scope *scope = nullptr;
  bool ok = true;
};

bool isGenerator(const ast::Block &block);

bool yields(const ast::Expr *e) { return e && (e->is<ast::Yield>() || e->is<ast::YieldFrom>()); }

// Whether a function's own statements yield. Only where `yield` usually stands: a statement of its
// own or the right side of an assignment.
bool isGenerator(const ast::Stmt &s) {
  if (auto *x = s.as<ast::ExprStmt>())
    return yields(x->value);
  if (auto *x = s.as<ast::Assign>())
    return yields(x->value);
  if (auto *x = s.as<ast::If>())
    return isGenerator(x->body) || isGenerator(x->orelse);
  if (auto *x = s.as<ast::For>())
    return isGenerator(x->body) || isGenerator(x->orelse);
  if (auto *x = s.as<ast::While>())
    return isGenerator(x->body) || isGenerator(x->orelse);
  if (auto *x = s.as<ast::With>())
    return isGenerator(x->body);
  if (auto *x = s.as<ast::Try>())
    return isGenerator(x->body) || isGenerator(x->finalbody);
  return false;
}

bool isGenerator(const ast::Block &block) {
  for (const ast::Stmt *s : block)
    if (isGenerator(*s))
      return true;
  return false;
}

} // namespace

Scope *Elaborator::bindParameters(FunctionObject &function, CallArgs &args) {
  return ParameterBinder(*this, function, args).bind();
}

Value Elaborator::runBody(FunctionObject &function, Scope *scope, bool likeKernel, bool isMacro,
                          SourceRange callRange) {
  if (parts->callDepth >= callDepthLimit) {
    report(diag::TooDeep, callRange, callDepthLimit);
    throw AbortUnit();
  }
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  frame->scope = scope;
  frame->inKernel = likeKernel;
  frame->isMacro = isMacro;
  frame->firstRegion = regions.size();
  frame->callRange = callRange;
  std::vector<Value> yielded;
  if (function.def && isGenerator(function.def->body))
    frame->yields = &yielded;
  frames.push_back(std::move(frame));
  ++parts->callDepth;
  struct Pop {
    Elaborator &e;
    std::size_t depth;
    ~Pop() {
      e.frames.resize(depth);
      --e.parts->callDepth;
    }
  } pop{*this, frames.size() - 1};
  std::optional<DiagnosticEngine::Context> note;
  constexpr unsigned shownCalls = 8; // of endless recursion the beginning is enough
  if (callRange.valid() && function.def && parts->callDepth <= shownCalls)
    note.emplace(diagnostics, callRange, "in the call of `" + function.name + "`");
  if (function.lambda)
    return evalPinned(*function.lambda->body);
  execBlock(function.def->body);
  if (!this->frame().yields)
    return this->frame().returned;
  auto *list = heap.make<ListObject>();
  list->items = std::move(yielded);
  return Value::object(iterate(Value::object(list), callRange));
}

// A variable is read here; an element stays one, since the function may use it as a place.
static Value pinArgument(Elaborator &e, const Value &value, SourceRange range) {
  return value.isCell() ? pin(e, value, "", range) : value;
}

Value Elaborator::callFunction(FunctionObject &function, CallArgs &args) {
  switch (function.role) {
  case FunctionRole::Macro:
    if (kernel)
      return callMacro(*this, function, args);
    report(diag::NotAtCompileTime, args.range, "a macro outside of a kernel");
    return Value::error();
  case FunctionRole::PrimFunc:
    if (kernel) {
      report(diag::NotAtCompileTime, args.range, "a kernel called from a kernel")
          .help("make `" + function.name + "` a @T.macro");
      return Value::error();
    }
    return makePoison(function.name, args.range,
                      "the result of a kernel is known at run time only");
  case FunctionRole::Jit: {
    if (function.eager) {
      bool launch = false;
      for (const CallArg &arg : args.positional)
        launch = launch || arg.value.isPoison();
      if (launch)
        return makePoison(function.name, args.range,
                          "the result of a kernel is known at run time only");
    }
    return functionAttribute(*this, Value::object(&function), "compile")
        .value()
        .as<BuiltinObject>()
        ->closure(*this, args);
  }
  case FunctionRole::Plain:
    break;
  }
  for (const CallArg &arg : args.positional)
    if (arg.value.isError())
      return Value::error();
  for (const KeywordArg &arg : args.keywords)
    if (arg.value.isError())
      return Value::error();
  if (function.def && function.def->isAsync) {
    report(diag::NotAtCompileTime, args.range, "an async function");
    return Value::error();
  }
  if (kernel) {
    for (CallArg &arg : args.positional)
      if (!arg.value.isCell() || !arg.expr || !arg.expr->is<ast::Call>())
        arg.value = pinArgument(*this, arg.value, arg.range);
    for (KeywordArg &arg : args.keywords)
      arg.value = pinArgument(*this, arg.value, arg.range);
  }
  Scope *scope = bindParameters(function, args);
  return scope ? runBody(function, scope, false, false, args.range) : Value::error();
}

} // namespace tlc::elaborate
