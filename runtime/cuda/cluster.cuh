// Roles of warps, registers, blocks of a cluster, kernels that overlap: sm_90 and later.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/cluster.h stands for it
#include "async.cuh"
#include "warp.cuh"

namespace tlc {

//@ elect_one
// True in one lane of a converged warp.
TLC_DEVICE bool elect_one() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
#else
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 == 0;
#endif
}

//@ warp_uniform
// A value that is the same in all lanes, in a form that shows it to the compiler: what depends on
// it stays in uniform registers.
TLC_DEVICE int warp_uniform(int value TLC_AT) {
  return __shfl_sync(0xffffffff, value, 0, 32 TLC_HERE);
}

//@ setmaxnreg_inc
// Raises the registers of each thread of this warpgroup to Count (24 to 256, a multiple of 8);
// waits until others have given up that many. What the launch gave the block is all there is.
template <int Count> TLC_DEVICE void setmaxnreg_inc() {
  static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "registers: 24, 32 ... 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

//@ setmaxnreg_dec
// Gives back registers down to Count for each thread of this warpgroup.
template <int Count> TLC_DEVICE void setmaxnreg_dec() {
  static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "registers: 24, 32 ... 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
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

//@ map_cluster
// Where block `rank` of the cluster has what `p` points to in this block's shared memory: an
// ordinary pointer.
template <class T> TLC_DEVICE T *map_cluster(T *p, int rank TLC_AT) {
  T *there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
  return there;
}

//@ st_cluster
// Stores 4, 8 or 16 bytes to the place of `p` in block `rank` of the cluster.
template <int Bytes> TLC_DEVICE void st_cluster(void *p, int rank, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "st_cluster stores 4, 8 or 16 bytes");
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(shared_address(p)), "r"(rank));
  const uint32_t *word = static_cast<const uint32_t *>(from);
  if constexpr (Bytes == 4)
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(there), "r"(word[0]) : "memory");
  else if constexpr (Bytes == 8)
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" ::"r"(there), "r"(word[0]),
                 "r"(word[1])
                 : "memory");
  else
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(there), "r"(word[0]),
                 "r"(word[1]), "r"(word[2]), "r"(word[3])
                 : "memory");
}

//@ put_cluster
// Stores a value of 4 or 8 bytes to the place of `p` in block `rank` of the cluster.
template <class T> TLC_DEVICE void put_cluster(T *p, int rank, T value TLC_AT) {
  st_cluster<int(sizeof(T))>(p, rank, &value TLC_HERE);
}

//@ ld_cluster
// Loads 4, 8 or 16 bytes from the place of `p` in block `rank` of the cluster.
template <int Bytes> TLC_DEVICE void ld_cluster(void *to, const void *p, int rank TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "ld_cluster loads 4, 8 or 16 bytes");
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(shared_address(p)), "r"(rank));
  uint32_t *word = static_cast<uint32_t *>(to);
  if constexpr (Bytes == 4)
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(word[0]) : "r"(there) : "memory");
  else if constexpr (Bytes == 8)
    asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
                 : "=r"(word[0]), "=r"(word[1])
                 : "r"(there)
                 : "memory");
  else
    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "r"(there)
                 : "memory");
}

//@ grid_dependency_wait
// Waits until the kernels before this one on the stream have ended and their writes are visible;
// returns at once where the launch does not overlap them.
TLC_DEVICE void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

//@ grid_dependency_launch
// Lets the next kernel of the stream start when all blocks have come here or have ended.
TLC_DEVICE void grid_dependency_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

//@ end
} // namespace tlc
#endif
