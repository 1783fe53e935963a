// Prints what compare_wgmma.cu includes: every product of a warpgroup as tlc emits it, and for each
// combination of types a struct that calls them.
#include "emit/WgmmaText.h"

#include <cstdio>
#include <iterator>
#include <string>

using namespace tlc::emit;

namespace {

struct Types {
  const char *a, *b, *sum;
  int k; ///< of a dense product
};
constexpr Types all[] = {
    {"f16", "f16", "f32", 16},   {"f16", "f16", "f16", 16},   {"bf16", "bf16", "f32", 16},
    {"tf32", "tf32", "f32", 8},  {"e4m3", "e4m3", "f32", 32}, {"e4m3", "e4m3", "f16", 32},
    {"e4m3", "e5m2", "f32", 32}, {"e4m3", "e5m2", "f16", 32}, {"e5m2", "e4m3", "f32", 32},
    {"e5m2", "e4m3", "f16", 32}, {"e5m2", "e5m2", "f32", 32}, {"e5m2", "e5m2", "f16", 32},
    {"s8", "s8", "s32", 32},     {"s8", "u8", "s32", 32},     {"u8", "s8", "s32", 32},
    {"u8", "u8", "s32", 32},
};

std::string nameOf(const Types &t, int n, bool sparse, bool registers) {
  return std::string("wgmma_") + (sparse ? "sp_" : "") + "m64n" + std::to_string(n) + "k" +
         std::to_string(sparse ? 2 * t.k : t.k) + "_" + t.a + "_" + t.b + "_" + t.sum +
         (registers ? "_rs" : "_ss");
}

/// Calls `use` for each product of these types.
template <class Use> void forEach(const Types &t, Use use) {
  for (bool sparse : {false, true})
    for (bool registers : {false, true})
      for (int n = 8; n <= 256; n += 8)
        if (auto shape = wgmmaShape(nameOf(t, n, sparse, registers)))
          use(*shape, nameOf(t, n, sparse, registers));
}

void printCalls(const Types &t) {
  const char *sum =
      t.sum[0] == 's' ? "int32_t" : std::string(t.sum) == "f16" ? "__half" : "float";
  std::printf("struct %s_%s_%s {\n  using Sum = %s;\n"
              "  static constexpr const char *name = \"%s_%s_%s\";\n"
              "  static constexpr Element a = Element::%s, b = Element::%s, c = Element::%s;\n"
              "  static constexpr int k = %d; // of a dense product\n"
              "  template <class Way, int N, class Left>\n  static __device__ void "
              "multiply(Sum *d, Left left, uint64_t right, uint32_t metadata, bool add) {\n"
              "    if constexpr (N == 0)\n      ;\n",
              t.a, t.b, t.sum, sum, t.a, t.b, t.sum, t.a, t.b, t.sum, t.k);
  forEach(t, [](const WgmmaShape &shape, const std::string &name) {
    std::string parameters = shape.selectable() ? "Way::selector" : "";
    if (shape.transposable())
      parameters += std::string(parameters.empty() ? "" : ", ") +
                    (shape.registers ? "" : "Way::transA, ") + "Way::transB";
    std::printf("    else if constexpr (N == %u && Way::sparse == %d && Way::registers == %d)\n"
                "      tlc::%s%s(d, left, right, %sadd);\n",
                shape.n, shape.sparse, shape.registers, name.c_str(),
                parameters.empty() ? "" : ("<" + parameters + ">").c_str(),
                shape.sparse ? "metadata, " : "");
  });
  std::printf("  }\n  static constexpr bool allWidths = %d; // all multiples of 8\n};\n",
              t.sum[0] != 's');
}

} // namespace

int main() {
  std::printf("#ifndef TLC_EMULATE\nnamespace tlc {\n");
  for (const Types &t : all)
    forEach(t, [](const WgmmaShape &shape, const std::string &name) {
      std::printf("%s\n", wgmmaText(name, shape).c_str());
    });
  std::printf("} // namespace tlc\n#endif\n");
  for (const Types &t : all)
    printCalls(t);
  std::printf("#define COMPARE_ALL(F)");
  for (const Types &t : all)
    std::printf(" F(%s_%s_%s)", t.a, t.b, t.sum);
  std::printf("\n");
}
