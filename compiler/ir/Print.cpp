#include "ir/Print.h"

#include "ir/PrintExpr.h"
#include "ir/TextForm.h"
#include "support/TextWriter.h"
#include "target/Atoms.h"

namespace tlc::ir {
namespace text {
namespace {

/// The writing side of TextForm.h.
class Writer {
public:
  struct Name {
    std::optional<DType> written;
  };

  // ---- Mandatory parts
  void text(std::string_view part) { out << part; }
  void dtype(DType d) { out << shortName(d); }
  template <class E> void word(E value, Names names) {
    out << names[static_cast<std::size_t>(value)];
  }
  void number(std::int64_t value) { out << value; }
  void string(const std::string &value) { out << quoted(value); }
  void expr(Expr e, std::optional<DType> like = {}) { out << exprs.print(e, like); }
  std::optional<DType> wanted(Name name, Expr) const { return name.written; }
  void exprList(const std::vector<Expr> &list, std::string_view close) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      out << (i ? ", " : "");
      expr(list[i]);
    }
    out << close;
  }
  void buffer(const Buffer *b) { out << "%" << names.of(b); }
  void symbol(const std::string &name) {
    bool plain = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
    for (char c : name)
      plain &= std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.';
    out << "@" << (plain ? name : quoted(name));
  }
  void declare(const Buffer *b) {
    buffer(b);
    out << ": ";
    describe(*this, const_cast<Buffer &>(*b));
  }
  void element(const Element &e);
  void region(const Region &r);
  void arguments(const std::vector<Argument> &args);
  void pointer(const Pointer &p);
  void pointers(std::string_view name, const std::vector<Pointer> &list);
  void templateArguments(const std::vector<DType> &types, const std::vector<std::int64_t> &values);
  void mapVars(const std::vector<Expr> &vars, const std::vector<Expr> &extents);

  // ---- Variables
  template <class F> Name define(Expr var, F derived) {
    std::optional<DType> usual = derived();
    definition(var, usual);
    return {var && usual != var.dtype() ? std::optional(var.dtype()) : std::nullopt};
  }
  void bind(Name, Expr, std::optional<DType>) {}
  void setStep(Expr, Expr) {}
  void enterScope() {}
  void leaveScope() {}

  // ---- Options
  template <class F> void options(F f) { f(); }
  void flag(std::string_view name, bool value) {
    if (value)
      out << " " << name;
  }
  void flagOff(std::string_view name, bool value) { flag(name, !value); }
  template <class T> void integer(std::string_view name, T value, std::int64_t usual) {
    if (static_cast<std::int64_t>(value) != usual)
      out << " " << name << "(" << static_cast<std::int64_t>(value) << ")";
  }
  void pending(std::string_view name, std::int64_t value, bool isCommit) {
    if (!isCommit || value != 0)
      out << " " << name << "(" << value << ")";
  }
  template <class E> void word(std::string_view name, E value, Names names, E usual = E{}) {
    if (value != usual)
      out << " " << name << "(" << names[static_cast<std::size_t>(value)] << ")";
  }
  template <class E> void choice(E value, Names names) {
    if (value != E{})
      out << " " << names[static_cast<std::size_t>(value)];
  }
  void expression(std::string_view name, Expr e, std::optional<DType> like = {},
                  std::optional<std::int64_t> usual = {}) {
    if (!e || (usual && e.isConstant(*usual)))
      return;
    out << " " << name << "(";
    expr(e, like);
    out << ")";
  }
  void expressions(std::string_view name, const std::vector<Expr> &list) {
    if (list.empty())
      return;
    out << " " << name << "(";
    exprList(list, ")");
  }
  template <class T> void integers(std::string_view name, const std::vector<T> &list) {
    if (!list.empty())
      out << " " << name << joined(list);
  }
  void unfold(std::string_view name, const std::optional<Unfold> &u) {
    if (u)
      integers(name, std::vector<std::int64_t>{u->kernel, u->stride, u->dilation, u->pad});
  }
  void groups(std::string_view name, const std::vector<std::vector<std::int64_t>> &list) {
    if (list.empty())
      return;
    out << " " << name << "(";
    for (std::size_t i = 0; i < list.size(); ++i)
      out << (i ? ", " : "") << joined(list[i]);
    out << ")";
  }
  void bools(std::string_view name, const std::vector<bool> &list) { integers(name, list); }
  void layout(std::string_view name, const std::optional<Layout> &l) {
    if (l)
      out << " " << name << "(" << l->str() << ")";
  }
  void bufferOption(std::string_view name, const Buffer *b) {
    if (b)
      out << " " << name << "(%" << names.of(b) << ")";
  }
  void stringOption(std::string_view name, const std::string &value) {
    if (!value.empty())
      out << " " << name << "(" << quoted(value) << ")";
  }
  void elementOption(std::string_view name, const Element &e) {
    if (!e.buffer)
      return;
    out << " " << name << "(";
    element(e);
    out << ")";
  }
  void regionOption(std::string_view name, const Region &r) {
    if (!r.buffer)
      return;
    out << " " << name << "(";
    region(r);
    out << ")";
  }
  void result(std::string_view name, Expr var, std::optional<DType> derived) {
    if (!var)
      return;
    out << " " << name << "(";
    definition(var, derived);
    out << ")";
  }
  void atom(std::string_view name, const Atom *a) {
    constexpr std::string_view families[] = {"cuda", "hip", "cpu"};
    if (a)
      out << " " << name << "(" << families[static_cast<unsigned>(a->family)] << " " << a->name
          << ")";
  }
  template <class T> bool group(std::string_view name, const std::optional<T> &value) {
    if (value)
      out << " " << name << "(";
    return value.has_value();
  }
  void field(std::string_view name, const Layout &l) {
    separate();
    out << name << "(" << l.str() << ")";
  }
  void field(std::string_view name, Index value) {
    separate();
    out << name << "(" << value << ")";
  }
  void endGroup() { out << ")"; }

