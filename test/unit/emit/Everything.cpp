// One function with every statement and expression that the printers know. It is compiled, not run.
#include "Kernels.h"

#include <cmath>

namespace tlc::emit::test {

using namespace ir;

namespace {

class EverythingBuilder {
public:
  EverythingBuilder(Kernel &k, const Target &target)
      : k(k), c(*k.context), target(target), launch(k.launch({}, 128)),
        b(*k.function, launch.body) {
    launch.grid = {c.int32(4), c.int32(2)};
    for (const char *name : {"bx", "by"})
      launch.blockVars.push_back(c.var(name, DType(Scalar::Int32)));
    launch.sharedBytes = 4096;
    n = k.dim("N");
  }

  void build() {
    for (Scalar scalar :
         {Scalar::Bool,          Scalar::Int4,           Scalar::Int8,       Scalar::Int16,
          Scalar::Int32,         Scalar::Int64,          Scalar::UInt4,      Scalar::UInt8,
          Scalar::UInt16,        Scalar::UInt32,         Scalar::UInt64,     Scalar::Float64,
          Scalar::Float32,       Scalar::TFloat32,       Scalar::Float16,    Scalar::BFloat16,
          Scalar::Float8E4M3FN,  Scalar::Float8E4M3FNUZ, Scalar::Float8E5M2, Scalar::Float8E5M2FNUZ,
          Scalar::Float8E8M0FNU, Scalar::Float4E2M1FN})
      b.when(equals(launch.blockVars[0], static_cast<std::int64_t>(scalar)),
             [&] { arithmetic(DType(scalar)); });
    math();
    vectors();
    moves();
    control();
    debug();
    if (target.isGpu())
      threads();
    k.function->sources.push_back("// from the user\n");
  }

private:
  Expr use(Expr e) {
    // Keeps a value alive: everything ends in one int64 cell.
    DType dtype = e.dtype();
    Expr wide = dtype.isFloat() ? c.cast(DType(Scalar::Float64), e) : e;
    Expr number = dtype.scalar == Scalar::Int64 ? wide : c.cast(DType(Scalar::Int64), wide);
    b.store(*cell(), {c.int32(0)}, number);
    return e;
  }
  Buffer *cell() {
    if (!sink)
      sink = &k.tensor("sink", DType(Scalar::Int64), {c.int32(16)}, true);
    return sink;
  }
  Buffer &tensor(DType dtype, bool output = true) {
    return k.tensor("T_" + dtype.str() + (output ? "" : "_in"), dtype, {n}, output);
  }

  void arithmetic(DType dtype) {
    Buffer &buffer = tensor(dtype);
    Expr x = b.load("x", buffer, {c.int32(0)});
    Expr y = b.load("y", {&buffer, {launch.blockVars[1]}, {}}, lessThan(launch.blockVars[1], n));
    if (dtype.isBool()) {
      use(c.select(logicalOr(logicalAnd(x, y), logicalNot(x)), c.int32(1), c.int32(2)));
      b.store(buffer, {c.int32(1)}, logicalAnd(x, logicalOr(y, x)));
      return;
    }
    bool exponent = dtype.encoding() == FloatEncoding::Exponent;
    Expr sum = exponent ? x : x + y * x - y;
    if (!exponent)
      sum = c.binary(BinaryOp::Max, c.binary(BinaryOp::Min, sum, x), -y);
    if (dtype.isInteger()) {
      for (BinaryOp op : {BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::TruncDiv,
                          BinaryOp::TruncMod, BinaryOp::And, BinaryOp::Or, BinaryOp::Xor})
        sum = c.binary(op, sum, c.binary(BinaryOp::Or, y, c.integer(dtype, 1)));
      sum = c.binary(BinaryOp::Shl, sum, c.integer(dtype, 1));
      sum = c.binary(BinaryOp::Shr, c.unary(UnaryOp::BitNot, sum), c.integer(dtype, 2));
      sum = floorDiv(sum, 4) + floorMod(sum, 4) + floorMod(sum, 3);
      sum = c.select(lessThan(x, y), c.integer(dtype, 3), c.integer(dtype, 5)) + sum;
    } else if (!exponent) {
      sum = c.binary(BinaryOp::Div, sum, c.real(dtype, 1.5));
      sum = c.select(c.binary(BinaryOp::Ge, x, c.real(dtype, -2)), sum, c.real(dtype, 0));
    }
    b.store(Element{&buffer, {c.int32(2)}, {}}, sum, lessThan(launch.blockVars[1], 7));
    for (Scalar to : {Scalar::Bool, Scalar::Int8, Scalar::Int32, Scalar::UInt64, Scalar::Int4,
                      Scalar::Float32, Scalar::Float64, Scalar::Float16, Scalar::BFloat16,
                      Scalar::Float8E4M3FN, Scalar::Float8E5M2})
      if (DType(to) != dtype && !(exponent && to == Scalar::Int4))
        use(c.cast(DType(Scalar::Float32), c.cast(DType(to), x)));
    use(c.cast(dtype, c.cast(DType(Scalar::Float32), y)));
    use(c.cast(dtype, c.cast(DType(Scalar::Int32), x)));
    if (dtype.scalar == Scalar::Float16 || dtype.scalar == Scalar::Float8E5M2)
      use(c.cast(dtype, c.cast(DType(Scalar::Float32), y), dtype.bits() == 16));
    if (dtype.scalar == Scalar::Float16)
      use(c.cast(dtype, c.cast(DType(Scalar::Float64), y)));
    if (dtype.bits() == 32 && dtype.scalar != Scalar::TFloat32)
      use(c.bitcast(DType(dtype.isFloat() ? Scalar::Int32 : Scalar::Float32), x));
    atomics(buffer, x);
  }

