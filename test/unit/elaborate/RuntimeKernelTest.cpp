#include "Elaborated.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

std::string irOf(std::string_view body, std::string_view target = "sm80") {
  return Elaborated(kernelWith(body), target).ir();
}

std::string refused(std::string_view body, std::string_view target = "sm80") {
  Elaborated e(kernelWith(body), target);
  return e.codes() + " " + e.underlined();
}

std::string fileRefused(std::string text, std::string_view target = "sm80") {
  Elaborated e(std::move(text), target);
  return e.codes() + " " + e.underlined();
}

bool has(const std::string &text, std::string_view part) {
  INFO(text << "\n--- wanted: " << part);
  bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

const char *head = "import tilelang\nimport tilelang.language as T\n";

} // namespace

TEST_CASE("launches") {
  std::string ir = irOf("I[0] = bx");
  has(ir, "grid(4, 4) threads(128) blocks(%bx, %by)");
  Elaborated e(std::string(head) + R"(
@T.prim_func
def main(A: T.Tensor((64,), T.float32)):
    with T.Kernel(T.ceildiv(64, 32), 2, 3, threads=(32, 2)) as (i, j, k):
        ty = T.get_thread_binding(1)
        A[i * 32 + ty] = T.get_block_binding(2) + T.get_thread_extent(1) + T.get_block_extent(1)
    with T.Kernel(1, threads=64):
        A[0] = 1
)");
  ir = e.ir();
  Elaborated one(std::string(head) + R"(
@T.prim_func
def main(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as (b,):
        A[b] = 1
)");
  has(one.ir(), "store %A[%b] = 1.0");
  has(ir, "launch @part1 grid(2, 2, 3) threads(32, 2)");
  has(ir, "launch @part2 grid(1) threads(64)");
  has(ir, "store %A[%i * 32 + %ty] = f32(%k + 4)");
  auto kernel = [](std::string line) {
    return std::string(head) + "@T.prim_func\ndef main(A: T.Tensor((64,), T.float32)):\n    " +
           line + "\n        A[0] = 1\n";
  };
  CHECK(fileRefused(kernel("with T.Kernel(1, 2, 3, 4):")) == "TL2061 T.Kernel(1, 2, 3, 4)");
  CHECK(fileRefused(kernel("with T.Kernel(1, threads=2048):")) == "TL2062 2048");
  CHECK(fileRefused(kernel("with T.Kernel(1, threads=0):")) == "TL1510 0");
  CHECK(fileRefused(kernel("with T.Kernel(1, thread=32):")) == "TL1504 thread");
  CHECK(fileRefused(kernel("with T.Kernel(A[0]):")).substr(0, 6) == "TL2028");
  CHECK(refused("with T.Kernel(1):\n    pass") == "TL2060 T.Kernel(1)");
  CHECK(fileRefused(std::string(head) +
                    "@T.prim_func\ndef main(A: T.Tensor((64,), T.float32)):\n    pass\n") ==
        "TL2085 main");
}

TEST_CASE("all indices of a block and its threads") {
  std::string ir = irOf("a, b, c = T.get_thread_bindings()\nd, e = T.get_block_bindings()\n"
                        "f, g, h = T.get_thread_extents()\ni, j = T.get_block_extents()\n"
                        "I[0] = a + b + c + d + e + f + g + h + i + j");
  has(ir, "store %I[0] = %tx + %bx + %by + 138");
  has(irOf("I[0] = T.get_lane_idx() + T.get_warp_idx()"), "%tid % 32 + %tid // 32");
  has(irOf("I[0] = T.get_warp_group_idx() + T.get_warp_idx_sync()"), "%tid // 128 + %tid // 32");
  has(irOf("if T.shuffle_elect(32):\n    I[0] = 1"), "if %tid % 32 == 0 {");
  CHECK(refused("I[0] = T.get_thread_binding(3)") == "TL1510 3");
}

TEST_CASE("loops") {
  has(irOf("for i in range(n):\n    I[i] = 1"), "for %i in 0 .. %n {");
  has(irOf("for i in range(2, 10, 3):\n    I[i] = 1"), "for %i in 2 .. 10 step(3) {");
  has(irOf("for i in T.serial(2, n):\n    I[i] = 1"), "for %i in 2 .. %n {");
  has(irOf("for i in T.unroll(4):\n    I[i] = 1"), "for %i in 0 .. 4 unroll");
  has(irOf("for i in T.unroll(0, 8, 2, explicit=True):\n    I[i] = 1"), "step(2) unroll expand");
  has(irOf("for i in T.vectorized(4):\n    I[i] = 1"), "for %i in 0 .. 4 vector {");
  has(irOf("for i in T.Pipelined(n, num_stages=3):\n    I[i] = 1"), "pipelined stages(3)");
  has(irOf("for i in T.parallel(4):\n    I[i] = 1"), "for %i in 0 .. 4 {");
  has(irOf("for i, j in T.grid(4, 8):\n    A[i, j] = 1"), "for %j in 0 .. 8 {");
  has(irOf("for i, j in T.Parallel(4, 8):\n    A[i, j] = 1"), "map %i in 4, %j in 8 {");
  has(irOf("for i in T.Parallel(4):\n    for j in T.Parallel(8):\n        A[i, j] = 1"),
      "for %j in 0 .. 8 {");
  has(irOf("for t in T.thread_binding(128, thread='threadIdx.x'):\n    I[t] = 1"),
      "store %I[%tx] = 1");
  has(irOf("for t in T.thread_binding(32, thread='threadIdx.x'):\n    I[t] = 1"), "if %tx < 32 {");
  has(irOf("t = T.thread_binding(0, 128, thread='threadIdx.x')\nI[t] = 1"), "store %I[%tx] = 1");
  has(irOf("for i, j in T.Persistent([8, 8], 4, bx):\n    A[i, j] = 1"), "for %wave in 0 .. 16 {");
  has(irOf("for k in T.Pipelined(4, order=[0, 1], stage=[0, 1]):\n    I[k] = 1\n    V[k] = 1"),
      "order(0, 1)");
  CHECK(refused("for t in T.thread_binding(256, thread='threadIdx.x'):\n    I[t] = 1") ==
        "TL2064 T.thread_binding(256, thread='threadIdx.x')");
  CHECK(refused("for t in T.thread_binding(32, thread='laneIdx'):\n    I[t] = 1") ==
        "TL1509 'laneIdx'");
  CHECK(refused("for i in T.serial(0, 4, 0):\n    I[i] = 1") == "TL1510 0");
  CHECK(refused("for i in T.Pipelined(4, num_stages=-1):\n    I[i] = 1") == "TL1510 -1");
  CHECK(refused("for i in T.serial(4):\n    I[i] = 1\nelse:\n    I[0] = 2") == "TL2065 I[0] = 2");
}

TEST_CASE("leaving loops") {
  std::string ir = irOf("for i in range(n):\n    if i > m:\n        break\n    if i == 2:\n"
                        "        continue\n    I[i] = 1");
  has(ir, "break");
  has(ir, "continue");
  has(irOf("for i in T.serial(n):\n    T.loop_break()"), "break");
  CHECK(refused("for i in T.Parallel(4):\n    if i > n:\n        break") == "TL2066 break");
  CHECK(refused("for i in T.vectorized(4):\n    if i > n:\n        break") == "TL2066 break");
}

TEST_CASE("while reads its condition in each round") {
  std::string ir = irOf("while I[0] < n:\n    I[0] = I[0] + 1");
  has(ir, "while");
  CHECK(Elaborated(kernelWith("while I[0] < n:\n    I[0] = I[0] + 1")).count<ir::LoadStmt>() == 2);
  has(irOf("while True:\n    if I[0] > 3:\n        break\n    I[0] = I[0] + 1"), "while");
}

TEST_CASE("run-time branches") {
  std::string ir = irOf("if n > 0:\n    I[0] = 1\nelif n < -5:\n    I[0] = 2\nelse:\n    I[0] = 3");
  has(ir, "if %n > 0 {");
  has(ir, "} else {");
  has(ir, "if %n < -5 {");
}

TEST_CASE("tile ops cannot stand in T.Parallel") {
  CHECK(refused("for i in T.Parallel(4):\n    T.copy(A[0:4, 0:4], B[0:4, 0:4])") ==
        "TL2043 T.copy(A[0:4, 0:4], B[0:4, 0:4])");
  CHECK(refused("for i in T.Parallel(4):\n    T.sync_threads()") == "TL2043 T.sync_threads()");
}

TEST_CASE("roles") {
  Elaborated e(std::string(head) + R"(
@T.prim_func
def main(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1, threads=384):
        with T.ws(0):
            A[0] = 1
        with T.ws(1, 2):
            T.set_max_nreg(240, 1)
            A[1] = 1
        with T.ws(0, 2):
            A[2] = 1
)",
               "sm90");
  std::string ir = e.ir();
  has(ir, "role 0 : +128");
  has(ir, "role 128 : +256");
  has(ir, "if %tid // 128 == 0 or %tid // 128 == 2 {");
  auto *role = e.find<ir::RoleStmt>();
  REQUIRE(role);
  CHECK(refused("with T.ws(1):\n    I[0] = 1") == "TL2063 T.ws(1)");
}

