#include "Elaborated.h"

#include "sema/Builtins.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tlc;
using namespace tlc::test;

namespace {

std::string irOf(std::string_view body, std::string_view target = "sm90") {
  return Elaborated(kernelWith(body), target).ir();
}

std::string refused(std::string_view body, std::string_view target = "sm90") {
  Elaborated e(kernelWith(body), target);
  return e.codes() + " " + e.underlined();
}

bool has(const std::string &text, std::string_view part) {
  INFO(text << "\n--- wanted: " << part);
  bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

} // namespace

TEST_CASE("barriers of blocks, warps and grids") {
  has(irOf("T.sync_threads()"), "barrier user");
  has(irOf("T.sync_threads(1, 64)"), "barrier named");
  has(irOf("T.named_barrier_arrive(2, 64)"), "arrive");
  has(irOf("T.sync_warp()"), "barrier warp");
  has(irOf("T.sync_grid()"), "barrier grid");
  has(irOf("T.sync_global()"), "barrier grid");
  has(irOf("T.tvm_storage_sync('shared')"), "barrier user");
  CHECK(Elaborated(kernelWith("T.sync_grid()"), "sm90").only().launches[0]->cooperative);
  has(irOf("c = T.syncthreads_count(n > 0)\nI[0] = c"), "store %I[0] = %vote");
  has(irOf("c = T.syncthreads_and(n > 0)\nI[0] = c"), "and");
  has(irOf("c = T.syncthreads_or(n > 0)\nI[0] = c"), "or");
  CHECK(refused("T.sync_threads(16, 64)") == "TL1510 16");
  CHECK(refused("T.sync_grid()", "cpu") == "TL1501 T.sync_grid");
}

TEST_CASE("mbarriers and tensor copies") {
  const char *make = "S = T.alloc_shared((32, 16), T.float16)\n"
                     "b = T.alloc_barrier([1, 128])\n"
                     "one = T.alloc_barrier(1)\n";
  auto with = [&](std::string_view call) { return std::string(make) + std::string(call); };
  std::string ir = irOf(make);
  has(ir, "alloc %b: barrier u64[2]");
  has(ir, "mbar init %b[1] value(128)");
  has(irOf(with("T.mbarrier_arrive(b[n])")), "mbar arrive %b[%n]");
  has(irOf(with("T.barrier_arrive(one)")), "mbar arrive %one[0]");
  has(irOf(with("T.mbarrier_wait_parity(b[0], n % 2)")), "mbar wait %b[0] value(%n % 2)");
  has(irOf(with("T.barrier_wait(b[0], parity=1)")), "mbar wait %b[0] value(1)");
  has(irOf(with("T.mbarrier_expect_tx(b[0], 1024)")), "mbar expect %b[0] value(1024)");
  has(irOf(with("T.mbarrier_arrive_expect_tx(b[0], 1024)")), "mbar arrive_expect %b[0]");
  has(irOf(with("T.mbarrier_arrive(b[0], 1)")), "cta(1)");
  has(irOf(with("T.ptx_arrive_cluster_barrier(b[0], 1)")), "cta(1)");
  has(irOf(with("T.ptx_init_barrier_thread_count(b[0], 7)")), "mbar init %b[0] value(7)");
  has(irOf(with("T.cp_async_barrier_noinc(b[0])")), "mbar cp_async_arrive %b[0]");
  has(irOf(with("T.tma_copy(A[0:32, 0:16], S, barrier=b[0])")),
      "copy %A[0 : +32, 0 : +16] -> %S tma async barrier(%b[0])");
  has(irOf(with("T.tma_copy(S, A[0, 0])\nT.tma_store_arrive()\nT.tma_store_wait(0)")),
      "async bulk commit");
  has(irOf(with("T.tma_copy(A[0:32, 0:16], S, barrier=b[0], cluster_mask=3)")), "multicast(3)");
  CHECK(refused(with("T.tma_copy(A[0:32, 0:16], S)")).substr(0, 6) == "TL2053");
  CHECK(refused(with("T.tma_copy(A[0:32, 0:16], B[0:32, 0:16])")).substr(0, 6) == "TL2052");
  CHECK(refused(with("T.mbarrier_arrive(b)")) == "TL1506 b");
  CHECK(refused(with("T.mbarrier_arrive(S)")) == "TL1506 S");
  CHECK(refused(with("I[0] = b[0]")) == "TL2027 b[0]");
  CHECK(refused("b = T.alloc_barrier(0)") == "TL1510 0");
  has(irOf("c = T.alloc_cluster_barrier([2])"), "alloc %c: barrier u64[1]");
}

TEST_CASE("asynchronous matrix products") {
  const char *make = "a = T.alloc_shared((64, 16), T.float16)\n"
                     "b = T.alloc_shared((16, 64), T.float16)\n"
                     "c = T.alloc_fragment((64, 64), T.float32)\n";
  auto with = [&](std::string_view call) { return std::string(make) + std::string(call); };
  has(irOf(with("T.wgmma_gemm(a, b, c, clear_accum=True)\nT.wait_wgmma(0)")),
      "async wgmma wait(0)");
  auto *gemm = Elaborated(kernelWith(with("T.wgmma_gemm(a, b, c)")), "sm90").find<ir::GemmStmt>();
  CHECK(gemm != nullptr);
  has(irOf("T.warpgroup_arrive()\nT.warpgroup_commit_batch()\nT.warpgroup_wait(1)"),
      "async wgmma wait(1)");
  has(irOf(with("T.warpgroup_fence_operand(c)")), "fence wgmma");
  CHECK(refused(with("T.wgmma_gemm(a, b, c)"), "sm80") == "TL1501 T.wgmma_gemm");
}

TEST_CASE("fences, registers, clusters") {
  has(irOf("T.fence_proxy_async()"), "fence proxy");
  has(irOf("T.ptx_fence_barrier_init()"), "fence mbar_init");
  has(irOf("T.inc_max_nreg(240)"), "setmaxnreg_inc<240>");
  has(irOf("T.dec_max_nreg(24)"), "setmaxnreg_dec<24>");
  has(irOf("T.set_max_nreg(24, 0)"), "setmaxnreg_dec<24>");
  CHECK(refused("T.inc_max_nreg(241)") == "TL1510 241");
  has(irOf("T.cluster_sync()\nT.cluster_arrive()\nT.cluster_wait()"), "barrier cluster");
  has(irOf("T.cluster_arrive_relaxed()"), "barrier cluster");
  has(irOf("r = T.block_rank_in_cluster()\nI[0] = r"), "cluster_rank");
  Elaborated e("import tilelang.language as T\n"
               "@T.prim_func\ndef main(A: T.Tensor((8,), T.float32)):\n"
               "    with T.ClusterKernel(8, cluster_dims=(2, 1, 1), threads=128) as b:\n"
               "        A[0] = 1\n",
               "sm90");
  has(e.ir(), "cluster(2");
  has(irOf("T.no_set_max_nreg()\nT.annotate_producer_reg_dealloc(24)\n"
           "T.annotate_consumer_reg_alloc(240)\nT.disable_warp_group_reg_alloc()"),
      "launch");
}

TEST_CASE("warps") {
  has(irOf("V[0] = T.shfl_xor(x, 1)"),
      "@shfl_xor(%x, 1, 32) collective(warp) result(%shfl_xor: f32)");
  has(irOf("V[0] = T.shfl_down(x, 2, width=16)"), "shfl_down(%x, 2, 16)");
  has(irOf("V[0] = T.shfl_up(x, n)"), "shfl_up(%x, %n, 32)");
  has(irOf("V[0] = T.shfl_sync(x, 0)"), "shfl(%x, 0, 32)");
  has(irOf("V[0] = T.tvm_warp_shuffle(0, x, 3, 32, 32)"), "shfl(%x, 3, 32)");
  has(irOf("V[0] = T.tvm_warp_shuffle_up(0, x, 3, 32, 32)"), "shfl_up(%x, 3, 32)");
  has(irOf("V[0] = T.tvm_warp_shuffle_down(0, x, 3, 32, 32)"), "shfl_down(%x, 3, 32)");
  has(irOf("I[0] = T.any_sync(n > 0)"), "any(%n > 0)");
  has(irOf("I[0] = T.all_sync(n > 0)"), "all(%n > 0)");
  has(irOf("I[0] = T.ballot_sync(n > 0)"), "ballot(%n > 0)");
  has(irOf("I[0] = T.ballot(n > 0)"), "ballot(%n > 0)");
  has(irOf("I[0] = T.activemask()"), "active_mask()");
  has(irOf("I[0] = T.match_any_sync(n)"), "match_any(%n)");
  has(irOf("I[0] = T.match_all_sync(n)"), "match_all(%n)");
  has(irOf("V[0] = T.warp_reduce_sum(x)"), "warp_reduce_sum(%x)");
  has(irOf("V[0] = T.warp_reduce_max(x)"), "warp_reduce_max(%x)");
  has(irOf("V[0] = T.warp_reduce_min(x)"), "warp_reduce_min(%x)");
  has(irOf("I[0] = T.warp_reduce_bitand(n)"), "warp_reduce_and(%n)");
  has(irOf("I[0] = T.warp_reduce_bitor(n)"), "warp_reduce_or(%n)");
  has(irOf("I[0] = T.__fns(n, 0, 1)"), "find_nth_set");
  CHECK(refused("V[0] = T.shfl_xor(x, 1, width=12)") == "TL1510 12");
  CHECK(refused("V[0] = T.shfl_xor(x, 1)", "cpu") == "TL1501 T.shfl_xor");
  CHECK(refused("I[0] = T.match_any_sync(n)", "gfx942") == "TL1501 T.match_any_sync");
}

TEST_CASE("annotations") {
  Elaborated e(kernelWith("T.use_swizzle(4, order='column')\nT.annotate_min_blocks_per_sm(2)\n"
                          "T.annotate_safe_value({A: 7})\nT.annotate_restrict_buffers(A, B)\n"
                          "T.annotate_l2_hit_ratio({A: 0.5})\nT.annotate_compile_flags('-O3')\n"
                          "I[0] = 1"));
  ir::Function &f = e.only();
  CHECK(f.launches[0]->raster.panel == 4);
  CHECK(f.launches[0]->raster.columnMajor);
  CHECK(f.launches[0]->minBlocksPerSm == 2);
  REQUIRE(f.params[0].buffer->safeValue);
  CHECK(f.params[0].buffer->noRestrict);
  CHECK(Elaborated(kernelWith("T.use_swizzle(4, enable=False)\nI[0] = 1"))
            .only()
            .launches[0]
            ->raster.panel == 0);
  CHECK(refused("T.use_swizzle(0)") == "TL1510 0");
  CHECK(refused("T.use_swizzle(4, order='hilbert')") == "TL1509 'hilbert'");
}

TEST_CASE("layouts given as functions") {
  const char *make = "S = T.alloc_shared((16, 64), T.float16)\n"
                     "F = T.alloc_fragment((16, 8), T.float32)\n";
  auto with = [&](std::string_view call) { return std::string(make) + std::string(call); };
  auto layoutOf = [&](std::string_view call, const char *name) -> const ir::Buffer * {
    static std::vector<std::unique_ptr<Elaborated>> keep;
    keep.push_back(std::make_unique<Elaborated>(kernelWith(with(call))));
    INFO(keep.back()->messages());
    for (auto &b : keep.back()->only().buffers)
      if (b->name == name)
        return b.get();
    return nullptr;
  };
  const ir::Buffer *s = layoutOf(
      "T.annotate_layout({S: T.Layout((16, 64), lambda i, j: i * 64 + (j // 8 ^ i % 8) * 8 + "
      "j % 8)})",
      "S");
  REQUIRE(s);
  REQUIRE(s->layout);
  CHECK(s->origin == ir::LayoutOrigin::User);
  CHECK((*s->layout)({3, 9}) == Point{3 * 64 + (1 ^ 3) * 8 + 1});
  const ir::Buffer *f = layoutOf("T.annotate_layout({F: T.Fragment((16, 8), lambda i, j: "
                                 "(i % 8 * 4 + j // 2, i // 8 * 2 + j % 2))})",
                                 "F");
  REQUIRE(f);
  REQUIRE(f->layout);
  CHECK((*f->layout)({3, 5}) == Point{8 + 1, 3});
  const ir::Buffer *r =
      layoutOf("T.annotate_layout({F: T.Fragment((16, 8), forward_thread_fn=lambda i, j: i, "
               "forward_index_fn=lambda i, j: j)})",
               "F");
  REQUIRE(r);
  CHECK((*r->layout)({5, 7}) == Point{7, 5});
  const ir::Buffer *hint = layoutOf("T.annotate_layout({S: T.make_swizzled_layout(S)})", "S");
  REQUIRE(hint);
  CHECK_FALSE(hint->layout);
  const ir::Buffer *all =
      layoutOf("T.annotate_layout({F: T.make_fully_replicated_layout_fragment(F, 128)})", "F");
  REQUIRE(all);
  CHECK((*all->layout)({9, 77}) == Point{1, 1});
  const ir::Buffer *linear = layoutOf("T.annotate_layout({S: T.make_linear_layout(S)})", "S");
  REQUIRE(linear);
  CHECK(linear->origin == ir::LayoutOrigin::Hint);
  layoutOf("T.annotate_layout({S: T.make_full_bank_swizzled_layout(S)})\n"
           "T.annotate_layout({S: T.make_half_bank_swizzled_layout(S)})\n"
           "T.annotate_layout({S: T.make_quarter_bank_swizzled_layout(S)})",
           "S");

  auto code = [&](std::string_view call) { return refused(with(call)).substr(0, 6); };
  CHECK(code("T.annotate_layout({S: T.Layout((16, 64), lambda i, j: i * 8 + j)})") == "TL2103");
  CHECK(code("T.annotate_layout({S: T.Layout((16, 64), lambda i, j: i * 64 - j)})") == "TL2102");
  CHECK(code("T.annotate_layout({S: T.Layout((16, 64), lambda i, j: i * i * 4096 + j)})") ==
        "TL2104");
  CHECK(code("T.annotate_layout({S: T.Layout((16, 32), lambda i, j: i * 32 + j)})") == "TL2107");
  CHECK(code("T.annotate_layout({F: T.Layout((16, 8), lambda i, j: i * 8 + j)})") == "TL2106");
  CHECK(code("T.annotate_layout({F: T.Fragment((16, 8), lambda i, j: (i * 2, j))})") == "TL2105");
  CHECK(code("T.annotate_layout({S: T.Layout((16, 64), lambda i, j: i * 64 + j + n)})") ==
        "TL2100");
  CHECK(code("T.annotate_layout({S: 5})") == "TL2106");
  CHECK(code("T.annotate_layout({F: T.Fragment((4096, 512), lambda i, j: (i, j))})") == "TL2101");
}

TEST_CASE("a layout of a tensor moves every access") {
  std::string ir =
      irOf("T.annotate_layout({A: T.Layout(A.shape, lambda i, j: [i // 8, j, i % 8])})\n"
           "f = T.alloc_fragment((8, 8), T.float16)\n"
           "A[n, 3] = 1\n"
           "T.copy(A[8, 8], f)\n"
           "T.atomic_add(A[0, 0], f)\n"
           "T.fill(A[0:8, 0:8], 0)");
  has(ir, "store %A_1[%n // 8, 3, %n % 8] = 1.0 if(0 <= %n and %n < 64)");
  has(ir, "map");
  CHECK(
      refused("T.annotate_layout({A: T.Layout(A.shape, lambda i, j: [i * i, j])})").substr(0, 6) ==
      "TL2108");
}

TEST_CASE("inline C") {
  Elaborated e(kernelWith("T.import_source('int f(int);')\n"
                          "v = T.call_extern(T.int32, 'f', n)\n"
                          "w = T.call_pure_extern('int32', 'g', x)\n"
                          "T.call_extern('handle', 'h', T.access_ptr(A[n, 0], 'w', 8), 'text')\n"
                          "T.call_extern('k', T.address_of(B[0, 0]), V, dtype='handle')\n"
                          "T.evaluate(T.call_extern('int32', 'f', m))\n"
                          "I[0] = v + w"));
  std::string ir = e.ir();
  has(ir, "f(%n)");
  CHECK(e.only().sources.size() == 1);
  CHECK(e.count<ir::CallStmt>() == 5);
  CHECK(e.only().params[0].buffer->writable);
  CHECK(refused("T.call_extern('int32')") == "TL1503 T.call_extern");
}

TEST_CASE("accesses by hand") {
  has(irOf("v = T.ldg128(V[n])\nT.stg128(V[m], v)"), "load %V_value: f32x4 = %V[%n]");
  has(irOf("v = T.ldg32(I[n], n > 0)\nT.stg32(I[m], v, m > 0)"), "if(%n > 0)");
  has(irOf("v = T.ldg64(V[n])\nT.stg64(V[m], v)"), "f32x2");
  has(irOf("v = T.ldg256(V[n])\nT.stg256(V[m], v)"), "f32x8");
  has(irOf("s = T.alloc_shared((64,), T.float32)\nv = T.lds32(s[n])\nT.sts32(s[m], v)\n"
           "w = T.lds64(s[n])\nT.sts64(s[m], w)\nu = T.lds128(s[n])\nT.sts128(s[m], u)"),
      "f32x4");
  has(irOf("V[0] = T.__ldg(V[n])"), "load %V_value = %V[%n]");
  has(irOf("s = T.alloc_shared((64,), T.float32)\n"
           "T.ptx_cp_async(T.access_ptr(s[0], 'w', 4), T.access_ptr(V[n], 'r', 4), 4)"),
      "cp_async<16>");
  CHECK(refused("v = T.ldg128(5)") == "TL1506 5");
  CHECK(refused("s = T.alloc_shared((64,), T.float32)\nv = T.ldg32(s[0])") == "TL1506 s[0]");
  CHECK(refused("T.stg128(V[m], n)") == "TL2010 n");
  has(irOf("a = T.alloc_local((4,), T.int8)\nb = T.alloc_local((4,), T.int8)\n"
           "c = T.alloc_local((1,), T.int32)\nT.dp4a(a[0], b[0], c[0])"),
      "i32(%a_value) * i32(%b_value)");
}

TEST_CASE("reductions over the threads of an axis") {
  std::string ir = irOf("s = T.alloc_local((1,), T.float32)\nr = T.alloc_local((1,), T.float32)\n"
                        "with T.attr(T.comm_reducer(lambda p, q: p + q, [T.float32(0)]), "
                        "'reduce_scope', T.reinterpret(T.uint64(0), dtype='handle')):\n"
                        "    T.evaluate(T.tvm_thread_allreduce(T.uint32(1), s[0], True, r[0], tx, "
                        "dtype='handle'))");
  has(ir, "alloc %partial: shared f32[128]");
  CHECK(refused("r = T.alloc_local((1,), T.float32)\n"
                "T.tvm_thread_allreduce(T.uint32(1), x, True, r[0], tx)")
            .substr(0, 6) == "TL2068");
  CHECK(refused("r = T.comm_reducer(lambda p, q: p * q, [1])").substr(0, 6) == "TL1506");
}

TEST_CASE("kernels that overlap") {
  has(irOf("T.pdl_sync()"), "call @grid_dependency_wait() effect");
  has(irOf("T.pdl_trigger()"), "call @grid_dependency_launch() effect");
  CHECK(irOf("T.pdl_sync()\nT.pdl_trigger()", "sm80").find("grid_dependency") == std::string::npos);
}

TEST_CASE("other statements") {
  has(irOf("if n > 3:\n    T.thread_return()"), "exit");
  has(irOf("I[0] = T.meta_var(3) + T.IntImm('int32', 4) + T.likely(n)"), "%n + ");
  has(irOf("V[0] = T.FloatImm('float32', 0.5)"), "0.5");
  has(irOf("T.func_attr({'global_symbol': T.StringImm('main')})\nI[0] = T.dtype('float16').bits"),
      "= 16");
  CHECK(refused("T.alloc_tmem((128, 128), T.float32)") == "TL1501 T.alloc_tmem");
  CHECK(refused("T.ptx_mma(1)") == "TL1501 T.ptx_mma");
  CHECK(refused("T.Any(5)").substr(0, 2) == "TL");
  CHECK(refused("T.PrimExpr(5)").substr(0, 2) == "TL");
}

// Every name that can be compiled somewhere is written in a test of this folder.
TEST_CASE("each builtin occurs in some test") {
  std::stringstream text;
  std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
  for (const auto &entry : std::filesystem::directory_iterator(here))
    if (entry.path().extension() == ".cpp")
      text << std::ifstream(entry.path()).rdbuf();
  std::string all = text.str();
  for (const sema::BuiltinInfo &b : sema::allBuiltins()) {
    bool somewhere = b.support == sema::Support::All || b.support == sema::Support::Gpu ||
                     b.support == sema::Support::Cuda || b.support == sema::Support::Hopper;
    if (!somewhere)
      continue;
    INFO("T." << b.name);
    std::size_t at = all.find("T." + std::string(b.name));
    CHECK(at != std::string::npos);
  }
}