  void atomics(Buffer &buffer, Expr x) {
    DType dtype = buffer.dtype;
    if (isPackedOrOdd(dtype))
      return;
    auto atomic = [&](AtomicOp op, MemoryOrder order, MemoryScope scope) -> AtomicStmt & {
      auto &stmt = b.add<AtomicStmt>();
      stmt.op = op;
      stmt.target = {&buffer, {c.int32(3)}, {}};
      stmt.value = x;
      stmt.order = order;
      stmt.scope = scope;
      return stmt;
    };
    atomic(AtomicOp::Add, MemoryOrder::Relaxed, MemoryScope::Device);
    atomic(AtomicOp::Min, MemoryOrder::AcqRel, MemoryScope::System);
    atomic(AtomicOp::Max, MemoryOrder::SeqCst, MemoryScope::Block);
    auto &exchange = atomic(AtomicOp::Exchange, MemoryOrder::Acquire, MemoryScope::Device);
    exchange.result = c.var("previous", dtype);
    exchange.predicate = lessThan(launch.blockVars[1], 3);
    use(exchange.result);
    atomic(AtomicOp::CompareExchange, MemoryOrder::Release, MemoryScope::Device).compare = x;
    atomic(AtomicOp::Store, MemoryOrder::Release, MemoryScope::Device);
    auto &load = atomic(AtomicOp::Load, MemoryOrder::Acquire, MemoryScope::Device);
    load.value = {};
    load.result = c.var("seen", dtype);
    use(load.result);
    if (dtype.isInteger())
      for (AtomicOp op : {AtomicOp::And, AtomicOp::Or, AtomicOp::Xor})
        atomic(op, MemoryOrder::Relaxed, MemoryScope::Device).value = c.integer(dtype, 1);
  }
  static bool isPackedOrOdd(DType dtype) {
    return dtype.bits() < 16 && dtype.isFloat() ? true : dtype.isSubByte();
  }

  void math() {
    for (Scalar scalar : {Scalar::Float32, Scalar::Float64, Scalar::Float16, Scalar::BFloat16}) {
      Expr x =
          b.load("x", k.tensor(std::string("M_") + DType(scalar).str(), DType(scalar), {n}, false),
                 {c.int32(0)});
      for (unsigned i = 0; i <= static_cast<unsigned>(MathFn::FastRcp); ++i) {
        auto fn = static_cast<MathFn>(i);
        if (fn == MathFn::Popcount || fn == MathFn::Clz || fn == MathFn::Ffs ||
            fn == MathFn::Ldexp || fn == MathFn::NextAfter)
          continue;
        std::vector<Expr> args(mathArity(fn), x);
        use(c.math(fn, args));
      }
    }
    for (Scalar scalar : {Scalar::Int32, Scalar::UInt64}) {
      Expr x =
          b.load("x", k.tensor(std::string("M_") + DType(scalar).str(), DType(scalar), {n}, false),
                 {c.int32(0)});
      for (MathFn fn : {MathFn::Popcount, MathFn::Clz, MathFn::Ffs})
        use(c.math(fn, {x}));
    }
  }

