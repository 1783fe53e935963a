// The text form of statements and buffers, said once for both directions.
//
// Each `describe` lists the fields of one struct in the order of the text. The printer (Print.cpp)
// runs it to write, the parser (Parse.cpp) to read, so the two cannot disagree. `IO` has:
//
//   text(" -> ")                    fixed text (spaces are for the writer only)
//   expr(e, like)                   an expression; `like`: dtype that a literal has without saying
//   options([&] { ... })            what follows on the same line in any order, if not default:
//     flag, integer, word, expression, expressions, integers, bools, layout, element …
//   define / bind                   a variable's name where it stands, its dtype once it is known
//   block(b)                        { statements }
#pragma once

#include "ir/Function.h"

#include <array>
#include <string_view>

namespace tlc::ir::text {

using Names = std::span<const std::string_view>;

inline constexpr std::array<std::string_view, 5> scopes = {"global", "shared", "fragment", "local",
                                                           "barrier"};
inline constexpr std::array<std::string_view, 6> origins = {"none",   "user",       "hint",
                                                            "strict", "propagated", "free"};
inline constexpr std::array<std::string_view, 10> atomicOps = {
    "add", "min", "max", "and", "or", "xor", "exchange", "compare_exchange", "load", "store"};
inline constexpr std::array<std::string_view, 6> orders = {"relaxed", "consume", "acquire",
                                                           "release", "acq_rel", "seq_cst"};
inline constexpr std::array<std::string_view, 4> memoryScopes = {"block", "cluster", "device",
                                                                 "system"};
inline constexpr std::array<std::string_view, 4> collectives = {"thread", "warp", "warpgroup",
                                                                "block"};
inline constexpr std::array<std::string_view, 5> forKinds = {"serial", "unroll", "vector",
                                                             "pipelined", "threads"};
inline constexpr std::array<std::string_view, 5> barrierScopes = {"block", "named", "warp",
                                                                  "cluster", "grid"};
inline constexpr std::array<std::string_view, 3> barrierModes = {"both", "arrive", "wait"};
inline constexpr std::array<std::string_view, 4> votes = {"none", "count", "and", "or"};
inline constexpr std::array<std::string_view, 6> mbarOps = {"init",   "arrive", "arrive_expect",
                                                            "expect", "wait",   "cp_async_arrive"};
inline constexpr std::array<std::string_view, 4> asyncKinds = {"cp_async", "bulk", "wgmma",
                                                               "tcgen05"};
inline constexpr std::array<std::string_view, 6> fenceKinds = {
    "proxy_async", "mbar_init", "wgmma", "block", "device", "system"};
inline constexpr std::array<std::string_view, 4> copyKinds = {"auto", "sync", "cp_async", "tma"};
inline constexpr std::array<std::string_view, 3> policies = {"square", "full_row", "full_col"};
inline constexpr std::array<std::string_view, 8> reduceOps = {"sum",     "max", "min", "abs_sum",
                                                              "abs_max", "and", "or",  "xor"};
inline constexpr std::array<std::string_view, 3> reducerActions = {"init", "update", "finalize"};
inline constexpr std::array<std::string_view, 4> conversionKinds = {"none", "registers", "shuffle",
                                                                    "shared"};
inline constexpr std::array<std::string_view, 4> phases = {"tile", "scheduled", "thread", "named"};
inline constexpr std::array<std::string_view, 3> launchConstants = {"multiprocessor_count",
                                                                    "workspace_bytes", "computed"};
inline constexpr std::array<std::string_view, 3> accesses = {"read", "write", "readwrite"};

inline std::optional<DType> dtypeOf(Expr e) { return e ? std::optional(e.dtype()) : std::nullopt; }
inline std::optional<DType> dtypeOf(const Buffer *b) {
  return b ? std::optional(b->dtype) : std::nullopt;
}

// ---- Buffers

template <class IO> void describe(IO &io, Buffer &b) {
  io.word(b.scope, scopes);
  io.text(" ");
  io.dtype(b.dtype);
  io.text("[");
  io.exprList(b.shape, "]");
  io.options([&] {
    io.expressions("strides", b.strides);
    io.bufferOption("view", b.base);
    io.expression("offset", b.baseOffset);
    io.unfold("unfold", b.unfold);
    io.integer("versions", b.versions, 1);
    io.layout("layout", b.layout);
    io.word("origin", b.origin, origins);
    io.integer("at", b.sharedOffset, -1);
    io.integer("version_bytes", b.versionBytes, 0);
    io.integer("teams", b.teams, 1);
    io.integer("team_bytes", b.teamBytes, 0);
    io.integer("align", b.alignment, 16);
    io.expression("safe", b.safeValue, b.dtype);
    io.flagOff("readonly", b.writable);
    io.flag("norestrict", b.noRestrict);
    io.flag("zeroed", b.zeroInitialised);
    io.bufferOption("rows_of", b.rowsOf);
    io.expression("wanted", b.wanted);
    io.flag("out", b.output);
  });
}

// ---- Names and memory

template <class IO> void describe(IO &io, AllocStmt &s) {
  io.declare(s.buffer);
  io.options([&] { io.expression("init", s.init, dtypeOf(s.buffer)); });
}

template <class IO> void describe(IO &io, LetStmt &s) {
  auto name = io.define(s.var, [&] { return dtypeOf(s.value); });
  io.text(" = ");
  io.expr(s.value, io.wanted(name, s.var));
  io.bind(name, s.var, dtypeOf(s.value));
  io.options([&] { io.flag("kept", s.kept); });
}

template <class IO> void describe(IO &io, LoadStmt &s) {
  auto name = io.define(s.var, [&] { return dtypeOf(s.source.buffer); });
  io.text(" = ");
  io.element(s.source);
  io.bind(name, s.var, dtypeOf(s.source.buffer));
  io.options([&] {
    io.expression("if", s.predicate);
    io.expression("otherwise", s.otherwise, dtypeOf(s.var));
  });
}

template <class IO> void describe(IO &io, StoreStmt &s) {
  io.element(s.target);
  io.text(" = ");
  io.expr(s.value, dtypeOf(s.target.buffer));
  io.options([&] { io.expression("if", s.predicate); });
}

template <class IO> void describe(IO &io, AtomicStmt &s) {
  io.word(s.op, atomicOps);
  io.text(" ");
  io.element(s.target);
  std::optional<DType> like = dtypeOf(s.target.buffer);
  io.options([&] {
    io.expression("value", s.value, like);
    io.expression("compare", s.compare, like);
    io.expression("if", s.predicate);
    io.word("order", s.order, orders);
    io.word("scope", s.scope, memoryScopes, MemoryScope::Device);
    io.result("result", s.result, like);
  });
}

template <class IO> void describe(IO &io, MoveStmt &s) {
  io.element(s.source);
  io.text(" -> ");
  io.element(s.target);
  io.options([&] {
    io.integer("count", s.count, 1);
    io.expression("if", s.predicate);
    io.expression("fill", s.fill, dtypeOf(s.target.buffer));
    io.flag("async", s.async);
  });
}

template <class IO> void describe(IO &io, CallStmt &s) {
  io.symbol(s.callee);
  io.templateArguments(s.templateTypes, s.templateArgs);
  io.arguments(s.args);
  io.options([&] {
    io.word("collective", s.collective, collectives);
    io.flag("extern", s.isExtern);
    io.flag("effect", s.hasEffect);
    io.pointers("touches", s.touches);
    io.result("result", s.result, std::nullopt);
  });
}

// ---- Control

template <class IO> void describe(IO &io, IfStmt &s) {
  io.expr(s.condition);
  io.block(s.then);
  io.elseBlock(s.otherwise);
}

template <class IO> void describe(IO &io, WhileStmt &s) {
  io.enterScope(); // what the condition's statements bind is known in the body
  io.conditionBlock(s.conditionBlock);
  io.expr(s.condition);
  io.block(s.body);
  io.leaveScope();
}

template <class IO> void describe(IO &io, ForStmt &s) {
  io.enterScope();
  auto name = io.define(s.var, [&] { return dtypeOf(s.lo); });
  io.text(" in ");
  io.expr(s.lo, io.wanted(name, s.var));
  io.text(" .. ");
  io.expr(s.hi, dtypeOf(s.lo));
  io.bind(name, s.var, dtypeOf(s.lo));
  io.setStep(s.step, s.lo);
  io.options([&] {
    io.expression("step", s.step, dtypeOf(s.lo), 1);
    io.choice(s.kind, forKinds);
    io.flag("expand", s.expand);
    io.integer("factor", s.unrollFactor, 0);
    io.integer("stages", s.stages, 0);
    io.integers("order", s.order);
    io.integers("stage", s.stage);
    io.groups("group", s.group);
  });
  io.block(s.body);
  io.leaveScope();
}

template <class IO> void describe(IO &io, RoleStmt &s) {
  io.number(s.first);
  io.text(" : ");
  io.text("+");
  io.number(s.count);
  io.enterScope();
  io.options([&] {
    io.integer("teams", s.teams, 1);
    io.result("team", s.team, DType(Scalar::Int32));
    io.integer("registers", s.registers, 0);
  });
  io.block(s.body);
  io.leaveScope();
}

template <class IO> void describe(IO &, BreakStmt &) {}
template <class IO> void describe(IO &, ContinueStmt &) {}
template <class IO> void describe(IO &, ExitStmt &) {}

// ---- Synchronisation

template <class IO> void describe(IO &io, BarrierStmt &s) {
  io.options([&] {
    io.choice(s.scope, barrierScopes);
    io.choice(s.mode, barrierModes);
    io.expression("id", s.id);
    io.expression("count", s.count);
    io.expression("mask", s.mask, DType(Scalar::UInt32));
    io.word("vote", s.vote, votes);
    io.expression("value", s.value);
    io.flag("user", s.userWritten);
    io.result("result", s.result, std::nullopt);
  });
}

template <class IO> void describe(IO &io, MbarStmt &s) {
  io.word(s.op, mbarOps);
  io.text(" ");
  io.element(s.barrier);
  io.options([&] {
    io.expression("value", s.value);
    io.expression("cta", s.cta);
  });
}

template <class IO> void describe(IO &io, AsyncStmt &s) {
  io.word(s.what, asyncKinds);
  io.options([&] {
    io.flag("commit", s.commit);
    io.pending("wait", s.pending, s.commit);
    io.flag("reads_only", s.readsOnly);
  });
}

template <class IO> void describe(IO &io, FenceStmt &s) { io.word(s.what, fenceKinds); }

// ---- Debugging and facts

template <class IO> void describe(IO &io, PrintStmt &s) {
  io.string(s.message);
  io.options([&] {
    io.expression("value", s.value);
    io.expression("index", s.index);
    io.bufferOption("buffer", s.buffer);
  });
}

template <class IO> void describe(IO &io, AssertStmt &s) {
  io.expr(s.condition);
  io.text(", ");
  io.string(s.message);
}

template <class IO> void describe(IO &io, AssumeStmt &s) { io.expr(s.condition); }
template <class IO> void describe(IO &io, SourceStmt &s) { io.string(s.text); }

// ---- Tile ops

template <class IO> void describe(IO &io, MapStmt &s) {
  io.enterScope();
  io.mapVars(s.vars, s.extents);
  io.options([&] {
    io.layout("layout", s.layout);
    io.word("origin", s.origin, origins);
    io.integer("coalesced", s.coalescedWidth, 0);
  });
  io.block(s.body);
  io.leaveScope();
}

template <class IO> void describe(IO &io, CopyStmt &s) {
  io.region(s.source);
  io.text(" -> ");
  io.region(s.target);
  io.options([&] {
    io.choice(s.copyKind, copyKinds);
    io.flag("async", s.async);
    io.elementOption("barrier", s.barrier);
    io.expression("multicast", s.multicast);
    io.integer("coalesced", s.coalescedWidth, 0);
    io.stringOption("evict", s.eviction);
    io.layout("layout", s.layout);
    io.bools("check_low", s.checkLow);
    io.bools("check_high", s.checkHigh);
    io.flag("bounds_known", s.boundsKnown);
  });
}

template <class IO> void describe(IO &io, GemmStmt &s) {
  io.region(s.a);
  io.text(", ");
  io.region(s.b);
  io.text(" -> ");
  io.region(s.c);
  io.options([&] {
    io.flag("transpose_a", s.transposeA);
    io.flag("transpose_b", s.transposeB);
    io.expression("clear", s.clear);
    io.word("policy", s.policy, policies);
    io.integer("k_pack", s.kPack, 1);
    io.flag("async", s.async);
    io.elementOption("barrier", s.barrier);
    io.atom("atom", s.atom);
    io.integer("warps_m", s.warpsM, 0);
    io.integer("warps_n", s.warpsN, 0);
  });
}

template <class IO> void describe(IO &io, FillStmt &s) {
  io.region(s.target);
  io.text(" = ");
  io.expr(s.value, dtypeOf(s.target.buffer));
  io.options([&] { io.layout("layout", s.layout); });
}

template <class IO> void describe(IO &io, ReduceStmt &s) {
  io.word(s.op, reduceOps);
  io.text(" ");
  io.region(s.source);
  io.text(" -> ");
  io.region(s.target);
  io.options([&] {
    io.integer("axis", s.axis, 0);
    io.flagOff("accumulate", s.clear);
    io.flag("nan_propagate", s.nanPropagate);
  });
}

template <class IO> void describe(IO &io, ScanStmt &s) {
  io.word(s.op, reduceOps);
  io.text(" ");
  io.region(s.source);
  io.text(" -> ");
  io.region(s.target);
  io.options([&] {
    io.integer("axis", s.axis, 0);
    io.flag("reverse", s.reverse);
  });
}

template <class IO> void describe(IO &io, AtomicTileStmt &s) {
  io.word(s.op, atomicOps);
  io.text(" ");
  io.region(s.target);
  io.options([&] {
    io.regionOption("from", s.source);
    io.expression("value", s.value, dtypeOf(s.target.buffer));
    io.word("order", s.order, orders);
    io.flag("tma", s.useTma);
    io.layout("layout", s.layout);
    io.bools("check_low", s.checkLow);
    io.bools("check_high", s.checkHigh);
    io.flag("bounds_known", s.boundsKnown);
  });
}

template <class IO> void describe(IO &io, ReducerStmt &s) {
  io.word(s.action, reducerActions);
  io.text(" ");
  io.word(s.op, reduceOps);
  io.text(" ");
  io.buffer(s.reducer);
  io.options([&] {
    io.elementOption("element", s.element);
    io.expression("value", s.value, dtypeOf(s.reducer));
    io.regionOption("to", s.target);
  });
}

template <class IO> void describe(IO &io, ConvertStmt &s) {
  io.buffer(s.source);
  io.text(" -> ");
  io.buffer(s.target);
  Conversion &p = s.plan;
  io.options([&] {
    io.choice(p.kind, conversionKinds);
    io.integers("source_registers", p.registers);
    if (io.group("rounds", p.shuffle)) {
      io.field("provide", p.shuffle->provide);
      io.field("source", p.shuffle->source);
      io.field("receive", p.shuffle->receive);
      io.field("rounds", p.shuffle->rounds);
      io.field("instructions", p.shuffle->instructions);
      io.endGroup();
    }
    if (io.group("through", p.shared)) {
      io.field("memory", p.shared->memory);
      io.field("store_vector", p.shared->storeVector);
      io.field("load_vector", p.shared->loadVector);
      for (AccessCost *cost : {&p.shared->store, &p.shared->load}) {
        io.field("wavefronts", cost->wavefronts);
        io.field("ideal", cost->ideal);
        io.field("instructions", cost->instructions);
      }
      io.endGroup();
    }
  });
}

/// Calls `f` with the statement as what it is.
template <class F> void dispatch(Stmt &s, F &&f) {
  switch (s.kind) {
#define TLC_STMT(NAME, ...)                                                                        \
  case StmtKind::NAME:                                                                             \
    return f(static_cast<NAME##Stmt &>(s));
#include "ir/Nodes.def"
  }
}

} // namespace tlc::ir::text
