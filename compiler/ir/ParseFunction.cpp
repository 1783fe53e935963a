// Functions from their text.
#include "ir/Reader.h"
#include "support/Check.h"

namespace tlc::ir {
namespace text {

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
    if (c.what == LaunchConstant::What::Computed) {
      in.expect("=");
      c.value = in.parseExpr();
    }
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
  } else if (in.take("tiles")) {
    sizes(l.tiles);
  } else if (in.take("cluster")) {
    sizes(l.cluster);
  } else if (in.take("cluster_size")) {
    in.expect("(");
    l.clusterSize = in.parseExpr();
    in.expect(")");
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
    flag("alternates", l.alternates);
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
  } catch (const InternalError &error) { // what an expression cannot be made of
    diagnostics.report(diag::IrMalformed, reader.here(), error.message());
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