TEST_CASE("dims: in order of declaration, bound or at run time") {
  std::string text = std::string(head) + R"(
M, N, K = T.dynamic("M, N, K")
@T.prim_func
def main(A: T.Tensor((M, K), T.float16), B: T.StridedTensor((K, N), (N * 2, 1), T.float16),
         s: T.int64):
    with T.Kernel(T.ceildiv(M, 8), threads=32) as b:
        A[b, 0] = B[s, 0]
)";
  Elaborated e(text);
  std::string ir = e.ir();
  has(ir, "dims(%M, %N, %K)");
  has(ir, "%s: i64");
  REQUIRE(e.only().dims.size() == 3);
  CHECK(e.only().dims[0].name == "M");
  CHECK(e.only().dims[2].name == "K");
  CHECK_FALSE(e.only().params[1].buffer->writable);
  CHECK(e.only().params[0].buffer->writable);
  Elaborated symbolic(std::string(head) + R"(
n = T.symbolic("n", "int64")
@T.prim_func
def main(A: T.Tensor((n,), T.float32)):
    with T.Kernel(1):
        A[0] = n
)");
  has(symbolic.ir(), "dims(%n: i64)");
  Elaborated var(std::string(head) + R"(
n = T.Var("n", "int32")
@T.prim_func
def main(A: T.Tensor((n,), T.float32)):
    with T.Kernel(1):
        A[0] = n
)");
  has(var.ir(), "dims(%n)");
}

