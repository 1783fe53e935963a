// Times GEMMs compiled by tlc against cuBLAS, the fastest of cuBLASLt's first 32 suggestions and, if given, a hand-written kernel,
// all in one process, and checks each against a float32 product and float64 samples.
//
//   gemm_bench SPEC        lines of the file, in any order (dtype f16 or bf16; layout N or T for A, then for B):
//     ours NAME DTYPE LAYOUT LIBRARY SYMBOL     a function of tlc's making in a shared library
//     hand LIBRARY                              `hand_gemm` of hand_gemm.cu, takes A as N and any B
//     row ID DTYPE LAYOUT MxNxK
//     rounds N                                  repetitions that count; 25
//     launches N                                N times the host time of a launch, over that of an empty kernel's; 0
//     seconds S                                 rows that would start later are left out
//
// A is [M, K] (T: [K, M]), B [K, N] (T: [N, K]), row-major; what the vendor calls NT is "NT" here, too. Prints one JSON object a
// row and peer. L2 is flushed by a memset of 256 MB before each launch; who runs when is drawn anew in each round.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#define REQUIRE(call)                                                                              \
  do {                                                                                             \
    auto status = (call);                                                                          \
    if (static_cast<int>(status) != 0) {                                                           \
      std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status)); \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

namespace {

using Entry = int (*)(const void *, const void *, void *, long long, long long, long long, void *, size_t, cudaStream_t);
using HandEntry = int (*)(const void *, const void *, void *, int, int, int, int, int);

struct Kernel {
  std::string name, dtype, layout;
  Entry entry;
};
struct Row {
  std::string id, dtype, layout;
  long long m = 0, n = 0, k = 0;
  bool bfloat() const { return dtype == "bf16"; }
  bool transA() const { return layout[0] == 'T'; }
  bool transB() const { return layout[1] == 'T'; }
  std::string shape() const { return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k); }
};
struct Spec {
  std::vector<Kernel> ours;
  std::vector<Row> rows;
  HandEntry hand = nullptr;
  int rounds = 25, launches = 0;
  double seconds = 1e9;
};

[[noreturn]] void refuse(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

void *symbol(const std::string &library, const std::string &name) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *found = handle ? dlsym(handle, name.c_str()) : nullptr;
  if (!found)
    refuse(dlerror());
  return found;
}

Spec readSpec(const char *path) {
  std::ifstream file(path);
  if (!file)
    refuse(std::string("cannot read ") + path);
  Spec spec;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string what, library, name, shape;
    in >> what;
    if (what == "ours") {
      Kernel k;
      in >> k.name >> k.dtype >> k.layout >> library >> name;
      k.entry = reinterpret_cast<Entry>(symbol(library, name));
      spec.ours.push_back(k);
    } else if (what == "hand") {
      in >> library;
      spec.hand = reinterpret_cast<HandEntry>(symbol(library, "hand_gemm"));
    } else if (what == "row") {
      Row r;
      in >> r.id >> r.dtype >> r.layout >> shape;
      if (std::sscanf(shape.c_str(), "%lldx%lldx%lld", &r.m, &r.n, &r.k) != 3 || r.layout.size() != 2)
        refuse("not a row: " + line);
      spec.rows.push_back(r);
    } else if (what == "rounds") {
      in >> spec.rounds;
    } else if (what == "launches") {
      in >> spec.launches;
    } else if (what == "seconds") {
      in >> spec.seconds;
    } else if (!what.empty()) {
      refuse("not a line of a specification: " + line);
    }
  }
  return spec;
}

// ---- Numbers

// Normally distributed: the power drawn, and with it the clock, depends on the numbers.
template <class T> __global__ void fillNormal(T *p, size_t count, unsigned long long seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    auto mix = [](unsigned long long x) {
      x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
      x = (x ^ x >> 27) * 0x94d049bb133111ebull;
      return x ^ x >> 31;
    };
    unsigned long long bits = mix(seed + i * 0x9e3779b97f4a7c15ull);
    float u = (static_cast<unsigned>(bits) + 1.0f) * 2.3283064e-10f, v = static_cast<unsigned>(bits >> 32) * 2.3283064e-10f;
    p[i] = T(sqrtf(-2.0f * logf(fminf(u, 1.0f))) * cospif(2.0f * v));
  }
}

