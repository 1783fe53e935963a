// Times a tlc GEMM (bench_gemm.h, float16, C = A @ B, row-major) against cuBLAS and checks it against float64 on the host.
//   gemm_bench [MxNxK ...]       prints one JSON object a shape
#include "bench_gemm.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define REQUIRE(call)                                                                              \
  do {                                                                                             \
    auto status = (call);                                                                          \
    if (static_cast<int>(status) != 0) {                                                           \
      std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(status));                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

namespace {

struct Shape {
  long long m, n, k;
};

// Normally distributed: the power drawn, and with it the clock, depends on the numbers.
__global__ void fillNormal(__half *p, size_t count, unsigned long long seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    auto mix = [](unsigned long long x) {
      x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
      x = (x ^ x >> 27) * 0x94d049bb133111ebull;
      return x ^ x >> 31;
    };
    unsigned long long bits = mix(seed + i * 0x9e3779b97f4a7c15ull);
    float u = (static_cast<unsigned>(bits) + 1.0f) * 2.3283064e-10f, v = static_cast<unsigned>(bits >> 32) * 2.3283064e-10f;
    p[i] = __float2half(sqrtf(-2.0f * logf(fminf(u, 1.0f))) * cospif(2.0f * v));
  }
}

// sums[0] += (x - y)^2, sums[1] += y^2; a NaN in x shows in sums[0].
__global__ void distance(const __half *x, const __half *y, size_t count, double *sums) {
  double difference = 0, norm = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    double a = __half2float(x[i]), b = __half2float(y[i]);
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  atomicAdd(&sums[0], difference);
  atomicAdd(&sums[1], norm);
}

struct Bench {
  cublasHandle_t blas;
  __half *a, *b, *c, *reference;
  double *sums;
  void *flush;
  static constexpr size_t flushBytes = 256u << 20; // several times any L2
  cudaEvent_t start, stop;

  int ours(const Shape &s) { return bench_gemm(a, b, c, s.m, s.n, s.k, nullptr, 0, nullptr); }
  void cublas(const Shape &s) {
    // Row-major C = A B is column-major C^T = B^T A^T.
    const float one = 1, zero = 0;
    REQUIRE(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m, s.k, &one, b, CUDA_R_16F, s.n, a, CUDA_R_16F, s.k, &zero,
                         reference, CUDA_R_16F, s.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  template <class F> float once(F f) {
    REQUIRE(cudaMemsetAsync(flush, 0, flushBytes));
    REQUIRE(cudaEventRecord(start));
    f();
    REQUIRE(cudaEventRecord(stop));
    REQUIRE(cudaEventSynchronize(stop));
    float milliseconds;
    REQUIRE(cudaEventElapsedTime(&milliseconds, start, stop));
    return milliseconds;
  }

  // Largest |got - exact| / sqrt(K) over sampled elements, corners among them.
  double sampledError(const Shape &s, std::mt19937_64 &random) {
    std::vector<__half> row(s.k), column(s.k);
    double worst = 0;
    for (int i = 0; i < 32; ++i) {
      long long r = i == 0 ? 0 : i < 3 ? s.m - 1 : static_cast<long long>(random() % s.m);
      long long q = i < 2 ? 0 : i == 2 ? s.n - 1 : static_cast<long long>(random() % s.n);
      __half got;
      REQUIRE(cudaMemcpy(&got, c + r * s.n + q, 2, cudaMemcpyDeviceToHost));
      REQUIRE(cudaMemcpy(row.data(), a + r * s.k, s.k * 2, cudaMemcpyDeviceToHost));
      REQUIRE(cudaMemcpy2D(column.data(), 2, b + q, s.n * 2, 2, s.k, cudaMemcpyDeviceToHost));
      double sum = 0;
      for (long long j = 0; j < s.k; ++j)
        sum += double(__half2float(row[j])) * double(__half2float(column[j]));
      double error = std::fabs(__half2float(got) - sum) / std::sqrt(double(s.k));
      if (!(error <= worst))
        worst = error;
    }
    return worst;
  }

  void run(const Shape &s, std::mt19937_64 &random) {
    size_t count = size_t(s.m) * s.n;
    fillNormal<<<1024, 256>>>(a, size_t(s.m) * s.k, random());
    fillNormal<<<1024, 256>>>(b, size_t(s.k) * s.n, random());
    REQUIRE(cudaMemset(c, 0xff, count * 2));
    REQUIRE(cudaMemset(sums, 0, 16));
    std::printf("{\"kernel\":\"gemm\",\"shape\":\"%lldx%lldx%lld\"", s.m, s.n, s.k);
    if (int status = ours(s)) {
      std::printf(",\"error\":\"status %d: %s\"}\n", status, bench_gemm_last_error());
      return;
    }
    REQUIRE(cudaDeviceSynchronize());
    cublas(s);
    distance<<<528, 256>>>(c, reference, count, sums);
    double host[2];
    REQUIRE(cudaMemcpy(host, sums, 16, cudaMemcpyDeviceToHost));
    double relative = std::sqrt(host[0] / host[1]), sampled = sampledError(s, random);
    bool right = relative < 2e-3 && sampled < 5e-3;
    std::vector<float> mine, theirs;
    for (int i = 0; i < 25; ++i) { // in turns: heat and clock hit both alike
      float x = once([&] { ours(s); }), y = once([&] { cublas(s); });
      if (i >= 5) {
        mine.push_back(x);
        theirs.push_back(y);
      }
    }
    std::sort(mine.begin(), mine.end());
    std::sort(theirs.begin(), theirs.end());
    double ms = mine[mine.size() / 2], blasMs = theirs[theirs.size() / 2], flops = 2e-9 * s.m * s.n * s.k;
    std::printf(",\"right\":%s,\"relative_to_cublas\":%.3g,\"sampled\":%.3g,\"ms\":%.5f,\"peer\":\"cuBLAS\",\"peer_ms\":%.5f,"
                "\"tflops\":%.1f,\"peer_tflops\":%.1f,\"ratio\":%.3f}\n",
                right ? "true" : "false", relative, sampled, ms, blasMs, flops / ms, flops / blasMs, blasMs / ms);
    std::fflush(stdout);
  }
};

} // namespace

int main(int argc, char **argv) {
  std::vector<Shape> shapes;
  for (int i = 1; i < argc; ++i) {
    Shape s;
    if (std::sscanf(argv[i], "%lldx%lldx%lld", &s.m, &s.n, &s.k) != 3) {
      std::fprintf(stderr, "not a shape: %s\n", argv[i]);
      return 2;
    }
    shapes.push_back(s);
  }
  if (shapes.empty())
    shapes = {{1000, 1048, 72}, {1024, 1024, 1024}, {2048, 2048, 2048}, {64, 8192, 8192}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  size_t as = 0, bs = 0, cs = 0;
  for (const Shape &s : shapes) {
    as = std::max<size_t>(as, s.m * s.k);
    bs = std::max<size_t>(bs, s.k * s.n);
    cs = std::max<size_t>(cs, s.m * s.n);
  }
  Bench bench;
  REQUIRE(cublasCreate(&bench.blas));
  REQUIRE(cudaMalloc(&bench.a, as * 2));
  REQUIRE(cudaMalloc(&bench.b, bs * 2));
  REQUIRE(cudaMalloc(&bench.c, cs * 2));
  REQUIRE(cudaMalloc(&bench.reference, cs * 2));
  REQUIRE(cudaMalloc(&bench.sums, 16));
  REQUIRE(cudaMalloc(&bench.flush, Bench::flushBytes));
  REQUIRE(cudaEventCreate(&bench.start));
  REQUIRE(cudaEventCreate(&bench.stop));
  std::mt19937_64 random(std::random_device{}());
  for (const Shape &s : shapes)
    bench.run(s, random);
}
