// The part of the statement printer that is no memory access: calls, atomics, control, barriers.
#include "emit/PrintStmt.h"

#include "support/Check.h"

#include <utility>

namespace tlc::emit {

using namespace ir;

namespace {

/// Of a warpgroup, by whose number roles are told apart where they consist of whole ones.
constexpr std::int64_t groupThreads = 128;

} // namespace

void StmtPrinter::atomic(const AtomicStmt &stmt) {
  constexpr std::string_view ops[] = {
      "add", "min", "max", "and", "or", "xor", "exchange", "compare_exchange", "load", "store"};
  constexpr std::string_view orders[] = {"relaxed", "consume", "acquire",
                                         "release", "acq_rel", "seq_cst"};
  constexpr std::string_view scopes[] = {"block", "cluster", "device", "system"};
  std::string text =
      exprs.runtimeName("atomic_" + std::string(ops[static_cast<unsigned>(stmt.op)]));
  if (stmt.value && stmt.value.dtype().isVector())
    runtime.use("atomic_add_vec");
  if (stmt.order != MemoryOrder::Relaxed || stmt.scope != MemoryScope::Device) {
    runtime.use("order");
    text += "<tlc::order::" + std::string(orders[static_cast<unsigned>(stmt.order)]);
    if (stmt.scope != MemoryScope::Device)
      text += ", tlc::scope::" + std::string(scopes[static_cast<unsigned>(stmt.scope)]);
    text += ">";
  }
  text += "(" + address(stmt.target);
  // The type of a constant must be the element's.
  auto value = [&](Expr e) {
    std::string printed = exprs.print(e);
    bool typed = !e.isInt() || e.dtype() == DType(Scalar::Int32);
    return typed ? printed : exprs.typeOf(e.dtype()) + "(" + printed + ")";
  };
  if (stmt.compare)
    text += ", " + value(stmt.compare);
  if (stmt.value)
    text += ", " + value(stmt.value);
  text += ")";
  bool conditional = stmt.predicate && !stmt.predicate.isTrue();
  if (!stmt.result || facts.useCount(stmt.result) == 0)
    return guarded(stmt.predicate, text);
  if (conditional)
    text = exprs.print(stmt.predicate, Precedence::Or) + " ? " + text + " : " +
           exprs.zero(stmt.result.dtype());
  line(declaration(stmt.result) + text + ";");
}

const std::string &StmtPrinter::tensorMapName(const TensorMap &map) const {
  for (std::size_t i = 0; i < facts.tensorMaps.size(); ++i)
    if (facts.tensorMaps[i]->sameAs(map))
      return tensorMapNames.at(i);
  TLC_UNREACHABLE("a tensor map that was not counted");
}

std::string StmtPrinter::argument(const Argument &argument) {
  if (auto *text = std::get_if<std::string>(&argument))
    return quoted(*text);
  if (auto *pointer = std::get_if<Pointer>(&argument))
    return address(pointer->element);
  if (auto *map = std::get_if<TensorMap>(&argument))
    return "&" + tensorMapName(*map);
  Expr e = std::get<Expr>(argument);
  std::string text = exprs.print(e);
  bool typed = !e.isInt() || e.dtype() == DType(Scalar::Int32) || e.dtype().isBool();
  return typed ? text : exprs.typeOf(e.dtype()) + "(" + text + ")";
}

void StmtPrinter::call(const CallStmt &stmt) {
  std::string text = stmt.isExtern ? stmt.callee : exprs.runtimeName(stmt.callee);
  if (!stmt.templateTypes.empty() || !stmt.templateArgs.empty()) {
    std::string inner;
    for (DType dtype : stmt.templateTypes)
      inner += (inner.empty() ? "" : ", ") + exprs.typeOf(dtype);
    for (std::int64_t value : stmt.templateArgs)
      inner += (inner.empty() ? "" : ", ") + std::to_string(value);
    text += "<" + inner + ">";
  }
  text += "(";
  for (std::size_t i = 0; i < stmt.args.size(); ++i)
    text += (i ? ", " : "") + argument(stmt.args[i]);
  text += ")";
  line(declaration(stmt.result) + text + ";");
}

// ---- Control

void StmtPrinter::branch(const IfStmt &stmt) {
  line("if (" + exprs.print(stmt.condition) + ") {");
  const IfStmt *at = &stmt;
  for (;;) {
    {
      auto inner = out.indent();
      printBlock(at->then);
    }
    if (at->otherwise.empty())
      break;
    const auto *next =
        at->otherwise.size() == 1 ? dynCast<IfStmt>(at->otherwise[0].get()) : nullptr;
    if (next) {
      line("} else if (" + exprs.print(next->condition) + ") {");
      at = next;
      continue;
    }
    line("} else {");
    auto inner = out.indent();
    printBlock(at->otherwise);
    break;
  }
  line("}");
}

void StmtPrinter::repeat(const WhileStmt &stmt) {
  names.enter();
  bool plain = stmt.conditionBlock.empty();
  line(plain ? "while (" + exprs.print(stmt.condition) + ") {" : "while (true) {");
  {
    auto inner = out.indent();
    for (const StmtPtr &part : stmt.conditionBlock)
      print(*part);
    if (!plain) {
      line("if (!" + exprs.print(stmt.condition, Precedence::Primary) + ")");
      auto deeper = out.indent();
      line("break;");
    }
    printBlock(stmt.body);
  }
  names.leave();
  line("}");
}

void StmtPrinter::loop(const ForStmt &stmt) {
  if (std::string hint = dialect.loopHint(stmt.kind, stmt.unrollFactor); !hint.empty()) {
    if (hint.starts_with("TLC_"))
      runtime.use(hint.substr(0, hint.find('(')));
    line(hint);
  }
  std::string lo = exprs.print(stmt.lo);
  names.enter();
  std::string type = exprs.typeOf(stmt.var.dtype()), name = names.declare(stmt.var);
  std::string hi = exprs.print(stmt.hi, Precedence::Shift);
  Expr step = stmt.step;
  auto constant = step ? step.constant() : std::optional<std::int64_t>(1);
  std::string advance = !constant         ? name + " += " + exprs.print(step)
                        : *constant == 1  ? "++" + name
                        : *constant == -1 ? "--" + name
                        : *constant < 0   ? name + " -= " + std::to_string(-*constant)
                                          : name + " += " + std::to_string(*constant);
  std::string condition = name + (constant && *constant < 0 ? " > " : " < ") + hi;
  if (!constant)
    condition =
        exprs.print(step, Precedence::Shift) + " > 0 ? " + condition + " : " + name + " > " + hi;
  line("for (" + type + " " + name + " = " + lo + "; " + condition + "; " + advance + ") {");
  {
    auto inner = out.indent();
    const bool several =
        (stmt.kind == ForKind::Unroll || stmt.kind == ForKind::Vector) && !facts.sharedDivisors;
    const bool outer = std::exchange(exprs.repeated, exprs.repeated || several);
    printBlock(stmt.body);
    exprs.repeated = outer;
  }
  names.leave();
  line("}");
}

std::string StmtPrinter::roleCondition(std::int64_t first, std::int64_t count) const {
  bool groups = !warpgroup.empty() && first % groupThreads == 0 && count % groupThreads == 0;
  const std::string &name = groups ? warpgroup : tid;
  std::int64_t unit = groups ? groupThreads : 1;
  std::string begin = std::to_string(first / unit), end = std::to_string((first + count) / unit);
  if (count == unit)
    return name + " == " + begin;
  if (first == 0)
    return name + " < " + end;
  return name + " >= " + begin + " && " + name + " < " + end;
}

std::string StmtPrinter::teamNumber(const RoleStmt &stmt) {
  const std::string first = roleFirst > 0 ? " - " + std::to_string(roleFirst) : "";
  if (!warpgroup.empty() && roleFirst % groupThreads == 0 && stmt.count == groupThreads)
    return warpgroup + (roleFirst > 0 ? " - " + std::to_string(roleFirst / groupThreads) : "");
  return exprs.runtimeName("warp_uniform") + "((" + tid + first + ") / " +
         std::to_string(stmt.count) + ")";
}

void StmtPrinter::roleBody(const RoleStmt &stmt) {
  auto inner = out.indent();
  if (stmt.registers > 0) {
    bool up = stmt.registers > entryRegisters;
    line(exprs.runtimeName(up ? "setmaxnreg_inc" : "setmaxnreg_dec") + "<" +
         std::to_string(stmt.registers) + ">();");
  }
  std::int64_t outerFirst = roleFirst, outerCount = roleCount;
  roleFirst += stmt.first;
  roleCount = stmt.count;
  Expr outerTeam = std::exchange(team, stmt.team);
  names.enter();
  if (team)
    line("const int " + names.declare(team) + " = " + teamNumber(stmt) + ";");
  printBlock(stmt.body);
  names.leave();
  team = outerTeam;
  roleFirst = outerFirst;
  roleCount = outerCount;
}

std::size_t StmtPrinter::roles(const Block &block, std::size_t at) {
  TLC_CHECK(!tid.empty(), "a role where no threads are left");
  std::vector<const RoleStmt *> chain;
  std::int64_t threads = 0;
  for (; at < block.size(); ++at) {
    const auto *role = dynCast<RoleStmt>(block[at].get());
    bool apart = role && std::none_of(chain.begin(), chain.end(), [&](const RoleStmt *other) {
                   return role->first < other->first + other->threads() &&
                          other->first < role->first + role->threads();
                 });
    if (!apart || (!chain.empty() && warpgroup.empty()))
      break;
    if (chain.empty())
      locate(*role);
    threads += role->threads();
    bool rest = !chain.empty() && threads == roleCount;
    std::string condition =
        "if (" + roleCondition(roleFirst + role->first, role->threads()) + ") {";
    line((chain.empty() ? "" : "} else ") + (rest ? "{" : condition));
    roleBody(*role);
    chain.push_back(role);
  }
  line("}");
  return at;
}

// ---- Synchronisation

void StmtPrinter::barrier(const BarrierStmt &stmt) {
  TLC_CHECK(dialect.family != Family::Cpu, "a barrier is left where no threads are");
  switch (stmt.scope) {
  case BarrierScope::Block:
    if (stmt.vote != Vote::None)
      return line(declaration(stmt.result) +
                  std::string(dialect.blockVote[static_cast<unsigned>(stmt.vote)]) + "(" +
                  exprs.print(stmt.value) + ")" +
                  (stmt.result && stmt.result.dtype().isBool() ? " != 0;" : ";"));
    return line(std::string(dialect.blockBarrier) + ";");
  case BarrierScope::Named: {
    std::string_view name =
        stmt.mode == BarrierMode::Arrive ? "named_barrier_arrive" : "named_barrier_sync";
    return line(exprs.runtimeName(name) + "(" + exprs.print(stmt.id) + ", " +
                exprs.print(stmt.count) + ");");
  }
  case BarrierScope::Warp:
    return line(std::string(dialect.warpBarrier) + "(" + (stmt.mask ? exprs.print(stmt.mask) : "") +
                ");");
  case BarrierScope::Cluster: {
    std::string_view name = stmt.mode == BarrierMode::Arrive ? "cluster_arrive"
                            : stmt.mode == BarrierMode::Wait ? "cluster_wait"
                                                             : "cluster_sync";
    return line(exprs.runtimeName(name) + "();");
  }
  case BarrierScope::Grid:
    return line(exprs.runtimeName("grid_sync") + "();");
  }
}

void StmtPrinter::mbar(const MbarStmt &stmt) {
  std::string at = address(stmt.barrier), value = stmt.value ? exprs.print(stmt.value) : "";
  switch (stmt.op) {
  case MbarOp::Init:
    return line(exprs.runtimeName("mbarrier_init") + "(" + at + ", " + value + ");");
  case MbarOp::Arrive:
    if (stmt.cta)
      return line(exprs.runtimeName("mbarrier_arrive_remote") + "(" + at + ", " +
                  exprs.print(stmt.cta) + ");");
    return line(exprs.runtimeName("mbarrier_arrive") + "(" + at + ");");
  case MbarOp::ArriveExpect:
    return line(exprs.runtimeName("mbarrier_arrive_expect_tx") + "(" + at + ", " + value + ");");
  case MbarOp::Expect:
    return line(exprs.runtimeName("mbarrier_expect_tx") + "(" + at + ", " + value + ");");
  case MbarOp::Wait:
    return line(exprs.runtimeName("mbarrier_wait") + "(" + at + ", " + value + ");");
  case MbarOp::CpAsyncArrive:
    return line(exprs.runtimeName("cp_async_mbarrier_arrive") + "(" + at + ");");
  }
}

void StmtPrinter::async(const AsyncStmt &stmt) {
  constexpr std::string_view kinds[] = {"cp_async", "tma_store", "wgmma", "tcgen05"};
  std::string name(kinds[static_cast<unsigned>(stmt.what)]);
  if (stmt.commit)
    return line(exprs.runtimeName(name + "_commit") + "();");
  name += stmt.readsOnly ? "_wait_read" : "_wait";
  line(exprs.runtimeName(name) + "<" + std::to_string(stmt.pending) + ">();");
}

void StmtPrinter::fence(const FenceStmt &stmt) {
  std::string_view text = dialect.fences[static_cast<unsigned>(stmt.what)];
  if (text.starts_with("tlc::"))
    runtime.use(text.substr(5, text.find('(') - 5));
  line(std::string(text) + ";");
}

// ---- The user's own

void StmtPrinter::message(const PrintStmt &stmt) {
  // A narrow float is shown as the double that it is, an integer with its sign.
  auto shown = [&](DType dtype, const std::string &text) {
    if (dtype.isFloat())
      return "double(" + exprs.toFloat(dtype, text) + ")";
    return (dtype.isUInt() ? "uint64_t(" : "int64_t(") + text + ")";
  };
  TLC_CHECK(!stmt.buffer, "lower-print should have left no buffer to print");
  if (!stmt.value)
    return line(exprs.runtimeName("print_text") + "(" + quoted(stmt.message) + ");");
  if (stmt.index)
    return line(exprs.runtimeName("print_element") + "(" + quoted(stmt.message) + ", " +
                exprs.print(stmt.index) + ", " +
                shown(stmt.value.dtype(), exprs.print(stmt.value)) + ");");
  std::string prefix = stmt.message.empty() ? "" : stmt.message + " ";
  line(exprs.runtimeName("print_value") + "(" + quoted(prefix) + ", " +
       shown(stmt.value.dtype(), exprs.print(stmt.value)) + ");");
}

void StmtPrinter::verbatim(const SourceStmt &stmt) {
  std::string_view text = stmt.text;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    line(std::string(text.substr(0, end)));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
}

} // namespace tlc::emit
