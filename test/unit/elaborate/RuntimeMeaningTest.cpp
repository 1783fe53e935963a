// What elaborated kernels compute, run by the interpreter.
#include "Elaborated.h"

#include "interpret/Interpreter.h"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>

using namespace tlc;
using namespace tlc::test;
using interpret::Tensor;

namespace {

const char *head = "import tilelang\nimport tilelang.language as T\n@T.prim_func\n";

/// Runs the only kernel of a file; fails on anything that the interpreter finds.
void runOn(std::string text, const std::vector<interpret::Argument> &args,
           std::string_view target = "sm80", std::vector<std::int64_t> dims = {}) {
  Elaborated e(head + std::move(text), target);
  INFO(e.ir());
  interpret::Result result = interpret::run(e.only(), args, std::move(dims));
  INFO(result.text());
  CHECK(result.ok());
}

Tensor ints(std::vector<std::int64_t> shape) { return Tensor(Scalar::Int32, std::move(shape)); }
Tensor floats(std::vector<std::int64_t> shape, std::uint64_t seed = 0) {
  Tensor t(Scalar::Float32, std::move(shape));
  if (seed)
    t.fillRandom(seed);
  return t;
}

} // namespace

TEST_CASE("floor and truncating division of negative numbers") {
  Tensor o = ints({8});
  runOn(R"(def main(O: T.Tensor((8,), T.int32), n: T.int32, m: T.int32):
    with T.Kernel(1, threads=1):
        O[0] = n // m
        O[1] = n % m
        O[2] = T.truncdiv(n, m)
        O[3] = T.truncmod(n, m)
        O[4] = T.ceildiv(n, m)
        O[5] = (n > 0) + (m > 0)
        O[6] = T.cast(n / m * 1000.0, T.int32)
        O[7] = n >> 1
)",
        {o, -7, 3});
  std::vector<std::int64_t> want = {-3, 2, -2, -1, -2, 1, -2333, -4};
  for (std::size_t i = 0; i < want.size(); ++i)
    CHECK(o.integer(static_cast<std::int64_t>(i)) == want[i]);
}

TEST_CASE("division by negative numbers, of run time and of compile time alike") {
  // ceildiv, // and % of (n, m), then ceildiv with one side a number.
  const std::array<std::array<std::int64_t, 5>, 5> cases = {{
      {7, -3, -2, -3, -2},
      {-7, 3, -2, -3, 2},
      {-7, -3, 3, 2, -1},
      {6, -3, -2, -2, 0},
      {0, -5, 0, 0, 0},
  }};
  for (auto [n, m, ceiling, floor, rest] : cases) {
    std::string a = std::to_string(n), b = std::to_string(m);
    CAPTURE(a, b);
    Tensor o = ints({7});
    runOn("def main(O: T.Tensor((7,), T.int32), n: T.int32, m: T.int32):\n"
          "    with T.Kernel(1, threads=1):\n"
          "        O[0] = T.ceildiv(n, m)\n"
          "        O[1] = n // m\n"
          "        O[2] = n % m\n"
          "        O[3] = T.ceildiv(n, " +
              b +
              ")\n"
              "        O[4] = T.ceildiv(" +
              a +
              ", m)\n"
              "        O[5] = T.ceildiv(" +
              a + ", " + b +
              ")\n"
              "        O[6] = T.cdiv(n, m)\n",
          {o, n, m});
    std::array<std::int64_t, 7> want = {ceiling, floor, rest, ceiling, ceiling, ceiling, ceiling};
    for (std::size_t i = 0; i < want.size(); ++i)
      CHECK(o.integer(static_cast<std::int64_t>(i)) == want[i]);
  }
}

TEST_CASE("half bytes next to each other belong to different points of a map") {
  Tensor a = ints({16}), o = ints({16});
  for (int i = 0; i < 16; ++i)
    a.setInteger(i, i - 8);
  runOn(R"(def main(A: T.Tensor((16,), T.int32), O: T.Tensor((16,), T.int32)):
    with T.Kernel(1, threads=16):
        S = T.alloc_shared((16,), T.int4)
        for i in T.Parallel(16):
            S[i] = T.cast(A[i], T.int4)
        for i in T.Parallel(16):
            O[i] = S[15 - i]
)",
        {a, o});
  for (int i = 0; i < 16; ++i)
    CHECK(o.integer(i) == 7 - i);
}

TEST_CASE("a swap through names reads before it writes") {
  Tensor v = floats({2});
  v.set(0, 1);
  v.set(1, 2);
  runOn(R"(def main(V: T.Tensor((2,), T.float32)):
    with T.Kernel(1, threads=1):
        a, b = V[0], V[1]
        V[0], V[1] = b, a
)",
        {v});
  CHECK(v.at(0) == 2);
  CHECK(v.at(1) == 1);
}

