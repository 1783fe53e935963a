#include "emit/PrintStmt.h"

#include "emit/Wrap.h"
#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::emit {

using namespace ir;

namespace {

/// Whether an expression divides by one of the variables.
bool dividesBy(Expr e, const std::unordered_set<const ExprNode *> &vars) {
  std::unordered_set<const ExprNode *> seen;
  auto visit = [&](auto &&self, Expr part) -> bool {
    if (!part || !seen.insert(part.get()).second)
      return false;
    if (part.kind() == ExprKind::Binary && part->binaryOp() == BinaryOp::Div &&
        vars.count(part->operands[1].get()))
      return true;
    return std::any_of(part->operands.begin(), part->operands.end(),
                       [&](Expr operand) { return self(self, operand); });
  };
  return visit(visit, e);
}

} // namespace

BodyFacts factsOf(const Block &body) {
  BodyFacts facts;
  std::unordered_set<const ExprNode *> fromShared;
  walk(body, [&](const Stmt &stmt) {
    if (const auto *load = dynCast<LoadStmt>(&stmt);
        load && load->source.buffer->storage()->scope == Scope::Shared)
      fromShared.insert(load->var.get());
    forEachExpr(stmt, [&](Expr e) {
      facts.sharedDivisors |= !fromShared.empty() && dividesBy(e, fromShared);
      std::vector<Expr> vars;
      collectVars(e, vars);
      for (Expr var : vars)
        ++facts.uses[var.get()];
    });
    auto *move = dynCast<MoveStmt>(&stmt);
    auto *load = dynCast<LoadStmt>(&stmt);
    auto *store = dynCast<StoreStmt>(&stmt);
    bool wide = move || isa<CallStmt>(stmt) || (load && load->var.dtype().isVector()) ||
                (store && store->value.dtype().isVector());
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.map) { // the kernel gets no pointer for it
        bool isNew = std::none_of(facts.tensorMaps.begin(), facts.tensorMaps.end(),
                                  [&](const TensorMap *m) { return m->sameAs(*use.map); });
        if (isNew)
          facts.tensorMaps.push_back(use.map);
        return;
      }
      const Buffer *storage = use.buffer->storage();
      if (storage->scope == Scope::Global &&
          std::find(facts.globals.begin(), facts.globals.end(), storage) == facts.globals.end())
        facts.globals.push_back(storage);
      facts.usesShared |= storage->scope == Scope::Shared || storage->scope == Scope::Barrier;
      if (wide && storage->scope == Scope::Local)
        facts.wide.insert(storage);
    });
    return true;
  });
  findInlinedLoads(body, facts);
  return facts;
}

StmtPrinter::StmtPrinter(const Options &options, const Dialect &dialect, ScopedNames &names,
                         RuntimeUse &runtime, TextWriter &out, const BodyFacts &facts)
    : exprs(dialect, names, runtime), options(options), dialect(dialect), names(names),
      runtime(runtime), out(out), facts(facts) {}

void StmtPrinter::line(const std::string &text) { writeWrapped(out, text); }

void StmtPrinter::printBlock(const Block &block) {
  names.enter();
  for (std::size_t i = 0; i < block.size();)
    if (isa<RoleStmt>(*block[i]))
      i = roles(block, i);
    else
      print(*block[i++]);
  names.leave();
}

void StmtPrinter::locate(const Stmt &stmt) {
  if (!options.locate || !stmt.range.valid())
    return;
  SourceLine where = options.locate(stmt.range);
  if (where.file.empty() || where == last)
    return;
  last = where;
  if (options.lineDirectives)
    line("#line " + std::to_string(where.line) + " " + quoted(where.file));
  else
    line("// " + where.file + ":" + std::to_string(where.line));
}