  // ---- Statements
  void statements(const Block &b) {
    for (const StmtPtr &s : b)
      statement(*s);
  }
  void statement(const Stmt &s) {
    if (s.op)
      out << "op " << s.op << ": ";
    out << stmtName(s.kind);
    dispatch(const_cast<Stmt &>(s), [&](auto &known) {
      using T = std::decay_t<decltype(known)>;
      constexpr bool isBare = T::Kind == StmtKind::Break || T::Kind == StmtKind::Continue ||
                              T::Kind == StmtKind::Exit || T::Kind == StmtKind::Barrier;
      out << (isBare ? "" : " ");
      describe(*this, known);
    });
    out << '\n';
  }
  void block(const Block &b) {
    out << " {\n";
    {
      auto inner = out.indent();
      statements(b);
    }
    out << "}";
  }
  void elseBlock(const Block &b) {
    if (b.empty())
      return;
    out << " else";
    block(b);
  }
  void conditionBlock(const Block &b) {
    if (b.empty())
      return;
    out << "{\n";
    {
      auto inner = out.indent();
      statements(b);
    }
    out << "} test ";
  }
  void function(const Function &f);
  std::string take() { return out.take(); }

private:
  void definition(Expr var, std::optional<DType> derived) {
    if (!var) {
      out << "<null>";
      return;
    }
    out << "%" << names.of(var);
    if (derived != var.dtype())
      out << ": " << shortName(var.dtype());
  }
  void version(Expr v) {
    if (!v)
      return;
    out << "@";
    bool isAtomic = v.isVar() || (v.isInt() && v->integer >= 0);
    out << (isAtomic ? exprs.print(v) : "(" + exprs.print(v) + ")");
  }
  template <class T> static std::string joined(const std::vector<T> &list) {
    std::string text = "(";
    for (std::size_t i = 0; i < list.size(); ++i)
      text += (i ? ", " : "") + std::to_string(list[i]);
    return text + ")";
  }
  /// A space between the fields of a group.
  void separate() {
    if (!out.str().ends_with('('))
      out << " ";
  }
  void named(const std::string &name, const std::string &printed) {
    if (name != printed)
      out << " named(" << quoted(name) << ")";
  }
  void header(const Function &f);
  void facts(const Function &f);
  void launch(const Launch &l);

