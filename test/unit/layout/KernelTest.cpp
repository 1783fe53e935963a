// The layouts of whole kernels: attention, GEMM epilogues, softmax, packing.
#include "Execute.h"
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("kernels") {
  // FlashAttention: S (accumulator, packed to 16 bits) becomes P (A operand) with no data movement
  // between threads.
  for (Index n : {64, 96, 128, 176}) {
    Layout p = repeat(wgmmaA(), {{"reg", {{n / 16, "k"}}}}, {{"m", 1}, {"k", n / 16}});
    Conversion c = planConversion(permuteOutputs(wgmmaC(n), {{"m", "m"}, {"n", "k"}}), p, 2);
    EXPECT(c.kind == ConversionKind::None);
    // mma.sync with two 16-row atoms per warp, atoms numbered m-major in S and k-major in P:
    // renaming only.
    Layout s = permuteOutputs(blockC(4, 1, 2, n / 8), {{"m", "m"}, {"n", "k"}});
    Layout q = repeat(mmaA(), {{"reg", {{2, "m"}, {n / 16, "k"}}}, {"thread", {{4, "m", 2}}}},
                      {{"m", 8}, {"k", n / 16}});
    EXPECT(planConversion(s, q, 2).kind == ConversionKind::Registers);
  }
  // 8-bit P: four consecutive k per thread. That needs lanes of the same quad: shuffles, no shared
  // memory.
  Layout a8 = fragment({{4, "k"}, {2, "m", 8}, {2, "k", 16}}, {{4, "k", 4}, {8, "m"}, {4, "m", 16}},
                       {{"m", 64}, {"k", 32}});
  Layout s8 = permuteOutputs(wgmmaC(128), {{"m", "m"}, {"n", "k"}}),
         p8 = repeat(a8, {{"reg", {{4, "k"}}}}, {{"m", 1}, {"k", 4}});
  Conversion fp8 = planConversion(s8, p8, 1);
  EXPECT(fp8.kind == ConversionKind::Shuffle && simulate(fp8, s8, p8, 1));
  // ... or none, if the columns of V (rows of K) are permuted: the same registers, read as a8's k.
  Layout permuted = Layout::make(
      {{"k", {{2, "k"}, {2, "k", 8}, {4, "k", 2}, {2, "k", 16}, {4, "k", 32}}}, {"m", {{64, "m"}}}},
      {{"m", 64}, {"k", 128}});
  EXPECT(planConversion(s8, *compose(permuted, p8), 1).kind == ConversionKind::Registers ||
         planConversion(s8, *compose(permuted, p8), 1).kind == ConversionKind::None);

  // Row maximum: one value per row and quad, replicated over the quad; rescaling the accumulator by
  // it moves nothing.
  for (Index n : {64, 96, 256}) {
    Layout m = reduceOutput(wgmmaC(n), "n");
    EXPECT(m.input("reg").size() == 2);
    std::map<Index, std::set<Index>> holders;
    all(m, [&](const Point &p, const Point &v) { holders[v[0]].insert(p[1]); });
    for (auto &[row, threads] : holders)
      EXPECT(threads.size() == 4 && *threads.rbegin() - *threads.begin() == 3);
    Layout wide = wgmmaC(n);
    wide.outputs.eraseIf([](auto &o) { return o.name == "n"; });
    EXPECT(planConversion(m, wide, 4).kind == ConversionKind::Registers);
    // S 64 x n and O 64 x 128 share the row layout: the statistics carry over.
    Conversion same = planConversion(m, reduceOutput(wgmmaC(128), "n"), 4);
    EXPECT(same.kind == ConversionKind::None);
  }
  // GEMM epilogue: a bias row vector in the accumulator's layout, loaded as registers of n only.
  Layout bias = reduceOutput(blockC(2, 2, 4, 8), "m");
  EXPECT(bias.input("reg").size() == 16);
  EXPECT(vectorWidth(*compose(Layout::rowMajor({{"n", 128}}), bias), 4) == 2);

  // Softmax over a row of 4096 by 256 threads: the partial maxima after the thread's own reduction.
  Layout row = blocked({{"r", 1}, {"c", 4096}}, 256, 8);
  EXPECT(row.input("reg").size() == 16 && reduceOutput(row, "c").input("reg").size() == 1);
  // 229 columns, 128 threads: two guarded columns per thread, no layout failure.
  Layout ragged = blocked({{"r", 4}, {"c", 229}}, 128, 1);
  EXPECT(ragged.output("c").size >= 229 && ragged.input("reg").size() <= 8);
  Conversion c229 = planConversion(ragged, blocked({{"r", 4}, {"c", 229}}, 128, 1), 4, {},
                                   {{"r", 4}, {"c", 229}});
  EXPECT(c229.kind == ConversionKind::None);
  // A reduction over N = 192 with 128 threads.
  Layout n192 = blocked({{"r", 8}, {"c", 192}}, 128, 4);
  EXPECT(n192.outputSizes() == (Sizes{{"r", 8}, {"c", 192}}));

  // One row per warp instead: the reduction stays in the warp, for as many registers.
  Layout perWarp = blocked({{"r", 4}, {"c", 229}}, {4, 32}, 1);
  EXPECT(perWarp.input("reg").size() == ragged.input("reg").size());
  // The epilogue stored straight from the accumulator touches twice the sectors of a row-major
  // copy.
  Layout rowsOut = Layout::rowMajor({{"m", 128}, {"n", 128}});
  AccessCost direct = sectors(*compose(rowsOut, blockC(2, 2, 4, 8)), 2, 2),
             copied = sectors(*compose(rowsOut, blocked({{"m", 128}, {"n", 128}}, 128, 8)), 8, 2);
  EXPECT(direct.wavefronts == 2 * copied.wavefronts && copied.wavefronts == copied.ideal);

  // Dequantised GEMM: 4-bit weights are loaded so that each thread unpacks the A fragment it feeds.
  Layout w4 = repeat(mmaA(), {{"reg", {{2, "k"}}}}, {{"m", 1}, {"k", 2}});
  auto packed = invert(w4);
  EXPECT(
      packed
          .has_value()); // (m, k) -> (reg, thread): the order in which to store the weights offline
  if (packed) {
    Layout word = Layout::strided({{"reg", 16}, {"thread", 32}}, {1, 16}, "offset");
    auto store = compose(word, *packed);
    EXPECT(store && vectorWidth(*compose(*store, w4), 16) == 16);
  }

  // What inference.md says about its examples.
  EXPECT(blockC(2, 2, 4, 8).str() ==
         "reg(2:n 2:m*8 8:n*8 4:m*16) thread(4:n*2 8:m 2:m*64 2:n*64) -> m<128 n<128");
  {
    Layout stmatrix = repeat(
        ldmatrixRows(2, 2), {{"reg", {{4, "c"}, {4, "r"}}}, {"thread", {{2, "r", 4}, {2, "c", 4}}}},
        {{"r", 8}, {"c", 8}});
    SharedPlan out = deriveShared(stmatrix, blocked({{"r", 128}, {"c", 128}}, 128, 8), 2);
    EXPECT(out.store.conflictFree() && out.load.conflictFree() && out.storeVector == 8 &&
           out.loadVector == 8);
    AccessCost f32 = sectors(*compose(rowsOut, blockC(2, 2, 4, 8)), 2, 4);
    EXPECT(f32.wavefronts == f32.ideal);
    Layout b =
        repeat(mmaB(), {{"reg", {{4, "k"}, {2, "n"}}}}, {{"n", 2}, {"k", 4}}); // 16 x 64 weights
    EXPECT(vectorWidth(*compose(Layout::rowMajor({{"n", 16}, {"k", 64}}), b), 32) == 2);
    auto packer =
        compose(Layout::strided({{"reg", 32}, {"thread", 32}}, {1, 32}, "offset"), *invert(b));
    EXPECT(packer && vectorWidth(*compose(*packer, b), 32) == 32);
    Layout deep =
        repeat(mmaB(), {{"reg", {{16, "k"}}}}, {{"n", 1}, {"k", 16}}); // 8 x 256, groups of 128
    auto grouped = reshapeOutputs(deep, {{"n", 8}, {"group", 2}, {"inner", 128}});
    EXPECT(grouped && reduceOutput(*grouped, "inner").input("reg").size() == 2);
    EXPECT(blocked({{"r", 8}, {"c", 4096}}, {8, 32}, 8).input("reg").size() == 128);
    EXPECT(blocked({{"r", 8}, {"c", 4096}}, {1, 256}, 8).input("reg").size() == 128);
    EXPECT(blocked({{"r", 1}, {"c", 4096}}, {1, 32}, 8, 8).input("reg").size() == 128);
    Layout pitch229 = Layout::strided({{"r", 4}, {"c", 256}}, {229, 1}, "offset");
    AccessCost block = sectors(*compose(pitch229, ragged), 1, 4),
               warps = sectors(*compose(pitch229, perWarp), 1, 4);
    EXPECT(block.wavefronts <= warps.wavefronts && warps.wavefronts <= block.wavefronts * 5 / 4);
    Layout experts = blocked({{"r", 16}, {"c", 64}}, {16, 8}, 4);
    AccessCost load = sectors(*compose(Layout::rowMajor({{"r", 16}, {"c", 64}}), experts), 4, 4);
    EXPECT(experts.input("reg").size() == 8 && load.wavefronts == load.ideal);
  }

  // CPU packing for a 6 x 16 micro-kernel: panels of 6 rows (16 columns), k running inside a panel.
  Index M = 96, N = 192, K = 48;
  Layout a =
      Layout::make({{"i", {{6, "offset"}, {M / 6, "offset", 6 * K}}}, {"k", {{K, "offset", 6}}}},
                   {{"offset", M * K}});
  Layout b = Layout::make(
      {{"k", {{K, "offset", 16}}}, {"j", {{16, "offset"}, {N / 16, "offset", 16 * K}}}},
      {{"offset", N * K}});
  all(a, [&](const Point &p, const Point &v) {
    EXPECT(v[0] == p[0] / 6 * 6 * K + p[1] * 6 + p[0] % 6);
  });
  all(b, [&](const Point &p, const Point &v) {
    EXPECT(v[0] == p[1] / 16 * 16 * K + p[0] * 16 + p[1] % 16);
  });
  EXPECT(divide(a, Layout::rowMajor({{"k", K}, {"i", 6}}))->outputs[0].size == M / 6);
  EXPECT(contiguity(b, "j") == 16 && contiguity(a, "i") == 6 && invert(a) && invert(b));
  Layout pairs = Layout::make({{"k", {{2, "offset"}, {K / 2, "offset", 32}}},
                               {"j", {{16, "offset", 2}, {N / 16, "offset", 16 * K}}}},
                              {{"offset", N * K}});
  all(pairs, [&](const Point &p, const Point &v) {
    EXPECT(v[0] == p[1] / 16 * 16 * K + p[0] / 2 * 32 + p[1] % 16 * 2 + p[0] % 2);
  });
}

} // namespace tlc::test
