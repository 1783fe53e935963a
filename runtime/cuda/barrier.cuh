// Barriers of blocks, parts of blocks, clusters and grids; barrier objects; fences.
#pragma once

#include "async.cuh"

#include <cooperative_groups.h>

namespace tlc {

//@ named_barrier_sync
// Waits for `threads` threads of the block at barrier `id`; whole warps take part.
TLC_DEVICE void named_barrier_sync(int id, int threads TLC_AT) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

//@ named_barrier_arrive
// Counts this warp in without waiting.
TLC_DEVICE void named_barrier_arrive(int id, int threads TLC_AT) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

//@ cluster_arrive
TLC_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

//@ cluster_wait
TLC_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

//@ cluster_sync
TLC_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

//@ cluster_rank
TLC_DEVICE uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

//@ grid_sync
// Waits for all threads of a cooperative launch.
TLC_DEVICE void grid_sync() { cooperative_groups::this_grid().sync(); }

//@ mbarrier_init
TLC_DEVICE void mbarrier_init(uint64_t *barrier, int arrivals TLC_AT) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

//@ mbarrier_arrive
TLC_DEVICE void mbarrier_arrive(uint64_t *barrier TLC_AT) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#else
  asm volatile("{\n.reg .b64 phase;\nmbarrier.arrive.shared.b64 phase, [%0];\n}" ::"r"(
                   shared_address(barrier))
               : "memory");
#endif
}

//@ mbarrier_arrive_remote
// Arrives at the barrier of the same offset in block `rank` of the cluster.
TLC_DEVICE void mbarrier_arrive_remote(uint64_t *barrier, int rank TLC_AT) {
  asm volatile("{\n.reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(barrier)),
               "r"(rank)
               : "memory");
}

//@ mbarrier_expect_tx
// The phase also waits for `bytes` of asynchronous copies.
TLC_DEVICE void mbarrier_expect_tx(uint64_t *barrier, int bytes TLC_AT) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

//@ mbarrier_arrive_expect_tx
TLC_DEVICE void mbarrier_arrive_expect_tx(uint64_t *barrier, int bytes TLC_AT) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

//@ mbarrier_wait
// Waits for the end of the phase of this parity.
TLC_DEVICE void mbarrier_wait(uint64_t *barrier, int parity TLC_AT) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred done;\n"
               "WAIT:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra DONE;\n"
               "bra WAIT;\n"
               "DONE:\n}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
#else
  asm volatile("{\n.reg .pred done;\n"
               "WAIT:\n"
               "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
               "@done bra DONE;\n"
               "bra WAIT;\n"
               "DONE:\n}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
#endif
}

//@ cp_async_mbarrier_arrive
// Arrives when this thread's earlier cp.async copies are complete; the arrival counts as one of the
// expected ones.
TLC_DEVICE void cp_async_mbarrier_arrive(uint64_t *barrier TLC_AT) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

//@ fence_mbarrier_init
// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
TLC_DEVICE void fence_mbarrier_init() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

//@ fence_proxy_async
// Orders this thread's ordinary accesses to shared memory before later asynchronous ones.
TLC_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//@ increase_registers
// Registers of each thread of a warpgroup; the sum over the block must fit.
template <int Count> TLC_DEVICE void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

//@ decrease_registers
template <int Count> TLC_DEVICE void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

//@ end
} // namespace tlc