TEST_CASE("eager kernels: T.const, annotations in the body, T.empty") {
  std::string text = std::string(head) + R"(
@tilelang.jit
def add(A, B, block: int = 32):
    M, N = T.const("M, N")
    A: T.Tensor[[M, N], T.float32]
    B: T.Tensor((M, N), T.float32)
    C = T.empty((M, N), T.float32)
    D = T.empty(M, dtype=T.int32)
    with T.Kernel(T.ceildiv(M, block), threads=32) as b:
        for i, j in T.Parallel(block, N):
            C[b * block + i, j] = A[b * block + i, j] + B[b * block + i, j]
        D[0] = 1
    return D, C
)";
  Elaborated e(text, "sm80", {"N=16"});
  std::string ir = e.ir();
  has(ir,
      "%A: global f32[%M, 16] readonly, %B: global f32[%M, 16] readonly, %D: global i32[%M] out, "
      "%C: global f32[%M, 16] out) dims(%M)");
  Elaborated unused(std::string(head) + R"(
@tilelang.jit
def f(A):
    A: T.Tensor((8,), T.float32)
    C = T.empty((8,), T.float32)
    with T.Kernel(1):
        A[0] = 1
    return 5
)");
  CHECK(unused.codes() == "TL2082 TL2081");
}

TEST_CASE("outputs of lazy kernels") {
  auto text = [](std::string idx) {
    return std::string(head) + "@tilelang.jit(out_idx=" + idx + R"()
def make(n=8):
    @T.prim_func
    def main(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32), s: T.int32):
        with T.Kernel(1):
            B[0] = A[0]
    return main
)";
  };
  Elaborated e(text("[1]"));
  has(e.ir(), "%B: global f32[8] out");
  Elaborated negative(text("-2"));
  has(negative.ir(), "%B: global f32[8] out");
  CHECK(Elaborated(text("[2]")).codes() == "TL2083");
  CHECK(Elaborated(text("[5]")).codes() == "TL2083");
  CHECK(Elaborated(text("[0]")).codes() == "TL2084");
}