TEST_CASE("lazy sides guard their reads") {
  Tensor o = ints({8}), p = ints({4});
  for (int i = 0; i < 4; ++i)
    p.setInteger(i, i + 10);
  // Shared memory out of range would be reported.
  runOn(R"(def main(O: T.Tensor((8,), T.int32), P: T.Tensor((4,), T.int32)):
    with T.Kernel(1, threads=1):
        S = T.alloc_shared((4,), T.int32)
        for i in range(4):
            S[i] = P[i]
        for i in range(8):
            O[i] = T.if_then_else(i < 4, S[i], -1)
            if i < 4 and S[i] > 11:
                O[i] = O[i] + 100
            O[i] = O[i] if i >= 4 or S[i] != 10 else 7
)",
        {o, p});
  std::vector<std::int64_t> want = {7, 11, 112, 113, -1, -1, -1, -1};
  for (std::size_t i = 0; i < want.size(); ++i)
    CHECK(o.integer(static_cast<std::int64_t>(i)) == want[i]);
}

TEST_CASE("T.Persistent visits each tile once, also in partial waves and groups") {
  for (auto [m, n, workers, group] :
       {std::array<int, 4>{5, 7, 4, 3}, {4, 8, 4, 8}, {1, 1, 4, 8}, {3, 9, 2, 4}}) {
    Tensor o = ints({m, n});
    runOn("def main(O: T.Tensor((" + std::to_string(m) + ", " + std::to_string(n) +
              "), T.int32)):\n    with T.Kernel(" + std::to_string(workers) +
              ", threads=1) as b:\n        for i, j in T.Persistent([" + std::to_string(m) + ", " +
              std::to_string(n) + "], " + std::to_string(workers) + ", b, " +
              std::to_string(group) + "):\n            T.atomic_add(O[i, j], 1)\n",
          {o});
    for (std::int64_t i = 0; i < o.count(); ++i)
      CHECK(o.integer(i) == 1);
  }
}

TEST_CASE("T.PersistentTileScheduler hands out each tile once") {
  for (auto [m, n, workers, options] : {std::tuple(5, 7, 4, ""),
                                        {5, 7, 3, ", swizzle_size=3"},
                                        {4, 6, 4, ", column_major=False"},
                                        {7, 5, 2, ", swizzle_size=2, column_major=False"},
                                        {1, 1, 4, ", swizzle_size=8"}}) {
    Tensor o = ints({m, n}), order = ints({workers});
    std::string grid = std::to_string(m) + ", " + std::to_string(n);
    runOn("def main(O: T.Tensor((" + grid + "), T.int32), R: T.Tensor((" + std::to_string(workers) +
              ",), T.int32)):\n    with T.Kernel(" + std::to_string(workers) +
              ", threads=1) as (b,):\n        s = " + "T.PersistentTileScheduler(" + grid +
              ", num_workers=" + std::to_string(workers) + options + R"()
        s.init(b)
        while s.valid():
            i, j = s.m_idx, s.n_idx
            T.atomic_add(O[i, j], 1)
            p, q = s.coord(s.linear_idx)
            T.device_assert(p == i and q == j)
            R[b] = s.current_iter + 1
            s.next_tile()
)",
          {o, order});
    for (std::int64_t i = 0; i < o.count(); ++i)
      CHECK(o.integer(i) == 1);
    for (int w = 0; w < workers; ++w)
      CHECK(order.integer(w) == (m * n - w + workers - 1) / workers);
  }
}

TEST_CASE("values combined over threads, by lanes and through memory") {
  for (auto [shape, axis, extent] :
       {std::tuple("(8, 4)", 'x', 8), {"(8, 4)", 'y', 4}, {"(6, 2)", 'x', 6}, {"64", 'x', 64}}) {
    Tensor o = ints({64});
    runOn(std::string("def main(O: T.Tensor((64,), T.int32)):\n    with T.Kernel(1, threads=") +
              shape + R"():
        t = T.thread_binding(0, )" +
              std::to_string(extent) + ", thread=\"threadIdx." + axis + R"(")
        tid = T.get_thread_binding(0) + T.get_thread_binding(1) * T.get_thread_extent(0)
        s = T.alloc_local((1,), T.int32)
        r = T.alloc_local((1,), T.int32)
        s[0] = t + 1
        with T.attr(T.comm_reducer(lambda p, q: p + q, [0]), "reduce_scope", T.reinterpret(T.uint64(0), dtype="handle")):
            T.evaluate(T.tvm_thread_allreduce(T.uint32(1), s[0], True, r[0], t, dtype="handle"))
        O[tid] = r[0]
)",
          {o});
    int threads = std::string(shape) == "(8, 4)" ? 32 : std::string(shape) == "64" ? 64 : 12;
    for (int i = 0; i < threads; ++i)
      CHECK(o.integer(i) == extent * (extent + 1) / 2);
  }
}

