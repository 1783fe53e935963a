#include "Elaborated.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

std::string irOf(std::string_view body, std::string_view target = "sm80") {
  return Elaborated(kernelWith(body), target).ir();
}

/// The codes, and the text that the first one underlines.
std::string refused(std::string_view body, std::string_view target = "sm80") {
  Elaborated e(kernelWith(body), target);
  return e.codes() + " " + e.underlined();
}

bool has(const std::string &text, std::string_view part) {
  INFO(text << "\n--- wanted: " << part);
  bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

const char *tiles = "S = T.alloc_shared((32, 16), T.float16)\n"
                    "F = T.alloc_fragment((32, 16), T.float32)\n"
                    "L = T.alloc_local((8,), T.float16)\n";

std::string withTiles(std::string_view body) { return std::string(tiles) + std::string(body); }

} // namespace

TEST_CASE("allocations") {
  std::string ir = irOf(tiles);
  has(ir, "alloc %S: shared f16[32, 16]");
  has(ir, "alloc %F: fragment f32[32, 16]");
  has(ir, "alloc %L: local f16[8]");
  has(irOf("q = T.alloc_shared(64, T.int4)"), "alloc %q: shared i4[64]");
  has(irOf("q = T.alloc_shared([8, 8], 'float8_e4m3fn', scope='shared')"), "shared f8e4m3[8, 8]");
  has(irOf("q = T.alloc_buffer((8,), T.float32, scope='local')"), "alloc %q: local f32[8]");
  CHECK(refused("q = T.alloc_shared((n, 4), T.float16)") == "TL2029 (n, 4)");
  CHECK(refused("q = T.alloc_shared((-1, 4), T.float16)") == "TL1510 (-1, 4)");
  CHECK(refused("q = T.alloc_shared((8, 4), T.float16, scope='texture')") == "TL1509 'texture'");
  CHECK(refused("q = T.alloc_shared((8, 4))") == "TL1503 T.alloc_shared");
  CHECK(refused("q = T.alloc_shared((8, 4), 5)") == "TL1045 5");
}

TEST_CASE("indices: negative constants count from the end, provable errors are errors") {
  has(irOf(withTiles("S[-1, 0] = 1")), "store %S[31, 0] = 1.0");
  has(irOf(withTiles("S[n, m] = 1")), "store %S[%n, %m] = 1.0");
  CHECK(refused(withTiles("S[32, 0] = 1")) == "TL2020 32");
  CHECK(refused(withTiles("S[-33, 0] = 1")) == "TL2020 -33");
  CHECK(refused(withTiles("S[0, 0, 0] = 1")) == "TL2024 0");
  CHECK(refused(withTiles("S[x, 0] = 1")) == "TL2004 x");
  // Tensors are guarded; that an access is always outside is worth a warning.
  CHECK(refused("A[64, 0] = 1") == "TL2021 64");
}

TEST_CASE("slices") {
  has(irOf(withTiles("T.copy(A[0:32, 16:32], S)")), "copy %A[0 : +32, 16 : +16] -> %S");
  has(irOf(withTiles("T.copy(A[bx * 32:(bx + 1) * 32, :16], S)")),
      "copy %A[%bx * 32 : +32, 0 : +16] -> %S");
  has(irOf(withTiles("T.copy(A[-32:, -16:], S)")), "copy %A[32 : +32, 48 : +16] -> %S");
  has(irOf(withTiles("T.copy(A[..., 0], V[0:64])")), "copy %A[0 : +64, 0] -> %V");
  has(irOf(withTiles("T.copy(A[3], V)")), "copy %A[3, 0 : +64] -> %V");
  CHECK(refused(withTiles("T.copy(A[0:32:2, 0:16], S)")) == "TL2025 2");
  CHECK(refused(withTiles("T.copy(A[0:32, 0:16], S[8:40, :])")) == "TL2022 S[8:40, :]");
  CHECK(refused(withTiles("T.fill(S[8:4, :], 0)")) == "TL2023 S[8:4, :]");
}

TEST_CASE("an alloc_var read twice in one expression is read once") {
  has(irOf(withTiles("r = T.alloc_var(T.int32)\nr = n\n"
                     "T.copy(A[r:r + 32, 0:16], S)")),
      "copy %A[%r_1 : +32, 0 : +16] -> %S");
}

