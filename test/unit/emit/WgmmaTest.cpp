// The products of a warpgroup, whose text the compiler writes, and the other functions of sm_90.
#include "Kernels.h"
#include "Tools.h"

#include "emit/Runtime.h"
#include "emit/WgmmaText.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

namespace {

/// Compiles a file for sm_90a, warnings being errors.
std::string compiled(const std::string &folder, const std::string &text) {
  writeText(folder + "/all.cu", text);
  return complaints(nvcc() + " -std=c++17 " + findTarget("sm90")->flags[0] +
                    " -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -I" + folder + " -c " +
                    folder + "/all.cu -o " + folder + "/out.o");
}

/// Looks at a file as the emulator's compiler would, which has functions of its own.
std::string emulated(const std::string &folder, const std::string &text) {
  writeText(folder + "/emulated.cu", text);
  std::string emulate = TLC_SOURCE_DIR "/runtime/emulate/";
  return complaints("g++ -std=c++20 -Wall -Werror -Wno-unknown-pragmas -Wno-psabi "
                    "-fsyntax-only -I" +
                    folder + " -I" + emulate + "include -include " + emulate +
                    "device/tlc.h -x c++ " + folder + "/emulated.cu");
}

std::string declaration(const std::string &name) {
  std::string text = wgmmaText(name, *wgmmaShape(name));
  return text.substr(0, text.find(") {"));
}

/// A kernel for each of some products, with and without A in registers.
std::string productKernels(RuntimeUse &use) {
  std::string kernels;
  unsigned count = 0;
  for (const char *base :
       {"8k16_f16_f16_f32", "72k16_f16_f16_f16", "256k16_bf16_bf16_f32", "192k8_tf32_tf32_f32",
        "128k32_e4m3_e4m3_f32", "136k32_e4m3_e5m2_f16", "64k32_e5m2_e4m3_f32", "24k32_s8_s8_s32",
        "224k32_u8_u8_s32", "96k32_s8_u8_s32", "16k32_u8_s8_s32", "64k32_f16_f16_f32",
        "16k16_tf32_tf32_f32", "32k64_e4m3_e5m2_f32", "48k64_u8_s8_s32"})
    for (bool registers : {false, true}) {
      std::string shapeName = std::string("m64n") + base + (registers ? "_rs" : "_ss");
      bool sparse = !wgmmaShape("wgmma_" + shapeName);
      std::string name = (sparse ? "wgmma_sp_" : "wgmma_") + shapeName;
      auto shape = wgmmaShape(name);
      REQUIRE(shape);
      use.use(name);
      std::string element = shape->sum == "f32"   ? "float"
                            : shape->sum == "f16" ? "__half"
                                                  : "int32_t";
      std::string elements = std::to_string(shape->n / 2);
      std::string known = shape->selectable() ? "1" : "";
      if (shape->transposable())
        known += std::string(known.empty() ? "" : ", ") + (registers ? "1" : "0, 1");
      std::string which = (known.empty() ? "" : "<" + known + ">") + "(d, a, b, " +
                          (sparse ? "in[threadIdx.x], " : "");
      // Sums in registers from the first product to the end: ptxas says so if it cannot keep them
      // there.
      kernels +=
          "__global__ void __launch_bounds__(128) k" + std::to_string(count++) + "(" + element +
          " *out, const uint32_t *in, const unsigned char *tile) {\n  " + element + " d[" +
          elements + "];\n" +
          (registers ? "  uint32_t a[4] = {in[0], in[1], in[2], in[3]};\n"
                     : "  const uint64_t a = tlc::wgmma_descriptor(tile, 16, 1024, 128);\n") +
          "  const uint64_t b = tlc::wgmma_descriptor(tile, 16, 1024, 128);\n"
          "  tlc::wgmma_fence();\n  tlc::" +
          name + which + "false);\n  tlc::" + name + which +
          "true);\n  tlc::wgmma_commit();\n  tlc::wgmma_wait<0>();\n"
          "  tlc::wgmma_pin<" +
          elements + ">(d);\n  for (int i = 0; i < " + elements + "; ++i)\n    out[threadIdx.x * " +
          elements + " + i] = d[i];\n}\n";
    }
  for (const char *name :
       {"wgmma_fence", "wgmma_commit", "wgmma_wait", "wgmma_pin", "wgmma_descriptor"})
    use.use(name);
  return kernels;
}

} // namespace

