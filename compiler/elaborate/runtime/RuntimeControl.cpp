// Run-time control flow of kernels, and macros.
#include "elaborate/tile/TLoops.h"

namespace tlc::elaborate {

using ir::Expr;

LoopScope::LoopScope(Elaborator &e, bool breakAllowed, bool isMap) : runtime(state(e)) {
  saved = {runtime.breakAllowed, runtime.loopDepth, runtime.mapDepth};
  runtime.breakAllowed = breakAllowed;
  ++runtime.loopDepth;
  if (isMap)
    ++runtime.mapDepth;
}

LoopScope::~LoopScope() {
  runtime.breakAllowed = saved.breakAllowed;
  runtime.loopDepth = saved.loopDepth;
  runtime.mapDepth = saved.mapDepth;
}

void runtimeIf(Elaborator &e, const ast::If &node, const Value &condition) {
  if (!requireLaunch(e, node.test->range, "an `if` on a run-time value stands"))
    return;
  Expr test = toCondition(e, condition, node.test->range);
  if (!test)
    return;
  if (test.isInt()) {
    e.execBlock(test.isTrue() ? node.body : node.orelse);
    return;
  }
  auto &stmt = e.builder().add<ir::IfStmt>();
  stmt.condition = test;
  auto arm = [&](ir::Block &block, const ast::Block &body) {
    return [&e, &block, &body] { e.builder().in(block, [&] { e.execBlock(body); }); };
  };
  std::vector<std::function<void()>> arms = {arm(stmt.then, node.body)};
  if (!node.orelse.empty())
    arms.push_back(arm(stmt.otherwise, node.orelse));
  e.runtimeBranches(arms);
}

// Whether the statements leave the loop that they stand in.
static bool leavesLoop(const ast::Block &block) {
  for (const ast::Stmt *s : block) {
    if (s->is<ast::Break>() || s->is<ast::Return>())
      return true;
    if (auto *branch = s->as<ast::If>();
        branch && (leavesLoop(branch->body) || leavesLoop(branch->orelse)))
      return true;
    if (auto *with = s->as<ast::With>(); with && leavesLoop(with->body))
      return true;
  }
  return false;
}

Flow kernelWhile(Elaborator &e, const ast::While &node) {
  if (!node.orelse.empty()) {
    e.report(diag::LoopElse, node.orelse.front()->range);
    return Flow::Next;
  }
  if (!requireLaunch(e, node.test->range, "a `while` stands"))
    return Flow::Next;
  auto &stmt = e.builder().add<ir::WhileStmt>();
  bool known = false;
  e.builder().in(stmt.conditionBlock, [&] {
    Value condition = e.eval(*node.test);
    if (condition.isRuntime() || condition.isError()) {
      if (!condition.isError())
        stmt.condition = toCondition(e, condition, node.test->range);
      return;
    }
    std::optional<bool> truth = e.truth(condition, node.test->range);
    known = truth.has_value();
    if (truth)
      stmt.condition = e.context.boolean(*truth);
  });
  if (!stmt.condition) {
    stmt.condition = e.context.boolean(false); // reported; keeps the tree whole
    return Flow::Next;
  }
  if (known && stmt.condition.isFalse()) {
    e.builder().block().pop_back();
    return Flow::Next;
  }
  if (known && !leavesLoop(node.body))
    e.report(diag::EndlessLoop, node.test->range);
  LoopScope loop(e, true);
  e.builder().in(stmt.body, [&] { e.runtimeLoop([&] { e.execBlock(node.body); }); });
  return Flow::Next;
}

namespace {

bool leaveLoop(Elaborator &e, SourceRange range, std::string_view word) {
  RuntimeState &s = state(e);
  if (s.loopDepth > 0 && s.breakAllowed)
    return true;
  e.report(diag::CannotLeaveLoop, range, word)
      .note("the iterations of T.Parallel and T.vectorized are independent of each other");
  return false;
}

} // namespace

void runtimeBreak(Elaborator &e, SourceRange range) {
  if (leaveLoop(e, range, "break"))
    e.builder().add<ir::BreakStmt>();
}

void runtimeContinue(Elaborator &e, SourceRange range) {
  if (state(e).mapDepth > 0 || leaveLoop(e, range, "continue"))
    e.builder().add<ir::ContinueStmt>();
}

void runtimeDiscard(Elaborator &, const Value &, SourceRange) {
  // What has an effect became a statement when it was evaluated; an element that nobody reads is
  // not read.
}

void runtimePrint(Elaborator &e, CallArgs &args) {
  std::optional<Value> print = languageAttribute(e, "print");
  if (print)
    e.call(*print, args);
}

// ---- Macros

namespace {

/// `x: T.Ref`, `x: T.Ref[...]`, `x: Ref(...)`.
bool isRefAnnotation(const ast::Expr *annotation) {
  if (!annotation)
    return false;
  if (const auto *subscript = annotation->as<ast::Subscript>())
    return isRefAnnotation(subscript->value);
  if (const auto *call = annotation->as<ast::Call>())
    return isRefAnnotation(call->func);
  if (const auto *attribute = annotation->as<ast::Attribute>())
    return attribute->attr.id == "Ref";
  if (const auto *name = annotation->as<ast::Name>())
    return name->id == "Ref";
  return false;
}

const ast::Arg *parameterAt(const ast::Arguments &p, std::size_t i) {
  if (i < p.posOnly.size())
    return &p.posOnly[i];
  i -= p.posOnly.size();
  return i < p.args.size() ? &p.args[i] : nullptr;
}

const ast::Arg *parameterNamed(const ast::Arguments &p, std::string_view name) {
  for (const std::vector<ast::Arg> *list : {&p.posOnly, &p.args, &p.kwOnly})
    for (const ast::Arg &arg : *list)
      if (arg.name.id == name)
        return &arg;
  return nullptr;
}

/// By value: read here, once. By reference: the cell itself.
Value macroArgument(Elaborator &e, const ast::Arg *parameter, const Value &value,
                    SourceRange range) {
  if (!parameter)
    return value;
  if (!isRefAnnotation(parameter->annotation))
    return pin(e, value, parameter->name.id, range);
  if (value.isCell() || value.isBuffer() || value.native<ElementValue>())
    return value;
  e.report(diag::RefArgument, range, parameter->name.id, typeNameWithArticle(value));
  return Value::error();
}

} // namespace

Value callMacro(Elaborator &e, FunctionObject &macro, CallArgs &args) {
  if (!requireLaunch(e, args.range, "the macro `" + macro.name + "` is called"))
    return Value::error();
  if (!state(e).lazyWord.empty()) {
    e.report(diag::LazyStatement, args.range, macro.name, state(e).lazyWord)
        .help("assign its result to a name before, or use an `if` statement");
    return Value::error();
  }
  const ast::Arguments &parameters = macro.parameters();
  std::size_t skip = macro.boundPositional.size();
  for (std::size_t i = 0; i < args.positional.size(); ++i) {
    CallArg &a = args.positional[i];
    a.value = macroArgument(e, parameterAt(parameters, i + skip), a.value, a.range);
  }
  for (KeywordArg &k : args.keywords)
    k.value = macroArgument(e, parameterNamed(parameters, k.name), k.value, k.range);
  Scope *scope = e.bindParameters(macro, args);
  if (!scope)
    return Value::error();
  SourceRange saved = e.builder().range;
  Value result = e.runBody(macro, scope, true, true, args.range);
  e.builder().range = saved;
  return result;
}

} // namespace tlc::elaborate
