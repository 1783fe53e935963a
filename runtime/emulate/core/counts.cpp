// What each line did, for EMU_COUNTS: bytes, requests of warps, sectors, bank conflicts, products
// and barriers.
//
// A request is one access of a warp: the accesses of its lanes at one place in the text, each
// lane's n-th since the warp was last together. Lanes run one after the other, so requests are
// gathered until a barrier or a collective of the whole warp, then judged:
//
//   global   sectors of 32 bytes that any lane touches
//   shared   the lanes go in phases of 128 bytes (32 lanes of up to 4 bytes, 16 of 8, 8 of 16); a
//            phase takes as many wavefronts as the worst of the 32 banks has different words
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "engine.h"

namespace emu {
namespace {
constexpr const char *kNames[] = {
    "global_read_bytes", "global_written_bytes",
    "global_requests",   "global_sectors",
    "shared_read_bytes", "shared_written_bytes",
    "shared_requests",   "shared_wavefronts",
    "bank_conflicts",    "atomics",
    "products",          "multiply_adds",
    "barriers",
};
constexpr size_t kCounters = sizeof kNames / sizeof *kNames;
static_assert(kCounters == size_t(Counter::count));
using Line = std::array<u64, kCounters>;

std::map<u32, Line> lines; // by the mark of an emitted line, see report.cpp
std::string file_name;     // EMU_COUNTS

u64 &at(u32 pc, Counter c) { return lines[pc][size_t(c)]; }

struct Request {
  Lanes lanes = 0;
  Address address[kLanes];
};
/// Requests of one warp at one place that wait for the warp's other lanes.
struct Gathered {
  u32 pc = 0, bytes = 0;
  bool shared = false;
  u32 visits[kLanes] = {};
  std::vector<Request> requests;
};

u64 sectors_of(const Request &r, u32 bytes) {
  std::vector<Address> sectors;
  for (int l = 0; l < kLanes; ++l)
    if (r.lanes & lane_bit(l))
      for (Address s = r.address[l] / 32; s <= (r.address[l] + bytes - 1) / 32; ++s)
        sectors.push_back(s);
  std::sort(sectors.begin(), sectors.end());
  return u64(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
}
/// Wavefronts, and how many of them are there because lanes meet in a bank.
std::pair<u64, u64> wavefronts_of(const Request &r, u32 bytes) {
  const int together = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  u64 wavefronts = 0, conflicts = 0;
  for (int first = 0; first < kLanes; first += together) {
    std::vector<Address> words;
    for (int l = first; l < first + together; ++l)
      if (r.lanes & lane_bit(l))
        for (Address w = r.address[l] / 4; w <= (r.address[l] + bytes - 1) / 4; ++w)
          words.push_back(w);
    if (words.empty())
      continue;
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    u64 bank[32] = {}, worst = 0;
    for (Address w : words)
      worst = std::max(worst, ++bank[w % 32]);
    wavefronts += worst, conflicts += worst - 1;
  }
  return {wavefronts, conflicts};
}
} // namespace

struct Requests {
  std::unordered_map<u64, Gathered> by_place;
};

bool counting = false;

static void write_counts() {
  std::set<u32> marks;
  for (auto &[pc, line] : lines)
    marks.insert(pc);
  std::map<std::string, Line> sums; // several places in the text may be one line of the user's
  for (auto &[pc, place] : places_of(marks)) {
    Line &sum = sums[place.user.empty() ? place.emitted : place.user];
    for (size_t i = 0; i < kCounters; ++i)
      sum[i] += lines[pc][i];
  }
  FILE *file = std::fopen(file_name.c_str(), "w");
  if (!file) {
    std::fprintf(stderr, "emu: cannot write the counts to %s\n", file_name.c_str());
    return;
  }
  std::fputs("place", file);
  for (const char *name : kNames)
    std::fprintf(file, "\t%s", name);
  for (auto &[place, sum] : sums) {
    std::fprintf(file, "\n%s", place.c_str());
    for (u64 value : sum)
      std::fprintf(file, "\t%llu", (unsigned long long)value);
  }
  std::fputc('\n', file);
  std::fclose(file);
}
void start_counting(const char *file) {
  counting = true, file_name = file;
  std::atexit(write_counts);
}

void count(Counter c, u32 pc, u64 n) {
  if (counting)
    at(pc, c) += n;
}
void count_bytes(Address address, size_t bytes, bool write, u32 pc) {
  if (counting && device_address(address))
    at(pc, address >= kSharedBase
               ? (write ? Counter::shared_written_bytes : Counter::shared_read_bytes)
               : (write ? Counter::global_written_bytes : Counter::global_read_bytes)) += bytes;
}
void count_access(Thread *t, Address address, size_t bytes, bool write, u32 pc) {
  if (!counting || !device_address(address) || !bytes)
    return;
  const bool shared = address >= kSharedBase;
  count_bytes(address, bytes, write, pc);
  if (bytes > 16) // a bulk copy is no request of a warp
    return;
  std::shared_ptr<Requests> &requests = t->block->warps[size_t(t->warp)].requests;
  if (!requests)
    requests = std::make_shared<Requests>();
  Gathered &g = requests->by_place[u64(pc) << 2 | u64(write) << 1 | u64(shared)];
  g.pc = pc, g.bytes = std::max(g.bytes, u32(bytes)), g.shared = shared;
  const u32 visit = g.visits[t->lane]++;
  if (visit >= g.requests.size())
    g.requests.resize(visit + 1);
  g.requests[visit].lanes |= lane_bit(t->lane);
  g.requests[visit].address[t->lane] = address;
}
void settle_requests(Warp &w) {
  if (!w.requests)
    return;
  for (auto &[place, g] : w.requests->by_place)
    for (const Request &r : g.requests) {
      if (!g.shared) {
        ++at(g.pc, Counter::global_requests);
        at(g.pc, Counter::global_sectors) += sectors_of(r, g.bytes);
        continue;
      }
      const auto [wavefronts, conflicts] = wavefronts_of(r, g.bytes);
      ++at(g.pc, Counter::shared_requests);
      at(g.pc, Counter::shared_wavefronts) += wavefronts;
      at(g.pc, Counter::bank_conflicts) += conflicts;
    }
  w.requests.reset();
}
} // namespace emu
