// The emitted file as a whole: what it promises about itself.
#include "Kernels.h"
#include "Tools.h"

#include <catch2/catch.hpp>

#include <regex>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

namespace {

/// The lines of an emitted file without what stands between #ifndef TLC_EMULATE and its #endif.
std::string outsideGuard(const std::string &source) {
  std::size_t begin = source.find("#ifndef TLC_EMULATE\n");
  REQUIRE(begin != source.npos);
  int depth = 0;
  std::size_t at = begin;
  do {
    std::size_t end = source.find('\n', at);
    std::string line = source.substr(at, end - at);
    if (line.starts_with("#if"))
      ++depth;
    if (line.starts_with("#endif"))
      --depth;
    at = end + 1;
  } while (depth > 0);
  return source.substr(0, begin) + source.substr(at);
}

} // namespace

TEST_CASE("emitted CUDA keeps the contract that lets it run without a GPU") {
  for (const char *name : {"sm80", "sm90"}) {
    const Target &target = *findTarget(name);
    Kernel kernels[] = {everything(target), gemm(), softmax(Family::Cuda)};
    for (Kernel &k : kernels) {
      std::string text = outsideGuard(emitOne(*k.function, optionsFor(name, "k")).source);
      INFO(k.function->name);
      CHECK(text.find("asm") == text.npos);
      CHECK(text.find("<<<") == text.npos);
      CHECK(text.find("__shared__") == text.npos);
      CHECK(text.find("__builtin_") == text.npos);
      CHECK(text.find("memcpy") == text.npos);
      // Only one template starts kernels.
      std::size_t first = text.find("cudaLaunchKernelEx");
      CHECK(first != text.npos);
      CHECK(text.find("cudaLaunchKernelEx", first + 1) == text.npos);
      CHECK(text.find("TLC_AT") == text.npos);
      CHECK(text.find("TLC_HERE") == text.npos);
    }
  }
}

TEST_CASE("emitted files do not depend on anything but their input") {
  Kernel first = everything(*findTarget("sm80")), second = everything(*findTarget("sm80"));
  EmittedFiles a = emitOne(*first.function, optionsFor("sm80", "k"));
  EmittedFiles b = emitOne(*second.function, optionsFor("sm80", "k"));
  CHECK(a.source == b.source);
  CHECK(a.header == b.header);
  CHECK(a.metadata == b.metadata);
}

TEST_CASE("lines of emitted kernels fit 100 columns") {
  std::string source = emitOne(*gemm().function, optionsFor("sm80", "k")).source;
  std::size_t kernels = source.find("// ---- Kernels"), end = source.find("extern \"C\" {");
  for (std::size_t at = kernels; at < end;) {
    std::size_t newline = source.find('\n', at);
    std::string line = source.substr(at, newline - at);
    INFO(line);
    CHECK(line.size() <= 100);
    at = newline + 1;
  }
}

TEST_CASE("comments name the source's lines") {
  Kernel k = vectorAdd(Family::Cuda, DType(Scalar::Float32));
  std::uint32_t line = 9;
  for (auto &stmt : k.function->launches[0]->body)
    stmt->range = {1, ++line, line + 1};
  Options options = optionsFor("sm80", "k");
  options.locate = [](SourceRange range) { return SourceLine{"add.tl", range.begin}; };
  std::string source = emitOne(*k.function, options).source;
  CHECK(source.find("  // add.tl:10\n  const int i = bx * 1024 + tid * 4;\n") != source.npos);
  CHECK(source.find("  // add.tl:11\n  if (i < N) {") != source.npos);
  options.lineDirectives = true;
  CHECK(emitOne(*k.function, options).source.find("#line 10 \"add.tl\"\n") != source.npos);
}

TEST_CASE("several targets share a file") {
  const Target *targets[] = {findTarget("sm90"), findTarget("sm80")};
  CHECK(whyNotTogether(targets) == "");
  Kernel k = gemm();
  Options options = optionsFor("sm80", "gemm");
  options.targets = sortedTargets(targets);
  EmittedFiles files = emitOne(*k.function, options);
  CHECK(files.source.find("namespace sm80 {") != files.source.npos);
  CHECK(files.source.find("if (limits->capability == 90)\n    limits->variant = 1;") !=
        files.source.npos);
  CHECK(files.header == emitOne(*k.function,
                                [&] {
                                  Options same = options;
                                  return same;
                                }())
                            .header);
  if (nvcc().empty())
    return;
  std::string folder = freshFolder("several");
  std::string source = writeFiles(folder, files, options);
  CHECK(complaints(nvcc() +
                   " -std=c++17 -gencode=arch=compute_80,code=[sm_80,compute_80] "
                   "-gencode=arch=compute_90a,code=sm_90a -Xcompiler -Wall,-Wextra,-Werror "
                   "-Werror all-warnings -c " +
                   source + " -o " + folder + "/out.o") == "");
  // A machine that no kernel is for is refused with the right flags.
  std::string refused =
      complaints(nvcc() + " -std=c++17 -arch=sm_75 -c " + source + " -o " + folder + "/no.o");
  CHECK(refused.find("no kernel for the architecture") != refused.npos);
  CHECK(refused.find("-gencode=arch=compute_90a,code=sm_90a") != refused.npos);
}

TEST_CASE("targets that cannot share a file are told why") {
  auto why = [](const char *a, const char *b) {
    const Target *targets[] = {findTarget(a), findTarget(b)};
    return whyNotTogether(targets);
  };
  CHECK(why("sm80", "cpu").find("different families") != std::string::npos);
  CHECK(why("cpu", "cpu-avx2").find("one CPU target") != std::string::npos);
  CHECK(why("sm90", "sm90-generic").find("same architecture") != std::string::npos);
}

TEST_CASE("levels of checks") {
  Kernel k = gemm();
  auto source = [&](CheckLevel level) {
    Options options = optionsFor("sm80", "k");
    options.checks = level;
    return emitOne(*k.function, options).source;
  };
  CHECK(source(CheckLevel::Full).find("tlc::check_tensor(") != std::string::npos);
  CHECK(source(CheckLevel::Cheap).find("tlc::check_tensor(") == std::string::npos);
  CHECK(source(CheckLevel::Cheap).find("tlc::check_pointer(\"gemm\", \"A\"") != std::string::npos);
  CHECK(source(CheckLevel::None).find("tlc::check_pointer(") == std::string::npos);
}

TEST_CASE("metadata is JSON", "[python]") {
  std::string folder = freshFolder("metadata");
  Kernel k = everything(*findTarget("sm80"));
  k.function->constraints.push_back({k.context->boolean(true), "N > 0 \"quoted\" \\ \n", {}});
  writeText(folder + "/k.json", emitOne(*k.function, optionsFor("sm80", "k")).metadata);
  if (hasProgram("python3"))
    CHECK(complaints("python3 -m json.tool " + folder + "/k.json > /dev/null") == "");
}