TEST_CASE("parameters") {
  auto text = [](std::string type) {
    return std::string(head) + "@T.prim_func\ndef main(A: " + type +
           ", n: T.int32):\n    with T.Kernel(1):\n        pass\n";
  };
  CHECK(fileRefused(text("5")).substr(0, 6) == "TL2080");
  has(Elaborated(text("T.Buffer((4, 4), 'float16')")).ir(), "%A: global f16[4, 4]");
  has(Elaborated(std::string(head) + R"(
@T.prim_func
def main(p: T.ptr(T.float32), n: T.int32):
    with T.Kernel(1):
        A = T.make_tensor(p, (n, 4), T.float32)
        A[0, 1] = 2
)")
          .ir(),
      "store %A[0, 1] = 2.0");
  CHECK(refused("q = T.alloc_barrier(1)") == "TL1501 T.alloc_barrier");
  CHECK(refused("T.gemmm(A, B, C)").substr(0, 2) == "TL");
}

TEST_CASE("workspaces and asserts outside of the region") {
  Elaborated e(std::string(head) + R"(
n = T.dynamic("n")
@T.prim_func
def main(A: T.Tensor((n,), T.float32)):
    assert n % 8 == 0, "n must be a multiple of 8"
    T.assume(n > 16)
    W = T.alloc_global((n, 2), T.float32)
    with T.Kernel(1):
        W[0, 1] = A[0]
        T.device_assert(A[1] > 0, "positive")
        T.assume(A[2] > 0)
        T.print(A[3], msg="a")
        T.print("hello")
)");
  std::string ir = e.ir();
  INFO(ir);
  REQUIRE(e.only().constraints.size() == 2);
  CHECK(e.only().constraints[0].text == "n must be a multiple of 8");
  CHECK(e.only().workspace.size() == 1);
  CHECK(e.count<ir::AssertStmt>() == 1);
  CHECK(e.count<ir::AssumeStmt>() == 1);
  CHECK(e.count<ir::PrintStmt>() == 2);
  CHECK(refused("T.assume(1 > 2)") == "TL2013 1 > 2");
}

TEST_CASE("macros are scopes: values by value, buffers and T.Ref by reference") {
  Elaborated e(std::string(head) + R"(
@T.macro
def step(S: T.SharedBuffer((8,), T.float32), v: T.float32, c: T.Ref,
         F: T.FragmentBuffer((8,), T.float32) = None, L: T.LocalBuffer((8,), T.float32) = None):
    t = T.alloc_local((1,), T.float32)
    v = v + 1
    t[0] = v
    S[0] = t[0]
    c = c + 1
    return v

@T.prim_func
def main(A: T.Tensor((8,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((8,), T.float32)
        count = T.alloc_var(T.int32, init=0)
        r = step(S, A[1], count)
        step(S, r, count)
        A[0] = count
)");
  std::string ir = e.ir();
  has(ir, "load %v = %A[1]");
  CHECK(ir.find("alloc %t_1: local f32[1]") != std::string::npos);
  has(ir, "store %count[] = ");
  CHECK(Elaborated(std::string(head) + R"(
@T.macro
def m(c: T.Ref):
    c = 1

@T.prim_func
def main(A: T.Tensor((8,), T.float32)):
    with T.Kernel(1):
        m(5)
        A[0] = 1
)")
            .codes() == "TL2067");
}

TEST_CASE("pass_configs") {
  Elaborated e(std::string(head) + R"(
@tilelang.jit(pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True,
                            "tl.disable_warp_specialized": True})
def make(n=8):
    @T.prim_func
    def main(A: T.Tensor((n,), T.float32)):
        with T.Kernel(1):
            T.annotate_pass_configs({"tl.disable_tma_lower": True})
            A[0] = 1
    return main
)");
  INFO(e.messages());
  CHECK(e.only().options.fastMath);
  CHECK(e.only().options.disableWarpSpecialize);
  CHECK(e.only().options.disableTma);
}
