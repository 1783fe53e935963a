// Layouts: one algebra for fragments, shared tiles, global tensors and packed panels.
//
// A Layout is a total function from a box of input coordinates to a tuple of output coordinates.
// Three uses:
//
//   fragment   (reg, thread) -> tile coordinate      which element a register of a thread holds
//   memory     tile coordinate -> offset             where an element lives, in elements
//   access     (reg, thread) -> offset               the composition of the two: what a warp
//   touches
//
// Each input axis is read as a mixed-radix number: a list of digits, least significant first. Each
// output is
//
//   base + sum over terms of weight * value(term)
//
// where the value of a term is one digit (any radix), or the XOR of several digits that are all
// bits (radix 2). Plain strides, padding and odd sizes live in the weights and radices; swizzles
// live in the XORs. A digit that occurs in no term is *free*: moving along it does not change the
// result (replication).
//
// Functions return std::nullopt where the result has no such form; they throw LayoutError on a
// malformed call.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc {

using Index = std::int64_t;
using DigitSet = std::uint64_t; // bit i stands for digit i, counted through all input axes in order
using Point = std::vector<Index>; // one coordinate per axis, in axis order
using Sizes = std::vector<std::pair<std::string, Index>>;

struct LayoutError : std::logic_error {
  using std::logic_error::logic_error;
};

/// A short list that lives in place: layouts are made and copied by the thousand.
template <typename T, unsigned N> class Few : public llvm::SmallVector<T, N> {
public:
  using llvm::SmallVector<T, N>::SmallVector;
  T &at(std::size_t i) { return const_cast<T &>(std::as_const(*this).at(i)); }
  const T &at(std::size_t i) const {
    if (i >= this->size())
      throw LayoutError("no such axis or digit");
    return (*this)[i];
  }
  template <typename Predicate> void eraseIf(Predicate &&predicate) {
    this->erase(std::remove_if(this->begin(), this->end(), predicate), this->end());
  }
};

/// An input axis: its digits' radices, least significant first.
struct InputAxis {
  std::string name;
  Few<Index, 8> radices;
  Index size() const;
  bool operator==(const InputAxis &) const = default;
};

/// `weight * value`; the value is the digit in `digits`, or the XOR of the bits in `digits`, then
/// inverted if `flip`.
struct Term {
  DigitSet digits = 0;
  Index weight = 1;
  bool flip = false;
  bool operator==(const Term &) const = default;
};

/// An output axis: its values are in [0, size).
struct OutputAxis {
  std::string name;
  Index size = 1;
  Index base = 0;
  Few<Term, 8> terms;
  bool operator==(const OutputAxis &) const = default;
};

/// `radix` consecutive values of an input axis, worth `weight` each on output `output` (free if
/// `output` is empty).
struct Digit {
  Index radix;
  std::string output = {};
  Index weight = 1;
};

struct Layout {
  Few<InputAxis, 2> inputs;
  Few<OutputAxis, 2> outputs;

  /// The same form; `equal` (Algebra.h) compares functions.
  bool operator==(const Layout &) const = default;

  /// From digit lists, e.g. the m16n8 accumulator:
  /// make({{"reg", {{2,"n"},{2,"m",8}}}, {"thread", {{4,"n",2},{8,"m"}}}}, {{"m",16},{"n",8}}).
  static Layout make(const std::vector<std::pair<std::string, std::vector<Digit>>> &inputs,
                     const Sizes &outputs);
  /// (c0, c1, ...) -> (c0, c1, ...).
  static Layout identity(const Sizes &axes);
  /// (c0, c1, ...) -> sum of stride * coordinate. `span` is the number of addressed elements, 0 to
  /// compute it.
  static Layout strided(const Sizes &axes, const std::vector<Index> &strides,
                        const std::string &output, Index span = 0);
  /// Row-major strided: the last axis varies fastest; `pad` elements are added to the pitch of the
  /// last axis.
  static Layout rowMajor(const Sizes &axes, const std::string &output = "offset", Index pad = 0);
  /// Inverse of rowMajor: flat -> (c0, c1, ...).
  static Layout unflatten(const std::string &input, const Sizes &axes);

  Point operator()(std::span<const Index> point) const;
  Point operator()(std::initializer_list<Index> point) const {
    return (*this)(std::span(point.begin(), point.size()));
  }

  const InputAxis &input(std::string_view name) const;
  const OutputAxis &output(std::string_view name) const;
  bool hasInput(std::string_view name) const;
  Sizes inputSizes() const;
  Sizes outputSizes() const;
  Index domainSize() const;
  int digitCount() const;
  Index radix(int digit) const;
  /// (input axis index, place value) of a digit.
  std::pair<int, Index> place(int digit) const;

  /// Adds the XOR of input bits `from` (place values of an axis) into the term of weight `weight`
  /// of `output`: the way to write a swizzle. All digits involved must be bits; digits are split as
  /// needed.
  Layout &xorInto(const std::string &output, Index weight, const std::string &axis, Index place);

  /// Makes place value `place` of input axis `axis` a digit boundary; false if no digit can be cut
  /// there.
  bool cut(int axis, Index place);
  /// Merges digits that act as one, drops radix-1 digits and constant terms, sorts terms. Every
  /// function returns this form.
  void normalize();
  /// Throws LayoutError if an invariant is broken.
  void check() const;
  /// Text form: `reg(2:n 2:m*8) thread(4:n*2 8:m) -> m<16 n<8`; XOR terms are listed behind.
  std::string str() const;
};

/// Calls `f(point)` for each point of the input box, the first axis fastest.
void forEachPoint(const Layout &l, const std::function<void(const Point &)> &f);

} // namespace tlc