TEST_CASE("names of warpgroup products say their shape") {
  auto shape = wgmmaShape("wgmma_m64n128k16_f16_f16_f32_rs");
  REQUIRE(shape);
  CHECK(shape->n == 128);
  CHECK(shape->k == 16);
  CHECK(shape->a == "f16");
  CHECK(shape->b == "f16");
  CHECK(shape->sum == "f32");
  CHECK(shape->registers);
  CHECK(shape->sums() == 64);
  CHECK(wgmmaShape("wgmma_m64n8k16_f16_f16_f16_ss")->sums() == 2);
  CHECK_FALSE(wgmmaShape("wgmma_m64n8k16_f16_f16_f16_ss")->registers);
  CHECK_FALSE(shape->sparse);
  CHECK(wgmmaShape("wgmma_sp_m64n8k32_f16_f16_f16_ss")->sparse);
}

TEST_CASE("products that sm_90a has, and some that it has not") {
  const RuntimeLibrary &cuda = RuntimeLibrary::of(Family::Cuda);
  for (const char *name :
       {"wgmma_m64n8k16_f16_f16_f32_ss", "wgmma_m64n256k16_bf16_bf16_f32_rs",
        "wgmma_m64n24k8_tf32_tf32_f32_ss", "wgmma_m64n40k32_e4m3_e5m2_f32_ss",
        "wgmma_m64n40k32_e5m2_e4m3_f16_rs", "wgmma_m64n24k32_s8_u8_s32_ss",
        "wgmma_m64n240k32_u8_s8_s32_rs", "wgmma_sp_m64n8k32_f16_f16_f32_ss",
        "wgmma_sp_m64n24k16_tf32_tf32_f32_rs", "wgmma_sp_m64n240k64_u8_s8_s32_rs"}) {
    INFO(name);
    CHECK(cuda.has(name));
    CHECK_FALSE(RuntimeLibrary::of(Family::Cpu).has(name));
  }
  for (const char *name :
       {"wgmma_m64n12k16_f16_f16_f32_ss", "wgmma_m64n264k16_f16_f16_f32_ss",
        "wgmma_m64n0k16_f16_f16_f32_ss", "wgmma_m64n08k16_f16_f16_f32_ss",
        "wgmma_m64n8k8_f16_f16_f32_ss", "wgmma_m64n8k16_f16_bf16_f32_ss",
        "wgmma_m64n8k16_bf16_bf16_f16_ss", "wgmma_m64n8k16_f16_f16_f32",
        "wgmma_m64n8k16_f16_f16_f32_sr", "wgmma_m64n40k32_s8_s8_s32_ss",
        "wgmma_m64n8k32_s8_s8_f32_ss", "wgmma_m64n8k16_f16_f16_f32_ss_",
        "wgmma_m64n8k32_e4m3_s8_f32_ss", "wgmma_m64n", "wgmma_sp_m64n8k16_f16_f16_f32_ss",
        "wgmma_sp_m64n8k17_tf32_tf32_f32_ss", "wgmma_sp_m64n40k64_s8_s8_s32_ss"}) {
    INFO(name);
    CHECK_FALSE(cuda.has(name));
  }
}

TEST_CASE("a product's function") {
  CHECK(declaration("wgmma_m64n16k16_f16_f16_f32_ss") ==
        "// d = a b, plus d if `accumulate`: 64 x 16 sums of a warpgroup.\n"
        "// Trans...: 1 if the operand is contiguous along m or n, not along k.\n"
        "template <int TransA, int TransB>\n"
        "TLC_DEVICE void wgmma_m64n16k16_f16_f16_f32_ss(float *d, uint64_t a, uint64_t b, "
        "bool accumulate");
  std::string text =
      wgmmaText("wgmma_m64n16k16_f16_f16_f32_rs", *wgmmaShape("wgmma_m64n16k16_f16_f16_f32_rs"));
  CHECK(text.find("template <int TransB>\n") != text.npos);
  CHECK(text.find("const void *a") != text.npos);
  CHECK(text.find("{%8, %9, %10, %11}, %12, add, 1, 1, %14;") != text.npos);
  CHECK(wgmmaText("wgmma_m64n8k32_s8_s8_s32_ss", *wgmmaShape("wgmma_m64n8k32_s8_s8_s32_ss"))
            .find("%4, %5, add;") != text.npos);
  CHECK(wgmmaText("wgmma_sp_m64n8k64_s8_s8_s32_ss", *wgmmaShape("wgmma_sp_m64n8k64_s8_s8_s32_ss"))
            .find("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8") != text.npos);
  text = wgmmaText("wgmma_sp_m64n8k32_f16_f16_f32_ss",
                   *wgmmaShape("wgmma_sp_m64n8k32_f16_f16_f32_ss"));
  CHECK(text.find("template <int Selector, int TransA, int TransB>\n") != text.npos);
  CHECK(text.find("%4, %5, %6, %7, add, 1, 1, %9, %10;") != text.npos);
  for (const char *name :
       {"wgmma_m64n256k16_f16_f16_f32_ss", "wgmma_m64n256k32_e4m3_e4m3_f16_rs"}) {
    std::string all = wgmmaText(name, *wgmmaShape(name));
    for (std::size_t at = 0, end; at < all.size(); at = end + 1) {
      end = std::min(all.find('\n', at), all.size());
      CHECK(end - at <= 100);
    }
  }
}

