// Waves of 64 and of 32 lanes: exchanges, loads to shared memory past the registers, waits, buffers, the host's
// questions.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "hip.h"

namespace {

// ---- The sum of each block, by moves within rows, by permutes, by single lanes

enum Sum {
  sumClean,
  laneSkips,
  differentLanes,
  noWaveSync,
  noPart,
  rowOfOtherDevice,
};
template <int Fault> __global__ void __launch_bounds__(128) wave_sum(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(float, part, 128);
  const int tid = int(threadIdx.x), lane = tlc::wave_lane(), waves = 128 / tlc::wave_size();
  float x = X[blockIdx.x * 128 + tid];
  if (Fault == rowOfOtherDevice)
    x += tlc::dpp<0x142, 10>(0.0f, x); // mark: row
  x += tlc::dpp<0xb1>(0.0f, x); // neighbours, pairs, mirrored halves of rows, rows
  x += tlc::dpp<0x4e>(0.0f, x);
  x += tlc::dpp<0x141>(0.0f, x);
  x += tlc::dpp<0x140>(0.0f, x);
  for (int bits = 16; bits < tlc::wave_size(); bits *= 2) {
    if (Fault == laneSkips && tid == 77)
      continue;
    x += tlc::shfl_xor(x, bits); // mark: exchange
  }
  x = tlc::read_lane(x, Fault == differentLanes ? lane % 2 : 0); // mark: lane
  if (Fault != noPart || tid < 64)
    if (lane == 0)
      part[tid / tlc::wave_size()] = x;
  if (lane == 0)
    part[16 + tid / tlc::wave_size()] = x; // mark: own
  if (Fault != noWaveSync)
    tlc::wave_sync();
  const float mine = part[16 + tid / tlc::wave_size()]; // mark: look
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < waves; ++i)
    sum += part[i]; // mark: gather
  Y[blockIdx.x * 128 + tid] = sum + mine;
}
template <int Fault> bool waveSum() {
  std::vector<float> x(256);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(256);
  if (!startHip(wave_sum<Fault>, {2, 128, 128}, upload(x), y))
    return false;
  tlc::device_limits limits;
  if (tlc::query("test", 0, &limits) != TLC_OK)
    return false;
  const auto result = download(y, 256);
  for (size_t i = 0; i < 256; ++i) {
    float want = 0;
    for (size_t j = 0; j < 128; ++j)
      want += x[i / 128 * 128 + j];
    const size_t wave = size_t(limits.wave);
    for (size_t j = 0; j < wave; ++j)
      want += x[i / wave * wave + j];
    if (std::fabs(result[i] - want) > 1e-3f)
      return false;
  }
  return true;
}

// ---- Exchanges and votes: what each lane gets

__global__ void exchanges(int *out) {
  const int lane = tlc::wave_lane(), size = tlc::wave_size();
  int *mine = out + lane * 10;
  mine[0] = tlc::dpp<0x111>(-1, lane); // row_shr:1
  mine[1] = tlc::dpp<0x104>(-1, lane); // row_shl:4
  mine[2] = tlc::dpp<0x123>(-1, lane); // row_ror:3
  mine[3] = tlc::dpp<0xb1, 5>(-1, lane); // only rows 0 and 2
  mine[4] = tlc::shfl_up(lane, 3, 8);
  mine[5] = tlc::shfl_down(lane, 5);
  mine[6] = tlc::shfl(lane, 2, 4);
  mine[7] = tlc::read_first_lane(lane + 7) + tlc::read_lane(lane, size - 1);
  mine[8] = int(tlc::ballot(lane % 3 == 0) >> (size - 8));
  mine[9] = tlc::any(lane == 5) * 2 + tlc::all(lane >= 0);
}
bool lanesGet() {
  tlc::device_limits limits;
  if (tlc::query("test", 0, &limits) != TLC_OK)
    return false;
  const int size = limits.wave;
  int *out = reserve<int>(size_t(size) * 10);
  if (!startHip(exchanges, {1, unsigned(size)}, out))
    return false;
  const auto got = download(out, size_t(size) * 10);
  for (int lane = 0; lane < size; ++lane) {
    const int row = lane / 16 * 16, in = lane % 16;
    int vote = 0;
    for (int i = 0; i < 8; ++i)
      vote |= ((size - 8 + i) % 3 == 0) << i;
    const int want[10] = {in ? lane - 1 : -1,
                          in < 12 ? lane + 4 : -1,
                          row + (in + 13) % 16,
                          row / 16 % 2 ? -1 : lane ^ 1,
                          lane % 8 >= 3 ? lane - 3 : lane,
                          lane + 5 < size ? lane + 5 : lane,
                          lane / 4 * 4 + 2,
                          7 + size - 1,
                          vote,
                          3};
    for (int i = 0; i < 10; ++i)
      if (got[size_t(lane * 10 + i)] != want[i])
        return false;
  }
  return true;
}

