// Layouts as integer expressions.
#pragma once

#include "layout/Layout.h"

namespace tlc {

/// One summand of an output: weight * (XOR of fields, XOR constant). A field is `axis / divisor %
/// modulus`; modulus 0: none.
struct Field {
  int axis;
  Index divisor, modulus;
};
struct Summand {
  Index weight;
  std::vector<Field> fields;
  Index constant = 0;
};
/// Runs of XOR bits are gathered, so that a 128-byte swizzle is one XOR of two fields.
std::vector<Summand> summands(const Layout &l, const OutputAxis &output);
/// C text of one output (unsigned arithmetic; shifts and masks where sizes are powers of two).
std::string expression(const Layout &l, const OutputAxis &output);

/// How output `o` depends on `axis` against the other axes: o(x, y) = o(x, 0) + o(0, y) (Add), ^
/// (Xor), or neither. Add lets unrolled register offsets be immediates; Xor lets them be XORed onto
/// one precomputed address.
enum class Separation { Add, Xor, None };
Separation separation(const Layout &l, const OutputAxis &o, const std::string &axis);

} // namespace tlc
