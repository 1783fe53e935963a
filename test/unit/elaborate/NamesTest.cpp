// Names in kernels: what ends with a run-time loop or branch, what loops carry, who captures what.
#include "Elaborated.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
/// Bodies stand indented here; kernelWith wants them at the margin.
std::string body(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool lineStart = i == 0 || text[i - 1] == '\n';
    if (lineStart && text.substr(i, 4) == "    ")
      i += 4;
    out += text[i];
  }
  return kernelWith(out);
}
std::string codes(std::string_view text) { return Elaborated(body(text)).codes(); }
} // namespace

TEST_CASE("a name bound in a run-time loop ends with it") {
  CHECK(codes(R"(
    for i in T.serial(4):
        y = i + 1
    I[0] = y
)") == "TL1002");
  CHECK(codes(R"(
    if n > 3:
        y = 1
    I[0] = y
)") == "TL1002");
  CHECK(codes(R"(
    for i in T.serial(4):
        I[i] = i
    for i in T.serial(4):
        I[i] = i
)") == "");
}

TEST_CASE("a name bound again in a branch cannot be used after it") {
  CHECK(codes(R"(
    y = 1
    if n > 3:
        y = 2
    I[0] = y
)") == "TL1003");
  CHECK(codes(R"(
    y = 1
    if n > 3:
        y = 2
    else:
        y = 3
    I[0] = y
)") == "TL1003");
  // Not read any more, or bound to the same value.
  CHECK(codes(R"(
    y = 1
    if n > 3:
        y = 2
        I[0] = y
    y = 4
    I[1] = y
)") == "");
  CHECK(codes(R"(
    y = 1
    if n > 3:
        y = 1
    I[0] = y
)") == "");
}

TEST_CASE("each arm of a branch sees the names from before it") {
  Elaborated kernel(body(R"(
    y = 1
    if n > 3:
        y = 2
        I[0] = y
    else:
        I[0] = y
)"));
  CHECK(kernel.codes() == "");
  std::string ir = kernel.ir();
  CHECK(ir.find("store %I[0] = 2") != std::string::npos);
  CHECK(ir.find("store %I[0] = 1") != std::string::npos);
}

TEST_CASE("a loop cannot carry a name") {
  Elaborated kernel(body(R"(
    total = 0
    for i in T.serial(4):
        total = total + i
    I[0] = 1
)"));
  CHECK(kernel.codes() == "TL1004");
  CHECK(kernel.underlined() == "total");
  // Bound first, then read: each iteration has its own.
  CHECK(codes(R"(
    t = 0
    for i in T.serial(4):
        t = i * 2
        I[i] = t
)") == "");
  // The same rule for values known at compile time.
  CHECK(codes(R"(
    t = 0
    for i in T.serial(4):
        I[i] = t
        t = 1
)") == "TL1004");
}

TEST_CASE("an alloc_var is a place") {
  Elaborated kernel(body(R"(
    total = T.alloc_var("int32", init=0)
    for i in T.serial(4):
        total = total + i
        total += 2
    before = total
    total = 7
    I[0] = before
)"));
  CHECK(kernel.codes() == "");
  CHECK(kernel.count<ir::StoreStmt>() == 4);
}

TEST_CASE("compile-time loops and conditions are no scopes") {
  CHECK(codes(R"(
    t = 0
    for i in [1, 2, 3]:
        t = t + i
        last = i
    if True:
        u = t
    I[0] = t + last + u
)") == "");
}

TEST_CASE("return and break need compile-time control where names need it") {
  CHECK(codes(R"(
    if n > 3:
        return
)") == "TL1031");
  CHECK(codes(R"(
    for i in [1, 2]:
        if n > i:
            break
)") == "TL1027");
  CHECK(codes(R"(
    for i in T.serial(8):
        if n > i:
            break
)") == "");
}

TEST_CASE("a plain function decides nothing at run time") {
  Elaborated kernel(R"(
import tilelang.language as T
def clamp(v):
    if v > 3:
        return 3
    return v
@T.prim_func
def k(I: T.Tensor((64,), "int32"), n: T.int32):
    with T.Kernel(1, threads=32):
        I[0] = clamp(n)
)");
  CHECK(kernel.codes() == "TL1026");
  CHECK(kernel.underlined() == "v > 3");
}

TEST_CASE("range is a loop in a kernel and a sequence in a function") {
  Elaborated kernel(R"(
import tilelang.language as T
def unrolled(v):
    for i in range(3):
        v = v * 2
    return v
@T.prim_func
def k(I: T.Tensor((64,), "int32"), n: T.int32):
    with T.Kernel(1, threads=32):
        for i in range(5):
            I[i] = unrolled(n)
)");
  CHECK(kernel.codes() == "");
  CHECK(kernel.count<ir::ForStmt>() == 1);
}

TEST_CASE("functions see later bindings, kernels those at their decoration") {
  Elaborated kernel(R"(
import tilelang.language as T
def factory(size):
    def late():
        return size
    @T.prim_func
    def k(I: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            I[0] = size
            I[1] = late()
    size = size + 1
    return k
)",
                    "sm80", {"size=5"});
  CHECK(kernel.codes() == "");
  std::string ir = kernel.ir();
  CHECK(ir.find("store %I[0] = 5") != std::string::npos);
  CHECK(ir.find("store %I[1] = 6") != std::string::npos);
}