  void vectors() {
    DType f16(Scalar::Float16), f32(Scalar::Float32), i4(Scalar::Int4);
    Buffer &halves = tensor(f16, false), &floats = tensor(f32, false), &nibbles = tensor(i4, false);
    Buffer &out = k.tensor("V", f32, {n}, true);
    Expr h = b.loadVector("h", {&halves, {c.int32(8)}, {}}, 4);
    Expr f = b.loadVector("f", {&floats, {c.int32(8)}, {}}, 4);
    Expr q = b.loadVector("q", {&nibbles, {c.int32(8)}, {}}, 8);
    Expr wide = c.cast(f32.withLanes(4), h);
    Expr scale = c.broadcast(c.real(f32, 0.5), 4);
    b.store(out, {c.int32(0)}, c.binary(BinaryOp::Add, c.binary(BinaryOp::Mul, wide, scale), f));
    b.store(out, {c.int32(4)}, scale);
    use(c.extract(q, 3));
    use(c.bitcast(DType(Scalar::UInt32), q));
    Expr lanes[] = {c.extract(f, 0), c.extract(f, 2), c.real(f32, 1), c.extract(f, 3)};
    b.store(out, {c.int32(8)}, c.vector(lanes));
    Buffer &packed = k.tensor("V_int4", i4, {n}, true);
    std::vector<Expr> eight;
    for (unsigned i = 0; i < 8; ++i)
      eight.push_back(c.extract(q, 7 - i));
    b.store(packed, {c.int32(16)}, c.vector(eight));
    for (Scalar scalar : {Scalar::Float32, Scalar::Float16, Scalar::BFloat16}) {
      DType dtype(scalar);
      Buffer &target = k.tensor(std::string("A_") + dtype.str(), dtype, {n}, true);
      Expr pair = b.loadVector("pair", {&target, {c.int32(2)}, {}}, 2);
      auto &stmt = b.add<AtomicStmt>();
      stmt.target = {&target, {c.int32(0)}, {}};
      stmt.value = pair;
    }
  }

  Buffer &shared(const char *name, DType dtype, std::int64_t offset) {
    Buffer &buffer = k.function->addBuffer(name, dtype, Scope::Shared, {c.int32(64)});
    buffer.sharedOffset = offset;
    buffer.versions = 2;
    buffer.versionBytes = 256;
    b.alloc(buffer);
    return buffer;
  }

  void moves() {
    DType f32(Scalar::Float32), f16(Scalar::Float16);
    Buffer &from = k.tensor("F", f32, {n}, false), &tile = shared("tile", f32, 0);
    Buffer &registers = k.function->addBuffer("r", f32, Scope::Local, {c.int32(8)});
    b.alloc(registers);
    auto move = [&](Element to, Element source, std::int64_t count) -> MoveStmt & {
      auto &stmt = b.add<MoveStmt>();
      stmt.target = std::move(to);
      stmt.source = std::move(source);
      stmt.count = count;
      return stmt;
    };
    Expr version = floorMod(launch.blockVars[0], 2);
    for (std::int64_t count : {1, 2, 3, 4, 8})
      move({&registers, {c.int32(0)}, {}}, {&from, {c.int32(16)}, {}}, count);
    move({&tile, {c.int32(4)}, version}, {&registers, {c.int32(0)}, {}}, 4);
    Expr valid = lessThan(launch.blockVars[1], n);
    move({&registers, {c.int32(4)}, {}}, {&from, {c.int32(4)}, {}}, 4).predicate = valid;
    for (double fill : {0.0, -1.5}) {
      auto &filled = move({&registers, {c.int32(4)}, {}}, {&from, {c.int32(4)}, {}}, 4);
      filled.predicate = valid;
      filled.fill = c.real(f32, fill);
    }
    if (target.isGpu() && target.has(Feature::CpAsync))
      for (std::int64_t count : {1, 2, 4}) {
        move({&tile, {c.int32(0)}, version}, {&from, {c.int32(0)}, {}}, count).async = true;
        auto &guarded = move({&tile, {c.int32(0)}, version}, {&from, {c.int32(0)}, {}}, count);
        guarded.async = true;
        guarded.predicate = valid;
        guarded.fill = c.real(f32, 0);
      }
    // The same memory read as halves.
    Buffer &view = k.function->addBuffer("halves", f16, Scope::Shared, {c.int32(128)});
    view.base = &tile;
    view.baseOffset = c.int32(32);
    b.alloc(view);
    use(b.load("half", view, {c.int32(3)}));
    Buffer &nibbles = k.tensor("P", DType(Scalar::Int4), {n}, true);
    move({&nibbles, {launch.blockVars[0] * 8}, {}}, {&nibbles, {c.int32(32)}, {}}, 8);
    b.store(nibbles, {c.int32(5)}, b.load("nibble", nibbles, {launch.blockVars[1]}));
  }

