// Values as text: names of their types, repr and str.
#include "elaborate/Value.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace tlc::elaborate {

std::string typeName(const Value &value) {
  switch (value.kind()) {
  case ValueKind::Error:
    return "value";
  case ValueKind::None:
    return "None";
  case ValueKind::Ellipsis:
    return "ellipsis";
  case ValueKind::NotImplemented:
    return "NotImplemented";
  case ValueKind::Bool:
    return "bool";
  case ValueKind::Int:
    return "int";
  case ValueKind::Float:
    return "float";
  case ValueKind::DType:
    return "dtype";
  case ValueKind::Expr:
    return "run-time " + value.asExpr().dtype().str();
  case ValueKind::Buffer:
    return std::string(ir::scopeName(value.asBuffer()->scope)) + " buffer";
  case ValueKind::Cell:
    return "run-time variable";
  case ValueKind::Str:
    return "str";
  case ValueKind::Bytes:
    return "bytes";
  case ValueKind::Tuple:
    return "tuple";
  case ValueKind::List:
    return "list";
  case ValueKind::Dict:
    return "dict";
  case ValueKind::Set:
    return "set";
  case ValueKind::Slice:
    return "slice";
  case ValueKind::Range:
    return "range";
  case ValueKind::Iterator:
    return "iterator";
  case ValueKind::Function:
    switch (value.as<FunctionObject>()->role) {
    case FunctionRole::PrimFunc:
    case FunctionRole::Jit:
      return "kernel";
    case FunctionRole::Macro:
      return "macro";
    case FunctionRole::Plain:
      break;
    }
    return "function";
  case ValueKind::BoundMethod:
    return "method";
  case ValueKind::Builtin:
    return value.as<BuiltinObject>()->isType ? "type" : "function";
  case ValueKind::Module:
    return "module";
  case ValueKind::Class:
    return "class";
  case ValueKind::Instance:
    return value.as<InstanceObject>()->cls->name;
  case ValueKind::EnumMember:
    return value.as<EnumMemberObject>()->cls->name;
  case ValueKind::Poison:
    return "unknown value";
  case ValueKind::Native:
    return static_cast<NativeObject *>(value.asObject())->typeName();
  }
  return "value";
}

std::string typeNameWithArticle(const Value &value) {
  std::string name = typeName(value);
  if (value.isNone() || value.is(ValueKind::NotImplemented))
    return name;
  for (std::string_view article : {"a ", "an ", "the "})
    if (name.starts_with(article))
      return name;
  bool vowel = std::strchr("aeioAEIO", name[0]) != nullptr;
  return (vowel ? "an " : "a ") + name;
}

// ---- repr and str

std::string decimal(Int value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  auto magnitude = static_cast<unsigned __int128>(value);
  if (negative)
    magnitude = -magnitude;
  std::string digits;
  for (; magnitude != 0; magnitude /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
  return (negative ? "-" : "") + digits;
}

std::string reprOfDouble(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  // Shortest text that reads back the same, in Python's choice of notation.
  double magnitude = std::fabs(value);
  bool scientific = value != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    scientific ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer, result.ptr);
  if (!scientific && text.find('.') == std::string::npos)
    text += ".0";
  return text;
}

static std::string reprOfStr(std::string_view text) {
  char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos
                   ? '"'
                   : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      const char *hex = "0123456789abcdef";
      out += "\\x";
      out += hex[static_cast<unsigned char>(c) >> 4];
      out += hex[c & 15];
    } else
      out += c;
  }
  return out + quote;
}

static std::string reprOfItems(const std::vector<Value> &items, const char *open,
                               const char *close) {
  std::string out = open;
  for (std::size_t i = 0; i < items.size(); ++i)
    out += (i ? ", " : "") + repr(items[i]);
  return out + close;
}