// sums[0] += (x - y)^2, sums[1] += y^2; a NaN in x shows in sums[0].
template <class T> __global__ void distance(const T *x, const float *y, size_t count, double *sums) {
  double difference = 0, norm = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    double a = float(x[i]), b = y[i];
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  atomicAdd(&sums[0], difference);
  atomicAdd(&sums[1], norm);
}

double median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// ---- Clocks, where the driver's library is there

class Clocks {
public:
  Clocks() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    char bus[32] = {};
    int device = 0;
    if (!library || cudaGetDevice(&device) || cudaDeviceGetPCIBusId(bus, sizeof bus, device))
      return;
    auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    auto find = reinterpret_cast<int (*)(const char *, void **)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    clock = reinterpret_cast<int (*)(void *, int, unsigned *)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    power = reinterpret_cast<int (*)(void *, unsigned *)>(dlsym(library, "nvmlDeviceGetPowerUsage"));
    if (!init || !find || init() || find(bus, &handle))
      handle = nullptr;
  }
  void sample() {
    constexpr int sm = 1;
    unsigned value = 0;
    if (handle && clock && clock(handle, sm, &value) == 0)
      megahertz.push_back(static_cast<float>(value));
    if (handle && power && power(handle, &value) == 0)
      watts.push_back(static_cast<float>(value) / 1000);
  }
  /// What was sampled since the last call, as the end of a JSON object.
  std::string take() {
    std::string text;
    if (!megahertz.empty())
      text += ",\"sm_mhz\":" + std::to_string(static_cast<int>(median(megahertz)));
    if (!watts.empty())
      text += ",\"watts\":" + std::to_string(static_cast<int>(median(watts)));
    megahertz.clear();
    watts.clear();
    return text;
  }

private:
  void *handle = nullptr;
  int (*clock)(void *, int, unsigned *) = nullptr;
  int (*power)(void *, unsigned *) = nullptr;
  std::vector<float> megahertz, watts;
};

// ---- The memory of all rows, and one row at a time

struct Memory {
  void *a = nullptr, *b = nullptr, *c = nullptr;
  float *reference = nullptr;
  double *sums = nullptr;
  void *flush = nullptr, *workspace = nullptr;
  static constexpr size_t flushBytes = 256u << 20, workspaceBytes = 96u << 20; // the first: several times any L2
  cudaEvent_t start, stop;
  cublasHandle_t blas;
  cublasLtHandle_t lt;

  explicit Memory(const std::vector<Row> &rows) {
    size_t as = 0, bs = 0, cs = 0;
    for (const Row &r : rows) {
      as = std::max<size_t>(as, r.m * r.k);
      bs = std::max<size_t>(bs, r.k * r.n);
      cs = std::max<size_t>(cs, r.m * r.n);
    }
    REQUIRE(cudaMalloc(&a, as * 2));
    REQUIRE(cudaMalloc(&b, bs * 2));
    REQUIRE(cudaMalloc(&c, cs * 2));
    REQUIRE(cudaMalloc(&reference, cs * 4));
    REQUIRE(cudaMalloc(&sums, 16));
    REQUIRE(cudaMalloc(&flush, flushBytes));
    REQUIRE(cudaMalloc(&workspace, workspaceBytes));
    REQUIRE(cudaEventCreate(&start));
    REQUIRE(cudaEventCreate(&stop));
    REQUIRE(cublasCreate(&blas));
    REQUIRE(cublasLtCreate(&lt));
  }

  float once(const std::function<void()> &f) {
    REQUIRE(cudaMemsetAsync(flush, 0, flushBytes));
    REQUIRE(cudaEventRecord(start));
    f();
    REQUIRE(cudaEventRecord(stop));
    REQUIRE(cudaEventSynchronize(stop));
    float milliseconds;
    REQUIRE(cudaEventElapsedTime(&milliseconds, start, stop));
    return milliseconds;
  }