  void control() {
    DType i32(Scalar::Int32);
    Buffer &count = k.function->addBuffer("count", i32, Scope::Local, {});
    b.alloc(count).init = c.int32(0);
    b.loop("i", c.int32(10), c.int32(0), ForKind::Serial, [&](Expr i) {
       b.store(count, {}, i);
     }).step = c.int32(-2);
    b.loop("i", c.int32(0), n, ForKind::Serial, [&](Expr i) {
       b.when(equals(i, 3), [&] { b.add<ContinueStmt>(); });
       b.when(equals(i, 7), [&] { b.add<BreakStmt>(); });
     }).step = n;
    b.loop("i", c.int32(0), c.int32(8), ForKind::Unroll, [&](Expr i) {
       b.store(count, {}, i);
     }).unrollFactor = 4;
    auto &loop = b.add<WhileStmt>();
    b.push(loop.conditionBlock);
    Expr seen = b.load("seen", count, {});
    b.pop();
    loop.condition = lessThan(seen, 20);
    b.in(loop.body, [&] { b.store(count, {}, seen + 1); });
    auto &choice =
        b.when(lessThan(launch.blockVars[0], 1), [&] { b.store(count, {}, c.int32(1)); });
    b.push(choice.otherwise);
    auto &second =
        b.when(lessThan(launch.blockVars[0], 2), [&] { b.store(count, {}, c.int32(2)); });
    b.in(second.otherwise, [&] { b.store(count, {}, c.int32(3)); });
    b.pop();
    use(b.load("result", count, {}));
    auto &fact = b.add<AssumeStmt>();
    fact.condition = lessThan(c.int32(0), n);
    auto &fence = b.add<FenceStmt>();
    fence.what = FenceKind::Device;
  }

  void debug() {
    for (Scalar scalar : {Scalar::Int32, Scalar::UInt8, Scalar::Float16, Scalar::Float32}) {
      Buffer &buffer = k.tensor(std::string("D_") + DType(scalar).str(), DType(scalar), {n}, false);
      Expr shown = b.load("shown", buffer, {c.int32(0)});
      auto &print = b.add<PrintStmt>();
      print.message = "100% \"sure\"\n";
      print.value = shown;
    }
    b.add<PrintStmt>().message = "here";
    Buffer &local =
        k.function->addBuffer("local", DType(Scalar::BFloat16), Scope::Local, {c.int32(2)});
    b.alloc(local);
    b.store(local, {c.int32(0)}, c.real(DType(Scalar::BFloat16), 1));
    b.store(local, {c.int32(1)}, c.real(DType(Scalar::BFloat16), -INFINITY));
    Expr shown = b.load("shown", local, {c.int32(1)});
    auto &element = b.add<PrintStmt>();
    element.message = "local";
    element.value = shown;
    element.index = c.int32(1);
    auto &assertion = b.add<AssertStmt>();
    assertion.condition = lessThan(c.int32(0), n);
    assertion.message = "N is positive";
  }

