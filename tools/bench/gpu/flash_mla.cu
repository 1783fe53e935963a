// FlashMLA's decoding over paged keys, entered like a kernel of ours: `harness.entry(library, "flash_mla")`. Compiled together with its
// sources (bench.py --flash-mla); all memory is the caller's.
#include "params.h"
#include "sm90/decode/dense/splitkv_mla.h"
#include "smxx/decode/combine/combine.h"
#include "smxx/decode/get_decoding_sched_meta/get_decoding_sched_meta.h"

#include <algorithm>
#include <cmath>

namespace {

constexpr int dim = 512, keyDim = 576, page = 64;

int parts(int heads) {
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  return std::max(processors / ((heads + 63) / 64), 1);
}

void plan(int *lengths, void *schedule, int *splits, int batch, int heads, cudaStream_t stream) {
  GetDecodeSchedMetaParams params = {};
  params.b = batch;
  params.s_q = 1;
  params.block_size_n = page;
  params.fixed_overhead_num_blocks = 5;
  params.topk = params.extra_topk = -1;
  params.seqlens_k_ptr = lengths;
  params.tile_scheduler_metadata_ptr = static_cast<DecodingSchedMeta *>(schedule);
  params.num_splits_ptr = splits;
  params.num_sm_parts = parts(heads);
  params.stream = stream;
  smxx::decode::run_get_decoding_sched_meta_kernel(params);
}

} // namespace

extern "C" const char *flash_mla_last_error() { return cudaGetErrorString(cudaGetLastError()); }

// q [batch, heads, 576], kv [batch * pages, 64, 576], out [batch, heads, 512]; table [batch, pages] numbers pages, lengths [batch],
// schedule [132, 8] and splits [batch + 1] are int32; lse [batch, heads], partial [batch + 132, heads, 512] and partial_lse
// [batch + 132, heads] float32. The work is divided once, with `prepare`; then the products are run as often as wanted.
extern "C" int flash_mla(void *q, void *kv, void *out, float *lse, float *partial, float *partial_lse, int *table, int *lengths,
                        void *schedule, int *splits, int64_t batch, int64_t pages, int64_t heads, int64_t prepare, void *, size_t,
                        cudaStream_t stream) {
  if (prepare) {
    plan(lengths, schedule, splits, int(batch), int(heads), stream);
    return int(cudaGetLastError());
  }
  DenseAttnDecodeParams params = {};
  params.b = int(batch);
  params.s_q = 1;
  params.q_seq_per_hk = params.h_q = params.q_head_per_hk = int(heads);
  params.h_k = 1;
  params.num_blocks = int(batch * pages);
  params.d = keyDim;
  params.d_v = dim;
  params.scale_softmax = 1.0f / std::sqrt(float(keyDim));
  params.scale_softmax_log2 = float(params.scale_softmax * M_LOG2E);
  params.q_ptr = q;
  params.k_ptr = kv;
  params.o_ptr = out;
  params.softmax_lse_ptr = lse;
  params.q_batch_stride = heads * keyDim;
  params.k_batch_stride = page * keyDim;
  params.o_batch_stride = heads * dim;
  params.q_row_stride = params.k_row_stride = params.q_head_stride = params.k_head_stride = keyDim;
  params.o_row_stride = dim;
  params.o_head_stride = heads * dim;
  params.block_table = table;
  params.block_table_batch_stride = pages;
  params.page_block_size = page;
  params.seqlens_k_ptr = lengths;
  params.tile_scheduler_metadata_ptr = static_cast<DecodingSchedMeta *>(schedule);
  params.num_sm_parts = parts(int(heads));
  params.num_splits_ptr = splits;
  params.total_num_splits = int(batch) + params.num_sm_parts;
  params.softmax_lseaccum_ptr = partial_lse;
  params.oaccum_ptr = partial;
  params.stream = stream;
  sm90::run_flash_splitkv_mla_kernel<cutlass::bfloat16_t>(params);

  CombineParams combine = {};
  combine.b = int(batch);
  combine.s_q = 1;
  combine.h_q = int(heads);
  combine.d_v = dim;
  combine.lse = lse;
  combine.out = out;
  combine.stride_lse_b = combine.stride_lse_s_q = int(heads);
  combine.stride_o_b = combine.stride_o_s_q = int(heads) * dim;
  combine.stride_o_h_q = dim;
  combine.lse_accum = partial_lse;
  combine.o_accum = partial;
  combine.stride_lse_accum_split = combine.stride_lse_accum_s_q = int(heads);
  combine.stride_o_accum_split = combine.stride_o_accum_s_q = int(heads) * dim;
  combine.stride_o_accum_h_q = dim;
  combine.tile_scheduler_metadata_ptr = params.tile_scheduler_metadata_ptr;
  combine.num_splits_ptr = splits;
  combine.num_sm_parts = params.num_sm_parts;
  combine.stream = stream;
  smxx::decode::run_flash_mla_combine_kernel<cutlass::bfloat16_t>(combine);
  return int(cudaGetLastError());
}
