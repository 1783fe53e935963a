#include "Kernels.h"

namespace tlc::emit::test {

using namespace ir;

Kernel::Kernel(std::string name) : function(std::make_unique<Function>(*context)) {
  function->name = std::move(name);
  function->phase = Phase::Named;
}

Buffer &Kernel::tensor(std::string name, DType dtype, std::vector<Expr> shape, bool output) {
  Buffer &buffer = function->addBuffer(name, dtype, Scope::Global, std::move(shape));
  buffer.writable = buffer.output = output;
  Param param;
  param.buffer = &buffer;
  param.name = name;
  function->params.push_back(std::move(param));
  return buffer;
}

Expr Kernel::dim(std::string name, Scalar scalar) {
  Dim dim;
  dim.var = context->var(name, DType(scalar));
  dim.name = std::move(name);
  function->dims.push_back(dim);
  return dim.var;
}

Expr Kernel::scalar(std::string name, DType dtype) {
  Param param;
  param.scalar = context->var(name, dtype);
  param.name = std::move(name);
  function->params.push_back(param);
  return param.scalar;
}

Launch &Kernel::launch(std::vector<Expr> grid, std::int64_t threads) {
  function->launches.push_back(std::make_unique<Launch>());
  Launch &launch = *function->launches.back();
  launch.grid = std::move(grid);
  launch.threads = {threads, 1, 1};
  constexpr const char *names[] = {"bx", "by", "bz"};
  for (std::size_t d = 0; d < launch.grid.size(); ++d)
    launch.blockVars.push_back(context->var(names[d], DType(Scalar::Int32)));
  launch.tid = context->var("tid", DType(Scalar::Int32));
  return launch;
}

Kernel vectorAdd(Family family, DType dtype) {
  Kernel k("vector_add");
  Expr n = k.dim("N");
  Buffer &a = k.tensor("A", dtype, {n}, false), &b = k.tensor("B", dtype, {n}, false);
  Buffer &c = k.tensor("C", dtype, {n}, true);
  k.function->constraints.push_back({equals(floorMod(n, 4), 0), "N % 4 == 0", {}});
  Launch &launch = k.launch({ceilDiv(n, 1024)}, 256);
  Builder builder(*k.function, launch.body);
  Expr block = launch.blockVars[0];
  if (family == Family::Cpu) {
    builder.loop("i", block * 1024, minimum(block * 1024 + 1024, n), ForKind::Vector, [&](Expr i) {
      Expr x = builder.load("x", a, {i}), y = builder.load("y", b, {i});
      builder.store(c, {i}, x + y);
    });
    return k;
  }
  Expr i = builder.let("i", block * 1024 + launch.tid * 4);
  builder.when(lessThan(i, n), [&] {
    Expr x = builder.loadVector("x", {&a, {i}, {}}, 4),
         y = builder.loadVector("y", {&b, {i}, {}}, 4);
    builder.store(c, {i}, k.context->binary(BinaryOp::Add, x, y));
  });
  return k;
}

namespace {

void softmaxOfWarp(Kernel &k, Builder &b, Launch &launch, Buffer &x, Buffer &y) {
  Context &c = *k.context;
  DType f32(Scalar::Float32);
  Expr row = b.let("row", launch.blockVars[0] * 4 + floorDiv(launch.tid, 32));
  Expr lane = b.let("lane", floorMod(launch.tid, 32));
  Buffer &values = k.function->addBuffer("v", f32, Scope::Local, {c.int32(2)});
  auto reduce = [&](const char *name, Expr value) {
    auto &call = b.add<CallStmt>();
    call.callee = name;
    call.args = {value};
    call.collective = Collective::Warp;
    call.result = c.var("r", f32);
    return call.result;
  };
  b.when(lessThan(row, k.function->dims[0].var), [&] {
    b.alloc(values);
    auto &move = b.add<MoveStmt>();
    move.target = {&values, {c.int32(0)}, {}};
    move.source = {&x, {row * 64 + lane * 2}, {}};
    move.count = 2;
    Expr v0 = b.load("v0", values, {c.int32(0)}), v1 = b.load("v1", values, {c.int32(1)});
    Expr m = reduce("warp_reduce_max", c.binary(BinaryOp::Max, v0, v1));
    Expr e0 = b.let("e0", c.math(MathFn::Exp, {v0 - m}));
    Expr e1 = b.let("e1", c.math(MathFn::Exp, {v1 - m}));
    Expr sum = reduce("warp_reduce_sum", e0 + e1);
    Expr scale = b.let("scale", c.binary(BinaryOp::Div, c.real(f32, 1), sum));
    b.store(y, {row * 64 + lane * 2}, e0 * scale);
    b.store(y, {row * 64 + lane * 2 + 1}, e1 * scale);
  });
}

void softmaxOfBlock(Kernel &k, Builder &b, Launch &launch, Buffer &x, Buffer &y) {
  Context &c = *k.context;
  DType f32(Scalar::Float32);
  Expr row = launch.blockVars[0];
  Buffer &values = k.function->addBuffer("v", f32, Scope::Local, {c.int32(64)});
  Buffer &most = k.function->addBuffer("most", f32, Scope::Local, {});
  Buffer &sum = k.function->addBuffer("sum", f32, Scope::Local, {});
  values.sharedOffset = 0;
  launch.sharedBytes = 256;
  b.alloc(values);
  b.alloc(most).init = c.real(f32, -1e30);
  b.alloc(sum).init = c.real(f32, 0);
  b.loop("i", c.int32(0), c.int32(64), ForKind::Serial, [&](Expr i) {
    Expr v = b.load("value", x, {row * 64 + i});
    b.store(values, {i}, v);
    Expr m = b.load("m", most, {});
    b.store(most, {}, c.binary(BinaryOp::Max, m, v));
  });
  Expr m = b.load("m", most, {});
  b.loop("i", c.int32(0), c.int32(64), ForKind::Vector, [&](Expr i) {
    Expr v = b.load("value", values, {i});
    b.store(values, {i}, c.math(MathFn::Exp, {v - m}));
  });
  b.loop("i", c.int32(0), c.int32(64), ForKind::Serial, [&](Expr i) {
    Expr v = b.load("value", values, {i}), s = b.load("s", sum, {});
    b.store(sum, {}, s + v);
  });
  Expr s = b.load("s", sum, {});
  b.loop("i", c.int32(0), c.int32(64), ForKind::Vector, [&](Expr i) {
    Expr v = b.load("value", values, {i});
    b.store(y, {row * 64 + i}, c.binary(BinaryOp::Div, v, s));
  });
}

} // namespace

Kernel softmax(Family family) {
  Kernel k("softmax");
  Expr rows = k.dim("R");
  DType f32(Scalar::Float32);
  Buffer &x = k.tensor("X", f32, {rows, k.context->int32(64)}, false);
  Buffer &y = k.tensor("Y", f32, {rows, k.context->int32(64)}, true);
  bool cpu = family == Family::Cpu;
  Launch &launch = k.launch({cpu ? rows : ceilDiv(rows, 4)}, 128);
  Builder builder(*k.function, launch.body);
  if (cpu)
    softmaxOfBlock(k, builder, launch, x, y);
  else
    softmaxOfWarp(k, builder, launch, x, y);
  return k;
}

namespace {

/// The parts of the GEMM kernel. Shared tiles are 64 rows of 32 halves (64 bytes); the 16-byte unit
/// u of row r lies at u ^ (r / 2 % 4).
class GemmBuilder {
public:
  GemmBuilder(Kernel &k)
      : k(k), c(*k.context), launch(k.launch({}, 128)), b(*k.function, launch.body) {}

