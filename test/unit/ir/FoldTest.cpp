// Folding of conversions: what a wider or differently signed type in between does not change.
#include "ir/Expr.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::ir;

TEST_CASE("integers come back from other types as they were") {
  Context context;
  DType i32(Scalar::Int32), u32(Scalar::UInt32), i64(Scalar::Int64), i8(Scalar::Int8);
  Expr x = context.var("x", i32), u = context.var("u", u32);
  CHECK(context.cast(i32, context.cast(u32, x)) == x);
  CHECK(context.cast(u32, context.cast(i32, u)) == u);
  CHECK(context.cast(i32, context.cast(i64, x)) == x);
  CHECK(context.cast(i32, context.cast(i8, x)) != x);
}

TEST_CASE("divisions are done in the type of what is divided") {
  Context context;
  DType i32(Scalar::Int32), i64(Scalar::Int64);
  Expr x = context.var("x", i32), wide = context.cast(i64, x);
  CHECK(context.cast(i32, floorDiv(wide, 8)) == floorDiv(x, 8));
  CHECK(context.cast(i32, floorMod(wide, 8)) == floorMod(x, 8));
  // The divisor does not fit, or the dividend is more than a widened number.
  CHECK(context.cast(i32, floorDiv(wide, std::int64_t{1} << 40)).kind() == ExprKind::Cast);
  CHECK(context.cast(i32, floorDiv(wide * 3, 8)).kind() == ExprKind::Cast);
}

TEST_CASE("constants of a comparison meet on one side unless they leave their type there") {
  Context context;
  const std::int64_t smallest = std::numeric_limits<std::int32_t>::min(),
                     largest = std::numeric_limits<std::int32_t>::max();
  Expr x = context.var("x", DType(Scalar::Int32));
  CHECK(lessThan(x + 5, 9) == lessThan(x, 4));
  CHECK(lessThan(x + 5, smallest + 5) == lessThan(x, smallest));
  for (Expr kept : {lessThan(x + 5, smallest + 4), lessThan(x - 5, largest - 4)}) {
    CHECK(kept->operands[0] != x);
    CHECK(std::abs(kept->operands[1]->integer) >= largest - 4);
  }
}
