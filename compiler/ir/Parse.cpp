#include "ir/Parse.h"

#include "ir/ParseExpr.h"
#include "ir/TextForm.h"
#include "support/Check.h"
#include "target/Atoms.h"

#include <algorithm>

namespace tlc::ir {
namespace text {
namespace {

/// The reading side of TextForm.h.
class Reader {
public:
  struct Name {
    Token token;
    std::optional<DType> dtype;
  };

  Reader(Context &context, std::string_view source, DiagnosticEngine &diagnostics,
         std::uint32_t file)
      : in(context, source, diagnostics, file) {}

  bool atEnd() const { return in.at(TokenKind::End); }
  std::unique_ptr<Function> readFunction();

  // ---- Mandatory parts
  void text(std::string_view part) {
    for (std::size_t i = part.find_first_not_of(' '); i != part.npos;) {
      std::size_t end = std::min(part.find(' ', i), part.size());
      in.expect(part.substr(i, end - i));
      i = part.find_first_not_of(' ', end);
    }
  }
  void dtype(DType &d) { d = in.expectDType(); }
  template <class E> void word(E &value, Names names) {
    auto found = std::find(names.begin(), names.end(), in.lexer.peek().text);
    if (!in.at(TokenKind::Word) || found == names.end())
      in.expected(oneOf(names));
    in.lexer.next();
    value = static_cast<E>(found - names.begin());
  }
  void number(std::int64_t &value) { value = in.expectNumber(); }
  void string(std::string &value) { value = in.expect(TokenKind::String, "a string").text; }
  void expr(Expr &e, std::optional<DType> like = {}) { e = in.parseExpr(like); }
  std::optional<DType> wanted(const Name &name, Expr) const { return name.dtype; }
  void exprList(std::vector<Expr> &list, std::string_view close) {
    if (in.take(close))
      return;
    do
      list.push_back(in.parseExpr());
    while (in.take(","));
    in.expect(close);
  }
  void buffer(Buffer *&b) { b = in.parseBuffer(); }
  void symbol(std::string &name) { name = in.expect(TokenKind::Symbol, "`@` and a name").text; }
  void declare(Buffer *&b) {
    Token name = in.expect(TokenKind::Name, "a name for the buffer");
    in.expect(":");
    b = &function->addBuffer(name.text, DType(), Scope::Shared, {}, in.range(name));
    describe(*this, *b);
    in.define(name, {{}, b});
  }
  void element(Element &e) { e = in.parseElement(); }
  void region(Region &r) { r = in.parseRegion(); }
  void arguments(std::vector<Argument> &args);
  void templateArguments(std::vector<DType> &types, std::vector<std::int64_t> &values);
  void mapVars(std::vector<Expr> &vars, std::vector<Expr> &extents);

  // ---- Variables
  template <class F> Name define(Expr &, F) {
    Name name{in.expect(TokenKind::Name, "a name"), {}};
    if (in.take(":"))
      name.dtype = in.expectDType();
    return name;
  }
  void bind(const Name &name, Expr &var, std::optional<DType> derived) {
    std::optional<DType> d = name.dtype ? name.dtype : derived;
    if (!d)
      in.malformed(in.range(name.token), "`%" + name.token.text + "` needs a dtype here");
    var = in.context.var(name.token.text, *d);
    in.define(name.token, {var, nullptr});
  }
  void setStep(Expr &step, Expr lo) { step = in.context.integer(lo.dtype(), 1); }
  void enterScope() { in.enterScope(); }
  void leaveScope() { in.leaveScope(); }

