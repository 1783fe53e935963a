#include "sema/Builtins.h"

#include "support/Check.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::sema {

namespace {

struct Row {
  Builtin id;
  std::string_view name, signature;
  Category category;
  Effect effect;
  Support support;
  std::string_view hint;
};

constexpr Row rows[] = {
#define TLC_BUILTIN(ID, NAME, SIGNATURE, CATEGORY, EFFECT, SUPPORT, HINT)                          \
  {Builtin::ID, NAME, SIGNATURE, Category::CATEGORY, Effect::EFFECT, Support::SUPPORT, HINT},
#include "sema/Builtins.def"
};

struct Alias {
  std::string_view name;
  Builtin id;
};
constexpr Alias aliases[] = {
#define TLC_BUILTIN(...)
#define TLC_ALIAS(NAME, ID) {NAME, Builtin::ID},
#include "sema/Builtins.def"
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

ArgClass classByName(std::string_view name) {
  static constexpr std::pair<std::string_view, ArgClass> names[] = {
      {"tile", ArgClass::Tile},   {"buffer", ArgClass::Buffer}, {"elem", ArgClass::Element},
      {"value", ArgClass::Value}, {"int", ArgClass::Int},       {"flag", ArgClass::Flag},
      {"text", ArgClass::Text},   {"type", ArgClass::Type},     {"shape", ArgClass::Shape},
      {"map", ArgClass::Map},     {"fn", ArgClass::Function},   {"mbar", ArgClass::Barrier},
  };
  for (const auto &[text, cls] : names)
    if (text == name)
      return cls;
  TLC_UNREACHABLE("unknown class `" + std::string(name) + "` in Builtins.def");
}

ScopeSet scopesByLetters(std::string_view letters) {
  ScopeSet set = 0;
  for (char c : letters) {
    static constexpr std::string_view known = "gsflb";
    std::size_t bit = known.find(c);
    TLC_CHECK(bit != std::string_view::npos, "unknown scope letter in Builtins.def");
    set |= static_cast<ScopeSet>(1u << bit);
  }
  return set;
}

TypeSet typesByName(std::string_view name) {
  if (name == "float")
    return TypeSet::Float;
  if (name == "int")
    return TypeSet::Integer;
  TLC_CHECK(name == "number", "unknown type set `" + std::string(name) + "` in Builtins.def");
  return TypeSet::Number;
}

/// One parameter: `name: class@scopes%types = default`.
Parameter parseParameter(std::string_view text) {
  Parameter p;
  if (std::size_t equals = text.find('='); equals != std::string_view::npos) {
    p.defaultText = trim(text.substr(equals + 1));
    p.required = false;
    text = trim(text.substr(0, equals));
  }
  std::string_view cls;
  if (std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    cls = trim(text.substr(colon + 1));
    text = trim(text.substr(0, colon));
  }
  if (std::size_t percent = cls.find('%'); percent != std::string_view::npos) {
    p.types = typesByName(cls.substr(percent + 1));
    cls = cls.substr(0, percent);
  }
  if (std::size_t at = cls.find('@'); at != std::string_view::npos) {
    p.scopes = scopesByLetters(cls.substr(at + 1));
    cls = cls.substr(0, at);
  }
  if (!cls.empty())
    p.cls = classByName(cls);
  if (!text.empty() && text.front() == '*') {
    p.variadic = true;
    p.required = false;
    text.remove_prefix(1);
  }
  p.name = text;
  return p;
}

std::vector<Parameter> parseSignature(std::string_view text) {
  std::vector<Parameter> result;
  bool keywordOnly = false;
  while (!text.empty()) {
    std::size_t comma = text.find(',');
    std::string_view part = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part == "*") {
      keywordOnly = true;
      continue;
    }
    Parameter p = parseParameter(part);
    p.keywordOnly = keywordOnly;
    if (p.variadic)
      keywordOnly = true;
    result.push_back(p);
  }
  return result;
}

std::vector<BuiltinInfo> makeTable() {
  std::vector<BuiltinInfo> table;
  for (const Row &row : rows) {
    TLC_CHECK(table.size() == static_cast<std::size_t>(row.id), "Builtins.def is out of order");
    table.push_back({row.id, row.name, row.signature, row.category, row.effect, row.support,
                     row.hint, parseSignature(row.signature)});
  }
  return table;
}

const std::vector<BuiltinInfo> &table() {
  static const std::vector<BuiltinInfo> builtins = makeTable();
  return builtins;
}

} // namespace

