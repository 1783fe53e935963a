// Types of run-time scalars: the table of semantics.md §1 as data.
#pragma once

#include "support/DType.h"

#include <optional>

namespace tlc::elaborate {

/// Operators that share a row of the table.
enum class OperatorClass : unsigned char {
  Arithmetic, ///< + - * // % min max truncdiv truncmod
  Division,   ///< /
  Bitwise,    ///< & | ^
  Shift,      ///< << >>
  Equality,   ///< the type in which == and != compare
  Order,      ///< the type in which < <= > >= compare
};

/// The type in which an operator computes on operands of types `a` and `b`, lanes included (a
/// scalar meets a vector as its broadcast). Nothing if the two do not go together: float16 with
/// bfloat16, bits of a float, vectors of different lengths.
std::optional<DType> commonType(OperatorClass op, DType a, DType b);

/// A Python int that meets run-time values: int32, int64 if it does not fit; nothing if it fits
/// neither.
std::optional<DType> literalType(__int128 value);

/// The type in which a scalar function of the mathematical library computes: floats stay, ints and
/// bools become float32.
DType mathType(DType a);

/// "integers", "numbers of one kind": what commonType wanted, for messages.
const char *operandsWanted(OperatorClass op);

} // namespace tlc::elaborate
