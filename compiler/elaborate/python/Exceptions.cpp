// raise, assert and try at compile time.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

namespace tlc::elaborate {

namespace {

Value exceptionValue(Elaborator &e, const Value &value, SourceRange range) {
  if (auto *cls = value.as<ClassObject>()) {
    CallArgs none;
    none.range = none.calleeRange = range;
    none.callee = cls->name;
    return instantiate(e, *cls, none);
  }
  return value;
}

[[noreturn]] void throwException(Elaborator &e, const Value &exception, SourceRange range,
                                 diag::Id id, std::string_view text) {
  if (e.parts->tryDepth > 0)
    throw RaisedException{exception, range};
  e.report(id, range, text);
  throw AbortUnit();
}

// The class of Python's exception that an error stands for, for `except`.
std::string_view exceptionOf(diag::Id id) {
  switch (id) {
  case diag::UndefinedName:
    return "NameError";
  case diag::UnboundLocal:
    return "UnboundLocalError";
  case diag::NoAttribute:
    return "AttributeError";
  case diag::DivisionByZero:
    return "ZeroDivisionError";
  case diag::IntegerOverflow:
    return "OverflowError";
  case diag::IndexOutOfRange:
    return "IndexError";
  case diag::KeyNotFound:
    return "KeyError";
  case diag::BadValue:
  case diag::UnpackCount:
  case diag::BadShift:
    return "ValueError";
  case diag::ImportedNameMissing:
    return "ImportError";
  default:
    return "TypeError";
  }
}

const ast::ExceptHandler *findHandler(Elaborator &e, const ast::Try &stmt,
                                      const RaisedException &raised) {
  for (const ast::ExceptHandler &handler : stmt.handlers) {
    if (!handler.type)
      return &handler;
    Value type = e.eval(*handler.type);
    for (const Value &one : e.toList(type))
      if (one.is(ValueKind::Class) && isInstance(e, raised.exception, one, handler.range))
        return &handler;
  }
  return nullptr;
}

} // namespace

void execRaise(Elaborator &e, const ast::Raise &stmt) {
  if (!stmt.exc) {
    e.report(diag::BadValue, stmt.range, "there is no exception to raise again");
    throw AbortUnit();
  }
  Value exception = e.eval(*stmt.exc);
  if (exception.isError())
    throw AbortUnit();
  exception = exceptionValue(e, exception, stmt.range);
  std::string text = typeName(exception);
  if (auto *poison = exception.as<PoisonObject>())
    text = poison->origin;
  else if (std::string message = str(exception); !message.empty())
    text += ": " + message;
  throwException(e, exception, stmt.range, diag::ExceptionRaised, text);
}

void execAssert(Elaborator &e, const ast::Assert &stmt) {
  Value condition = e.eval(*stmt.test);
  if (condition.isError())
    return;
  if (condition.isPoison() && !e.inKernel() && !e.frame().function)
    return; // host code at module level
  auto holds = e.truth(condition, stmt.test->range);
  if (!holds) {
    if (!condition.isRuntime())
      return;
    Value message = stmt.msg ? e.eval(*stmt.msg) : Value::none();
    if (e.kernel)
      runtimeAssert(e, condition, message, stmt.range);
    return;
  }
  if (*holds)
    return;
  std::string text;
  if (stmt.msg) {
    Value message = e.eval(*stmt.msg);
    if (!message.isError())
      text = ": " + str(message);
  }
  ClassObject *cls = exceptionClass(e, "AssertionError");
  throwException(e, exceptionValue(e, Value::object(cls), stmt.range), stmt.test->range,
                 diag::AssertionFailed, text);
}

Flow execTry(Elaborator &e, const ast::Try &stmt) {
  std::optional<RaisedException> raised;
  Flow flow = Flow::Next;
  std::size_t frameCount = e.frames.size(), loops = e.frame().loops.size();
  std::size_t regions = e.regions.size();
  ++e.parts->tryDepth;
  try {
    for (const ast::Stmt *s : stmt.body) {
      auto mark = e.diagnostics.mark();
      flow = e.exec(*s);
      if (e.diagnostics.errorCount() > mark.errors && !stmt.handlers.empty()) {
        const Diagnostic &first = e.diagnostics.diagnostics()[mark.records];
        RaisedException exception{
            exceptionValue(e, Value::object(exceptionClass(e, exceptionOf(first.id))), first.range),
            first.range};
        e.diagnostics.rollback(mark);
        throw exception;
      }
      if (flow != Flow::Next)
        break;
    }
  } catch (const RaisedException &exception) {
    raised = exception;
  } catch (...) {
    --e.parts->tryDepth;
    throw;
  }
  --e.parts->tryDepth;
  if (raised) {
    e.frames.resize(frameCount);
    e.frame().loops.resize(loops);
    e.regions.resize(regions);
    const ast::ExceptHandler *handler = findHandler(e, stmt, *raised);
    if (!handler) {
      e.execBlock(stmt.finalbody);
      std::string text = typeName(raised->exception);
      if (std::string message = str(raised->exception); !message.empty())
        text += ": " + message;
      throwException(e, raised->exception, raised->range, diag::ExceptionRaised, text);
    }
    if (!handler->name.empty())
      e.bindName(handler->name.id, raised->exception, handler->name.range);
    flow = e.execBlock(handler->body);
  } else if (flow == Flow::Next)
    flow = e.execBlock(stmt.orelse);
  Flow last = e.execBlock(stmt.finalbody);
  return last == Flow::Next ? flow : last;
}

} // namespace tlc::elaborate