void StmtPrinter::print(const Stmt &stmt) {
  if (!isa<AllocStmt>(stmt) && !isa<AssumeStmt>(stmt))
    locate(stmt);
  switch (stmt.kind) {
  case StmtKind::Alloc:
    return alloc(cast<AllocStmt>(stmt));
  case StmtKind::Let:
    return let(cast<LetStmt>(stmt));
  case StmtKind::Load:
    return load(cast<LoadStmt>(stmt));
  case StmtKind::Store:
    return store(cast<StoreStmt>(stmt));
  case StmtKind::Atomic:
    return atomic(cast<AtomicStmt>(stmt));
  case StmtKind::Move:
    return move(cast<MoveStmt>(stmt));
  case StmtKind::Call:
    return call(cast<CallStmt>(stmt));
  case StmtKind::If:
    return branch(cast<IfStmt>(stmt));
  case StmtKind::While:
    return repeat(cast<WhileStmt>(stmt));
  case StmtKind::For:
    return loop(cast<ForStmt>(stmt));
  case StmtKind::Break:
    return line("break;");
  case StmtKind::Continue:
    return line("continue;");
  case StmtKind::Exit:
    return line("return;");
  case StmtKind::Barrier:
    return barrier(cast<BarrierStmt>(stmt));
  case StmtKind::Mbar:
    return mbar(cast<MbarStmt>(stmt));
  case StmtKind::Async:
    return async(cast<AsyncStmt>(stmt));
  case StmtKind::Fence:
    return fence(cast<FenceStmt>(stmt));
  case StmtKind::Print:
    return message(cast<PrintStmt>(stmt));
  case StmtKind::Assert: {
    auto &assertion = cast<AssertStmt>(stmt);
    return line(exprs.runtimeName("check") + "(" + exprs.print(assertion.condition) + ", " +
                quoted(assertion.message) + ");");
  }
  case StmtKind::Assume:
    return line(exprs.runtimeName("assume") + "(" + exprs.print(cast<AssumeStmt>(stmt).condition) +
                ");");
  case StmtKind::Source:
    return verbatim(cast<SourceStmt>(stmt));
  default:
    TLC_UNREACHABLE(std::string("a tile operation (") + stmtName(stmt.kind) +
                    ") is left where only thread statements may be");
  }
}

// ---- Memory

/// How many elements of its type a pointer into the arena may be used for: all versions, and what
/// lies between them.
static std::int64_t arenaElements(const Buffer &buffer) {
  std::int64_t bits = buffer.scope == Scope::Barrier ? 64 : buffer.dtype.bits();
  std::int64_t all =
      buffer.versionBytes > 0 ? buffer.versionBytes * 8 : buffer.elementCount().value_or(1) * bits;
  std::int64_t unit = std::max<std::int64_t>(bits, 8);
  return (all * buffer.versions + unit - 1) / unit;
}

void StmtPrinter::printArenaBuffer(const Buffer &buffer) {
  TLC_CHECK(buffer.sharedOffset >= 0, "`" + buffer.name + "` has no place in shared memory");
  std::string type = buffer.scope == Scope::Barrier ? "uint64_t" : exprs.storageOf(buffer.dtype);
  std::string at = arena + (buffer.sharedOffset ? " + " + std::to_string(buffer.sharedOffset) : "");
  if (buffer.teams > 1)
    at += " + " + exprs.print(team * buffer.teamBytes, Precedence::Product);
  const std::string name = names.declare(buffer);
  if (dialect.family == Family::Cpu)
    return line(type + " *const " + name + " = reinterpret_cast<" + type + " *>(" + at + ");");
  runtime.use("TLC_SHARED_TILE");
  line("TLC_SHARED_TILE(" + type + ", " + name + ", " + std::to_string(arenaElements(buffer)) +
       ", " + at + ");");
}

void StmtPrinter::view(const Buffer &buffer) {
  const Buffer &base = *buffer.base;
  // Offsets of views count elements of the view; of packed elements two share a byte.
  std::string constness = base.storage()->writable ? "" : "const ";
  std::string type = constness + exprs.storageOf(buffer.dtype);
  std::string text = names.of(base);
  if (type != constness + exprs.storageOf(base.dtype))
    text = "reinterpret_cast<" + type + " *>(" + text + ")";
  if (buffer.baseOffset && !buffer.baseOffset.isConstant(0)) {
    Expr offset = buffer.baseOffset;
    if (isPacked(buffer.dtype))
      offset = floorDiv(offset, 2);
    text += " + " + exprs.print(offset, Precedence::Product);
  }
  line(type + " *const " + names.declare(buffer) + " = " + text + ";");
}

void StmtPrinter::alloc(const AllocStmt &stmt) {
  const Buffer &buffer = *stmt.buffer;
  if (buffer.base)
    return view(buffer);
  if (buffer.sharedOffset >= 0) {
    printArenaBuffer(buffer);
  } else {
    TLC_CHECK(buffer.scope == Scope::Local,
              "`" + buffer.name + "` of scope " + scopeName(buffer.scope) + " has no storage");
    auto count = buffer.elementCount();
    TLC_CHECK(count, "a local array needs a constant size");
    std::string type = exprs.storageOf(buffer.dtype), name = names.declare(buffer);
    bool packed = isPacked(buffer.dtype);
    if (buffer.rank() == 0 && !packed) {
      std::string init = stmt.init ? " = " + exprs.print(stmt.init) : "";
      return line(type + " " + name + init + ";");
    }
    std::int64_t elements = *count * buffer.versions;
    if (packed)
      elements = (elements + 1) / 2;
    line((facts.wide.contains(&buffer) ? "alignas(16) " : "") + type + " " + name + "[" +
         std::to_string(elements) + "];");
    if (packed)
      line(exprs.runtimeName("zero_bytes") + "(" + name + ");");
  }
  if (stmt.init)
    line((isPacked(buffer.dtype) ? packedStore(buffer, "0", stmt.init)
                                 : names.of(buffer) + "[0] = " + exprs.print(stmt.init)) +
         ";");
}