TEST_CASE("copies: extents") {
  has(irOf(withTiles("T.copy(A[bx * 32, n], S)")), "copy %A[%bx * 32 : +32, %n : +16] -> %S");
  has(irOf(withTiles("T.copy(S, A[bx * 32, n])")), "copy %S -> %A[%bx * 32 : +32, %n : +16]");
  has(irOf(withTiles("T.copy(S, F)")), "copy %S -> %F");
  has(irOf("r = T.alloc_fragment((16,), T.float16)\nT.copy(A[n, m], r)"),
      "copy %A[%n, %m : +16] -> %r");
  has(irOf("r = T.alloc_fragment((1, 16), T.float16)\nT.copy(A[n, m], r)"),
      "copy %A[%n : +1, %m : +16] -> %r");
  has(irOf("r = T.alloc_fragment((16,), T.float16)\ns = T.alloc_shared((1, 16), T.float16)\n"
           "T.copy(r, s)"),
      "copy %r -> %s[0, 0 : +16]");
  has(irOf("T.copy(A[n, m], B[m, n])"), "store %B[%m, %n] = %A_value");
  CHECK(refused(withTiles("T.copy(A[0:32, 0:8], S)")) == "TL2040 T.copy(A[0:32, 0:8], S)");
  CHECK(refused("T.copy(V[n], C)") == "TL2041 V[n]");
  CHECK(refused(withTiles("T.copy(S)")) == "TL1503 T.copy");
  CHECK(refused(withTiles("T.copy(S, F, F)")) == "TL1502 F");
  CHECK(refused(withTiles("T.copy(5, S)")) == "TL1506 5");
  CHECK(refused(withTiles("T.copy(A[0, 0], S, dst=S)")) == "TL1505 dst");
  CHECK(
      refused(withTiles("T.async_copy(V[0:32], T.alloc_shared((32,), T.float16))")).substr(0, 6) ==
      "TL2054");
  CHECK(refused("q = T.alloc_fragment((n,), T.float16)").substr(0, 6) == "TL2029");
}

TEST_CASE("copies: how") {
  has(irOf(withTiles("T.copy(A[0, 0], S, prefer_instruction='cp_async', coalesced_width=8)")),
      "copy %A[0 : +32, 0 : +16] -> %S cp_async");
  CHECK(refused(withTiles("T.copy(A[0, 0], S, prefer_instruction='dma')")) == "TL1509 'dma'");
  CHECK(refused(withTiles("T.copy(A[0, 0], S, coalesce=8)")) == "TL1504 coalesce");
  has(irOf(withTiles("T.async_copy(A[0, 0], S)\nT.ptx_commit_group()\nT.ptx_wait_group(0)")),
      "async cp_async commit");
  CHECK(refused(withTiles("T.async_copy(A[0, 0], F)")) == "TL1507 F");
}

TEST_CASE("memory of one thread is copied by the thread") {
  std::string ir =
      irOf(withTiles("T.copy(A[tx, 0:8], L)\nT.clear(L)\nL[0:8] = 2\nL[0:4] = A[n, 0:4]"));
  has(ir, "for %i in 0 .. 8 vector {");
  has(ir, "store %L[%i] = %A_value");
  CHECK(ir.find("copy ") == std::string::npos);
  CHECK(ir.find("fill ") == std::string::npos);
}

TEST_CASE("fills") {
  has(irOf(withTiles("T.clear(F)")), "fill %F = 0.0");
  has(irOf(withTiles("T.fill(S[0:8, :], 2)")), "fill %S[0 : +8, 0 : +16] = 2.0");
  has(irOf(withTiles("T.fill(S[n, m], 2)")), "store %S[%n, %m] = 2.0");
  has(irOf(withTiles("S[0:8, 0:4] = x")), "fill %S[0 : +8, 0 : +4] = f16(%x)");
}

