// What passes conclude from: whether a trip count grows along the grid. A wrong "grows" would pair
// tiles that do not make up for each other; a wrong "constant" would share unequal tiles out
// evenly.
#include "analysis/Monotone.h"
#include "ir/Builder.h"

#include <catch2/catch.hpp>

#include <random>

using namespace tlc;
using namespace tlc::ir;
using tlc::analysis::Direction;
using tlc::analysis::directionOf;
using tlc::analysis::Ranges;

namespace {

const DType i32(Scalar::Int32);

struct Fixture {
  Context context;
  Function function{context};
  Ranges ranges;
  Expr x = context.var("x", i32), y = context.var("y", i32);

  Fixture() {
    ranges.bindVar(x, {0, 100});
    ranges.bindVar(y, {-50, 50});
  }
  std::optional<Direction> along(Expr e) { return directionOf(e, x, ranges); }
};

} // namespace

TEST_CASE("the direction of trip counts as kernels write them") {
  Fixture f;
  Expr rows = floorDiv((f.x + 1) * 128 + 63, 64);
  CHECK(f.along(rows) == Direction::Grows);
  CHECK(f.along(minimum(f.y, rows)) == Direction::Grows);
  CHECK(f.along(f.context.int32(40) - rows) == Direction::Shrinks);
  CHECK(f.along(floorDiv(f.y + 63, 64)) == Direction::Constant);
  CHECK(f.along(f.context.cast(Scalar::Int64, rows)) == Direction::Grows);
  CHECK(f.along(f.x * -2) == Direction::Shrinks);
}

TEST_CASE("what may go either way is not known") {
  Fixture f;
  CHECK_FALSE(f.along(f.x * f.y));
  CHECK_FALSE(f.along(floorMod(f.x, 8)));
  CHECK_FALSE(f.along(f.x - floorDiv(f.x, 2)));
  CHECK_FALSE(f.along(minimum(f.x, f.y - f.x)));
  CHECK_FALSE(f.along(f.context.select(lessThan(f.y, 0), f.x, f.y)));
}

TEST_CASE("definitions are looked through") {
  Fixture f;
  Expr steps = f.context.var("steps", i32);
  f.ranges.define(steps, f.x * 2 + 1);
  CHECK(f.along(floorDiv(steps, 3)) == Direction::Grows);
}

TEST_CASE("a direction that is claimed holds for all values") {
  std::mt19937 random(7);
  auto pick = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  for (unsigned round = 0; round < 300; ++round) {
    Fixture f;
    std::vector<Expr> pool = {f.x, f.y, f.context.int32(3), f.context.int32(-2)};
    for (unsigned i = 0; i < 6; ++i) {
      Expr a = pool[pick(static_cast<unsigned>(pool.size()))];
      Expr b = pool[pick(static_cast<unsigned>(pool.size()))];
      switch (pick(6)) {
      case 0:
        pool.push_back(a + b);
        break;
      case 1:
        pool.push_back(a - b);
        break;
      case 2:
        pool.push_back(minimum(a, b));
        break;
      case 3:
        pool.push_back(maximum(a, b));
        break;
      case 4:
        pool.push_back(a * (static_cast<std::int64_t>(pick(5)) - 2));
        break;
      default:
        pool.push_back(floorDiv(a, 1 + static_cast<std::int64_t>(pick(4))));
        break;
      }
    }
    Expr e = pool.back();
    auto direction = f.along(e);
    if (!direction)
      continue;
    for (std::int64_t y : {-7, 0, 5}) {
      std::optional<std::int64_t> before;
      for (std::int64_t x = 0; x < 12; ++x) {
        Substitution at{{f.x, f.context.int32(x)}, {f.y, f.context.int32(y)}};
        Expr value = substitute(e, at);
        REQUIRE(value.constant());
        std::int64_t now = *value.constant();
        if (before)
          switch (*direction) {
          case Direction::Grows:
            CHECK(now >= *before);
            break;
          case Direction::Shrinks:
            CHECK(now <= *before);
            break;
          case Direction::Constant:
            CHECK(now == *before);
            break;
          }
        before = now;
      }
    }
  }
}

TEST_CASE("sums that are not negative where a comparison holds") {
  Fixture f;
  auto is = [](Expr comparison, Expr sum) {
    auto found = analysis::notNegativeWhere(comparison);
    Linear wanted = linear(sum);
    return found && found->constant == wanted.constant && found->terms == wanted.terms;
  };
  CHECK(is(lessEqual(f.x, f.y), f.y - f.x));
  CHECK(is(lessThan(f.x, f.y), f.y - f.x - 1));
  auto compared = [&](BinaryOp op) { return f.context.binary(op, f.x, f.y); };
  CHECK(is(compared(BinaryOp::Ge), f.x - f.y));
  CHECK(is(compared(BinaryOp::Gt), f.x - f.y - 1));
  Expr wide = f.context.cast(Scalar::Int64, f.x + 3);
  CHECK(is(lessEqual(wide * 2, f.context.cast(Scalar::Int64, f.y)), f.y - f.x * 2 - 6));
  CHECK(is(lessThan(f.x * 2, f.x + f.y), f.y - f.x - 1));
  CHECK_FALSE(analysis::notNegativeWhere(equals(f.x, f.y)));
  CHECK_FALSE(analysis::notNegativeWhere(f.x + f.y));
  Expr u = f.context.var("u", Scalar::UInt32), v = f.context.var("v", Scalar::Float32);
  CHECK_FALSE(analysis::notNegativeWhere(lessThan(u, u + 1)));
  CHECK_FALSE(analysis::notNegativeWhere(lessThan(v, v + v)));
}

TEST_CASE("sums are of 32 bits where every part of them is known to fit") {
  Fixture f;
  Expr any = f.context.var("any", Scalar::Int32), small = f.context.var("small", Scalar::Int32);
  Ranges ranges;
  ranges.bindVar(small, {0, 1000});
  auto bits = [&](Expr sum) {
    return analysis::exactSum(f.context, linear(sum), ranges).dtype().bits();
  };
  CHECK(bits(small * 64 + 63) == 32);
  CHECK(bits(any) == 32);
  CHECK(bits(any - small) == 64);
  CHECK(bits(any + 1) == 64);
  CHECK(bits(any * 2) == 64);
  CHECK(bits(small * 4000000) == 64);
}