  /// Median milliseconds of each of `which`, `rounds` launches in turns, in an order drawn anew for each turn, so that heat
  /// and clock hit all alike.
  std::vector<float> inTurns(const std::vector<size_t> &which, int rounds, const std::function<void(size_t)> &launch) {
    std::vector<std::vector<float>> times(which.size());
    std::vector<size_t> order(which.size());
    std::iota(order.begin(), order.end(), size_t(0));
    for (int i = 0; i <= rounds; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      for (size_t j : order)
        if (float t = once([&] { launch(which[j]); }); i) // the first one warms up
          times[j].push_back(t);
    }
    std::vector<float> medians;
    for (const std::vector<float> &t : times)
      medians.push_back(float(median(t)));
    return medians;
  }

  /// The fastest of `count`: a few launches of each, and more of those that come close. `times`: all medians.
  size_t fastest(size_t count, const std::function<void(size_t)> &launch, std::vector<float> *times = nullptr) {
    std::vector<size_t> all(count), close;
    std::iota(all.begin(), all.end(), size_t(0));
    std::vector<float> first = inTurns(all, 4, launch);
    for (size_t i : all)
      if (first[i] <= 1.05f * *std::min_element(first.begin(), first.end()))
        close.push_back(i);
    if (times)
      *times = first;
    if (close.size() == 1)
      return close[0];
    std::vector<float> last = inTurns(close, 12, launch);
    return close[size_t(std::min_element(last.begin(), last.end()) - last.begin())];
  }

  std::mt19937 random{std::random_device{}()};
};

// Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T, in which B comes first.
class Vendor {
public:
  Vendor(Memory &mem, const Row &row)
      : mem(mem), row(row), type(row.bfloat() ? CUDA_R_16BF : CUDA_R_16F), opB(row.transB() ? CUBLAS_OP_T : CUBLAS_OP_N),
        opA(row.transA() ? CUBLAS_OP_T : CUBLAS_OP_N), ldB(row.transB() ? row.k : row.n), ldA(row.transA() ? row.m : row.k) {}
  ~Vendor() {
    if (!prepared)
      return;
    cublasLtMatrixLayoutDestroy(first);
    cublasLtMatrixLayoutDestroy(second);
    cublasLtMatrixLayoutDestroy(result);
    cublasLtMatmulDescDestroy(operation);
  }
  Vendor(const Vendor &) = delete;