TEST_CASE("im2col unfolds images with padding, stride and dilation") {
  constexpr int N = 2, H = 6, W = 5, C = 3, K = 3, S = 2, D = 1, P = 1;
  constexpr int OH = (H + 2 * P - D * (K - 1) - 1) / S + 1,
                OW = (W + 2 * P - D * (K - 1) - 1) / S + 1;
  constexpr int columns = K * K * C, rows = N * OH * OW, tile = 8;
  Tensor x = floats({N, H, W, C}, 3), y = floats({(rows + tile - 1) / tile * tile, columns});
  runOn(R"(def main(X: T.Tensor((2, 6, 5, 3), T.float32), Y: T.Tensor((24, 27), T.float32)):
    with T.Kernel(3, threads=32) as b:
        F = T.alloc_shared((8, 27), T.float32)
        T.im2col(X, F, b, 0, 3, 2, 1, 1)
        T.copy(F, Y[b * 8, 0])
)",
        {x, y});
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < columns; ++k) {
      int n = r / (OH * OW), oy = r / OW % OH, ox = r % OW;
      int iy = oy * S + k / (K * C) * D - P, ix = ox * S + k / C % K * D - P, c = k % C;
      double want =
          iy >= 0 && iy < H && ix >= 0 && ix < W ? x.at(((n * H + iy) * W + ix) * C + c) : 0;
      CHECK(y.at(r * columns + k) == want);
    }
}

TEST_CASE("transposes, reductions of a thread, masks") {
  Tensor a = floats({8, 4}, 5), b = floats({4, 8}), m = floats({1, 4}), o = ints({2});
  runOn(R"(def main(A: T.Tensor((8, 4), T.float32), B: T.Tensor((4, 8), T.float32),
         M: T.Tensor((1, 4), T.float32), O: T.Tensor((2,), T.int32)):
    with T.Kernel(1, threads=1):
        S = T.alloc_shared((8, 4), T.float32)
        R = T.alloc_shared((4, 8), T.float32)
        l = T.alloc_local((8, 4), T.float32)
        r = T.alloc_local((4,), T.float32)
        k = T.alloc_local((4,), T.int32)
        T.copy(A, S)
        T.transpose(S, R)
        T.copy(R, B)
        T.copy(A, l)
        T.reduce_absmax(l, r, dim=0)
        for i in range(4):
            M[0, i] = r[i]
            k[i] = i
        O[0] = T.any_of(k)
        O[1] = T.all_of(k)
)",
        {a, b, m, o});
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j)
      CHECK(b.at(j * 8 + i) == a.at(i * 4 + j));
  for (int j = 0; j < 4; ++j) {
    double want = 0;
    for (int i = 0; i < 8; ++i)
      want = std::max(want, std::abs(a.at(i * 4 + j)));
    CHECK(m.at(j) == want);
  }
  CHECK(o.integer(0) == 1);
  CHECK(o.integer(1) == 0);
}

TEST_CASE("a tensor with a layout of its own is read and written where the layout says") {
  Tensor x = floats({16, 8}, 9), y = floats({16, 8}), z = floats({16, 8});
  runOn(
      R"(def main(X: T.Tensor((16, 8), T.float32), Y: T.Tensor((16, 8), T.float32), Z: T.Tensor((16, 8), T.float32)):
    with T.Kernel(2, threads=32) as b:
        T.annotate_layout({Y: T.Layout(Y.shape, lambda i, j: [i // 4, j, i % 4])})
        f = T.alloc_fragment((8, 8), T.float32)
        T.copy(X[b * 8, 0], f)
        T.copy(f, Y[b * 8, 0])
        for i, j in T.Parallel(8, 8):
            Z[b * 8 + i, j] = Y[b * 8 + i, j]
        T.atomic_add(Y[b * 8, 0], f)
)",
      {x, y, z});
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      CHECK(y.at(i / 4 * 32 + j * 4 + i % 4) == 2 * x.at(i * 8 + j));
      CHECK(z.at(i * 8 + j) == x.at(i * 8 + j));
    }
}

TEST_CASE("macros: arguments by value and by reference") {
  Tensor o = ints({3});
  runOn(R"(def main(O: T.Tensor((3,), T.int32)):
    with T.Kernel(1, threads=1):
        count = T.alloc_var(T.int32, init=5)
        start = count
        a = bump(count, start)
        b = bump(count, a)
        O[0] = start
        O[1] = b
        O[2] = count

@T.macro
def bump(c: T.Ref, x):
    x = x * 2
    c = c + x
    return x
)",
        {o});
  CHECK(o.integer(0) == 5);
  CHECK(o.integer(1) == 20);
  CHECK(o.integer(2) == 35);
}

TEST_CASE("run-time dims, guarded tails, while and break") {
  for (int n : {0, 1, 7, 8, 9, 20}) {
    Tensor a = floats({n}, 7), b = floats({n}), o = ints({1});
    runOn(
        R"(def main(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32), O: T.Tensor((1,), T.int32)):
    with T.Kernel(T.ceildiv(n, 8), threads=32) as b:
        for i in T.Parallel(8):
            B[b * 8 + i] = A[b * 8 + i] * 2
    with T.Kernel(1, threads=1):
        k = T.alloc_var(T.int32, init=0)
        while k < n:
            if k == 5:
                break
            k = k + 1
        O[0] = k

n = T.dynamic("n")
)",
        {a, b, o}, "sm80", {n});
    for (int i = 0; i < n; ++i)
      CHECK(b.at(i) == 2 * a.at(i));
    CHECK(o.integer(0) == std::min(n, 5));
  }
}