// ---- Tiles of 256 floats that go to shared memory past the registers, two ahead; each thread reads another's

enum Direct {
  directClean,
  noWait,
  laxWait,
  noBarrierBehind,
  freedTooLate,
  baseOfLane,
  sixteenBytes,
};
template <int Fault> __global__ void __launch_bounds__(256) direct(const float *X, float *Y, int tiles) {
  TLC_DYNAMIC_SHARED(float, ring, 128); // 3 tiles
  const int tid = int(threadIdx.x), wave = tid / 64;
  const auto load = [&](int tile) {
    float *base = &ring[tile % 3 * 256 + wave * 64];
    if (Fault == sixteenBytes)
      tlc::load_to_shared<16>(base, &X[tile * 256 + tid]); // mark: load
    else
      tlc::load_to_shared<4>(Fault == baseOfLane ? base + tid % 2 * 4 : base, &X[tile * 256 + tid]); // mark: load
  };
  float sum = 0;
  load(0);
  if (tiles > 1)
    load(1);
  for (int tile = 0; tile < tiles; ++tile) {
    if (Fault == freedTooLate && tile + 2 < tiles)
      load(tile + 2);
    if (Fault == laxWait || (Fault == freedTooLate && tile + 2 < tiles))
      tlc::wait_loads<2>();
    else if (Fault != noWait && tile + 1 < tiles)
      tlc::wait_loads<1>();
    else if (Fault != noWait)
      tlc::wait_loads<0>();
    if (Fault != noBarrierBehind)
      tlc::barrier_only(); // mark: barrier
    if (Fault != freedTooLate && tile + 2 < tiles)
      load(tile + 2);
    sum += ring[tile % 3 * 256 + 255 - tid] * float(tile + 1); // mark: use
  }
  Y[tid] = sum;
}
template <int Fault> bool runDirect() {
  const int tiles = 6;
  std::vector<float> x(256 * tiles);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(256);
  if (!startHip(direct<Fault>, {1, 256, 3 * 1024}, upload(x), y, tiles))
    return false;
  const auto result = download(y, 256);
  for (size_t t = 0; t < 256; ++t) {
    float want = 0;
    for (size_t i = 0; i < size_t(tiles); ++i)
      want += x[i * 256 + 255 - t] * float(i + 1);
    if (std::fabs(result[t] - want) > 1e-3f)
      return false;
  }
  return true;
}

// ---- A barrier that waits for nothing: stores to shared memory must be waited for first

template <int Fault> __global__ void __launch_bounds__(128) reversed(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(float, row, 128);
  const int tid = int(threadIdx.x);
  for (int round = 0; round < 3; ++round) {
    row[round * 128 + tid] = X[tid] * float(round + 1); // mark: fill
    if (Fault != 1 || round != 1)
      tlc::wait_shared();
    tlc::barrier_only();
    Y[round * 128 + tid] = row[round * 128 + 127 - tid]; // mark: use
  }
}
template <int Fault> bool runReversed() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(3 * 128);
  if (!startHip(reversed<Fault>, {1, 128, 3 * 512}, upload(x), y))
    return false;
  const auto result = download(y, 3 * 128);
  for (size_t i = 0; i < 3 * 128; ++i)
    if (result[i] != x[127 - i % 128] * float(i / 128 + 1))
      return false;
  return true;
}