  void build() {
    DType f16(Scalar::Float16), f32(Scalar::Float32);
    Expr m = k.dim("M"), n = k.dim("N"), kk = k.dim("K");
    a = &k.tensor("A", f16, {m, kk}, false);
    bt = &k.tensor("B", f16, {n, kk}, false);
    out = &k.tensor("C", f32, {m, n}, true);
    k.function->constraints.push_back({equals(floorMod(kk, 32), 0), "K % 32 == 0", {}});
    k.function->constraints.push_back({equals(floorMod(n, 2), 0), "N % 2 == 0", {}});
    launch.grid = {ceilDiv(n, 64), ceilDiv(m, 64)};
    for (const char *name : {"bx", "by"})
      launch.blockVars.push_back(c.var(name, DType(Scalar::Int32)));
    launch.sharedBytes = 2 * 3 * 4096;
    launch.raster.panel = 4;
    as = shared("A_s", 0), bs = shared("B_s", 3 * 4096);
    acc = &k.function->addBuffer("acc", f32, Scope::Local, {c.int32(32)});
    fa = &k.function->addBuffer("a", f16, Scope::Local, {c.int32(16)});
    fb = &k.function->addBuffer("b", f16, Scope::Local, {c.int32(16)});
    for (Buffer *buffer : {as, bs, acc})
      b.alloc(*buffer);
    lane = b.let("lane", floorMod(launch.tid, 32));
    warp = b.let("warp", floorDiv(launch.tid, 32));
    b.unrolled("i", 32, [&](Expr i) { b.store(*acc, {i}, c.real(f32, 0)); });
    Expr steps = b.let("steps", floorDiv(kk, 32));
    for (int s = 0; s < 2; ++s) {
      loadTiles(c.int32(s), c.int32(s), lessThan(c.int32(s), steps));
      b.commit();
    }
    b.loop("ko", c.int32(0), steps, ForKind::Serial, [&](Expr ko) {
      b.wait(1);
      b.barrier();
      Expr ahead = b.let("ahead", ko + 2);
      loadTiles(ahead, floorMod(ahead, 3), lessThan(ahead, steps));
      b.commit();
      multiply(b.let("stage", floorMod(ko, 3)));
    });
    b.wait(0);
    storeAll();
  }

private:
  Buffer *shared(const char *name, std::int64_t offset) {
    Buffer &buffer = k.function->addBuffer(name, DType(Scalar::Float16), Scope::Shared,
                                           {c.int32(64), c.int32(32)});
    buffer.sharedOffset = offset;
    buffer.versions = 3;
    buffer.versionBytes = 4096;
    return &buffer;
  }

