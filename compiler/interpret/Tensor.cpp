#include "interpret/Interpreter.h"
#include "interpret/Numeric.h"

#include <cmath>

namespace tlc::interpret {

Tensor::Tensor(DType dtype, std::vector<std::int64_t> shape)
    : dtype(dtype), shape(std::move(shape)) {
  // Elements of 6 bits may be read a byte beyond the last one.
  data.resize(static_cast<std::size_t>(storageBytes(dtype, count())) + (dtype.bits() == 6));
}

std::int64_t Tensor::count() const {
  std::int64_t n = 1;
  for (std::int64_t extent : shape)
    n *= extent;
  return n;
}

namespace {

Value load(const Tensor &t, std::int64_t index) {
  const Codec &c = codec(t.dtype.scalar);
  std::int64_t bit = index * c.bits;
  return c.load(t.data.data() + (bit >> 3), static_cast<unsigned>(bit & 7));
}

void store(Tensor &t, std::int64_t index, Value value) {
  const Codec &c = codec(t.dtype.scalar);
  std::int64_t bit = index * c.bits;
  c.store(t.data.data() + (bit >> 3), static_cast<unsigned>(bit & 7), value);
}

} // namespace

double Tensor::real(std::int64_t index) const { return load(*this, index).f; }
std::int64_t Tensor::integer(std::int64_t index) const { return load(*this, index).i; }

double Tensor::at(std::int64_t index) const {
  Value v = load(*this, index);
  return dtype.isFloat()                  ? v.f
         : dtype.scalar == Scalar::UInt64 ? static_cast<double>(static_cast<std::uint64_t>(v.i))
                                          : static_cast<double>(v.i);
}

void Tensor::set(std::int64_t index, double value) {
  bool saturates = dtype.isFloat() && dtype.bits() <= 8 && !std::isinf(value);
  store(*this, index, convert(DType(Scalar::Float64), dtype, {.f = value}, saturates));
}

void Tensor::setInteger(std::int64_t index, std::int64_t value) {
  store(*this, index, convert(DType(Scalar::Int64), dtype, {.i = value}));
}

void Tensor::fillRandom(std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x1234567;
  std::int64_t low = dtype.isUInt()     ? 0
                     : dtype.bits() < 8 ? -4
                                        : -8,
               span = dtype.isUInt() ? 8 : 2 * -low;
  for (std::int64_t i = 0; i < count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t bits = state >> 33;
    if (dtype.isBool())
      setInteger(i, static_cast<std::int64_t>(bits >> 10 & 1));
    else if (dtype.isInteger())
      setInteger(i, low + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(span)));
    else
      set(i, static_cast<double>(bits) / static_cast<double>(1u << 30) - 1);
  }
}

} // namespace tlc::interpret
