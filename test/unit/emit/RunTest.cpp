// Emitted C++ compiled without a warning and run.
#include "Kernels.h"
#include "Tools.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

namespace {

const std::string strict = " -std=c++17 -O2 -Wall -Wextra -Werror -pedantic ";

/// Emits for `target`, compiles with `program` as the caller, runs; "" if all went well.
std::string run(const ir::Function &function, const std::string &target,
                const std::string &compiler, const std::string &program, Options options) {
  std::string folder = freshFolder(function.name + "_" + target + "_" + compiler);
  EmittedFiles files = emitOne(function, options);
  std::string source = writeFiles(folder, files, options);
  writeText(folder + "/main.cpp", program);
  std::string flags;
  for (const std::string &flag : options.targets[0]->flags)
    flags += flag + " ";
  std::string built = complaints(compiler + strict + flags + source + " " + folder +
                                 "/main.cpp -o " + folder + "/run -pthread");
  return built.empty() ? complaints(folder + "/run") : built;
}

std::string run(const ir::Function &function, const std::string &target,
                const std::string &compiler, const std::string &program) {
  return run(function, target, compiler, program, optionsFor(target, function.name));
}

const char *const addProgram = R"(#include "vector_add.h"
#include <cstdio>
#include <cstring>
#include <vector>
static int failures = 0;
static void expect(bool ok, const char *what) {
  if (!ok) { std::printf("%s: %s\n", what, vector_add_last_error()); ++failures; }
}
int main() {
  const int64_t n = 100000;
  std::vector<float> a(n + 8), b(n + 8), c(n + 8, -1.0f);
  float *pa = a.data(), *pb = b.data(), *pc = c.data();
  while (reinterpret_cast<uintptr_t>(pa) % 16) ++pa;
  while (reinterpret_cast<uintptr_t>(pb) % 16) ++pb;
  while (reinterpret_cast<uintptr_t>(pc) % 16) ++pc;
  for (int64_t i = 0; i < n; ++i) pa[i] = float(i), pb[i] = float(2 * i);
  expect(vector_add_prepare(0) == TLC_OK, "prepare");
  expect(vector_add(pa, pb, pc, n, nullptr, 0, nullptr) == TLC_OK, "call");
  for (int64_t i = 0; i < n; ++i) if (pc[i] != float(3 * i)) { expect(false, "value"); break; }
  expect(vector_add(nullptr, pb, pc, n, nullptr, 0, nullptr) == TLC_ERR_ARGUMENT, "null");
  expect(std::strstr(vector_add_last_error(), "A is a null pointer") != nullptr, "its text");
  expect(vector_add(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr) == TLC_OK, "empty");
  expect(vector_add(pa, pb, pc, -4, nullptr, 0, nullptr) == TLC_ERR_SHAPE, "negative");
  expect(vector_add(pa, pb, pc, 6, nullptr, 0, nullptr) == TLC_ERR_SHAPE, "constraint");
  expect(std::strstr(vector_add_last_error(), "needs N % 4 == 0") != nullptr, "its text");
  expect(vector_add(pa + 1, pb, pc, 4, nullptr, 0, nullptr) == TLC_ERR_ALIGNMENT, "alignment");
  expect(vector_add_check(pa, pb, pc, n, nullptr, 0, 0) == TLC_OK, "check");
  expect(vector_add_workspace_bytes(n, 0) == 0, "workspace");
  const tlc_kernel_info *info = vector_add_info();
  expect(info->param_count == 4 && !std::strcmp(info->params[2].name, "C"), "info");
  expect(info->signature_hash == VECTOR_ADD_SIGNATURE_HASH, "hash");
  return failures;
}
)";

const char *const softmaxProgram = R"(#include "softmax.h"
#include <cmath>
#include <cstdio>
#include <vector>
struct Serial { int calls; };
static void each(void *context, int64_t count, void (*task)(void *, int64_t, int32_t), void *data) {
  static_cast<Serial *>(context)->calls++;
  for (int64_t i = count; i-- > 0;) task(data, i, 0);
}
int main() {
  const int64_t rows = 37;
  alignas(64) static float x[rows * 64], y[rows * 64];
  for (int64_t i = 0; i < rows * 64; ++i) x[i] = float(i * 2654435761u >> 20 & 1023) / 64.0f - 8.0f;
  Serial serial = {0};
  alignas(64) static unsigned char memory[4096];
  tlc_cpu_exec exec = {sizeof(tlc_cpu_exec), 1, each, &serial, memory, sizeof memory};
  for (void *stream : {static_cast<void *>(nullptr), static_cast<void *>(&exec)}) {
    for (float &v : y) v = -1;
    if (softmax(x, y, rows, nullptr, 0, stream) != TLC_OK) return std::puts(softmax_last_error()), 1;
    for (int64_t r = 0; r < rows; ++r) {
      double most = -1e30, sum = 0;
      for (int i = 0; i < 64; ++i) most = std::fmax(most, x[r * 64 + i]);
      for (int i = 0; i < 64; ++i) sum += std::exp(x[r * 64 + i] - most);
      for (int i = 0; i < 64; ++i) {
        double want = std::exp(x[r * 64 + i] - most) / sum;
        if (std::fabs(y[r * 64 + i] - want) > 1e-6 * want + 1e-12)
          return std::printf("row %d column %d: %g instead of %g\n", int(r), i, y[r * 64 + i], want), 1;
      }
    }
  }
  if (serial.calls != 1) return std::puts("the executor was not asked"), 1;
  return 0;
}
)";

} // namespace

TEST_CASE("emitted C++ runs") {
  for (const char *compiler : {"g++", "clang++-19"}) {
    if (!hasProgram(compiler))
      continue;
    CHECK(run(*vectorAdd(Family::Cpu, DType(Scalar::Float32)).function, "cpu", compiler,
              addProgram) == "");
    CHECK(run(*softmax(Family::Cpu).function, "cpu", compiler, softmaxProgram) == "");
  }
  CHECK(run(*softmax(Family::Cpu).function, "cpu-avx2", "g++", softmaxProgram) == "");
}

TEST_CASE("narrow floats run on a CPU") {
  for (Scalar scalar : {Scalar::Float16, Scalar::BFloat16, Scalar::Float8E4M3FN}) {
    std::string program = R"(#include "vector_add.h"
int main() {
  alignas(16) static unsigned char a[64], b[64], c[64];
  return vector_add(a, b, c, 16, nullptr, 0, nullptr);
}
)";
    Kernel k = vectorAdd(Family::Cpu, DType(scalar));
    CHECK(run(*k.function, "cpu", "g++", program) == "");
  }
}

TEST_CASE("with --runtime=include the runtime's folder is enough") {
  Options options = optionsFor("cpu", "softmax");
  options.runtime = RuntimeStyle::Include;
  std::string folder = freshFolder("include");
  Kernel k = softmax(Family::Cpu);
  std::string source = writeFiles(folder, emitOne(*k.function, options), options);
  CHECK(complaints("ln -s " TLC_SOURCE_DIR "/runtime " + folder + "/tlc") == "");
  CHECK(complaints("g++" + strict + "-I" + folder + " -c " + source + " -o " + folder + "/out.o") ==
        "");
}
