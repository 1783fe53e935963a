#include "syntax/PrintAST.h"

#include "support/TextWriter.h"

#include <cstdio>

namespace tlc::ast {
namespace {

std::string decimal(Int128 value) {
  if (value == 0)
    return "0";
  std::string digits;
  for (; value > 0; value /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return digits;
}

std::string quotedText(std::string_view text, bool bytes) {
  std::string out = bytes ? "b\"" : "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (bytes && byte >= 0x80)) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", byte);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Printer {
public:
  Printer(const SourceManager &sources) : sources(sources) {}

  void module(const Module &module) {
    out.line("Module");
    auto inner = out.indent();
    block("body", module.body);
  }
  void expr(std::string_view label, const Expr *expr);
  std::string take() { return out.take(); }

private:
  static std::string labelled(std::string_view label) {
    return label.empty() ? "" : std::string(label) + ": ";
  }

  void head(std::string_view label, std::string_view name, SourceRange range,
            std::string_view rest = {}) {
    LineColumn begin = sources.begin(range), end = sources.end(range);
    out << labelled(label) << name << ' ' << begin.line << ':' << begin.column << '-' << end.line
        << ':' << end.column;
    if (!rest.empty())
      out << ' ' << rest;
    out << '\n';
  }

  static std::string field(std::string_view name, std::string_view value) {
    return std::string(name) + "=" + quotedText(value, false);
  }

  template <class List, class Item>
  void list(std::string_view label, const List &elements, Item item) {
    if (elements.empty())
      return;
    out << label << ":\n";
    auto inner = out.indent();
    for (const auto &element : elements)
      item(element);
  }

  void exprs(std::string_view label, const ExprList &elements) {
    list(label, elements, [&](const Expr *element) { expr("", element); });
  }
  void block(std::string_view label, const Block &statements) {
    list(label, statements, [&](const Stmt *statement) { stmt(*statement); });
  }
  void identifiers(std::string_view label, const std::vector<Identifier> &names) {
    list(label, names, [&](const Identifier &name) { out.line(quotedText(name.id, false)); });
  }

  void constant(std::string_view label, const Constant &node);
  void keyword(const Keyword &keyword);
  void comprehensions(const std::vector<Comprehension> &generators);
  void arg(std::string_view label, const Arg &arg);
  void arguments(const Arguments &args);
  void compound(const Expr &expr);
  void pattern(std::string_view label, const Pattern *pattern);
  void patterns(std::string_view label, const std::vector<Pattern *> &elements) {
    list(label, elements, [&](const Pattern *element) { pattern("", element); });
  }
  void stmt(const Stmt &stmt);
  void fields(const Stmt &stmt);
  void tryFields(const Try &node);
  void functionFields(const FunctionDef &node);
  void alias(const Alias &alias);
  std::string scalars(const Stmt &stmt);
  std::string scalars(const Expr &expr);

  const SourceManager &sources;
  TextWriter out;
};

void Printer::constant(std::string_view label, const Constant &node) {
  std::string value;
  char buffer[64];
  switch (node.type) {
  case ConstantType::None:
    value = "None";
    break;
  case ConstantType::Bool:
    value = node.boolValue ? "True" : "False";
    break;
  case ConstantType::Ellipsis:
    value = "...";
    break;
  case ConstantType::Int:
    value =
        "int " + (node.overflow ? std::string(sources.text(node.range)) : decimal(node.intValue));
    break;
  case ConstantType::Float:
  case ConstantType::Complex:
    std::snprintf(buffer, sizeof buffer, "%.17g", node.floatValue);
    value = std::string(node.type == ConstantType::Float ? "float " : "complex ") + buffer;
    break;
  case ConstantType::Str:
    value = "str " + quotedText(node.text, false);
    break;
  case ConstantType::Bytes:
    value = "bytes " + quotedText(node.text, true);
    break;
  }
  head(label, "Constant", node.range, value);
}

std::string Printer::scalars(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Name:
    return field("id", expr.as<Name>()->id);
  case ExprKind::Attribute:
    return field("attr", expr.as<Attribute>()->attr.id);
  case ExprKind::UnaryOp:
    return "op=" + std::string(spelling(expr.as<UnaryOp>()->op));
  case ExprKind::BinOp:
    return "op=" + std::string(spelling(expr.as<BinOp>()->op));
  case ExprKind::BoolOp:
    return "op=" + std::string(spelling(expr.as<BoolOp>()->op));
  case ExprKind::Compare: {
    std::string ops;
    for (CompareOperator op : expr.as<Compare>()->ops)
      ops += (ops.empty() ? "ops=" : ", ") + std::string(spelling(op));
    return ops;
  }
  case ExprKind::FormattedValue: {
    char conversion = expr.as<FormattedValue>()->conversion;
    return conversion ? "conversion=" + std::string(1, conversion) : "";
  }
  default:
    return "";
  }
}

void Printer::expr(std::string_view label, const Expr *expr) {
  if (!expr)
    return;
  if (expr->is<Constant>())
    return constant(label, *expr->as<Constant>());
  head(label, className(expr->kind), expr->range, scalars(*expr));
  auto inner = out.indent();
  switch (expr->kind) {
  case ExprKind::JoinedStr:
    return exprs("values", expr->as<JoinedStr>()->values);
  case ExprKind::FormattedValue:
    this->expr("value", expr->as<FormattedValue>()->value);
    return this->expr("format_spec", expr->as<FormattedValue>()->formatSpec);
  case ExprKind::Attribute:
    return this->expr("value", expr->as<Attribute>()->value);
  case ExprKind::Subscript:
    this->expr("value", expr->as<Subscript>()->value);
    return this->expr("slice", expr->as<Subscript>()->slice);
  case ExprKind::Slice:
    this->expr("lower", expr->as<Slice>()->lower);
    this->expr("upper", expr->as<Slice>()->upper);
    return this->expr("step", expr->as<Slice>()->step);
  case ExprKind::Starred:
    return this->expr("value", expr->as<Starred>()->value);
  case ExprKind::UnaryOp:
    return this->expr("operand", expr->as<UnaryOp>()->operand);
  case ExprKind::BinOp:
    this->expr("left", expr->as<BinOp>()->left);
    return this->expr("right", expr->as<BinOp>()->right);
  case ExprKind::BoolOp:
    return exprs("values", expr->as<BoolOp>()->values);
  case ExprKind::Compare:
    this->expr("left", expr->as<Compare>()->left);
    return exprs("comparators", expr->as<Compare>()->comparators);
  case ExprKind::IfExp:
    this->expr("test", expr->as<IfExp>()->test);
    this->expr("body", expr->as<IfExp>()->body);
    return this->expr("orelse", expr->as<IfExp>()->orelse);
  case ExprKind::NamedExpr:
    this->expr("target", expr->as<NamedExpr>()->target);
    return this->expr("value", expr->as<NamedExpr>()->value);
  case ExprKind::Await:
    return this->expr("value", expr->as<Await>()->value);
  case ExprKind::Yield:
    return this->expr("value", expr->as<Yield>()->value);
  case ExprKind::YieldFrom:
    return this->expr("value", expr->as<YieldFrom>()->value);
  default:
    return compound(*expr);
  }
}

// Displays, comprehensions, calls and lambdas.
void Printer::compound(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Call: {
    const Call &node = *expr.as<Call>();
    this->expr("func", node.func);
    exprs("args", node.args);
    return list("keywords", node.keywords, [&](const Keyword &k) { keyword(k); });
  }
  case ExprKind::Lambda:
    arguments(expr.as<Lambda>()->args);
    return this->expr("body", expr.as<Lambda>()->body);
  case ExprKind::Tuple:
    return exprs("elts", expr.as<Tuple>()->elements);
  case ExprKind::List:
    return exprs("elts", expr.as<List>()->elements);
  case ExprKind::Set:
    return exprs("elts", expr.as<Set>()->elements);
  case ExprKind::Dict: {
    const Dict &node = *expr.as<Dict>();
    list("keys", node.keys,
         [&](const Expr *key) { key ? this->expr("", key) : void(out.line("**")); });
    return exprs("values", node.values);
  }
  case ExprKind::ListComp:
    this->expr("elt", expr.as<ListComp>()->element);
    return comprehensions(expr.as<ListComp>()->generators);
  case ExprKind::SetComp:
    this->expr("elt", expr.as<SetComp>()->element);
    return comprehensions(expr.as<SetComp>()->generators);
  case ExprKind::GeneratorExp:
    this->expr("elt", expr.as<GeneratorExp>()->element);
    return comprehensions(expr.as<GeneratorExp>()->generators);
  case ExprKind::DictComp:
    this->expr("key", expr.as<DictComp>()->key);
    this->expr("value", expr.as<DictComp>()->value);
    return comprehensions(expr.as<DictComp>()->generators);
  default:
    return;
  }
}

void Printer::keyword(const Keyword &keyword) {
  head("", "keyword", keyword.range, keyword.name.empty() ? "" : field("arg", keyword.name.id));
  auto inner = out.indent();
  expr("value", keyword.value);
}

void Printer::comprehensions(const std::vector<Comprehension> &generators) {
  list("generators", generators, [&](const Comprehension &part) {
    out.line(part.isAsync ? "comprehension async" : "comprehension");
    auto inner = out.indent();
    expr("target", part.target);
    expr("iter", part.iter);
    exprs("ifs", part.ifs);
  });
}

void Printer::arg(std::string_view label, const Arg &arg) {
  head(label, "arg", arg.range, field("arg", arg.name.id));
  auto inner = out.indent();
  expr("annotation", arg.annotation);
  expr("default", arg.defaultValue);
}

void Printer::arguments(const Arguments &args) {
  if (args.empty())
    return;
  out.line("args: arguments");
  auto inner = out.indent();
  auto each = [&](const Arg &element) { arg("", element); };
  list("posonlyargs", args.posOnly, each);
  list("args", args.args, each);
  if (args.vararg)
    arg("vararg", *args.vararg);
  list("kwonlyargs", args.kwOnly, each);
  if (args.kwarg)
    arg("kwarg", *args.kwarg);
}

void Printer::pattern(std::string_view label, const Pattern *pattern) {
  if (!pattern)
    return;
  auto name = [](std::string_view key, const Identifier &it) {
    return it.empty() ? "" : field(key, it.id);
  };
  std::string scalars;
  if (auto *star = pattern->as<MatchStar>())
    scalars = name("name", star->name);
  else if (auto *as = pattern->as<MatchAs>())
    scalars = name("name", as->name);
  else if (auto *mapping = pattern->as<MatchMapping>())
    scalars = name("rest", mapping->rest);
  head(label, className(pattern->kind), pattern->range, scalars);
  auto inner = out.indent();
  switch (pattern->kind) {
  case PatternKind::MatchValue:
    return expr("value", pattern->as<MatchValue>()->value);
  case PatternKind::MatchSingleton:
    return expr("value", pattern->as<MatchSingleton>()->value);
  case PatternKind::MatchSequence:
    return patterns("patterns", pattern->as<MatchSequence>()->patterns);
  case PatternKind::MatchMapping:
    exprs("keys", pattern->as<MatchMapping>()->keys);
    return patterns("patterns", pattern->as<MatchMapping>()->patterns);
  case PatternKind::MatchClass: {
    const MatchClass &node = *pattern->as<MatchClass>();
    expr("cls", node.cls);
    patterns("patterns", node.patterns);
    identifiers("kwd_attrs", node.keywordNames);
    return patterns("kwd_patterns", node.keywordPatterns);
  }
  case PatternKind::MatchStar:
    return;
  case PatternKind::MatchAs:
    return this->pattern("pattern", pattern->as<MatchAs>()->pattern);
  case PatternKind::MatchOr:
    return patterns("patterns", pattern->as<MatchOr>()->patterns);
  }
}

std::string Printer::scalars(const Stmt &stmt) {
  auto flags = [](std::string text, bool isAsync) { return isAsync ? "async " + text : text; };
  std::string text;
  switch (stmt.kind) {
  case StmtKind::FunctionDef:
    return flags(field("name", stmt.as<FunctionDef>()->name.id), stmt.as<FunctionDef>()->isAsync);
  case StmtKind::ClassDef:
    return field("name", stmt.as<ClassDef>()->name.id);
  case StmtKind::AugAssign:
    return "op=" + std::string(spelling(stmt.as<AugAssign>()->op));
  case StmtKind::AnnAssign:
    return stmt.as<AnnAssign>()->simple ? "simple" : "";
  case StmtKind::For:
    text = flags("", stmt.as<For>()->isAsync);
    break;
  case StmtKind::With:
    text = flags("", stmt.as<With>()->isAsync);
    break;
  case StmtKind::Try:
    return stmt.as<Try>()->isStar ? "star" : "";
  case StmtKind::ImportFrom: {
    const ImportFrom &node = *stmt.as<ImportFrom>();
    if (!node.module.empty())
      text = field("module", node.module.id) + " ";
    return text + "level=" + std::to_string(node.level);
  }
  default:
    return "";
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

void Printer::stmt(const Stmt &stmt) {
  head("", className(stmt.kind), stmt.range, scalars(stmt));
  auto inner = out.indent();
  fields(stmt);
}

void Printer::alias(const Alias &alias) {
  head("", "alias", alias.range,
       field("name", alias.name.id) +
           (alias.asname.empty() ? "" : " " + field("asname", alias.asname.id)));
}

void Printer::functionFields(const FunctionDef &node) {
  arguments(node.args);
  block("body", node.body);
  exprs("decorator_list", node.decorators);
  expr("returns", node.returns);
}

void Printer::tryFields(const Try &node) {
  block("body", node.body);
  list("handlers", node.handlers, [&](const ExceptHandler &handler) {
    head("", "ExceptHandler", handler.range,
         handler.name.empty() ? "" : field("name", handler.name.id));
    auto inner = out.indent();
    expr("type", handler.type);
    block("body", handler.body);
  });
  block("orelse", node.orelse);
  block("finalbody", node.finalbody);
}

void Printer::fields(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::FunctionDef:
    return functionFields(*stmt.as<FunctionDef>());
  case StmtKind::ClassDef: {
    const ClassDef &node = *stmt.as<ClassDef>();
    exprs("bases", node.bases);
    list("keywords", node.keywords, [&](const Keyword &k) { keyword(k); });
    block("body", node.body);
    return exprs("decorator_list", node.decorators);
  }
  case StmtKind::Return:
    return expr("value", stmt.as<Return>()->value);
  case StmtKind::Delete:
    return exprs("targets", stmt.as<Delete>()->targets);
  case StmtKind::Assign:
    exprs("targets", stmt.as<Assign>()->targets);
    return expr("value", stmt.as<Assign>()->value);
  case StmtKind::AugAssign:
    expr("target", stmt.as<AugAssign>()->target);
    return expr("value", stmt.as<AugAssign>()->value);
  case StmtKind::AnnAssign:
    expr("target", stmt.as<AnnAssign>()->target);
    expr("annotation", stmt.as<AnnAssign>()->annotation);
    return expr("value", stmt.as<AnnAssign>()->value);
  case StmtKind::For:
    expr("target", stmt.as<For>()->target);
    expr("iter", stmt.as<For>()->iter);
    block("body", stmt.as<For>()->body);
    return block("orelse", stmt.as<For>()->orelse);
  case StmtKind::While:
    expr("test", stmt.as<While>()->test);
    block("body", stmt.as<While>()->body);
    return block("orelse", stmt.as<While>()->orelse);
  case StmtKind::If:
    expr("test", stmt.as<If>()->test);
    block("body", stmt.as<If>()->body);
    return block("orelse", stmt.as<If>()->orelse);
  case StmtKind::With:
    list("items", stmt.as<With>()->items, [&](const WithItem &item) {
      out.line("withitem");
      auto inner = out.indent();
      expr("context_expr", item.contextExpr);
      expr("optional_vars", item.optionalVars);
    });
    return block("body", stmt.as<With>()->body);
  case StmtKind::Raise:
    expr("exc", stmt.as<Raise>()->exc);
    return expr("cause", stmt.as<Raise>()->cause);
  case StmtKind::Try:
    return tryFields(*stmt.as<Try>());
  case StmtKind::Assert:
    expr("test", stmt.as<Assert>()->test);
    return expr("msg", stmt.as<Assert>()->msg);
  case StmtKind::Import:
    return list("names", stmt.as<Import>()->names, [&](const Alias &a) { alias(a); });
  case StmtKind::ImportFrom:
    return list("names", stmt.as<ImportFrom>()->names, [&](const Alias &a) { alias(a); });
  case StmtKind::Global:
    return identifiers("names", stmt.as<Global>()->names);
  case StmtKind::Nonlocal:
    return identifiers("names", stmt.as<Nonlocal>()->names);
  case StmtKind::ExprStmt:
    return expr("value", stmt.as<ExprStmt>()->value);
  case StmtKind::Match:
    expr("subject", stmt.as<Match>()->subject);
    return list("cases", stmt.as<Match>()->cases, [&](const MatchCase &clause) {
      out.line("match_case");
      auto inner = out.indent();
      pattern("pattern", clause.pattern);
      expr("guard", clause.guard);
      block("body", clause.body);
    });
  case StmtKind::Pass:
  case StmtKind::Break:
  case StmtKind::Continue:
    return;
  }
}

} // namespace

std::string print(const Module &module, const SourceManager &sources) {
  Printer printer(sources);
  printer.module(module);
  return printer.take();
}

std::string print(const Expr &expr, const SourceManager &sources) {
  Printer printer(sources);
  printer.expr("", &expr);
  return printer.take();
}

} // namespace tlc::ast
