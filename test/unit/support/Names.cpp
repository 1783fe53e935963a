#include "support/Names.h"
#include "support/TextWriter.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;

namespace {

// The definition, by recursion: the restricted Damerau distance.
std::size_t slowDistance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty())
    return a.size() + b.size();
  std::size_t best = std::min({slowDistance(a.substr(1), b) + 1, slowDistance(a, b.substr(1)) + 1,
                               slowDistance(a.substr(1), b.substr(1)) + (a[0] != b[0])});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
    best = std::min(best, slowDistance(a.substr(2), b.substr(2)) + 1);
  return best;
}

} // namespace

TEST_CASE("the edit distance equals its definition") {
  std::vector<std::string> words{""};
  for (std::size_t i = 0; i < words.size() && words.size() < 121; ++i)
    for (char c : {'a', 'b', 'c'})
      words.push_back(words[i] + c);
  for (const std::string &a : words)
    for (const std::string &b : words) {
      std::size_t exact = slowDistance(a, b);
      if (editDistance(a, b, 9) != exact ||
          editDistance(a, b, 1) != std::min<std::size_t>(exact, 2))
        FAIL(a << " " << b << ": " << editDistance(a, b, 9) << " instead of " << exact);
    }
}

TEST_CASE("did you mean") {
  std::vector<std::string_view> names{"alloc_shared", "alloc_fragment", "copy",
                                      "gemm",         "float16",        "Parallel"};
  CHECK(didYouMean("alloc_shraed", names) == "alloc_shared");
  CHECK(didYouMean("allocShared", names) == "alloc_shared");
  CHECK(didYouMean("parallel", names) == "Parallel");
  CHECK(didYouMean("gem", names) == "gemm");
  CHECK(didYouMean("copy", names).empty()); // it is there
  CHECK(didYouMean("reshape", names).empty());
  CHECK(didYouMean("x", {"y", "z"}).empty());
  CHECK(didYouMeanText("coppy", names) == ", did you mean `copy`?");
  CHECK(didYouMeanText("zzzzz", names).empty());
}

TEST_CASE("unique names are identifiers, not reserved, never given twice") {
  NameAllocator names;
  CHECK(names.unique("acc") == "acc");
  CHECK(names.unique("acc") == "acc_1");
  CHECK(names.unique("acc") == "acc_2");
  CHECK(names.unique("acc_1") == "acc_1_1");
  CHECK(names.unique("int") == "int_1");
  CHECK(names.unique("threadIdx") == "threadIdx_1");
  CHECK(names.unique("2x") == "v2x");
  CHECK(names.unique("a.b-c") == "a_b_c");
  CHECK(names.unique("") == "v");
  CHECK(names.unique("变量") == "v_1");
  CHECK(names.unique("_Foo") == "v_Foo_1");
  CHECK(names.unique("a__b") == "a_b");
  CHECK(names.reserve("mine"));
  CHECK_FALSE(names.reserve("mine"));
  CHECK(names.unique("mine") == "mine_1");
  CHECK(names.taken("mine"));
  CHECK_FALSE(names.taken("yours"));
}

TEST_CASE("whatever is wanted, the result can be emitted") {
  NameAllocator names;
  std::vector<std::string> seen;
  for (const char *wanted :
       {"",     "_",     "__",    "___x",  "_A", "__A", "0",   "9_",   "a b", "é",
        "tlc_", "TLC_X", "tlc_x", "while", "x",  "x",   "x_1", "x__1", "-",   "a-"}) {
    std::string name = names.unique(wanted);
    INFO(wanted << " -> " << name);
    CHECK_FALSE(isReservedName(name));
    CHECK(std::find(seen.begin(), seen.end(), name) == seen.end());
    CHECK((std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_'));
    CHECK(std::all_of(name.begin(), name.end(),
                      [](unsigned char c) { return std::isalnum(c) || c == '_'; }));
    seen.push_back(name);
  }
}

TEST_CASE("names at namespace scope avoid the C library too") {
  CHECK(isReservedGlobalName("index"));
  CHECK_FALSE(isReservedName("index"));
  CHECK(isReservedGlobalName("while"));
  CHECK_FALSE(isReservedGlobalName("gemm"));
  for (const char *name :
       {"printf", "sinf", "rand_r", "lseek64", "pid_t", "pthread_create", "cudaMalloc",
        "cuMemAlloc", "atomicAdd", "tex2D", "norm3d", "__x", "NULL", "make_float4"})
    CHECK(isReservedGlobalName(name));
  for (const char *name :
       {"softmax", "copy", "texture", "cure", "scaled", "normal", "atomic_tail", "makespan",
        "hipster", "total", "dot", "rmsnorm", "timer", "f32_nt", "key_value", "make_tiles"})
    CHECK_FALSE(isReservedGlobalName(name));
}

TEST_CASE("names avoid macros and beginnings that are reserved") {
  for (const char *name : {"EOF", "MB_CUR_MAX", "FLT_MAX", "M_PI", "CUDA_VERSION", "errno"})
    CHECK(isReservedName(name));
  for (const char *name : {"M", "E", "M_tile", "N_MAX", "CPU", "EX"})
    CHECK_FALSE(isReservedName(name));
  // No number behind makes these free.
  NameAllocator names;
  names.reserve("tlc");
  CHECK(names.unique("tlc") == "vtlc_1");
  CHECK(names.unique("CLOCK_REALTIME") == "vCLOCK_REALTIME_1");
  CHECK(names.unique("EOF") == "EOF_1");
}

TEST_CASE("the writer indents lines, not empty ones") {
  TextWriter out;
  out << "if (x) {\n";
  {
    auto inner = out.indent();
    out.line("a = 1;").line().line("b\nc");
    out << 42 << '\n';
  }
  out << "}";
  CHECK(out.column() == 1);
  out << '\n';
  CHECK(out.column() == 0);
  CHECK(out.take() == "if (x) {\n  a = 1;\n\n  b\n  c\n  42\n}\n");
}