  Expr call(const char *name, std::vector<Argument> args, Scalar result) {
    auto &stmt = b.add<CallStmt>();
    stmt.callee = name;
    stmt.args = std::move(args);
    stmt.collective = Collective::Warp;
    stmt.result = c.var("r", DType(result));
    return use(stmt.result);
  }

  void threads() {
    Expr tid = launch.tid;
    launch.threadVars[0] = tid;
    Expr x = b.load("x", k.tensor("W", DType(Scalar::Float32), {n}, false), {tid});
    for (const char *name : {"shfl_xor", "shfl_up", "shfl_down", "shfl"})
      call(name, {x, c.int32(1)}, Scalar::Float32);
    for (const char *name : {"warp_reduce_sum", "warp_reduce_max", "warp_reduce_min"})
      call(name, {x}, Scalar::Float32);
    for (const char *name : {"warp_reduce_and", "warp_reduce_or", "match_any", "match_all"})
      call(name, {tid}, name[0] == 'w' ? Scalar::Int32 : Scalar::UInt32);
    for (const char *name : {"any", "all"})
      call(name, {lessThan(tid, 5)}, Scalar::Int32);
    call("ballot", {lessThan(tid, 5)}, Scalar::UInt64);
    call("active_mask", {}, Scalar::UInt64);
    call("find_nth_set", {c.integer(DType(Scalar::UInt32), 255), c.int32(0), c.int32(2)},
         Scalar::Int32);
    b.barrier();
    for (Vote vote : {Vote::Count, Vote::And, Vote::Or}) {
      auto &voting = b.barrier();
      voting.vote = vote;
      voting.value = lessThan(tid, 3);
      voting.result = c.var("votes", DType(Scalar::Int32));
      use(voting.result);
    }
    b.barrier().scope = BarrierScope::Warp;
    for (BarrierMode mode : {BarrierMode::Arrive, BarrierMode::Both}) {
      auto &named = b.barrier();
      named.scope = BarrierScope::Named;
      named.mode = mode;
      named.id = c.int32(1);
      named.count = c.int32(128);
    }
    auto &role = b.add<RoleStmt>();
    role.first = 32, role.count = 64;
    b.in(role.body, [&] { use(tid); });
    if (target.has(Feature::CpAsync)) {
      b.commit();
      b.wait(0);
    }
    if (target.has(Feature::MBarrier))
      barriers();
    b.when(equals(tid, 3), [&] { b.add<ExitStmt>(); });
  }

  void barriers() {
    Buffer &bars =
        k.function->addBuffer("bars", DType(Scalar::UInt64), Scope::Barrier, {c.int32(4)});
    bars.sharedOffset = 2048;
    b.alloc(bars);
    for (MbarOp op : {MbarOp::Init, MbarOp::Arrive, MbarOp::CpAsyncArrive, MbarOp::Wait}) {
      auto &stmt = b.add<MbarStmt>();
      stmt.op = op;
      stmt.barrier = {&bars, {c.int32(1)}, {}};
      stmt.value = c.int32(op == MbarOp::Init ? 128 : 0);
    }
    if (!target.has(Feature::MBarrierTx))
      return;
    for (MbarOp op : {MbarOp::Expect, MbarOp::ArriveExpect}) {
      auto &stmt = b.add<MbarStmt>();
      stmt.op = op;
      stmt.barrier = {&bars, {c.int32(2)}, {}};
      stmt.value = c.int32(1024);
    }
    for (FenceKind kind : {FenceKind::ProxyAsync, FenceKind::MbarInit})
      b.add<FenceStmt>().what = kind;
    for (BarrierMode mode : {BarrierMode::Arrive, BarrierMode::Wait, BarrierMode::Both}) {
      auto &cluster = b.barrier();
      cluster.scope = BarrierScope::Cluster;
      cluster.mode = mode;
    }
  }

  Kernel &k;
  Context &c;
  const Target &target;
  Launch &launch;
  Builder b;
  Expr n;
  Buffer *sink = nullptr;
};

} // namespace

Kernel everything(const Target &target) {
  Kernel k("everything");
  EverythingBuilder(k, target).build();
  return k;
}

} // namespace tlc::emit::test