  Expr unit(Expr row, Expr u) {
    Expr swizzled = c.binary(BinaryOp::Xor, u, floorMod(floorDiv(row, 2), 4));
    return row * 32 + swizzled * 8;
  }

  void loadTiles(Expr step, Expr stage, Expr inside) {
    struct Side {
      Buffer *from, *to;
      Expr block, rows;
    };
    Side sides[] = {{a, as, launch.blockVars[1], a->shape[0]},
                    {bt, bs, launch.blockVars[0], bt->shape[0]}};
    for (const Side &side : sides)
      b.unrolled("i", 2, [&](Expr i) {
        Expr row = b.let("row", i * 32 + floorDiv(launch.tid, 4)),
             u = b.let("u", floorMod(launch.tid, 4));
        Expr global = b.let("r", side.block * 64 + row);
        auto &move = b.add<MoveStmt>();
        move.target = {side.to, {unit(row, u)}, stage};
        move.source = {side.from, {global * side.from->shape[1] + step * 32 + u * 8}, {}};
        move.count = 8;
        move.async = true;
        move.predicate = logicalAnd(inside, lessThan(global, side.rows));
        move.fill = c.real(DType(Scalar::Float16), 0);
      });
  }

  Pointer pointer(Buffer &buffer, Expr index, std::int64_t count, Access access,
                  Expr version = {}) {
    return {{&buffer, {index}, version}, c.int32(count), access};
  }

  void call(const char *name, std::vector<Argument> args) {
    auto &stmt = b.add<CallStmt>();
    stmt.callee = name;
    stmt.args = std::move(args);
    stmt.collective = Collective::Warp;
  }

  /// Each warp has 32 x 32 of the tile: two rows of four m16n8 products.
  void multiply(Expr stage) {
    Expr warpM = floorDiv(warp, 2) * 32, warpN = floorMod(warp, 2) * 32;
    b.unrolled("ks", 2, [&](Expr ks) {
      b.alloc(*fa);
      b.alloc(*fb);
      b.unrolled("i", 2, [&](Expr i) {
        Expr row = warpM + i * 16 + floorMod(lane, 16);
        call("ldmatrix_x4",
             {pointer(*fa, i * 8, 8, Access::Write),
              pointer(*as, unit(row, ks * 2 + floorDiv(lane, 16)), 8, Access::Read, stage)});
      });
      b.unrolled("j", 2, [&](Expr j) {
        Expr row = warpN + j * 16 + floorDiv(lane, 16) * 8 + floorMod(lane, 8);
        Expr u = ks * 2 + floorMod(floorDiv(lane, 8), 2);
        call("ldmatrix_x4", {pointer(*fb, j * 8, 8, Access::Write),
                             pointer(*bs, unit(row, u), 8, Access::Read, stage)});
      });
      b.unrolled("i", 2, [&](Expr i) {
        b.unrolled("j", 4, [&](Expr j) {
          call("mma_m16n8k16_f16_f16_f32",
               {pointer(*acc, i * 16 + j * 4, 4, Access::ReadWrite),
                pointer(*fa, i * 8, 8, Access::Read), pointer(*fb, j * 4, 4, Access::Read)});
        });
      });
    });
  }

  void storeAll() {
    Expr m = out->shape[0], n = out->shape[1];
    b.unrolled("i", 2, [&](Expr i) {
      b.unrolled("h", 2, [&](Expr h) {
        Expr row = b.let("row", launch.blockVars[1] * 64 + floorDiv(warp, 2) * 32 + i * 16 + h * 8 +
                                    floorDiv(lane, 4));
        b.unrolled("j", 4, [&](Expr j) {
          Expr column = b.let("column", launch.blockVars[0] * 64 + floorMod(warp, 2) * 32 + j * 8 +
                                            floorMod(lane, 4) * 2);
          auto &move = b.add<MoveStmt>();
          move.target = {out, {row * n + column}, {}};
          move.source = {acc, {i * 16 + j * 4 + h * 2}, {}};
          move.count = 2;
          move.predicate = logicalAnd(lessThan(row, m), lessThan(column, n));
        });
      });
    });
  }

  Kernel &k;
  Context &c;
  Launch &launch;
  Builder b;
  Buffer *a = nullptr, *bt = nullptr, *out = nullptr, *as = nullptr, *bs = nullptr;
  Buffer *acc = nullptr, *fa = nullptr, *fb = nullptr;
  Expr lane, warp;
};

} // namespace

Kernel gemm() {
  Kernel k("gemm");
  GemmBuilder(k).build();
  return k;
}

} // namespace tlc::emit::test
