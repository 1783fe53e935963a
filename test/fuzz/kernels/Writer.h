// What generators of random kernels share: random choices, names, lines of text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tlc::fuzz {

struct Tile {
  std::string name, dtype;
  bool isShared = false;
  std::vector<std::int64_t> shape;
  bool isFloat() const { return dtype[0] != 'i'; }
};

class Writer {
protected:
  explicit Writer(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 77) {}

  std::uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class T> T pick(std::vector<T> list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  std::int64_t pick(std::initializer_list<std::int64_t> list) {
    return pick(std::vector<std::int64_t>(list));
  }
  std::string name(const std::string &hint) { return "%" + hint + std::to_string(++counter); }
  void line(std::string &out, const std::string &text) {
    out += std::string(indent, ' ') + text + "\n";
  }
  static std::string num(std::int64_t n) { return std::to_string(n); }

  Tile alloc(std::string &out, const std::string &hint, const std::string &dtype, bool isShared,
             std::vector<std::int64_t> shape) {
    Tile t{name(hint), dtype, isShared, std::move(shape)};
    std::string extents;
    for (std::int64_t extent : t.shape)
      extents += (extents.empty() ? "" : ", ") + num(extent);
    line(out, "alloc " + t.name + ": " + (isShared ? "shared " : "fragment ") + dtype + "[" +
                  extents + "]");
    return t;
  }

  unsigned indent = 0;

private:
  std::uint64_t state;
  unsigned counter = 0;
};

} // namespace tlc::fuzz