  TextWriter out;
  NameTable names;
  ExprPrinter exprs{names};
};

void Writer::element(const Element &e) {
  buffer(e.buffer);
  version(e.version);
  out << (e.physical ? "![" : "[");
  exprList(e.indices, "]");
}

/// What a buffer's bare name means where a region is wanted.
bool isPlainWhole(const Region &r) {
  if (r.offsets.empty())
    return r.extents.empty() && r.dropped == 0 && r.buffer->shape.empty();
  Region whole = wholeRegion(r.offsets[0].context(), *r.buffer);
  return r.offsets == whole.offsets && r.extents == whole.extents && r.dropped == 0;
}

void Writer::region(const Region &r) {
  buffer(r.buffer);
  version(r.version);
  if (!r.buffer || isPlainWhole(r))
    return;
  out << "[";
  for (std::size_t d = 0; d < r.offsets.size(); ++d) {
    out << (d ? ", " : "");
    expr(r.offsets[d]);
    Expr extent = d < r.extents.size() ? r.extents[d] : Expr();
    bool isDropped = r.isDropped(static_cast<unsigned>(d));
    if (isDropped && extent && extent.isConstant(1))
      continue;
    out << " : +";
    expr(extent, dtypeOf(r.offsets[d]));
    out << (isDropped ? " dropped" : "");
  }
  out << "]";
}

void Writer::arguments(const std::vector<Argument> &args) {
  out << "(";
  for (std::size_t i = 0; i < args.size(); ++i) {
    out << (i ? ", " : "");
    if (const Expr *e = std::get_if<Expr>(&args[i])) {
      expr(*e);
    } else if (const std::string *s = std::get_if<std::string>(&args[i])) {
      string(*s);
    } else if (const TensorMap *m = std::get_if<TensorMap>(&args[i])) {
      out << accesses[static_cast<std::size_t>(m->access) - 1] << " map(";
      buffer(m->tensor);
      integers("box", m->box);
      integer("swizzle", m->swizzleBytes, 0);
      unfold("unfold", m->unfold);
      out << ")";
    } else {
      pointer(std::get<Pointer>(args[i]));
    }
  }
  out << ")";
}

void Writer::pointer(const Pointer &p) {
  out << accesses[static_cast<std::size_t>(p.access) - 1] << " ";
  element(p.element);
  if (p.count) {
    out << " : ";
    expr(p.count);
  }
}

void Writer::pointers(std::string_view name, const std::vector<Pointer> &list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    out << (i ? std::string(", ") : " " + std::string(name) + "(");
    pointer(list[i]);
  }
  if (!list.empty())
    out << ")";
}

void Writer::templateArguments(const std::vector<DType> &types,
                               const std::vector<std::int64_t> &values) {
  if (types.empty() && values.empty())
    return;
  const char *separator = "<";
  for (DType d : types) {
    out << separator << shortName(d);
    separator = ", ";
  }
  for (std::int64_t v : values) {
    out << separator << v;
    separator = ", ";
  }
  out << ">";
}

void Writer::mapVars(const std::vector<Expr> &vars, const std::vector<Expr> &extents) {
  for (std::size_t i = 0; i < std::max(vars.size(), extents.size()); ++i) {
    Expr extent = i < extents.size() ? extents[i] : Expr();
    out << (i ? ", " : "");
    definition(i < vars.size() ? vars[i] : Expr(), dtypeOf(extent));
    out << " in ";
    expr(extent);
  }
}

void Writer::header(const Function &f) {
  out << "func ";
  symbol(f.name);
  out << "(";
  for (std::size_t i = 0; i < f.params.size(); ++i) {
    const Param &p = f.params[i];
    out << (i ? ", " : "");
    if (p.buffer) {
      declare(p.buffer);
      named(p.name, names.of(p.buffer));
    } else {
      definition(p.scalar, std::nullopt);
      named(p.name, names.of(p.scalar));
    }
  }
  out << ")";
  if (!f.dims.empty()) {
    out << " dims(";
    for (std::size_t i = 0; i < f.dims.size(); ++i) {
      const Dim &d = f.dims[i];
      out << (i ? ", " : "");
      definition(d.var, DType(Scalar::Int32));
      flag("stride", d.isStride);
      named(d.name, names.of(d.var));
    }
    out << ")";
  }
  if (f.phase != Phase::Tile)
    out << " phase(" << phases[static_cast<std::size_t>(f.phase)] << ")";
}

