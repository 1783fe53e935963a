// FlashAttention-3's forward kernels for Hopper, entered like a kernel of ours: `harness.entry(library, "flash_attention3")`. Compiled
// together with its sources (bench.py --flash-attention), with what its own interface would choose for float16, one length for all and
// tiles in pairs.
#include "flash_fwd_launch_template.h"

namespace {

template <int dim, bool causal> void start(Flash_fwd_params &params, cudaStream_t stream) {
  // The interface takes clusters of two where the keys of a full product are wide enough to be shared.
  constexpr int cluster = dim >= 128 && !causal ? 2 : 1;
  run_flash_fwd<90, dim, dim, cluster, cutlass::half_t, cutlass::half_t, causal, false, false, false, false, false, false, false, false,
                false>(params, stream);
}

template <int dim> void start(Flash_fwd_params &params, bool causal, cudaStream_t stream) {
  causal ? start<dim, true>(params, stream) : start<dim, false>(params, stream);
}

} // namespace

extern "C" const char *flash_attention3_last_error() { return cudaGetErrorString(cudaGetLastError()); }

// q, k, v, out [batch, length, heads, dim] in float16; lse [batch, heads, length] in float32; counter: one int32, which is cleared. The
// length is a multiple of 256, dim 64, 128 or 256.
extern "C" int flash_attention3(void *q, void *k, void *v, void *out, float *lse, int *counter, int64_t batch, int64_t length, int64_t heads,
                                int64_t dim, int64_t causal, void *, size_t, cudaStream_t stream) {
  if (length % 256 != 0)
    return int(cudaErrorInvalidValue);
  Flash_fwd_params params = {};
  params.q_ptr = q, params.k_ptr = k, params.v_ptr = v, params.o_ptr = out, params.softmax_lse_ptr = lse;
  params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = heads * dim;
  params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = dim;
  params.q_batch_stride = params.k_batch_stride = params.v_batch_stride = params.o_batch_stride = length * heads * dim;
  params.v_dim_stride = 1;
  params.b = params.b_k = int(batch), params.h = params.h_k = int(heads);
  params.seqlen_q = params.seqlen_k = params.seqlen_q_rounded = params.seqlen_k_rounded = int(length);
  params.d = params.dv = params.d_rounded = params.dv_rounded = int(dim);
  params.scale_softmax = 1.0f / std::sqrt(float(dim));
  params.p_dropout = params.rp_dropout = 1.0f;
  params.is_causal = causal;
  params.window_size_left = int(length) - 1;
  params.window_size_right = causal ? 0 : int(length) - 1;
  params.num_splits = 1;
  params.tile_count_semaphore = counter;
  params.arch = 90;
  int device = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&params.num_sm, cudaDevAttrMultiProcessorCount, device);
  cudaMemsetAsync(counter, 0, sizeof(int), stream); // as its interface does before each launch
  switch (dim) {
  case 64:
    start<64>(params, causal, stream);
    break;
  case 128:
    start<128>(params, causal, stream);
    break;
  case 256:
    start<256>(params, causal, stream);
    break;
  default:
    return int(cudaErrorInvalidValue);
  }
  return int(cudaGetLastError());
}