// ---- Rows by descriptor: what lies outside is zero, or is not written

enum Buffer { bufferClean, sizeTooLarge, misalignedOffset, sizeOfOther };
template <int Fault> __global__ void __launch_bounds__(64) shifted(const float *X, float *Y, int n) {
  const int tid = int(threadIdx.x);
  const tlc::buffer from = tlc::make_buffer(X, uint32_t(n + (Fault == sizeTooLarge) * 64) * 4);
  const tlc::buffer to = tlc::make_buffer(Y, uint32_t(n + (Fault == sizeOfOther) * 512) * 4);
  alignas(16) float x[4];
  tlc::buffer_load<16>(x, from, uint32_t(tid * 16 + 32 + (Fault == misalignedOffset) * 4)); // mark: load
  for (int i = 0; i < 4; ++i)
    x[i] += 1;
  tlc::buffer_store<16>(to, uint32_t(tid * 16), x); // mark: store
}
template <int Fault> bool runShifted() {
  const int n = 180; // of 256 that the lanes ask for
  std::vector<float> x(n);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(n);
  if (!startHip(shifted<Fault>, {1, 64}, upload(x), y, n))
    return false;
  const auto result = download(y, n);
  for (size_t i = 0; i < size_t(n); ++i)
    if (result[i] != (i + 8 < size_t(n) ? x[i + 8] : 0.0f) + 1)
      return false;
  return true;
}

// ---- The last block adds up what the others left: parts, a ticket that tells who is last

enum Ticket { ticketClean, relaxedTicket, blockScope, plainCount };
template <int Fault> __global__ void __launch_bounds__(64) ticket(const float *X, float *parts, int *drawn, float *Y) {
  TLC_DYNAMIC_SHARED(int, last, 128);
  const int tid = int(threadIdx.x), blocks = int(gridDim.x);
  float x = X[blockIdx.x * 64 + tid];
  for (int bits = 32; bits > 0; bits /= 2)
    x += tlc::shfl_xor(x, bits);
  if (tid == 0) {
    parts[blockIdx.x] = x; // mark: part
    if (Fault == plainCount)
      *last = ++*drawn; // mark: draw
    else if (Fault == relaxedTicket)
      *last = tlc::atomic_add(drawn, 1) + 1;
    else if (Fault == blockScope)
      *last = tlc::atomic_add<tlc::order::acq_rel, tlc::scope::block>(drawn, 1) + 1; // mark: draw
    else
      *last = tlc::atomic_add<tlc::order::acq_rel>(drawn, 1) + 1;
  }
  __syncthreads();
  if (*last == blocks && tid == 0) {
    float sum = 0;
    for (int i = 0; i < blocks; ++i)
      sum += parts[i]; // mark: gather
    *Y = sum;
  }
}
template <int Fault> bool runTicket() {
  std::vector<float> x(5 * 64);
  float want = 0;
  for (size_t i = 0; i < x.size(); ++i)
    want += x[i] = number(i);
  float *y = reserve<float>(1);
  if (!startHip(ticket<Fault>, {5, 64, 128}, upload(x), reserve<float>(5), upload(std::vector<int>{0}), y))
    return false;
  return std::fabs(download(y, 1)[0] - want) < 1e-3f;
}

// ---- What the host is told of the device