TEST_CASE("views show the same memory") {
  has(irOf(withTiles("v = T.reshape(S, (16, 32))\nv[0, 31] = 1")), "alloc %v: shared f16[16, 32]");
  has(irOf(withTiles("v = T.view(S, dtype=T.int8)")), "shared i8[32, 32]");
  has(irOf(withTiles("v = T.view(S, (128,), T.int64)")), "shared i64[128]");
  CHECK(refused(withTiles("v = T.reshape(S, (16, 16))")) == "TL2030 T.reshape(S, (16, 16))");
  Elaborated strided(R"(import tilelang.language as T
@T.prim_func
def main(X: T.StridedTensor((8, 8), (16, 1), T.float16)):
    with T.Kernel(1):
        v = T.reshape(X, (64,))
)");
  CHECK(strided.codes() == "TL2031");
  has(irOf("v = T.Tensor((4096,), T.float16, A.data)\nv[5] = 1"), "store %v[5] = 1.0");
}

TEST_CASE("transposed and unfolded tiles are maps") {
  has(irOf(withTiles("D = T.alloc_shared((16, 32), T.float16)\nT.transpose(S, D)")),
      "load %S_value = %S[%j, %i]");
  CHECK(refused(withTiles("T.transpose(S, S)")) == "TL2050 T.transpose(S, S)");
  Elaborated e(R"(import tilelang.language as T
@T.prim_func
def main(X: T.Tensor((2, 8, 8, 4), T.float16), Y: T.Tensor((128, 36), T.float16)):
    with T.Kernel(2, threads=32) as bx:
        S = T.alloc_shared((64, 36), T.float16)
        T.im2col(X, S, bx, 0, 3, 1, 1, 1)
        T.copy(S, Y[bx * 64, 0])
)");
  has(e.ir(), "copy %X_unfolded[");
  CHECK(refused(withTiles("T.im2col(A, S, bx, 0, 3, 1, 1, 1)")).substr(0, 6) == "TL2051");
}

TEST_CASE("what may be unfolded") {
  auto unfolds = [](std::string_view call) {
    return "import tilelang.language as T\n@T.prim_func\n"
           "def main(X: T.Tensor((2, 64, 4), T.float16), Z: T.Tensor((2, 8, 8, 4), T.float16)):\n"
           "    with T.Kernel(2, threads=32) as bx:\n"
           "        S = T.alloc_shared((64, 36), T.float16)\n" +
           std::string(call) + "\n";
  };
  // A view is unfolded behind its own allocation, wherever that is.
  for (const char *call : {"        V = T.reshape(X, (2, 8, 8, 4))\n"
                           "        T.im2col(V, S, bx, 0, 3, 1, 1, 1)",
                           "        for i in T.serial(2):\n"
                           "            V = T.reshape(X, (2, 8, 8, 4))\n"
                           "            T.im2col(V, S, i, 0, 3, 1, 1, 1)"}) {
    std::string text = Elaborated(unfolds(call)).ir();
    if (has(text, "alloc %V:") && has(text, "alloc %V_unfolded:"))
      CHECK(text.find("alloc %V:") < text.find("alloc %V_unfolded:"));
  }
  auto ofImage = [&](std::string_view arguments) {
    return unfolds("        T.im2col(" + std::string(arguments) + ")");
  };
  has(Elaborated(ofImage("Z, S, bx, 0, 10, 1, 1, 1")).ir(), "unfold(10, 1, 1, 1)");
  has(Elaborated(ofImage("Z[0:2, 0:8, 0:8, 0:4], S, bx, 0, 3, 1, 1, -1")).ir(),
      "copy %Z_unfolded[");
  auto refusedImage = [&](std::string_view arguments) {
    Elaborated e(ofImage(arguments));
    return e.codes() + " " + e.underlined();
  };
  CHECK(refusedImage("Z[1:2, 0:8, 0:8, 0:4], S, bx, 0, 3, 1, 1, 1") ==
        "TL1506 Z[1:2, 0:8, 0:8, 0:4]");
  CHECK(refusedImage("Z[1, 0, 0, 0], S, bx, 0, 3, 1, 1, 1") == "TL1506 Z[1, 0, 0, 0]");
  CHECK(refusedImage("Z, S, bx, 0, 0, 1, 1, 1") == "TL1510 0");
  CHECK(refusedImage("Z, S, bx, 0, 3, 0, 1, 1") == "TL1510 0");
  CHECK(refusedImage("Z, S, bx, 0, 3, 1, -2, 1") == "TL1510 -2");
  CHECK(refusedImage("Z, S, bx, 0, 5000000000, 1, 1, 1") == "TL1510 5000000000");
  CHECK(refusedImage("Z, S, bx, 0, 11, 1, 1, 1") == "TL1510 11");
  CHECK(refusedImage("Z, S, bx, 0, 3, 1, 1, -3") == "TL1510 3");
}