TEST_CASE("a file gets the products that it uses, after what they need") {
  RuntimeUse use(RuntimeLibrary::of(Family::Cuda));
  CHECK(use.generatedText().empty());
  use.use("wgmma_m64n8k16_f16_f16_f16_ss");
  use.use("wgmma_m64n8k16_f16_f16_f16_ss");
  std::string text = use.generatedText();
  std::size_t first = text.find("void wgmma_m64n8k16");
  REQUIRE(first != text.npos);
  CHECK(text.find("void wgmma_m64n8k16", first + 1) == text.npos);
  CHECK(use.deviceText().find("uint32_t *words(T *elements)") != text.npos);
  CHECK(use.macroText().find("#define TLC_DEVICE") != text.npos);
}

TEST_CASE("products are pasted, whether the runtime is or not") {
  for (RuntimeStyle style : {RuntimeStyle::Inline, RuntimeStyle::Include}) {
    Kernel k = softmax(Family::Cuda);
    auto call = std::make_unique<ir::CallStmt>();
    call->callee = "wgmma_m64n8k16_f16_f16_f32_ss";
    call->templateArgs = {0, 0};
    k.function->launches.front()->body.push_back(std::move(call));
    Options options = optionsFor("sm90", "softmax");
    options.runtime = style;
    std::string text = emitOne(*k.function, options).source;
    std::size_t made = text.find("TLC_DEVICE void wgmma_m64n8k16_f16_f16_f32_ss(");
    REQUIRE(made != text.npos);
    CHECK(text.rfind("namespace tlc {", made) != text.npos);
    CHECK(text.find("tlc::wgmma_m64n8k16_f16_f16_f32_ss<0, 0>(", made) != text.npos);
    CHECK((text.find("#include \"tlc/cuda/base.cuh\"") < made) == (style == RuntimeStyle::Include));
  }
}

TEST_CASE("warpgroup products compile for sm_90a and for the emulator", "[nvcc]") {
  RuntimeUse use(RuntimeLibrary::of(Family::Cuda));
  std::string kernels = productKernels(use), folder = freshFolder("wgmma");
  CHECK(emulated(folder, "#include <cuda_fp16.h>\n" + kernels) == "");
  if (!nvcc().empty())
    CHECK(compiled(folder, "#include <cstdint>\n#include <cstring>\n#include <cuda_fp16.h>\n" +
                               use.macroText() + "namespace tlc {\n" + use.deviceText() +
                               use.generatedText() + "}\n" + kernels) == "");
}

TEST_CASE("the emulator has every product that the compiler writes") {
  struct Types {
    const char *operands, *sum;
    int k;
  };
  std::vector<Types> all = {{"f16_f16", "f32", 16},
                            {"f16_f16", "f16", 16},
                            {"bf16_bf16", "f32", 16},
                            {"tf32_tf32", "f32", 8}};
  for (const char *operands : {"e4m3_e4m3", "e4m3_e5m2", "e5m2_e4m3", "e5m2_e5m2"})
    for (const char *sum : {"f32", "f16"})
      all.push_back({operands, sum, 32});
  for (const char *operands : {"s8_s8", "s8_u8", "u8_s8", "u8_u8"})
    all.push_back({operands, "s32", 32});
  std::string text;
  unsigned count = 0;
  for (const Types &types : all)
    for (int n = 8; n <= 256; n += 8)
      for (const char *way : {"ss", "rs", "sp_ss", "sp_rs"}) {
        bool sparse = way[1] == 'p';
        std::string name = std::string(sparse ? "wgmma_sp_m64n" : "wgmma_m64n") +
                           std::to_string(n) + "k" + std::to_string(types.k * (sparse ? 2 : 1)) +
                           "_" + types.operands + "_" + types.sum + "_" + (way + (sparse ? 3 : 0));
        auto shape = wgmmaShape(name);
        if (!shape)
          continue;
        std::string known = shape->selectable() ? "1" : "";
        if (shape->transposable())
          known += std::string(known.empty() ? "" : ", ") + (shape->registers ? "1" : "0, 1");
        text += "auto *const p" + std::to_string(count++) + " = &tlc::" + name +
                (known.empty() ? "" : "<" + known + ">") + ";\n";
      }
  CHECK(count == 4 * (32 * 12 + 18 * 4));
  CHECK(emulated(freshFolder("products"), text) == "");
}

