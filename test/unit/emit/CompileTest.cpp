// Emitted text goes through the compilers it is meant for, with warnings as errors.
#include "Kernels.h"
#include "Tools.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

namespace {

const std::string strictCuda = " -Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings ";
const std::string strictCpp = " -std=c++17 -O2 -Wall -Wextra -Werror -pedantic ";

void compilesAsCuda(const ir::Function &function, const std::string &target) {
  if (nvcc().empty()) {
    WARN("no nvcc: not compiled for " << target);
    return;
  }
  Options options = optionsFor(target, function.name);
  EmittedFiles files = emitOne(function, options);
  std::string folder = freshFolder(function.name + "_" + target);
  std::string source = writeFiles(folder, files, options);
  std::string flags;
  for (const std::string &flag : options.targets[0]->flags)
    flags += flag + " ";
  CHECK(complaints(nvcc() + " -std=c++17 " + flags + strictCuda + "-c " + source + " -o " + folder +
                   "/out.o") == "");
}

} // namespace

TEST_CASE("kernels compile for GPUs without a warning", "[nvcc]") {
  for (const char *target : {"sm80", "sm90"}) {
    compilesAsCuda(*vectorAdd(Family::Cuda, DType(Scalar::Float32)).function, target);
    compilesAsCuda(*softmax(Family::Cuda).function, target);
    compilesAsCuda(*gemm().function, target);
  }
  compilesAsCuda(*vectorAdd(Family::Cuda, DType(Scalar::Float16)).function, "sm75");
}

TEST_CASE("every statement and expression compiles for GPUs", "[nvcc]") {
  for (const char *target : {"sm75", "sm80", "sm90", "sm120"})
    compilesAsCuda(*everything(*findTarget(target)).function, target);
}

TEST_CASE("every statement and expression compiles as C++") {
  for (const char *target : {"cpu", "cpu-avx2"})
    for (const char *compiler : {"g++", "clang++", "clang++-19"}) {
      if (!hasProgram(compiler))
        continue;
      Kernel k = everything(*findTarget(target));
      Options options = optionsFor(target, "everything");
      std::string folder = freshFolder(std::string("everything_") + target + compiler);
      std::string source = writeFiles(folder, emitOne(*k.function, options), options), flags;
      for (const std::string &flag : options.targets[0]->flags)
        flags += flag + " ";
      CHECK(complaints(compiler + strictCpp + flags + "-c " + source + " -o " + folder +
                       "/out.o") == "");
    }
}