TEST_CASE("tiles: copy, gemm, reduce, scan") {
  Tensor a = floats({16, 16}, 1), b = floats({16, 16}, 2), c = floats({16, 16}), r = floats({16}),
         s = floats({16, 16});
  runOn(R"(def main(A: T.Tensor((16, 16), T.float32), B: T.Tensor((16, 16), T.float32),
         C: T.Tensor((16, 16), T.float32), R: T.Tensor((16,), T.float32), Z: T.Tensor((16, 16), T.float32)):
    with T.Kernel(1, threads=32):
        x = T.alloc_shared((16, 16), T.float32)
        y = T.alloc_shared((16, 16), T.float32)
        acc = T.alloc_fragment((16, 16), T.float32)
        m = T.alloc_fragment((16,), T.float32)
        T.copy(A, x)
        T.copy(B[0:16, :], y)
        T.gemm(x, y, acc, transpose_B=True, clear_accum=True)
        T.copy(acc, C)
        T.reduce_max(acc, m, dim=1)
        T.copy(m, R)
        T.cumsum(x, dim=1)
        T.copy(x, Z[0, 0])
)",
        {a, b, c, r, s});
  for (int i = 0; i < 16; ++i) {
    double biggest = -1e30, sum = 0;
    for (int j = 0; j < 16; ++j) {
      double want = 0;
      for (int k = 0; k < 16; ++k)
        want += a.at(i * 16 + k) * b.at(j * 16 + k);
      CHECK(c.at(i * 16 + j) == Approx(want).margin(1e-4));
      biggest = std::max(biggest, c.at(i * 16 + j));
      sum += a.at(i * 16 + j);
      CHECK(s.at(i * 16 + j) == Approx(sum).margin(1e-4));
    }
    CHECK(r.at(i) == biggest);
  }
}

TEST_CASE("a producer and a consumer role over a ring of barriers") {
  Tensor a = floats({16, 64}, 1), b = floats({64, 16}, 2), c = floats({16, 16});
  runOn(
      R"(def main(A: T.Tensor((16, 64), T.float32), B: T.Tensor((64, 16), T.float32), C: T.Tensor((16, 16), T.float32)):
    with T.Kernel(1, threads=256):
        x = T.alloc_shared((2, 16, 16), T.float32)
        y = T.alloc_shared((2, 16, 16), T.float32)
        acc = T.alloc_fragment((16, 16), T.float32)
        full = T.alloc_barrier([128, 128])
        free = T.alloc_barrier([128, 128])
        with T.ws(0):
            T.clear(acc)
        for k in range(4):
            with T.ws(1):
                T.barrier_wait(free[k % 2], k // 2 % 2 ^ 1)
                T.tma_copy(A[0:16, k * 16:(k + 1) * 16], x[k % 2, :, :], barrier=full[k % 2])
                T.tma_copy(B[k * 16:(k + 1) * 16, 0:16], y[k % 2, :, :], barrier=full[k % 2])
                T.barrier_arrive(full[k % 2])
            with T.ws(0):
                T.barrier_wait(full[k % 2], k // 2 % 2)
                T.gemm(x[k % 2, :, :], y[k % 2, :, :], acc)
                T.barrier_arrive(free[k % 2])
        with T.ws(0):
            T.copy(acc, C)
)",
      {a, b, c}, "sm90");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      double want = 0;
      for (int k = 0; k < 64; ++k)
        want += a.at(i * 64 + k) * b.at(k * 16 + j);
      CHECK(c.at(i * 16 + j) == Approx(want).margin(1e-4));
    }
}