TEST_CASE("matrix products") {
  const char *operands = "a = T.alloc_shared((32, 16), T.float16)\n"
                         "b = T.alloc_shared((16, 64), T.float16)\n"
                         "bt = T.alloc_shared((64, 16), T.float16)\n"
                         "c = T.alloc_fragment((32, 64), T.float32)\n"
                         "p = T.alloc_shared((3, 32, 16), T.float16)\n"
                         "h = T.alloc_fragment((32, 64), T.int32)\n";
  auto gemm = [&](std::string_view call) { return std::string(operands) + std::string(call); };
  has(irOf(gemm("T.gemm(a, b, c)")), "gemm %a, %b -> %c");
  has(irOf(gemm("T.gemm(a, bt, c, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)")),
      "gemm %a, %bt -> %c transpose_b policy(full_row)");
  has(irOf(gemm("T.gemm(p[n, :, :], b, c, clear_accum=True)")), "gemm %p[%n, 0 : +32, 0 : +16]");
  has(irOf(gemm("T.gemm(a, b, c, clear_accum=n == 0)")), "clear(%n == 0)");
  CHECK(refused(gemm("T.gemm(a, bt, c)")) == "TL2045 TL2045 T.gemm(a, bt, c)");
  CHECK(refused(gemm("T.gemm(p, b, c)")) == "TL2044 p");
  CHECK(refused(gemm("T.gemm(A, b, c)")) == "TL1507 A");
  CHECK(refused(gemm("T.gemm(a, b, h)")) == "TL2047 h");
  CHECK(refused(gemm("T.gemm(a, b, c, policy='FullRow')")) == "TL1506 'FullRow'");
  CHECK(refused(gemm("T.gemm(a, b, c, k_pack=9)")) == "TL1510 9");
  CHECK(refused(gemm("T.gemm(a, b, c, transpose_b=True)")) == "TL1504 transpose_b");
  Elaborated mixed(kernelWith(gemm("i8 = T.alloc_shared((16, 64), T.int8)\nT.gemm(a, i8, c)")));
  CHECK(mixed.codes() == "TL2046");
  has(mixed.messages(), "float16 by int8");
}

TEST_CASE("reductions and scans") {
  const char *operands = "f = T.alloc_fragment((32, 16), T.float32)\n"
                         "r = T.alloc_fragment((32,), T.float32)\n"
                         "k = T.alloc_fragment((32, 1), T.float32)\n"
                         "q = T.alloc_fragment((16,), T.float32)\n"
                         "s = T.alloc_shared((32, 16), T.float32)\n"
                         "i = T.alloc_fragment((32, 16), T.int32)\n"
                         "o = T.alloc_fragment((32,), T.int32)\n"
                         "l = T.alloc_local((4, 8), T.float32)\n"
                         "m1 = T.alloc_local((4,), T.float32)\n";
  auto with = [&](std::string_view call) { return std::string(operands) + std::string(call); };
  has(irOf(with("T.reduce_sum(f, r)")), "reduce sum %f -> %r axis(1)");
  has(irOf(with("T.reduce_max(f, r, dim=1, clear=False)")),
      "reduce max %f -> %r axis(1) accumulate");
  has(irOf(with("T.reduce_min(f, q, dim=0)")), "reduce min %f -> %q");
  has(irOf(with("T.reduce_absmax(f, k, dim=-1)")), "reduce abs_max %f -> %k axis(1)");
  has(irOf(with("T.reduce_abssum(f, r, dim=1)")), "reduce abs_sum %f -> %r");
  has(irOf(with("T.reduce_bitand(i, o)")), "reduce and %i -> %o");
  has(irOf(with("T.reduce_bitor(i, o)")), "reduce or %i -> %o");
  has(irOf(with("T.reduce_bitxor(i, o)")), "reduce xor %i -> %o");
  has(irOf(with("T.reduce(f, r, 'sum', 1, True)")), "reduce sum %f -> %r");
  has(irOf(with("T.cumsum(s, dim=1)")), "scan sum %s -> %s axis(1)");
  has(irOf(with("T.cummax(s, f, dim=0, reverse=True)")), "scan max %s -> %f reverse");
  has(irOf(with("T.reduce_sum(l, m1, dim=1)")), "store %m1[%i_1] = 0.0");
  CHECK(refused(with("T.reduce_sum(f, q, dim=1)")) == "TL2048 q");
  CHECK(refused(with("T.reduce_sum(f[0:n, :], r)")) == "TL2042 f[0:n, :]");
  CHECK(refused(with("T.reduce_sum(f, r, dim=2)")) == "TL2049 2");
  CHECK(refused(with("T.reduce_bitand(f, r)")) == "TL1508 TL1508 f");
  CHECK(refused(with("T.reduce_sum(A, r)")) == "TL1507 A");
  CHECK(refused(with("T.reduce(f, r, 'mean', 1, True)")) == "TL1509 'mean'");
  has(irOf(with("b = T.any_of(o)\nif b:\n    I[0] = 1")), "alloc %any: local bool[] init(false)");
  has(irOf(with("b = T.all_of(o)\nif b:\n    I[0] = 1")), "alloc %all: local bool[] init(true)");
}