  // ---- Options
  template <class F> void options(F f) {
    do {
      progress = false;
      f();
    } while (progress);
  }
  void flag(std::string_view name, bool &value) {
    if (option(name))
      value = true;
  }
  void flagOff(std::string_view name, bool &value) {
    if (option(name))
      value = false;
  }
  template <class T> void integer(std::string_view name, T &value, std::int64_t) {
    if (open(name)) {
      value = static_cast<T>(in.expectNumber());
      in.expect(")");
    }
  }
  void pending(std::string_view name, std::int64_t &value, bool) { integer(name, value, 0); }
  template <class E> void word(std::string_view name, E &value, Names names, E = E{}) {
    if (open(name)) {
      word(value, names);
      in.expect(")");
    }
  }
  template <class E> void choice(E &value, Names names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (option(names[i]))
        value = static_cast<E>(i);
  }
  void expression(std::string_view name, Expr &e, std::optional<DType> like = {},
                  std::optional<std::int64_t> = {}) {
    if (open(name)) {
      e = in.parseExpr(like);
      in.expect(")");
    }
  }
  void expressions(std::string_view name, std::vector<Expr> &list) {
    if (open(name))
      exprList(list, ")");
  }
  template <class T> void integers(std::string_view name, std::vector<T> &list) {
    if (option(name))
      numbers(list);
  }
  void bools(std::string_view name, std::vector<bool> &list) { integers(name, list); }
  void groups(std::string_view name, std::vector<std::vector<std::int64_t>> &list) {
    if (!open(name))
      return;
    do
      numbers(list.emplace_back());
    while (in.take(","));
    in.expect(")");
  }
  void layout(std::string_view name, std::optional<Layout> &l) {
    if (option(name))
      l = layoutInParentheses();
  }
  void bufferOption(std::string_view name, Buffer *&b) {
    if (open(name)) {
      b = in.parseBuffer();
      in.expect(")");
    }
  }
  void stringOption(std::string_view name, std::string &value) {
    if (open(name)) {
      string(value);
      in.expect(")");
    }
  }
  void elementOption(std::string_view name, Element &e) {
    if (open(name)) {
      e = in.parseElement();
      in.expect(")");
    }
  }
  void regionOption(std::string_view name, Region &r) {
    if (open(name)) {
      r = in.parseRegion();
      in.expect(")");
    }
  }
  void result(std::string_view name, Expr &var, std::optional<DType> derived) {
    if (open(name)) {
      bind(define(var, 0), var, derived);
      in.expect(")");
    }
  }
  void atom(std::string_view name, const Atom *&a);
  template <class T> bool group(std::string_view name, std::optional<T> &value) {
    if (!open(name))
      return false;
    value.emplace();
    return true;
  }
  void field(std::string_view name, Layout &l) {
    in.expect(name);
    l = layoutInParentheses();
  }
  void field(std::string_view name, Index &value) {
    in.expect(name);
    in.expect("(");
    value = in.expectNumber();
    in.expect(")");
  }
  void endGroup() { in.expect(")"); }

  // ---- Statements
  void statements(Block &b) {
    while (!in.at("}"))
      b.push_back(statement());
  }
  void block(Block &b) {
    in.expect("{");
    in.enterScope();
    statements(b);
    in.leaveScope();
    in.expect("}");
  }
  void elseBlock(Block &b) {
    if (in.take("else"))
      block(b);
  }
  /// What it binds stays known: the caller has opened a scope.
  void conditionBlock(Block &b) {
    if (!in.take("{"))
      return;
    statements(b);
    in.expect("}");
    in.expect("test");
  }

private:
  /// An option stands on the line of its statement, so that the next statement is none.
  bool option(std::string_view name) {
    const Token &t = in.lexer.peek();
    if (t.kind != TokenKind::Word || t.text != name || t.startsLine)
      return false;
    in.lexer.next();
    return progress = true;
  }
  bool open(std::string_view name) {
    if (!option(name))
      return false;
    in.expect("(");
    return true;
  }
  template <class T> void numbers(std::vector<T> &list) {
    in.expect("(");
    if (in.take(")"))
      return;
    do
      list.push_back(static_cast<T>(in.expectNumber()));
    while (in.take(","));
    in.expect(")");
  }
  static std::string oneOf(Names names) {
    std::string text = "one of";
    for (std::string_view name : names)
      text += (text.ends_with("of") ? " " : ", ") + std::string(name);
    return text;
  }
  Layout layoutInParentheses() {
    SourceRange where = in.here();
    if (!in.at("("))
      in.expected("`(` and a layout");
    auto raw = in.lexer.rawParentheses();
    auto layout = raw ? parseLayout(*raw) : std::nullopt;
    if (!layout)
      in.malformed(where, "this is no layout");
    in.expect(")");
    return *layout;
  }

  StmtPtr statement();
  void params();
  void scalarParams();
  void dims();
  void fact();
  void launch();
  void launchOption(Launch &l);
  std::string named(const std::string &usual);
  void variables(std::span<Expr> vars);