  void gemmEx(void *out, cudaDataType_t outType) const {
    const float one = 1, zero = 0;
    REQUIRE(cublasGemmEx(mem.blas, opB, opA, int(row.n), int(row.m), int(row.k), &one, mem.b, type, int(ldB), mem.a, type,
                         int(ldA), &zero, out, outType, int(row.n), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  void gemmEx() const { gemmEx(mem.c, type); }

  /// The fastest of the library's first 32 suggestions; false if it has none.
  bool chooseLt() {
    REQUIRE(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &opB, sizeof opB));
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &opA, sizeof opA));
    REQUIRE(cublasLtMatrixLayoutCreate(&first, type, row.transB() ? row.k : row.n, row.transB() ? row.n : row.k, ldB));
    REQUIRE(cublasLtMatrixLayoutCreate(&second, type, row.transA() ? row.m : row.k, row.transA() ? row.k : row.m, ldA));
    REQUIRE(cublasLtMatrixLayoutCreate(&result, type, row.n, row.m, row.n));
    prepared = true;
    cublasLtMatmulPreference_t preference;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
    size_t bytes = Memory::workspaceBytes;
    REQUIRE(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    constexpr int most = 32;
    cublasLtMatmulHeuristicResult_t found[most];
    int count = 0;
    auto status = cublasLtMatmulAlgoGetHeuristic(mem.lt, operation, first, second, result, result, preference, most, found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    std::vector<int> able; // of `found`; nvcc 13.0 cannot compile a vector of the type itself
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
      algorithm = found[i].algo;
      if (matmul() == CUBLAS_STATUS_SUCCESS)
        able.push_back(i);
    }
    if (able.empty())
      return false;
    algorithm = found[able[mem.fastest(able.size(), [&](size_t i) { algorithm = found[able[i]].algo, matmul(); })]].algo;
    return true;
  }
  cublasStatus_t matmul() const {
    const float one = 1, zero = 0;
    return cublasLtMatmul(mem.lt, operation, &one, mem.b, first, mem.a, second, &zero, mem.c, result, mem.c, result, &algorithm,
                          mem.workspace, Memory::workspaceBytes, nullptr);
  }

private:
  Memory &mem;
  const Row &row;
  cudaDataType_t type;
  cublasOperation_t opB, opA;
  long long ldB, ldA;
  bool prepared = false;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t first, second, result;
  cublasLtMatmulAlgo_t algorithm;
};

struct Candidate {
  std::string name;
  bool ours = false;
  std::function<int()> run; ///< status, 0: started
  double relative = 0, sampled = 0;
  bool right = false;
  std::vector<float> times = {};
};

template <class T> class Bench {
public:
  Bench(Memory &mem, Clocks &clocks, const Spec &spec, const Row &row, std::mt19937_64 &random)
      : mem(mem), clocks(clocks), spec(spec), row(row), random(random), vendor(mem, row) {}

  void run() {
    fillNormal<<<1024, 256>>>(static_cast<T *>(mem.a), size_t(row.m) * row.k, random());
    fillNormal<<<1024, 256>>>(static_cast<T *>(mem.b), size_t(row.k) * row.n, random());
    vendor.gemmEx(mem.reference, CUDA_R_32F);
    REQUIRE(cudaDeviceSynchronize());
    gather();
    for (Candidate &c : candidates)
      check(c);
    keepFastest();
    rounds();
    report();
  }

private:
  void gather() {
    for (const Kernel &k : spec.ours)
      if (k.dtype == row.dtype && k.layout == row.layout)
        candidates.push_back(
            {k.name, true, [this, &k] { return k.entry(mem.a, mem.b, mem.c, row.m, row.n, row.k, mem.workspace, Memory::workspaceBytes, nullptr); }});
    candidates.push_back({"cuBLAS", false, [this] {
                            vendor.gemmEx();
                            return 0;
                          }});
    if (vendor.chooseLt())
      candidates.push_back({"cuBLASLt best of 32", false, [this] { return int(vendor.matmul()); }});
    if (spec.hand && !row.transA())
      candidates.push_back({"hand-written", false, [this] {
                              return spec.hand(mem.a, mem.b, mem.c, int(row.m), int(row.n), int(row.k), row.bfloat(), !row.transB());
                            }});
  }

  /// Into poisoned memory: what is not written stays NaN.
  void check(Candidate &c) {
    size_t count = size_t(row.m) * row.n;
    REQUIRE(cudaMemset(mem.c, 0xff, count * 2));
    REQUIRE(cudaMemset(mem.sums, 0, 16));
    int status = c.run();
    if (!c.ours && status == cudaErrorInvalidValue) { // a peer need not take every shape
      std::printf("{\"kernel\":\"gemm\",\"id\":\"%s\",\"shape\":\"%s\",\"skipped\":\"%s does not take this shape\"}\n", row.id.c_str(),
                  row.shape().c_str(), c.name.c_str());
      c.run = nullptr;
      return;
    }
    if (status || cudaDeviceSynchronize() != cudaSuccess) {
      std::printf("{\"kernel\":\"gemm\",\"id\":\"%s\",\"shape\":\"%s\",\"config\":\"%s\",\"error\":\"status %d, %s\"}\n",
                  row.id.c_str(), row.shape().c_str(), c.name.c_str(), status, cudaGetErrorString(cudaGetLastError()));
      std::fflush(stdout);
      c.run = nullptr;
      return;
    }
    distance<<<528, 256>>>(static_cast<const T *>(mem.c), mem.reference, count, mem.sums);
    double host[2];
    REQUIRE(cudaMemcpy(host, mem.sums, 16, cudaMemcpyDeviceToHost));
    c.relative = std::sqrt(host[0] / host[1]);
    c.sampled = sampledError();
    // Rounding once to the output's dtype gives a relative error of about 2^-12.5 (f16) or 2^-9.5.
    double unit = row.bfloat() ? 8 : 1;
    c.right = c.relative < 4e-4 * unit && c.sampled < 4e-3 * unit;
  }

  /// Largest |got - exact| / sqrt(K) over sampled elements, corners among them, exact in float64.
  double sampledError() {
    std::vector<T> left(row.k), right(row.k);
    double worst = 0;
    for (int i = 0; i < 16; ++i) {
      long long r = i == 0 ? 0 : i < 3 ? row.m - 1 : static_cast<long long>(random() % row.m);
      long long q = i < 2 ? 0 : i == 2 ? row.n - 1 : static_cast<long long>(random() % row.n);
      T got;
      REQUIRE(cudaMemcpy(&got, static_cast<T *>(mem.c) + r * row.n + q, 2, cudaMemcpyDeviceToHost));
      vectorOf(left, static_cast<T *>(mem.a), r, row.m, row.transA());
      vectorOf(right, static_cast<T *>(mem.b), q, row.n, !row.transB());
      double sum = 0;
      for (long long j = 0; j < row.k; ++j)
        sum += double(float(left[j])) * double(float(right[j]));
      double error = std::fabs(double(float(got)) - sum) / std::sqrt(double(row.k));
      if (!(error <= worst))
        worst = error;
    }
    return worst;
  }
  /// Row `index` of a matrix with K along its rows, or column `index` where K runs down.
  void vectorOf(std::vector<T> &out, const T *matrix, long long index, long long others, bool down) const {
    if (down)
      REQUIRE(cudaMemcpy2D(out.data(), 2, matrix + index, others * 2, 2, row.k, cudaMemcpyDeviceToHost));
    else
      REQUIRE(cudaMemcpy(out.data(), matrix + index * row.k, row.k * 2, cudaMemcpyDeviceToHost));
  }

  /// A few launches choose among our tile sizes, as cuBLASLt's suggestions were chosen from.
  void keepFastest() {
    std::erase_if(candidates, [](const Candidate &c) { return !c.run; });
    std::vector<const Candidate *> mine;
    for (const Candidate &c : candidates) {
      if (!c.ours)
        continue;
      if (c.right)
        mine.push_back(&c);
      else
        std::printf("{\"kernel\":\"gemm\",\"id\":\"%s\",\"shape\":\"%s\",\"config\":\"%s\",\"right\":false,\"relative\":%.3g,"
                    "\"sampled\":%.3g,\"check\":\"float32 and float64\"}\n",
                    row.id.c_str(), row.shape().c_str(), c.name.c_str(), c.relative, c.sampled);
    }
    std::vector<float> times;
    std::string name;
    if (!mine.empty())
      name = mine[mem.fastest(mine.size(), [&](size_t i) { mine[i]->run(); }, &times)]->name;
    for (size_t i = 0; i < mine.size(); ++i)
      tried += (i ? ",\"" : "\"") + mine[i]->name + "\":" + std::to_string(times[i]);
    std::erase_if(candidates, [&](const Candidate &c) { return c.ours && c.name != name; });
  }

  void rounds() {
    constexpr int warm = 3;
    std::vector<size_t> order(candidates.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    clocks.take();
    for (int i = 0; i < spec.rounds + warm; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      for (size_t j : order) {
        float t = mem.once([&] { candidates[j].run(); });
        if (i >= warm)
          candidates[j].times.push_back(t);
        clocks.sample();
      }
    }
  }

  void report() {
    std::string clock = clocks.take();
    const Candidate *mine = nullptr;
    for (const Candidate &c : candidates)
      if (c.ours)
        mine = &c;
    double flops = 2e-9 * double(row.m) * double(row.n) * double(row.k);
    for (const Candidate &c : candidates) {
      if (c.ours)
        continue;
      double theirs = median(c.times);
      std::printf("{\"kernel\":\"gemm\",\"id\":\"%s\",\"dtype\":\"%s\",\"layout\":\"%s\",\"shape\":\"%s\"", row.id.c_str(),
                  row.dtype.c_str(), row.layout.c_str(), row.shape().c_str());
      if (mine) {
        double ms = median(mine->times);
        std::printf(",\"config\":\"%s\",\"right\":%s,\"relative\":%.3g,\"sampled\":%.3g,\"ms\":%.5f,\"tflops\":%.1f,\"ratio\":%.4f",
                    mine->name.c_str(), mine->right ? "true" : "false", mine->relative, mine->sampled, ms, flops / ms, theirs / ms);
        std::printf(",\"tried\":{%s}", tried.c_str());
      }
      std::printf(",\"peer\":\"%s\",\"peer_ms\":%.5f,\"peer_tflops\":%.1f,\"peer_right\":%s%s}\n", c.name.c_str(), theirs,
                  flops / theirs, c.right ? "true" : "false", clock.c_str());
    }
    std::fflush(stdout);
  }

  Memory &mem;
  Clocks &clocks;
  const Spec &spec;
  const Row &row;
  std::mt19937_64 &random;
  Vendor vendor;
  std::vector<Candidate> candidates;
  std::string tried;
};

// ---- Host time of a launch

__global__ void nothing() {}

/// Median microseconds that a call takes the host, in batches that the queue holds without waiting; who comes first changes.
std::vector<double> hostMicroseconds(const std::vector<std::function<void()>> &calls, int batches) {
  constexpr int batch = 200, warm = 3;
  std::vector<std::vector<float>> times(calls.size());
  for (int i = 0; i < batches + warm; ++i)
    for (size_t j = 0; j < calls.size(); ++j) {
      size_t which = (i + j) % calls.size();
      REQUIRE(cudaDeviceSynchronize());
      auto begin = std::chrono::steady_clock::now();
      for (int n = 0; n < batch; ++n)
        calls[which]();
      std::chrono::duration<float, std::micro> spent = std::chrono::steady_clock::now() - begin;
      if (i >= warm)
        times[which].push_back(spent.count() / batch);
    }
  REQUIRE(cudaDeviceSynchronize());
  std::vector<double> out;
  for (auto &t : times)
    out.push_back(median(t));
  return out;
}

void launchTimes(const Spec &spec) {
  const Kernel *ours = nullptr;
  for (const Kernel &k : spec.ours)
    if (!ours && k.dtype == "f16" && k.layout == "NT")
      ours = &k;
  if (!ours || !spec.launches)
    return;
  constexpr int size = 256; // a few blocks: the device must be done before the host is
  Row row;
  row.dtype = ours->dtype, row.layout = ours->layout, row.m = row.n = row.k = size;
  Memory memory({row});
  Vendor vendor(memory, row);
  auto launch = [](unsigned threads, void (*kernel)()) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(threads);
    REQUIRE(cudaLaunchKernelEx(&config, kernel));
  };
  auto times = hostMicroseconds({[&] { REQUIRE(ours->entry(memory.a, memory.b, memory.c, size, size, size, nullptr, 0, nullptr)); },
                                 [&] { launch(384, nothing); }, [&] { vendor.gemmEx(); }},
                                spec.launches);
  const char *peers[] = {"", "an empty kernel by cudaLaunchKernelEx", "cuBLAS"};
  for (int i : {1, 2})
    std::printf("{\"kernel\":\"launch\",\"config\":\"%s\",\"shape\":\"host time\",\"us\":%.3f,\"peer\":\"%s\","
                "\"peer_us\":%.3f,\"over_us\":%.3f}\n",
                ours->name.c_str(), times[0], peers[i], times[i], times[0] - times[i]);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    refuse("usage: gemm_bench SPEC");
  auto begin = std::chrono::steady_clock::now();
  Spec spec = readSpec(argv[1]);
  launchTimes(spec);
  Memory memory(spec.rows);
  Clocks clocks;
  std::mt19937_64 random(std::random_device{}());
  for (const Row &row : spec.rows) {
    double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (spent > spec.seconds) {
      std::printf("{\"kernel\":\"gemm\",\"id\":\"%s\",\"shape\":\"%s\",\"skipped\":\"no time left\"}\n", row.id.c_str(),
                  row.shape().c_str());
      continue;
    }
    if (row.bfloat())
      Bench<__nv_bfloat16>(memory, clocks, spec, row, random).run();
    else
      Bench<__half>(memory, clocks, spec, row, random).run();
  }
}