TEST_CASE("reducers") {
  const char *make = "r = T.alloc_reducer((16,), T.float32, op='max')\n";
  auto with = [&](std::string_view call) { return std::string(make) + std::string(call); };
  std::string ir = irOf(with("T.reducer_init(r)\nfor i in T.Parallel(16):\n"
                             "    T.reducer_update(r[i], x)\nT.finalize_reducer(r)"));
  has(ir, "reducer init max %r");
  has(ir, "reducer update max %r element(%r[%i]) value(%x)");
  has(ir, "reducer finalize max %r");
  ir = irOf(with("T.fill(r, 0)\nfor i, j in T.Parallel(16, 4):\n"
                 "    r[i] = T.max(r[i], V[j])\nT.finalize_reducer(r)"));
  has(ir, "reducer init max %r value(0.0)");
  has(ir, "reducer update max %r element(%r[%i]) value(%V_value)");
  CHECK(ir.find("= %r[") == std::string::npos);
  has(irOf("r = T.alloc_reducer((16,), T.float32)\nfor i, j in T.Parallel(16, 4):\n"
           "    r[i] += V[j]"),
      "reducer update sum %r");
  CHECK(refused("s = T.alloc_fragment((16,), T.float32)\nT.reducer_init(s)") == "TL1506 s");
  CHECK(refused("r = T.alloc_reducer((16,), T.float32, op='mean')") == "TL1509 'mean'");
}

TEST_CASE("atomics") {
  has(irOf("T.atomic_add(V[n], x)"), "atomic add %V[%n]");
  has(irOf("T.atomic_max(V[n], 1, memory_order='release')"), "release");
  has(irOf("T.atomic_min(I[n], m)"), "atomic min %I[%n]");
  has(irOf("T.atomic_or(I[n], 1)"), "atomic or %I[%n]");
  has(irOf("p = T.atomic_add(I[n], 1, return_prev=True)\nI[1] = p"), "store %I[1] = %previous");
  has(irOf("v = T.atomic_load(I[n])\nI[1] = v"), "atomic load %I[%n]");
  has(irOf("T.atomic_store(I[n], 3, memory_order='relaxed')"), "atomic store %I[%n]");
  has(irOf("f = T.alloc_fragment((8, 8), T.float16)\nT.atomic_add(C[bx * 8, n], f)"),
      "atomic_tile add %C[%bx * 8 : +8, %n : +8]");
  has(irOf("T.atomic_addx2(A[n, 0], B[n, 0])"), "load");
  has(irOf("T.atomic_addx4(V[n], V[m])"), "f32x4");
  CHECK(refused("T.atomic_addx4(A[n, 0], B[n, 0])") == "TL1508 A[n, 0]");
  CHECK(refused("f = T.alloc_fragment((8, 8), T.float16)\n"
                "p = T.atomic_add(C[0, 0], f, return_prev=True)") == "TL2055 True");
  CHECK(refused("T.atomic_load(I[n], memory_order='release')") == "TL1510 'release'");
  CHECK(refused("T.atomic_add(V[n], 1, memory_order='lazy')") == "TL1509 'lazy'");
  CHECK(refused("b = T.alloc_shared((4,), T.int8)\nT.atomic_add(b[0], 1)") == "TL2056 b[0]");
}