bool questions() {
  tlc::device_limits limits;
  const char *asked = std::getenv("EMU_ARCH");
  if (!asked || tlc::query("test", 0, &limits) != TLC_OK)
    return false;
  const int gfx = int(std::strtol(asked + 3, nullptr, 16));
  const bool compute = gfx < 0x1000;
  int waves = 0, shared = 0;
  return limits.capability == gfx && limits.wave == (compute ? 64 : 32) &&
         limits.shared == (gfx == 0x950 ? 160 : 64) * 1024 &&
         limits.multiprocessors == (gfx == 0x90a ? 104 : gfx == 0x942 ? 304 : gfx == 0x950 ? 256 : 48) &&
         hipDeviceGetAttribute(&waves, hipDeviceAttributeWarpSize, 0) == hipSuccess && waves == limits.wave &&
         hipDeviceGetAttribute(&shared, hipDeviceAttributeMaxSharedMemoryPerBlock, 1) == hipErrorInvalidDevice &&
         !startHip(reversed<0>, {1, 128, unsigned(limits.shared) + 1024}, upload(std::vector<float>(128)),
                   reserve<float>(384));
}

} // namespace

void addHipWaves(std::vector<Case> &cases) {
  const Case all[] = {
      {"waves: gfx90a", waveSum<sumClean>, "", "", "gfx90a"},
      {"waves: gfx942", waveSum<sumClean>, "", "", "gfx942"},
      {"waves: gfx1100", waveSum<sumClean>, "", "", "gfx1100"},
      {"waves: a lane skips the exchange", waveSum<laneSkips>, "collective,deadlock", "exchange,lane", "gfx942"},
      {"waves: different lanes read", waveSum<differentLanes>, "collective", "lane", "gfx1100"},
      {"waves: lanes taken for one", waveSum<noWaveSync>, "race,uninitialised", "look,own", "gfx942"},
      {"waves: a part is missing", waveSum<noPart>, "uninitialised", "gather", "gfx90a"},
      {"waves: a move that gfx11 lacks", waveSum<rowOfOtherDevice>, "device", "row", "gfx1100"},
      {"exchanges: gfx942", lanesGet, "", "", "gfx942"},
      {"exchanges: gfx1201", lanesGet, "", "", "gfx1201"},
      {"direct", runDirect<directClean>, "", "", "gfx942"},
      {"direct: no wait", runDirect<noWait>, "race,uninitialised", "use,load", "gfx942"},
      {"direct: a wait too lax", runDirect<laxWait>, "race,uninitialised", "use,load", "gfx942"},
      {"direct: no barrier", runDirect<noBarrierBehind>, "race,uninitialised", "use,load", "gfx942"},
      {"direct: loads before their place is free", runDirect<freedTooLate>, "race", "load,use", "gfx942"},
      {"direct: a base for each lane", runDirect<baseOfLane>, "collective", "load", "gfx942"},
      {"direct: 16 bytes", runDirect<sixteenBytes>, "device", "load", "gfx942"},
      {"direct: a device without", runDirect<directClean>, "device", "load", "gfx1100"},
      {"waits", runReversed<0>, "", "", "gfx90a"},
      {"waits: none before a barrier", runReversed<1>, "race", "use,fill", "gfx90a"},
      {"buffers", runShifted<bufferClean>, "", "", "gfx942"},
      {"buffers: longer than the memory", runShifted<sizeTooLarge>, "out-of-bounds", "load", "gfx942"},
      {"buffers: a store past the end", runShifted<sizeOfOther>, "out-of-bounds", "store", "gfx90a"},
      {"buffers: misaligned", runShifted<misalignedOffset>, "misaligned", "load", "gfx942"},
      {"ticket of waves", runTicket<ticketClean>, "", "", "gfx942"},
      {"ticket of waves: relaxed", runTicket<relaxedTicket>, "race", "gather,part", "gfx942"},
      {"ticket of waves: of a block only", runTicket<blockScope>, "race", "gather,part,draw", "gfx90a"},
      {"ticket of waves: counted plainly", runTicket<plainCount>, "race", "draw", "gfx942"},
      {"questions: gfx90a", questions, "", "", "gfx90a"},
      {"questions: gfx942", questions, "", "", "gfx942"},
      {"questions: gfx950", questions, "", "", "gfx950"},
      {"questions: gfx1100", questions, "", "", "gfx1100"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