static std::string reprOfContainer(const Value &value) {
  // A list may contain itself.
  thread_local unsigned depth = 0;
  if (depth > 32)
    return "...";
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  switch (value.kind()) {
  case ValueKind::Tuple: {
    const auto &items = value.as<TupleObject>()->items;
    return items.size() == 1 ? "(" + repr(items[0]) + ",)" : reprOfItems(items, "(", ")");
  }
  case ValueKind::List:
    return reprOfItems(value.as<ListObject>()->items, "[", "]");
  case ValueKind::Dict: {
    std::string out = "{";
    value.as<DictObject>()->table.forEach([&](const Value &key, const Value &item) {
      out += (out.size() > 1 ? ", " : "") + repr(key) + ": " + repr(item);
    });
    return out + "}";
  }
  case ValueKind::Set: {
    auto keys = value.as<SetObject>()->table.keys();
    std::string text = keys.empty() ? "set()" : reprOfItems(keys, "{", "}");
    return value.as<SetObject>()->frozen ? "frozenset(" + (keys.empty() ? "" : text) + ")" : text;
  }
  default: {
    const auto *slice = value.as<SliceObject>();
    return "slice(" + repr(slice->lower) + ", " + repr(slice->upper) + ", " + repr(slice->step) +
           ")";
  }
  }
}

static std::string reprOfExpr(const Value &value) {
  ir::Expr e = value.asExpr();
  if (e.isInt())
    return e.dtype().isBool() ? (e.isTrue() ? "True" : "False") : std::to_string(e->integer);
  if (e.isFloat())
    return reprOfDouble(e->real);
  return e.isVar() ? e->name : "<" + typeName(value) + ">";
}

std::string repr(const Value &value) {
  switch (value.kind()) {
  case ValueKind::Error:
    return "<error>";
  case ValueKind::None:
    return "None";
  case ValueKind::Ellipsis:
    return "Ellipsis";
  case ValueKind::NotImplemented:
    return "NotImplemented";
  case ValueKind::Bool:
    return value.asBool() ? "True" : "False";
  case ValueKind::Int:
    return decimal(value.asInt());
  case ValueKind::Float:
    return reprOfDouble(value.asDouble());
  case ValueKind::DType:
    return reprOfStr(value.asText());
  case ValueKind::Str:
    return reprOfStr(value.as<StrObject>()->text);
  case ValueKind::Bytes:
    return "b" + reprOfStr(value.as<BytesObject>()->bytes);
  case ValueKind::Expr:
    return reprOfExpr(value);
  case ValueKind::Buffer:
  case ValueKind::Cell:
    return value.asBuffer()->name;
  case ValueKind::Tuple:
  case ValueKind::List:
  case ValueKind::Dict:
  case ValueKind::Set:
  case ValueKind::Slice:
    return reprOfContainer(value);
  case ValueKind::Range: {
    const auto *range = value.as<RangeObject>();
    std::string out = "range(" + decimal(range->start) + ", " + decimal(range->stop);
    return out + (range->step == 1 ? ")" : ", " + decimal(range->step) + ")");
  }
  case ValueKind::Function:
    return "<function " + value.as<FunctionObject>()->name + ">";
  case ValueKind::Builtin:
    return "<function " + value.as<BuiltinObject>()->name + ">";
  case ValueKind::Module:
    return "<module '" + value.as<ModuleObject>()->name + "'>";
  case ValueKind::Class:
    return "<class '" + value.as<ClassObject>()->name + "'>";
  case ValueKind::EnumMember: {
    const auto *member = value.as<EnumMemberObject>();
    return "<" + member->cls->name + "." + member->name + ": " + repr(member->value) + ">";
  }
  case ValueKind::Poison:
    return "<" + value.as<PoisonObject>()->origin + ">";
  case ValueKind::Native:
    return static_cast<NativeObject *>(value.asObject())->repr();
  case ValueKind::Instance: {
    auto *instance = value.as<InstanceObject>();
    std::string out = instance->cls->name + "(";
    for (std::size_t i = 0; i < instance->cls->fields.size(); ++i)
      if (Value *field = instance->find(instance->cls->fields[i]))
        out += (i ? ", " : "") + instance->cls->fields[i] + "=" + repr(*field);
    return instance->cls->isDataclass ? out + ")" : "<" + instance->cls->name + " object>";
  }
  case ValueKind::Iterator:
  case ValueKind::BoundMethod:
    return "<" + typeName(value) + ">";
  }
  return "<value>";
}

std::string str(const Value &value) {
  if (value.isText())
    return value.asText();
  if (auto *member = value.as<EnumMemberObject>())
    return member->cls->name + "." + member->name;
  if (auto *instance = value.as<InstanceObject>())
    if (instance->cls->isException)
      if (Value *args = instance->find("args"); args && args->is(ValueKind::Tuple)) {
        const auto &items = args->as<TupleObject>()->items;
        return items.empty() ? "" : items.size() == 1 ? str(items[0]) : repr(*args);
      }
  return repr(value);
}

} // namespace tlc::elaborate
