// Vector clocks: what a thread knows of others, of its own realm and of foreign ones.
#include <algorithm>

#include "engine.h"

namespace emu {
static void join_times(std::vector<u32> &a, const std::vector<u32> &b) {
  if (a.size() < b.size())
    a.resize(b.size());
  u32 *x = a.data();
  const u32 *y = b.data();
  for (size_t i = 0, n = b.size(); i < n; ++i)
    x[i] = x[i] > y[i] ? x[i] : y[i];
}
void Clock::join(const Clock &o) {
  join_times(at, o.at);
  if (!o.foreign || o.foreign == foreign)
    return;
  if (!foreign) {
    foreign = o.foreign;
    return;
  }
  auto merged = std::make_shared<Foreign>(*foreign);
  for (auto &[g, t] : *o.foreign)
    join_times((*merged)[g], t);
  foreign = merged;
}
void Clock::join_foreign(u32 realm, const std::vector<u32> &times) {
  auto merged = foreign ? std::make_shared<Foreign>(*foreign) : std::make_shared<Foreign>();
  join_times((*merged)[realm], times);
  foreign = merged;
}
void Clock::learn(const Clock &o, u32 from, u32 own) {
  if (from == own)
    return join(o);
  join_foreign(from, o.at);
  if (!o.foreign)
    return;
  Clock others;
  others.foreign = o.foreign;
  join(others);
  if (auto it = o.foreign->find(own); it != o.foreign->end())
    join_times(at, it->second);
}
// All who come are told the same, so that what most of them knew is merged once and shared.
void GridBarrier::Known::gather(const Clock &c, u32 realm) {
  join_times(now[realm], c.at);
  if (!c.foreign || c.foreign == last)
    return;
  for (auto &[r, times] : *c.foreign)
    join_times(now[r], times);
  last = c.foreign;
}
void GridBarrier::Known::finish() { done = std::make_shared<const Foreign>(now), last = done; }
void GridBarrier::Known::tell(Clock &c, u32 realm) const {
  c.foreign = done; // what it knew came with it
  if (auto it = done->find(realm); it != done->end())
    join_times(c.at, it->second);
}
void Clock::meet(const Clock &o) {
  if (at.size() > o.at.size())
    at.resize(o.at.size());
  for (size_t i = 0; i < at.size(); ++i)
    at[i] = std::min(at[i], o.at[i]);
}
} // namespace emu
