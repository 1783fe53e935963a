// Conversions executed on simulated threads, and C expressions evaluated: what the plans and texts
// claim to do.
#pragma once

#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <stdexcept>

namespace tlc::test {

/// Runs a conversion on real data: element (tile coordinate, flattened) in each register of each
/// thread.
inline bool simulate(const Conversion &c, const Layout &from, const Layout &to, Index bytes,
                     const Sizes &shape = {}) {
  Index threads = to.input("thread").size(), regsFrom = from.input("reg").size(),
        regsTo = to.input("reg").size();
  std::vector<std::vector<Point>> have(threads, std::vector<Point>(regsFrom)),
      got(threads, std::vector<Point>(regsTo));
  for (Index t = 0; t < threads; ++t)
    for (Index r = 0; r < regsFrom; ++r)
      have[t][r] = from({r, t});
  if (c.kind == ConversionKind::None || c.kind == ConversionKind::Registers) {
    for (Index t = 0; t < threads; ++t)
      for (Index r = 0; r < regsTo; ++r)
        got[t][r] = have[t][c.registers[r]];
  } else if (c.kind == ConversionKind::Shuffle) {
    std::map<std::vector<Index>, Index> classes; // rounds by source map
    for (Index k = 0; k < c.shuffle->rounds; ++k) {
      std::vector<Index> map, own(threads);
      for (Index t = 0; t < threads; ++t)
        map.push_back(c.shuffle->source({k, t})[0]);
      std::iota(own.begin(), own.end(), 0);
      if (map != own)
        ++classes[map];
    }
    Index words = 0;
    for (auto &[map, rounds] : classes)
      words += (rounds * bytes + 3) / 4;
    if (words != c.shuffle->instructions)
      return false;
    for (Index k = 0; k < c.shuffle->rounds; ++k)
      for (Index t = 0; t < threads; ++t) {
        Index s = c.shuffle->source({k, t})[0];
        if (s / 32 != t / 32)
          return false;
        got[t][c.shuffle->receive({k, t})[0]] = have[s][c.shuffle->provide({k, s})[0]];
      }
  } else {
    std::map<Index, Point> memory;
    for (Index t = 0; t < threads; ++t)
      for (Index r = 0; r < regsFrom; ++r)
        memory[c.shared->memory(have[t][r])[0]] = have[t][r];
    for (Index t = 0; t < threads; ++t)
      for (Index r = 0; r < regsTo; ++r) {
        auto at = memory.find(c.shared->memory(to({r, t}))[0]);
        if (at != memory.end())
          got[t][r] = at->second;
      }
  }
  for (Index t = 0; t < threads; ++t)
    for (Index r = 0; r < regsTo; ++r) {
      Point want = to({r, t});
      bool needed = true;
      for (std::size_t i = 0; i < shape.size(); ++i)
        needed = needed && want[i] < shape[i].second;
      if (needed && got[t][r] != want)
        return false;
    }
  return true;
}

/// Does every thread hold what it needs, in a register that all threads agree on?
inline bool needsNoThread(const Layout &from, const Layout &to) {
  for (Index r = 0; r < to.input("reg").size(); ++r) {
    bool some = false;
    for (Index s = 0; s < from.input("reg").size() && !some; ++s) {
      bool every = true;
      for (Index t = 0; t < to.input("thread").size() && every; ++t)
        every = from({s, t}) == to({r, t});
      some = every;
    }
    if (!some)
      return false;
  }
  return true;
}

/// Evaluates the integer expressions that expression() prints.
struct Evaluator {
  const std::string &text;
  const std::map<std::string, Index> &variables;
  std::size_t i = 0;
  void blank() {
    while (i < text.size() && text[i] == ' ')
      ++i;
  }
  bool eat(const std::string &s) {
    blank();
    if (text.compare(i, s.size(), s))
      return false;
    i += s.size();
    return true;
  }
  Index primary() {
    if (eat("(")) {
      Index v = binary(0);
      if (!eat(")"))
        throw std::runtime_error("missing )");
      return v;
    }
    blank();
    std::size_t start = i;
    while (i < text.size() && (std::isalnum(text[i]) || text[i] == '_'))
      ++i;
    std::string token = text.substr(start, i - start);
    return std::isdigit(token.at(0)) ? std::stoll(token) : variables.at(token);
  }
  Index binary(int level) { // C precedence: ^ & (<< >>) + (* / %)
    static const std::vector<std::vector<std::string>> levels{
        {"^"}, {"&"}, {"<<", ">>"}, {"+"}, {"*", "/", "%"}};
    if (level == 5)
      return primary();
    Index v = binary(level + 1);
    for (bool again = true; again;) {
      again = false;
      for (auto &op : levels[level])
        if (eat(op)) {
          Index w = binary(level + 1);
          v = op == "^"    ? v ^ w
              : op == "&"  ? v & w
              : op == "<<" ? v << w
              : op == ">>" ? v >> w
              : op == "+"  ? v + w
              : op == "*"  ? v * w
              : op == "/"  ? v / w
                           : v % w;
          again = true;
        }
    }
    return v;
  }
};

inline Index evaluate(const std::string &text, const Layout &l, const Point &p) {
  std::map<std::string, Index> variables;
  for (std::size_t a = 0; a < p.size(); ++a)
    variables[l.inputs[a].name] = p[a];
  Evaluator e{text, variables};
  Index v = e.binary(0);
  e.blank();
  if (e.i != text.size())
    throw std::runtime_error("left over: " + text.substr(e.i));
  return v;
}

inline void checkExpressions(const Layout &l) {
  for (std::size_t o = 0; o < l.outputs.size(); ++o) {
    std::string text = expression(l, l.outputs[o]);
    all(l, [&](const Point &p, const Point &v) { EXPECT(evaluate(text, l, p) == v[o]); });
  }
}

} // namespace tlc::test
