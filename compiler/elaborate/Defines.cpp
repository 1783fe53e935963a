// -D NAME=VALUE and KERNEL.NAME=VALUE: reading and finding them.
#include "elaborate/Defines.h"

#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

#include <algorithm>
#include <cctype>

namespace tlc::elaborate {

namespace {

bool isIdentifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
  });
}

// A bare word: a dtype, a warp policy, else itself as text.
Value wordValue(Elaborator &e, const std::string &word) {
  if (auto type = DType::parse(word))
    return Value::dtype(*type);
  if (auto policy = languageAttribute(e, "GemmWarpPolicy"))
    if (auto *cls = policy->as<ClassObject>())
      for (const Value &member : cls->members)
        if (member.as<EnumMemberObject>()->name == word)
          return member;
  return e.str(word);
}

Value valueOf(Elaborator &e, const ast::Expr &expr) {
  if (auto *name = expr.as<ast::Name>())
    return wordValue(e, name->id);
  if (auto *tuple = expr.as<ast::Tuple>()) {
    std::vector<Value> items;
    for (const ast::Expr *item : tuple->elements)
      items.push_back(valueOf(e, *item));
    return e.heap.tuple(std::move(items));
  }
  if (auto *list = expr.as<ast::List>()) {
    std::vector<Value> items;
    for (const ast::Expr *item : list->elements)
      items.push_back(valueOf(e, *item));
    return e.heap.list(std::move(items));
  }
  return e.eval(expr);
}

// Text that is no expression ("sm_90 fast") is a string.
Value readValue(Elaborator &e, const std::string &text, std::uint32_t file) {
  auto mark = e.diagnostics.mark();
  auto tree = e.options.parseExpression ? e.options.parseExpression(file) : nullptr;
  if (!tree || tree->body.size() != 1 || !tree->body[0]->is<ast::ExprStmt>()) {
    e.diagnostics.rollback(mark);
    return e.str(text);
  }
  const ast::Expr &expr = *tree->body[0]->as<ast::ExprStmt>()->value;
  e.parts->trees.push_back(std::move(tree));
  return valueOf(e, expr);
}

void readDefine(Elaborator &e, const std::string &text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    e.report(diag::BadDefine, {}, text, "there is no `=`");
    return;
  }
  std::string name = text.substr(0, equals), value = text.substr(equals + 1), kernel;
  if (std::size_t dot = name.rfind('.'); dot != std::string::npos) {
    kernel = name.substr(0, dot);
    name = name.substr(dot + 1);
  }
  if (!isIdentifier(name) || (!kernel.empty() && !isIdentifier(kernel))) {
    e.report(diag::BadDefine, {}, text, "what stands before `=` is no name");
    return;
  }
  if (value.empty()) {
    e.report(diag::BadDefine, {}, text, "there is no value");
    return;
  }
  for (const Define &other : e.parts->defines)
    if (other.name == name && other.kernel == kernel) {
      e.report(diag::BadDefine, {}, text, "the name has a value already, " + other.text);
      return;
    }
  Define define;
  define.kernel = kernel;
  define.name = name;
  define.text = value;
  define.dynamic = value == "dynamic";
  std::uint32_t file = e.sources.addBuffer("-D " + name, value);
  define.range = {file, 0, static_cast<std::uint32_t>(value.size())};
  if (!define.dynamic)
    define.value = readValue(e, value, file);
  e.parts->defines.push_back(std::move(define));
}

} // namespace

void readDefines(Elaborator &e) {
  auto frame = std::make_unique<Frame>();
  frame->scope = e.makeScope(e.parts->builtins);
  for (const char *name : {"T", "tilelang", "torch"}) {
    ModuleObject *module = e.shimModule(name[0] == 'T' ? "tilelang.language" : name);
    Slot &slot = frame->scope->slot(name);
    slot.value = Value::object(module);
    slot.bound = true;
  }
  e.frames.push_back(std::move(frame));
  for (const std::string &text : e.options.defines) {
    try {
      readDefine(e, text);
    } catch (const AbortUnit &) {
    } catch (const RaisedException &) {
    }
  }
  e.frames.clear();
}

const Define *Elaborator::findDefine(std::string_view name) {
  parts->asked.insert(std::string(name));
  const Define *found = nullptr;
  for (const Define &define : parts->defines) {
    if (define.name != name)
      continue;
    bool ours = std::find(parts->unitNames.begin(), parts->unitNames.end(), define.kernel) !=
                parts->unitNames.end();
    if (!define.kernel.empty() && !ours)
      continue;
    define.used = true;
    if (!found || !define.kernel.empty()) // the one for this kernel wins
      found = &define;
  }
  for (const Define &define : parts->unitDefines)
    if (!found && define.name == name)
      found = &define;
  return found;
}

const Define *Elaborator::findDefine(std::string_view name, std::string_view owner) {
  for (const Define &define : parts->defines)
    if (define.name == name && define.kernel == owner) {
      define.used = true;
      return &define;
    }
  return nullptr;
}

Value Elaborator::overrideGlobal(const std::string &name, const Value &value) {
  switch (value.kind()) {
  case ValueKind::None:
  case ValueKind::Bool:
  case ValueKind::Int:
  case ValueKind::Float:
  case ValueKind::DType:
  case ValueKind::Str:
  case ValueKind::Tuple:
  case ValueKind::List:
  case ValueKind::EnumMember:
  case ValueKind::Poison:
    break;
  default:
    return value;
  }
  parts->asked.insert(name);
  for (const Define &define : parts->defines)
    if (define.name == name && define.kernel.empty()) {
      define.used = true;
      if (define.dynamic)
        return Value::expr(context.var(name, DType(Scalar::Int32)));
      return define.value;
    }
  return value;
}

void reportUnusedDefines(Elaborator &e) {
  std::vector<std::string_view> asked(e.parts->asked.begin(), e.parts->asked.end());
  for (const Define &define : e.parts->defines)
    if (!define.used) {
      std::string full = (define.kernel.empty() ? "" : define.kernel + ".") + define.name;
      e.report(diag::UnusedDefine, {}, full + "=" + define.text, define.name,
               didYouMeanText(define.name, asked));
    }
}

} // namespace tlc::elaborate
