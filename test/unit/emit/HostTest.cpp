// Launchers of functions that are not of the simplest kind: several launches, workspace, strides,
// scalars of narrow types, launch constants, views of global memory.
#include "Kernels.h"
#include "Tools.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;
using namespace tlc::ir;

namespace {

/// Y[i * ld] = scale * sum over parts of X: the first launch writes `parts` sums to the workspace,
/// the second adds them up. Blocks of one thread, so that both families run the same body.
Kernel twoLaunches() {
  Kernel k("two");
  Context &c = *k.context;
  DType f32(Scalar::Float32), f16(Scalar::Float16), i32(Scalar::Int32);
  Expr n = k.dim("n");
  Expr ld = k.dim("ld", Scalar::Int64);
  k.function->dims.back().isStride = true;
  Buffer &x = k.tensor("X", f32, {n, c.int32(4)}, false);
  Buffer &y = k.tensor("Y", f32, {n}, true);
  y.strides = {ld};
  Expr scale = k.scalar("scale", f16), skip = k.scalar("skip", DType(Scalar::Bool));
  Expr processors = c.var("processors", i32);
  k.function->launchConstants.push_back(
      {LaunchConstant::What::MultiprocessorCount, processors, {}});
  Buffer &sums = k.function->addBuffer("sums", f32, Scope::Global, {n, c.int32(2)});
  Buffer &flags = k.function->addBuffer("flags", i32, Scope::Global, {c.int32(3)});
  flags.zeroInitialised = true;
  k.function->workspace = {&sums, &flags};

  Launch &first = k.launch({n, c.int32(2)}, 1);
  first.name = "partial";
  Builder b(*k.function, first.body);
  Expr row = first.blockVars[0], part = first.blockVars[1];
  Buffer &pair = k.function->addBuffer("pair", f32, Scope::Global, {c.int32(2)});
  pair.base = &x;
  pair.baseOffset = row * 4 + part * 2;
  b.alloc(pair);
  Expr sum = b.load("a", pair, {c.int32(0)}) + b.load("b", pair, {c.int32(1)});
  b.store(sums, {row * 2 + part}, sum);

  Launch &second = k.launch({n}, 1);
  second.name = "total";
  Builder d(*k.function, second.body);
  Expr at = second.blockVars[0];
  Expr factor = c.select(skip, c.real(f32, 0), c.cast(f32, scale));
  Expr busy = c.select(lessThan(c.int32(0), processors), c.real(f32, 1), c.real(f32, 0));
  Expr total = d.load("p", sums, {at * 2}) + d.load("q", sums, {at * 2 + 1});
  d.store(y, {c.cast(DType(Scalar::Int64), at) * ld}, total * factor * busy);
  return k;
}

const char *const program = R"(#include "two.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
static int fail(const char *what) { return std::printf("%s: %s\n", what, two_last_error()), 1; }
int main() {
  alignas(16) static float x[5 * 4], y[5 * 3];
  for (int i = 0; i < 20; ++i) x[i] = float(i);
  for (float &v : y) v = -1;
  const size_t bytes = two_workspace_bytes(5, 3, 0);
  if (bytes < 256 + 12 || bytes > 1024) return fail("bytes");
  void *space = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (two(x, y, 5, 3, 0.5f, 0, nullptr, 0, nullptr) != TLC_ERR_WORKSPACE) return fail("no workspace");
  if (two(x, y, 5, 3, 0.5f, 0, space, bytes - 1, nullptr) != TLC_ERR_WORKSPACE) return fail("small");
  if (two(x, y, 5, 3, 0.5f, 0, static_cast<char *>(space) + 16, bytes, nullptr) != TLC_ERR_WORKSPACE)
    return fail("not aligned");
  if (y[0] != -1) return fail("something ran");
  if (two(x, y, 5, 3, 0.5f, 0, space, bytes, nullptr) != TLC_OK) return fail("call");
  for (int i = 0; i < 5; ++i)
    if (y[3 * i] != 0.5f * float(16 * i + 6) || y[3 * i + 1] != -1)
      return std::printf("row %d: %g\n", i, double(y[3 * i])), 1;
  if (two(x, y, 5, 3, 0.5f, 1, space, bytes, nullptr) != TLC_OK || y[3] != 0) return fail("skip");
  if (!std::strstr(two_info()->params[3].name, "ld")) return fail("info");
  std::free(space);
  return 0;
}
)";

} // namespace

TEST_CASE("several launches with workspace, strides and scalars run on a CPU") {
  Kernel k = twoLaunches();
  Options options = optionsFor("cpu", "two");
  std::string folder = freshFolder("two");
  std::string source = writeFiles(folder, emitOne(*k.function, options), options);
  writeText(folder + "/main.cpp", program);
  for (const char *compiler : {"g++", "clang++-19"}) {
    if (!hasProgram(compiler))
      continue;
    REQUIRE(complaints(std::string(compiler) +
                       " -std=c++17 -O2 -Wall -Wextra -Werror -pedantic -I" + folder + " " +
                       source + " " + folder + "/main.cpp -o " + folder + "/run -pthread") == "");
    CHECK(complaints(folder + "/run") == "");
  }
}

TEST_CASE("the same compiles for a GPU", "[nvcc]") {
  if (nvcc().empty())
    return;
  Kernel k = twoLaunches();
  Options options = optionsFor("sm80", "two");
  std::string folder = freshFolder("two_gpu");
  EmittedFiles files = emitOne(*k.function, options);
  std::string source = writeFiles(folder, files, options);
  CHECK(complaints(nvcc() +
                   " -std=c++17 -arch=sm_80 -Werror all-warnings "
                   "-Xcompiler -Wall,-Wextra,-Werror -c " +
                   source + " -o " + folder + "/out.o") == "");
  CHECK(files.header.find("float scale /*f16*/, uint8_t skip") != files.header.npos);
  CHECK(files.header.find("must be zero before the first call") != files.header.npos);
}

TEST_CASE("functions without arguments, and files of several functions") {
  Kernel k("nothing");
  Launch &launch = k.launch({k.context->int32(1)}, 32);
  Builder b(*k.function, launch.body);
  b.add<PrintStmt>().message = "hello";
  Kernel other = softmax(Family::Cpu);
  FunctionVariants both[2];
  both[0].perTarget = {k.function.get()};
  both[1].perTarget = {other.function.get()};
  Options options = optionsFor("cpu", "pair");
  EmittedFiles files = tlc::emit::emit(both, options);
  std::string folder = freshFolder("pair");
  std::string source = writeFiles(folder, files, options);
  writeText(folder + "/main.cpp", "#include \"pair.h\"\n"
                                  "int main() { return nothing(nullptr, 0, nullptr) + "
                                  "softmax(nullptr, nullptr, 0, nullptr, 0, nullptr); }\n");
  REQUIRE(complaints("g++ -std=c++17 -O1 -Wall -Wextra -Werror -pedantic -I" + folder + " " +
                     source + " " + folder + "/main.cpp -o " + folder + "/run -pthread") == "");
  CHECK(complaints(folder + "/run") == "hello\n");
}