void Writer::facts(const Function &f) {
  const std::pair<std::string_view, bool> options[] = {
      {"fast_math", f.options.fastMath},
      {"no_storage_sync", f.options.disableThreadStorageSync},
      {"no_tma", f.options.disableTma},
      {"no_warp_specialize", f.options.disableWarpSpecialize},
      {"binding_hints", f.options.hintsAreBinding}};
  for (auto [name, isOn] : options)
    if (isOn)
      out << "option " << name << '\n';
  for (const LaunchConstant &c : f.launchConstants) {
    out << "constant " << launchConstants[static_cast<std::size_t>(c.what)] << " ";
    definition(c.var, DType(Scalar::Int32));
    if (c.value) {
      out << " = ";
      expr(c.value);
    }
    out << '\n';
  }
  for (const Buffer *b : f.workspace) {
    out << "workspace ";
    declare(b);
    out << '\n';
  }
  for (const Constraint &c : f.constraints) {
    out << "constraint ";
    expr(c.condition);
    out << ", " << quoted(c.text) << '\n';
  }
  for (const std::string &s : f.sources)
    out << "source " << quoted(s) << '\n';
}

void Writer::launch(const Launch &l) {
  out << "launch ";
  if (!l.name.empty()) {
    symbol(l.name);
    out << " ";
  }
  out << "grid(";
  exprList(l.grid, ")");
  auto sizes = [&](std::string_view name, const std::array<std::int64_t, 3> &v) {
    std::size_t n = v[2] != 1 ? 3 : v[1] != 1 ? 2 : 1;
    out << " " << name << joined(std::vector<std::int64_t>(v.begin(), v.begin() + n));
  };
  sizes("threads", l.threads);
  if (l.tiles != std::array<std::int64_t, 3>{1, 1, 1})
    sizes("tiles", l.tiles);
  integer("extra_threads", l.extraThreads, 0);
  if (l.cluster != std::array<std::int64_t, 3>{1, 1, 1})
    sizes("cluster", l.cluster);
  if (l.clusterSize) {
    out << " cluster_size(";
    expr(l.clusterSize);
    out << ")";
  }
  flag("cooperative", l.cooperative);
  flag("alternates", l.alternates);
  if (l.raster.panel || l.raster.columnMajor)
    out << " raster(" << l.raster.panel << (l.raster.columnMajor ? " column" : "") << ")";
  integer("min_blocks", l.minBlocksPerSm, 0);
  integer("shared_bytes", l.sharedBytes, 0);
  stringOption("prelude", l.prelude);
  auto variables = [&](std::string_view name, std::span<const Expr> vars) {
    out << " " << name << "(";
    for (std::size_t i = 0; i < vars.size(); ++i) {
      out << (i ? ", " : "");
      if (vars[i])
        definition(vars[i], DType(Scalar::Int32));
      else
        out << "_";
    }
    out << ")";
  };
  if (!l.blockVars.empty())
    variables("blocks", l.blockVars);
  std::span<const Expr> threads(l.threadVars);
  while (!threads.empty() && !threads.back())
    threads = threads.first(threads.size() - 1);
  if (!threads.empty())
    variables("thread_vars", threads);
  if (l.tid)
    variables("tid", std::span(&l.tid, 1));
  block(l.body);
  out << '\n';
}

void Writer::function(const Function &f) {
  header(f);
  out << " {\n";
  {
    auto inner = out.indent();
    facts(f);
    for (const auto &l : f.launches)
      launch(*l);
  }
  out << "}\n";
}

} // namespace
} // namespace text

std::string print(const Function &function) {
  text::Writer writer;
  writer.function(function);
  return writer.take();
}

std::string print(const Block &block) {
  text::Writer writer;
  writer.statements(block);
  return writer.take();
}

std::string print(const Stmt &stmt) {
  text::Writer writer;
  writer.statement(stmt);
  return writer.take();
}

std::string print(const Buffer &buffer) {
  text::Writer writer;
  writer.declare(&buffer);
  return writer.take();
}

std::string print(const Element &element) {
  text::Writer writer;
  writer.element(element);
  return writer.take();
}

std::string print(const Region &region) {
  text::Writer writer;
  writer.region(region);
  return writer.take();
}

std::string print(Expr e) {
  text::NameTable names;
  return text::ExprPrinter(names).print(e);
}

} // namespace tlc::ir