std::string StmtPrinter::index(const Element &element, std::int64_t divisor) {
  const Buffer &buffer = *element.buffer;
  TLC_CHECK(element.indices.size() <= 1,
            "an element of `" + buffer.name + "` still has several indices");
  Expr index = element.indices.empty() ? Expr() : element.indices[0];
  if (element.version && !element.version.isConstant(0)) {
    std::int64_t bits = buffer.scope == Scope::Barrier ? 64 : buffer.dtype.bits();
    std::int64_t apart = buffer.versionBytes * 8 / bits;
    if (buffer.sharedOffset < 0)
      apart = buffer.elementCount().value_or(1);
    Expr version = element.version;
    if (index && version.dtype() != index.dtype())
      version = version.context().cast(index.dtype(), version);
    index = index ? version * apart + index : version * apart;
  }
  if (!index)
    return "0";
  if (divisor > 1)
    index = floorDiv(index, divisor);
  return exprs.print(index);
}

std::string StmtPrinter::lvalue(const Element &element) {
  const Buffer &buffer = *element.buffer;
  if (buffer.rank() == 0 && buffer.scope == Scope::Local && element.indices.empty() &&
      buffer.sharedOffset < 0)
    return names.of(buffer);
  return names.of(buffer) + "[" + index(element) + "]";
}

std::string StmtPrinter::address(const Element &element) {
  const Buffer &buffer = *element.buffer;
  if (buffer.rank() == 0 && buffer.scope == Scope::Local && buffer.sharedOffset < 0)
    return "&" + names.of(buffer);
  std::string at = index(element, isPacked(buffer.dtype) ? 2 : 1);
  return at == "0" ? names.of(buffer) : "&" + names.of(buffer) + "[" + at + "]";
}

std::string StmtPrinter::declaration(Expr var) {
  if (!var || facts.useCount(var) == 0)
    return "";
  std::string type = exprs.typeOf(var.dtype());
  return "const " + type + " " + names.declare(var) + " = ";
}

void StmtPrinter::guarded(Expr predicate, const std::string &text) {
  if (!predicate || predicate.isTrue())
    return line(text + ";");
  line("if (" + exprs.print(predicate) + ")");
  auto inner = out.indent();
  line(text + ";");
}

void StmtPrinter::let(const LetStmt &stmt) {
  if (facts.useCount(stmt.var) == 0)
    return; // pure: nobody would notice
  // The value is printed before the name exists.
  std::string value = exprs.print(stmt.value);
  if (stmt.kept)
    value = exprs.runtimeName("kept") + "(" + value + ")";
  line(declaration(stmt.var) + value + ";");
}

std::string StmtPrinter::loadText(const LoadStmt &stmt) {
  DType dtype = stmt.var.dtype(), element = dtype.element();
  if (dtype.isVector()) {
    unsigned count = isPacked(dtype) ? dtype.lanes / 2u : dtype.lanes;
    return exprs.runtimeName("load_vec") + "<" + std::to_string(count) + ">(" +
           address(stmt.source) + ")";
  }
  if (!isPacked(element))
    return lvalue(stmt.source);
  std::string text = exprs.runtimeName(element.isInt() ? "get_int4" : "get_uint4") + "(" +
                     names.of(*stmt.source.buffer) + ", " + index(stmt.source) + ")";
  return isSmallFloat(element) ? exprs.typeOf(element) + "{" + text + "}" : text;
}

void StmtPrinter::load(const LoadStmt &stmt) {
  if (facts.useCount(stmt.var) == 0)
    return;
  std::string text = loadText(stmt);
  if (facts.inlined.contains(&stmt))
    return names.alias(stmt.var, text);
  if (stmt.predicate && !stmt.predicate.isTrue()) {
    std::string otherwise = stmt.otherwise ? exprs.print(stmt.otherwise, Precedence::Select)
                                           : exprs.zero(stmt.var.dtype());
    text = exprs.print(stmt.predicate, Precedence::Or) + " ? " + text + " : " + otherwise;
  }
  line(declaration(stmt.var) + text + ";");
}

