// Barrier objects in shared memory: 64 bits that count the arrivals of threads and the bytes of
// asynchronous copies, phase by phase. A phase of parity p is over when a wait for p returns; waits
// for the parity before the first phase return at once.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/mbarrier.h stands for it
#include "async.cuh"

namespace tlc {

//@ mbarrier_init
TLC_DEVICE void mbarrier_init(uint64_t *barrier, int arrivals TLC_AT) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

//@ mbarrier_arrive
TLC_DEVICE void mbarrier_arrive(uint64_t *barrier TLC_AT) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
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
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

//@ mbarrier_arrive_expect_tx
TLC_DEVICE void mbarrier_arrive_expect_tx(uint64_t *barrier, int bytes TLC_AT) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
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

//@ mbarrier_try_wait
// Whether the phase of this parity has ended; waits for a time that the hardware chooses.
TLC_DEVICE bool mbarrier_try_wait(uint64_t *barrier, int parity TLC_AT) {
  uint32_t done;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred done;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
               "selp.u32 %0, 1, 0, done;\n}"
               : "=r"(done)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
#else
  asm volatile("{\n.reg .pred done;\n"
               "mbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n"
               "selp.u32 %0, 1, 0, done;\n}"
               : "=r"(done)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
#endif
  return done != 0;
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
TLC_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

//@ fence_proxy_async_global
// Orders this thread's ordinary accesses to global memory before later asynchronous ones.
TLC_DEVICE void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

//@ end
} // namespace tlc
#endif
