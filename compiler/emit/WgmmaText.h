// The text of the products of a warpgroup. There are some hundreds of shapes, all alike, so
// runtime/ does not hold them: a file gets those that it uses.
//   wgmma_m64n128k16_f16_f16_f32_ss   D (+)= A B with 64 x 128 sums; A and B in shared memory
//   wgmma_m64n128k16_f16_f16_f32_rs   A in registers
//   wgmma_sp_m64n128k32_f16_f16_f32_ss   A has zeros: of four neighbours along k (of two tf32) half
//                                        are kept, the metadata says which
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tlc::emit {

/// What a name of that form says. Types are spelled as in PTX.
struct WgmmaShape {
  unsigned n = 0, k = 0;
  std::string_view a, b, sum;
  bool sparse = false;    ///< k counts the zeros of A, too
  bool registers = false; ///< A is in registers

  /// Operands may be contiguous along m, n.
  bool transposable() const { return a == "f16" || a == "bf16"; }
  /// Pairs of lanes that may hold the metadata of each four.
  bool selectable() const { return sparse && (transposable() || a == "tf32"); }
  /// Registers of each thread that hold the sums: 32 bits each.
  unsigned sums() const { return sum == "f16" ? n / 4 : n / 2; }
};

/// None if sm_90a has no such product.
std::optional<WgmmaShape> wgmmaShape(std::string_view name);

/// The function of that name, for namespace tlc.
std::string wgmmaText(std::string_view name, const WgmmaShape &shape);

} // namespace tlc::emit