  ExprParser in;
  Function *function = nullptr;
  bool progress = false;
};

template <class E, class F> bool forNamed(std::string_view name, Names names, F f) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return false;
  f(static_cast<E>(found - names.begin()));
  return true;
}

void Reader::arguments(std::vector<Argument> &args) {
  in.expect("(");
  if (in.take(")"))
    return;
  do {
    if (in.at(TokenKind::String)) {
      args.emplace_back(in.lexer.next().text);
      continue;
    }
    Pointer pointer;
    bool isPointer = in.at(TokenKind::Word) &&
                     forNamed<int>(in.lexer.peek().text, accesses,
                                   [&](int i) { pointer.access = static_cast<Access>(i + 1); });
    if (!isPointer) {
      args.emplace_back(in.parseExpr());
      continue;
    }
    in.lexer.next();
    pointer.element = in.parseElement();
    if (in.take(":"))
      pointer.count = in.parseExpr();
    args.emplace_back(pointer);
  } while (in.take(","));
  in.expect(")");
}

void Reader::templateArguments(std::vector<DType> &types, std::vector<std::int64_t> &values) {
  if (!in.take("<"))
    return;
  do {
    if (in.at(TokenKind::Word))
      types.push_back(in.expectDType());
    else
      values.push_back(in.expectNumber());
  } while (in.take(","));
  in.expect(">");
}

void Reader::mapVars(std::vector<Expr> &vars, std::vector<Expr> &extents) {
  std::vector<Name> names;
  do {
    Expr none;
    names.push_back(define(none, 0));
    in.expect("in");
    extents.push_back(in.parseExpr(names.back().dtype));
  } while (in.take(","));
  for (std::size_t i = 0; i < names.size(); ++i)
    bind(names[i], vars.emplace_back(), extents[i].dtype());
}

void Reader::atom(std::string_view name, const Atom *&a) {
  if (!open(name))
    return;
  Family family = Family::Cuda;
  constexpr std::array<std::string_view, 3> families = {"cuda", "hip", "cpu"};
  word(family, families);
  Token row = in.expect(TokenKind::Word, "the name of an atom");
  for (const Target &target : allTargets())
    if (!a && target.family == family)
      a = findAtom(target, row.text);
  if (!a)
    in.malformed(in.range(row), "there is no atom `" + row.text + "`");
  in.expect(")");
}

StmtPtr Reader::statement() {
  std::uint32_t op = 0;
  if (in.take("op")) {
    op = static_cast<std::uint32_t>(in.expectNumber());
    in.expect(":");
    function->lastOp = std::max(function->lastOp, op);
  }
  Token keyword = in.lexer.peek();
  StmtPtr stmt;
  if (keyword.kind == TokenKind::Word) {
#define TLC_STMT(NAME, TEXT, PHASES)                                                               \
  if (keyword.text == TEXT)                                                                        \
    stmt = std::make_unique<NAME##Stmt>();
#include "ir/Nodes.def"
  }
  if (!stmt)
    in.expected("a statement");
  in.lexer.next();
  dispatch(*stmt, [&](auto &known) { describe(*this, known); });
  stmt->range = in.range(keyword);
  stmt->range.end = in.lexer.lastEnd();
  stmt->op = op;
  return stmt;
}

// ---- Functions

std::string Reader::named(const std::string &usual) {
  std::string name = usual;
  if (in.take("named")) {
    in.expect("(");
    string(name);
    in.expect(")");
  }
  return name;
}

void Reader::scalarParams() {
  unsigned depth = 0;
  in.expect("(");
  while (depth > 0 || !in.at(")")) {
    if (in.at(TokenKind::End))
      in.expected("`)`");
    Token t = in.lexer.next();
    depth += t.is("(") || t.is("[");
    depth -= t.is(")") || t.is("]");
    if (depth > 0 || t.kind != TokenKind::Name || !in.take(":"))
      continue;
    if (!in.at(TokenKind::Word) || !parseShortName(in.lexer.peek().text))
      continue; // a buffer
    Expr var;
    bind({t, in.expectDType()}, var, {});
  }
  in.expect(")");
}

void Reader::params() {
  in.expect("(");
  if (in.take(")"))
    return;
  do {
    Param p;
    Token name = in.lexer.peek();
    p.range = in.range(name);
    Lexer start = in.lexer;
    in.expect(TokenKind::Name, "a parameter");
    in.expect(":");
    if (in.at(TokenKind::Word) && parseShortName(in.lexer.peek().text)) {
      in.lexer.next();
      p.scalar = in.lookUp(name).var;
    } else {
      in.lexer = start;
      declare(p.buffer);
    }
    p.name = named(name.text);
    function->params.push_back(std::move(p));
  } while (in.take(","));
  in.expect(")");
}

void Reader::dims() {
  in.expect("(");
  do {
    Dim d;
    Name name = define(d.var, 0);
    bind(name, d.var, DType(Scalar::Int32));
    d.isStride = in.take("stride");
    d.name = named(name.token.text);
    d.range = in.range(name.token);
    function->dims.push_back(std::move(d));
  } while (in.take(","));
  in.expect(")");
}

void Reader::fact() {
  FunctionOptions &o = function->options;
  const std::pair<std::string_view, bool *> options[] = {
      {"fast_math", &o.fastMath},
      {"no_storage_sync", &o.disableThreadStorageSync},
      {"no_tma", &o.disableTma},
      {"no_warp_specialize", &o.disableWarpSpecialize},
      {"binding_hints", &o.hintsAreBinding}};
  if (in.take("option")) {
    for (auto [name, value] : options)
      if (in.take(name)) {
        *value = true;
        return;
      }
    in.expected("an option of functions");
  } else if (in.take("constant")) {
    LaunchConstant c;
    word(c.what, launchConstants);
    bind(define(c.var, 0), c.var, DType(Scalar::Int32));
    function->launchConstants.push_back(c);
  } else if (in.take("workspace")) {
    declare(function->workspace.emplace_back());
  } else if (in.take("constraint")) {
    Constraint c;
    c.range = in.here();
    c.condition = in.parseExpr();
    in.expect(",");
    string(c.text);
    function->constraints.push_back(std::move(c));
  } else if (in.take("source")) {
    string(function->sources.emplace_back());
  } else if (in.at("launch")) {
    launch();
  } else {
    in.expected("option, constant, workspace, constraint, source or launch");
  }
}

void Reader::variables(std::span<Expr> vars) {
  in.expect("(");
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (i && !in.take(","))
      break;
    if (!in.take("_"))
      bind(define(vars[i], 0), vars[i], DType(Scalar::Int32));
  }
  in.expect(")");
}

void Reader::launchOption(Launch &l) {
  auto sizes = [&](std::array<std::int64_t, 3> &to) {
    std::vector<std::int64_t> list;
    numbers(list);
    if (list.empty() || list.size() > 3)
      in.malformed(in.here(), "one to three sizes are wanted");
    to = {1, 1, 1};
    std::copy(list.begin(), list.end(), to.begin());
  };
  if (in.take("grid")) {
    in.expect("(");
    exprList(l.grid, ")");
  } else if (in.take("threads")) {
    sizes(l.threads);
  } else if (in.take("cluster")) {
    sizes(l.cluster);
  } else if (in.take("raster")) {
    in.expect("(");
    l.raster.panel = in.expectNumber();
    l.raster.columnMajor = in.take("column");
    in.expect(")");
  } else if (in.take("blocks")) {
    l.blockVars.resize(l.grid.size());
    variables(l.blockVars);
  } else if (in.take("thread_vars")) {
    variables(l.threadVars);
  } else if (in.take("tid")) {
    variables(std::span(&l.tid, 1));
  } else {
    in.expected("an option of launch or `{`");
  }
}

void Reader::launch() {
  auto &l = *function->launches.emplace_back(std::make_unique<Launch>());
  l.range = in.range(in.lexer.next());
  if (in.at(TokenKind::Symbol))
    symbol(l.name);
  in.enterScope();
  while (!in.at("{")) {
    progress = false;
    integer("extra_threads", l.extraThreads, 0);
    flag("cooperative", l.cooperative);
    integer("min_blocks", l.minBlocksPerSm, 0);
    integer("shared_bytes", l.sharedBytes, 0);
    stringOption("prelude", l.prelude);
    if (!progress)
      launchOption(l);
  }
  if (!l.tid)
    l.tid = in.context.var("tid", DType(Scalar::Int32));
  block(l.body);
  in.leaveScope();
}

std::unique_ptr<Function> Reader::readFunction() {
  auto owned = std::make_unique<Function>(in.context);
  function = owned.get();
  in.expect("func");
  function->range = in.here();
  symbol(function->name);
  in.enterScope();
  // Shapes name dims and scalars that stand behind them: those first, then the buffers.
  Lexer start = in.lexer;
  scalarParams();
  if (in.take("dims"))
    dims();
  if (in.take("phase")) {
    in.expect("(");
    word(function->phase, phases);
    in.expect(")");
  }
  Lexer behind = in.lexer;
  in.lexer = start;
  params();
  in.lexer = behind;
  in.expect("{");
  while (!in.take("}"))
    fact();
  in.leaveScope();
  return owned;
}

} // namespace
} // namespace text

std::vector<std::unique_ptr<Function>> parse(Context &context, std::string_view source,
                                             DiagnosticEngine &diagnostics, std::uint32_t file) {
  std::vector<std::unique_ptr<Function>> functions;
  text::Reader reader(context, source, diagnostics, file);
  try {
    do
      functions.push_back(reader.readFunction());
    while (!reader.atEnd());
  } catch (const text::ParseStopped &) {
    functions.clear();
  }
  return functions;
}

std::unique_ptr<Function> parseFunction(Context &context, std::string_view source,
                                        DiagnosticEngine &diagnostics, std::uint32_t file) {
  auto functions = parse(context, source, diagnostics, file);
  if (functions.empty())
    return nullptr;
  if (functions.size() > 1) {
    diagnostics.report(diag::IrMalformed, functions[1]->range, "one function is wanted here");
    return nullptr;
  }
  return std::move(functions[0]);
}

} // namespace tlc::ir
