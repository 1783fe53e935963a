// The header through every compiler and standard that it promises, and programs that call kernels.
#include "Kernels.h"
#include "Tools.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

namespace {

struct Compiler {
  const char *name;
  const char *language;
};

std::string folderWithHeaders() {
  std::string folder = freshFolder("headers");
  Options options = optionsFor("sm80", "gemm");
  writeText(folder + "/gemm.h", emitOne(*gemm().function, options).header);
  options = optionsFor("cpu", "softmax");
  writeText(folder + "/softmax.h", emitOne(*softmax(Family::Cpu).function, options).header);
  return folder;
}

} // namespace

TEST_CASE("the header compiles in C and C++ with two kernels in one file") {
  std::string folder = folderWithHeaders();
  std::string use = "#include \"gemm.h\"\n#include \"softmax.h\"\n#include \"gemm.h\"\n"
                    "int main(void) {\n"
                    "  tlc_status s = gemm_check(0, 0, 0, 1, 2, 32, 0, 0, 0);\n"
                    "  if (s == TLC_ERR_DEVICE) s = softmax_prepare(0);\n"
                    "  return s != TLC_OK || GEMM_SIGNATURE_HASH == SOFTMAX_SIGNATURE_HASH;\n}\n";
  writeText(folder + "/use.c", use);
  writeText(folder + "/use.cpp", use);
  const std::string strict = " -pedantic-errors -Wall -Wextra -Werror -fsyntax-only ";
  for (const char *compiler : {"gcc", "clang", "clang-19"})
    for (const char *standard : {"c99", "c17"})
      if (hasProgram(compiler))
        CHECK(complaints(std::string(compiler) + " -std=" + standard + strict + folder +
                         "/use.c") == "");
  for (const char *compiler : {"g++", "clang++", "clang++-19"})
    for (const char *standard : {"c++11", "c++17", "c++20"})
      if (hasProgram(compiler))
        CHECK(complaints(std::string(compiler) + " -std=" + standard + strict + folder +
                         "/use.cpp") == "");
}

TEST_CASE("the header compiles in nvcc", "[nvcc]") {
  if (nvcc().empty())
    return;
  std::string folder = folderWithHeaders();
  writeText(folder + "/use.cu",
            "#include \"gemm.h\"\n#include \"softmax.h\"\n"
            "tlc_status f() { return gemm_prepare(0) + softmax_prepare(0); }\n");
  CHECK(complaints(nvcc() +
                   " -std=c++17 -arch=sm_80 -Werror all-warnings "
                   "-Xcompiler -Wall,-Wextra,-Werror -c " +
                   folder + "/use.cu -o " + folder + "/use.o") == "");
}

TEST_CASE("what the header says") {
  std::string header = emitOne(*gemm().function, optionsFor("sm90", "gemm")).header;
  CHECK(header.find("Build: nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -c gemm.cu") !=
        header.npos);
  CHECK(header.find("const void *A /*f16[M, K]*/, const void *B /*f16[N, K]*/,") != header.npos);
  CHECK(header.find("float *C /*f32[M, N]*/") != header.npos);
  CHECK(header.find("needs K % 32 == 0") != header.npos);
  CHECK(header == emitOne(*gemm().function, optionsFor("sm90", "gemm")).header);
}