std::string StmtPrinter::packedStore(const Buffer &buffer, const std::string &at, Expr value) {
  DType element = value.dtype();
  std::string pattern = isSmallFloat(element) ? exprs.print(value, Precedence::Primary) + ".bits"
                                              : exprs.print(value);
  // The other half of a byte in memory may be another thread's or block's at the same time.
  Scope scope = buffer.storage()->scope;
  bool isExposed =
      scope == Scope::Global || (scope == Scope::Shared && dialect.family != Family::Cpu);
  std::string function =
      std::string(isExposed ? "put_" : "set_") + (element.isInt() ? "int4" : "uint4");
  return exprs.runtimeName(function) + "(" + names.of(buffer) + ", " + at + ", " + pattern + ")";
}

void StmtPrinter::store(const StoreStmt &stmt) {
  DType dtype = stmt.value.dtype(), element = dtype.element();
  std::string value = exprs.print(stmt.value);
  if (dtype.isVector())
    return guarded(stmt.predicate, exprs.runtimeName("store_vec") + "(" + address(stmt.target) +
                                       ", " + value + ")");
  if (isPacked(element))
    return guarded(stmt.predicate,
                   packedStore(*stmt.target.buffer, index(stmt.target), stmt.value));
  std::string target = lvalue(stmt.target);
  guarded(stmt.predicate, updateText(stmt.value, target, value).value_or(target + " = " + value));
}

std::optional<std::string> StmtPrinter::updateText(Expr value, const std::string &target,
                                                   const std::string &text) {
  if (value.kind() != ExprKind::Binary || !value->operands[0].isVar() ||
      names.of(value->operands[0]) != target)
    return std::nullopt;
  // Only what is printed as an operator between two operands, the first of which is the target.
  for (std::string_view op : {"+", "-", "*"})
    if (std::string head = target + " " + std::string(op) + " "; text.starts_with(head))
      return target + " " + std::string(op) + "= " + text.substr(head.size());
  return std::nullopt;
}

std::string StmtPrinter::moveText(const MoveStmt &stmt, bool &unconditional) {
  DType dtype = stmt.target.buffer->dtype;
  std::int64_t bits = stmt.count * dtype.bits(), bytes = bits / 8;
  bool conditional = stmt.predicate && !stmt.predicate.isTrue();
  bool zeroFill = stmt.fill && ((stmt.fill.isInt() && stmt.fill->integer == 0) ||
                                (stmt.fill.isFloat() && stmt.fill->real == 0));
  bool power = bytes > 0 && bits % 8 == 0 && ((bytes & (bytes - 1)) == 0 || bytes % 16 == 0);
  std::string to = address(stmt.target), from = address(stmt.source);
  std::string size = "<" + std::to_string(bytes) + ">(";
  bool async = stmt.async && (bytes == 4 || bytes == 8 || bytes == 16);
  if (conditional && zeroFill && stmt.count == 1 && !async && !isPacked(dtype)) {
    unconditional = true;
    return lvalue(stmt.target) + " = " + exprs.print(stmt.predicate, Precedence::Or) + " ? " +
           lvalue(stmt.source) + " : " + exprs.zero(dtype);
  }
  if (conditional && zeroFill && power) {
    unconditional = true;
    return exprs.runtimeName(async ? "cp_async" : "copy_or_zero") + size + to + ", " + from + ", " +
           exprs.print(stmt.predicate) + ")";
  }
  if (async)
    return exprs.runtimeName("cp_async") + size + to + ", " + from + ")";
  if (stmt.count == 1 && !isPacked(dtype))
    return lvalue(stmt.target) + " = " + lvalue(stmt.source);
  if (power)
    return exprs.runtimeName("copy") + size + to + ", " + from + ")";
  TLC_CHECK(!isPacked(dtype) || bits % 8 == 0, "a move of half a byte");
  return exprs.runtimeName("copy_elements") + "<" +
         std::to_string(isPacked(dtype) ? bytes : stmt.count) + ">(" + to + ", " + from + ")";
}

void StmtPrinter::move(const MoveStmt &stmt) {
  bool unconditional = !stmt.predicate || stmt.predicate.isTrue();
  std::string text = moveText(stmt, unconditional);
  if (unconditional)
    return line(text + ";");
  guarded(stmt.predicate, text);
  if (!stmt.fill)
    return;
  line("else");
  auto inner = out.indent();
  line(exprs.runtimeName("fill_elements") + "<" + std::to_string(stmt.count) + ">(" +
       address(stmt.target) + ", " + exprs.print(stmt.fill) + ");");
}

} // namespace tlc::emit