TEST_CASE("the other functions of sm_90 compile, for the emulator, too", "[nvcc]") {
  std::string text = R"(
#ifdef TLC_EMULATE
#include <atomic>
#include <cstdarg>
#include <initializer_list>
#include "tlc/tlc.h"
namespace {
#include "tlc/cuda/tensor_map.cuh"
}
#else
#include "tlc/cuda/barrier.cuh"
#include "tlc/cuda/cluster.cuh"
#include "tlc/cuda/mbarrier.cuh"
#include "tlc/cuda/tensor_map.cuh"
#include "tlc/cuda/tma_reduce.cuh"
#endif
using namespace tlc;
__global__ void all(const __grid_constant__ CUtensorMap map, float *global) {
  TLC_DYNAMIC_SHARED(unsigned char, s, 1024);
  uint64_t *bar = reinterpret_cast<uint64_t *>(s + 1024);
  mbarrier_init(bar, 1);
  fence_mbarrier_init();
  mbarrier_arrive(bar);
  mbarrier_arrive_expect_tx(bar, 64);
  mbarrier_expect_tx(bar, 64);
  mbarrier_arrive_remote(bar, 1);
  cp_async_mbarrier_arrive(bar);
  while (!mbarrier_try_wait(bar, 0)) {
  }
  mbarrier_wait(bar, 0);
  tma_prefetch(&map);
  const cache_hint first = evict_first(), last = evict_last();
  tma_load_1d(s, &map, bar, 0), tma_load_1d(s, &map, bar, 0, first);
  tma_load_2d(s, &map, bar, 0, 1), tma_load_2d(s, &map, bar, 0, 1, last);
  tma_load_3d(s, &map, bar, 0, 1, 2), tma_load_3d(s, &map, bar, 0, 1, 2, last);
  tma_load_4d(s, &map, bar, 0, 1, 2, 3), tma_load_4d(s, &map, bar, 0, 1, 2, 3, last);
  tma_load_5d(s, &map, bar, 0, 1, 2, 3, 4), tma_load_5d(s, &map, bar, 0, 1, 2, 3, 4, last);
  tma_load_1d_multicast(s, &map, bar, 0, 3), tma_load_1d_multicast(s, &map, bar, 0, 3, last);
  tma_load_2d_multicast(s, &map, bar, 0, 1, 3), tma_load_2d_multicast(s, &map, bar, 0, 1, 3, last);
  tma_load_3d_multicast(s, &map, bar, 0, 1, 2, 3), tma_load_3d_multicast(s, &map, bar, 0, 1, 2, 3, last);
  tma_load_4d_multicast(s, &map, bar, 0, 1, 2, 3, 3), tma_load_4d_multicast(s, &map, bar, 0, 1, 2, 3, 3, last);
  tma_load_5d_multicast(s, &map, bar, 0, 1, 2, 3, 4, 3);
  tma_load_5d_multicast(s, &map, bar, 0, 1, 2, 3, 4, 3, last);
  tma_load_im2col_3d(s, &map, bar, 0, 1, 2, 1), tma_load_im2col_3d(s, &map, bar, 0, 1, 2, 1, last);
  tma_load_im2col_4d(s, &map, bar, 0, 1, 2, 3, 1, 2), tma_load_im2col_4d(s, &map, bar, 0, 1, 2, 3, 1, 2, last);
  tma_load_im2col_5d(s, &map, bar, 0, 1, 2, 3, 4, 1, 2, 3);
  tma_load_im2col_5d(s, &map, bar, 0, 1, 2, 3, 4, 1, 2, 3, last);
  tma_load_im2col_3d_multicast(s, &map, bar, 0, 1, 2, 1, 3);
  tma_load_im2col_4d_multicast(s, &map, bar, 0, 1, 2, 3, 1, 2, 3);
  tma_load_im2col_5d_multicast(s, &map, bar, 0, 1, 2, 3, 4, 1, 2, 3, 3);
  tma_load_im2col_3d_multicast(s, &map, bar, 0, 1, 2, 1, 3, last);
  tma_load_im2col_4d_multicast(s, &map, bar, 0, 1, 2, 3, 1, 2, 3, last);
  tma_load_im2col_5d_multicast(s, &map, bar, 0, 1, 2, 3, 4, 1, 2, 3, 3, last);
  fence_proxy_async();
  fence_proxy_async_global();
  tma_store_1d(&map, s, 0), tma_store_1d(&map, s, 0, last), tma_reduce_add_1d(&map, s, 0);
  tma_store_2d(&map, s, 0, 1), tma_store_2d(&map, s, 0, 1, last), tma_reduce_add_2d(&map, s, 0, 1);
  tma_store_3d(&map, s, 0, 1, 2), tma_store_3d(&map, s, 0, 1, 2, last), tma_reduce_add_3d(&map, s, 0, 1, 2);
  tma_store_4d(&map, s, 0, 1, 2, 3), tma_store_4d(&map, s, 0, 1, 2, 3, last);
  tma_reduce_add_4d(&map, s, 0, 1, 2, 3);
  tma_store_5d(&map, s, 0, 1, 2, 3, 4), tma_store_5d(&map, s, 0, 1, 2, 3, 4, last);
  tma_reduce_add_5d(&map, s, 0, 1, 2, 3, 4);
  tma_reduce_1d<tma_operation::min>(&map, s, 0), tma_reduce_2d<tma_operation::inc>(&map, s, 0, 1);
  tma_reduce_3d<tma_operation::max>(&map, s, 0, 1, 2), tma_reduce_4d<tma_operation::bit_and>(&map, s, 0, 1, 2, 3);
  tma_reduce_5d<tma_operation::bit_xor>(&map, s, 0, 1, 2, 3, 4), tma_reduce_1d<tma_operation::dec>(&map, s, 0);
  tma_reduce_1d<tma_operation::bit_or>(&map, s, 0);
  tma_store_commit();
  tma_store_wait_read<1>();
  tma_store_wait<0>();
  bulk_load(s, global, 64, bar);
  bulk_store(global, s, 64);
  grid_dependency_wait();
  grid_dependency_launch();
  cluster_arrive();
  cluster_wait();
  cluster_sync();
  uint4 v = {1, 2, 3, 4};
  *map_cluster(reinterpret_cast<float *>(s), 1) = float(cluster_rank());
  st_cluster<4>(s, 1, &v), st_cluster<8>(s, 1, &v), st_cluster<16>(s, 1, &v);
  put_cluster(reinterpret_cast<float *>(s), 1, 1.0f);
  ld_cluster<4>(&v, s, 1), ld_cluster<8>(&v, s, 1), ld_cluster<16>(&v, s, 1);
  named_barrier_sync(1, 128);
  named_barrier_arrive(1, 128);
  if (elect_one())
    global[warp_uniform(int(threadIdx.x) / 32)] = float(v.x + v.y + v.z + v.w);
  __syncthreads();
}
__global__ void __launch_bounds__(384, 1) roles(float *global) {
  if (threadIdx.x < 128)
    setmaxnreg_dec<40>();
  else
    setmaxnreg_inc<232>();
  global[threadIdx.x] = 0;
}
tlc_status host(CUtensorMap *map, void *base, const uint64_t *sizes, const uint32_t *box) {
  const int corner[2] = {};
  const tlc_status status = tensor_map(map, 6, 2, base, sizes, sizes, box, 128, 256);
  return status != TLC_OK ? status
                          : tensor_map_im2col(map, 6, 4, base, sizes, sizes, corner, corner, 64, 64, box, 128, 256);
}
)";
  std::string folder = freshFolder("hopper");
  CHECK(complaints("ln -s " TLC_SOURCE_DIR "/runtime " + folder + "/tlc") == "");
  CHECK(emulated(folder, text) == "");
  if (!nvcc().empty())
    CHECK(compiled(folder, text) == "");
}