std::string_view describe(ArgClass cls) {
  switch (cls) {
  case ArgClass::Any:
    return "a value";
  case ArgClass::Tile:
    return "a buffer or a region of one";
  case ArgClass::Buffer:
    return "a whole buffer";
  case ArgClass::Element:
    return "one element of a buffer, such as `A[i, j]`";
  case ArgClass::Value:
    return "a scalar";
  case ArgClass::Int:
    return "a compile-time int";
  case ArgClass::Flag:
    return "a compile-time bool";
  case ArgClass::Text:
    return "a string";
  case ArgClass::Type:
    return "a dtype";
  case ArgClass::Shape:
    return "a shape: an int or a tuple of extents";
  case ArgClass::Map:
    return "a dict";
  case ArgClass::Function:
    return "a function";
  case ArgClass::Barrier:
    return "a barrier from T.alloc_barrier";
  }
  TLC_UNREACHABLE("argument class");
}

std::string describeScopes(ScopeSet scopes) {
  static constexpr std::string_view names[] = {"global", "shared", "fragment", "local", "barrier"};
  std::vector<std::string_view> words;
  for (unsigned bit = 0; bit < 5; ++bit)
    if (scopes >> bit & 1)
      words.push_back(names[bit]);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i)
      text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

const Parameter *BuiltinInfo::parameter(std::string_view wanted) const {
  int i = index(wanted);
  return i < 0 ? nullptr : &parameters[static_cast<std::size_t>(i)];
}

int BuiltinInfo::index(std::string_view wanted) const {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == wanted)
      return static_cast<int>(i);
  return -1;
}

std::string BuiltinInfo::usage() const {
  std::string text = "T." + std::string(name) + "(";
  bool first = true, star = false;
  for (const Parameter &p : parameters) {
    if (!first)
      text += ", ";
    first = false;
    if (p.keywordOnly && !star) {
      bool afterVariadic = std::any_of(parameters.begin(), parameters.end(),
                                       [](const Parameter &q) { return q.variadic; });
      if (!afterVariadic)
        text += "*, ";
      star = true;
    }
    if (p.variadic)
      text += "*";
    text += p.name;
    if (!p.defaultText.empty())
      text += "=" + std::string(p.defaultText);
  }
  return text + ")";
}

const BuiltinInfo &info(Builtin id) { return table()[static_cast<std::size_t>(id)]; }

const BuiltinInfo *findBuiltin(std::string_view name) {
  static const std::unordered_map<std::string_view, Builtin> byName = [] {
    std::unordered_map<std::string_view, Builtin> map;
    for (const Row &row : rows)
      map.emplace(row.name, row.id);
    for (const Alias &alias : aliases)
      map.emplace(alias.name, alias.id);
    return map;
  }();
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &info(it->second);
}

std::span<const BuiltinInfo> allBuiltins() { return table(); }

const std::vector<std::string_view> &builtinNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Row &row : rows)
      list.push_back(row.name);
    for (const Alias &alias : aliases)
      list.push_back(alias.name);
    return list;
  }();
  return names;
}

std::string unsupportedReason(const BuiltinInfo &builtin, bool isGpu, bool isCuda,
                              int architecture) {
  switch (builtin.support) {
  case Support::All:
    return {};
  case Support::Gpu:
    return isGpu ? "" : "needs the threads of a GPU";
  case Support::Cuda:
    return isCuda ? "" : "exists on NVIDIA GPUs only";
  case Support::Hopper:
    return isCuda && architecture == 90 ? "" : "needs sm90";
  case Support::NotYet:
    return "is not supported yet";
  case Support::NotYetHip:
    return isGpu && !isCuda ? "is not supported yet" : "exists on AMD GPUs only";
  case Support::Blackwell:
    return isCuda && architecture >= 100 ? "is not supported yet" : "needs sm100 or later";
  case Support::Metal:
    return "exists on Apple GPUs only";
  }
  TLC_UNREACHABLE("support");
}

} // namespace tlc::sema
