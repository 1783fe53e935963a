#include "analysis/Ranges.h"
#include "ir/Print.h"

#include <catch2/catch.hpp>

#include <random>

using namespace tlc;
using namespace tlc::ir;
using tlc::analysis::Ranges;

namespace {

const DType i32(Scalar::Int32), i64(Scalar::Int64);

struct Fixture {
  Context context;
  Function function{context};
  Expr m = dim("M"), n = dim("N");

  Expr dim(const char *name) {
    Expr var = context.var(name, i64);
    function.dims.push_back({var, name, false, {}});
    return var;
  }
  void constrain(Expr condition) { function.constraints.push_back({condition, "", {}}); }
  Expr wide(Expr e) { return context.cast(i64, e); }
  Launch &launch(std::vector<Expr> grid) {
    auto launch = std::make_unique<Launch>();
    launch->grid = std::move(grid);
    for (std::size_t d = 0; d < launch->grid.size(); ++d)
      launch->blockVars.push_back(context.var("b", i32));
    launch->tid = context.var("tid", i32);
    function.launches.push_back(std::move(launch));
    return *function.launches.back();
  }
};

std::unique_ptr<ForStmt> loop(Context &context, Expr lo, Expr hi, Expr step = {}) {
  auto result = std::make_unique<ForStmt>();
  result->var = context.var("k", lo.dtype());
  result->lo = lo;
  result->hi = hi;
  result->step = step;
  return result;
}

} // namespace

TEST_CASE("a tile is inside when the dim is a multiple of it") {
  Fixture f;
  SECTION("constrained") {
    f.constrain(equals(floorMod(f.m, 128), 0));
    Launch &launch = f.launch({ceilDiv(f.m, 128)});
    Ranges ranges(f.function);
    ranges.enter(launch);
    Expr start = f.wide(launch.blockVars[0]) * 128;
    CHECK(ranges.lessEqual(start + 128, f.m));
    CHECK_FALSE(ranges.lessEqual(start + 129, f.m));
    CHECK(ranges.divisible(f.m, 64));
    CHECK(ranges.alignment(start, 1024) == 128);
  }
  SECTION("not constrained") {
    Launch &launch = f.launch({ceilDiv(f.m, 128)});
    Ranges ranges(f.function);
    ranges.enter(launch);
    Expr start = f.wide(launch.blockVars[0]) * 128;
    CHECK_FALSE(ranges.lessEqual(start + 128, f.m));
    CHECK(ranges.less(start, f.m));
    CHECK(ranges.nonNegative(start));
  }
}

TEST_CASE("loops bound their variables, with steps and guards") {
  Fixture f;
  Ranges ranges(f.function);
  auto k = loop(f.context, f.context.integer(i64, 0), f.n);
  ranges.bind(*k);
  CHECK(ranges.less(k->var, f.n));
  CHECK(ranges.nonNegative(k->var));
  {
    Ranges::Scope scope(ranges);
    ranges.assume(lessThan(k->var + 2, f.n));
    CHECK(ranges.less(k->var + 2, f.n));
    CHECK(ranges.less(k->var + 1, f.n));
    CHECK_FALSE(ranges.less(k->var + 3, f.n));
  }
  CHECK_FALSE(ranges.less(k->var + 1, f.n));
  auto s = loop(f.context, f.context.integer(i64, 4), f.context.integer(i64, 20),
                f.context.integer(i64, 4));
  ranges.bind(*s);
  CHECK(ranges.divisible(s->var, 4));
  CHECK(ranges.lessEqual(s->var, f.context.integer(i64, 16)));
  CHECK(ranges.interval(s->var).lo == 4);
}

TEST_CASE("slots of a ring differ") {
  Fixture f;
  Ranges ranges(f.function);
  auto k = loop(f.context, f.context.int32(0), f.context.int32(100));
  ranges.bind(*k);
  Expr slot = floorMod(k->var, 3);
  CHECK(ranges.differ(slot, floorMod(k->var + 2, 3)));
  CHECK(ranges.differ(slot, floorMod(k->var + 1, 3)));
  CHECK_FALSE(ranges.differ(slot, floorMod(k->var + 3, 3)));
  CHECK(ranges.equal(slot, floorMod(k->var + 3, 3)));
  CHECK(ranges.decide(lessThan(slot, 3)) == true);
}

TEST_CASE("what is below something has something below it") {
  Fixture f;
  Ranges ranges(f.function);
  LetStmt let;
  let.var = f.context.var("bx", i64), let.value = floorMod(f.n, f.m) - floorDiv(f.n, f.m);
  ranges.bind(let);
  Expr zero = f.context.integer(i64, 0), tiles = ceilDiv(f.m, 256), rounds = ceilDiv(f.m, 64);
  CHECK_FALSE(ranges.less(zero, tiles));
  ranges.assume(lessThan(let.var, tiles));
  CHECK_FALSE(ranges.less(zero, tiles)); // what bx is at least is not known
  ranges.assume(lessEqual(zero, let.var));
  ranges.assume(lessThan(let.var, tiles));
  CHECK(ranges.less(zero, tiles));
  CHECK(ranges.less(zero, f.m));
  CHECK(ranges.less(zero, rounds));
  CHECK(ranges.decide(lessThan(zero, minimum(rounds, let.var * 4 + 4))) == true);
  CHECK_FALSE(ranges.less(f.context.integer(i64, 1), rounds));
}

TEST_CASE("a quotient is at least what its dividend reaches") {
  Fixture f;
  Ranges ranges(f.function);
  ranges.assume(lessEqual(f.n * 64 + 1, f.m));
  CHECK(ranges.less(f.n, ceilDiv(f.m, 64)));
  CHECK(ranges.lessEqual(f.n, floorDiv(f.m, 64)));
  CHECK_FALSE(ranges.less(f.n, floorDiv(f.m, 64)));
  ranges.assume(lessThan(f.m, f.n * 64 + 64));
  CHECK(ranges.lessEqual(floorDiv(f.m, 64), f.n));
  CHECK(ranges.lessEqual(ceilDiv(f.m, 64), f.n + 1));
  CHECK_FALSE(ranges.lessEqual(ceilDiv(f.m, 64), f.n));
}

TEST_CASE("products of variables and flattened indices") {
  Fixture f;
  Ranges ranges(f.function);
  auto h = loop(f.context, f.context.integer(i64, 0), f.m);
  auto s = loop(f.context, f.context.integer(i64, 0), f.n);
  ranges.bind(*h);
  ranges.bind(*s);
  CHECK(ranges.less(h->var * f.n + s->var, f.m * f.n));
  CHECK(ranges.less(floorDiv(h->var, 4), f.m));
  Expr flat = h->var * 8 + floorMod(s->var, 8);
  CHECK(ranges.equal(floorDiv(flat, 8), h->var));
  CHECK(ranges.less(minimum(h->var, s->var), f.m));
  CHECK(ranges.less(minimum(h->var, s->var), f.n));
  CHECK_FALSE(ranges.less(maximum(h->var, s->var), f.m));
}

TEST_CASE("unsigned wrap is not reasoned away") {
  Fixture f;
  Ranges ranges(f.function);
  Expr x = f.context.var("x", DType(Scalar::UInt32));
  CHECK_FALSE(ranges.less(x, x + 1));
  ranges.assume(lessThan(x, 10));
  CHECK(ranges.less(x, x + 1));
  CHECK_FALSE(ranges.lessEqual(x - 1, x));
}

TEST_CASE("what ranges claim holds for every value") {
  // Random expressions over three bounded variables, against their values.
  std::mt19937 random(20240611);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  for (int trial = 0; trial < 400; ++trial) {
    Context context;
    Function function(context);
    Ranges ranges(function);
    std::vector<Expr> vars;
    std::vector<int> extents;
    for (int v = 0; v < 3; ++v) {
      extents.push_back(1 + pick(6));
      auto l = loop(context, context.int32(0), context.int32(extents.back()));
      ranges.bind(*l);
      vars.push_back(l->var);
    }
    std::function<Expr(int)> make = [&](int depth) -> Expr {
      if (depth == 0)
        return pick(3) ? vars[pick(static_cast<int>(vars.size()))] : context.int32(pick(9) - 3);
      Expr a = make(depth - 1), b = make(depth - 1);
      switch (pick(10)) {
      case 0:
      case 1:
        return a + b;
      case 2:
        return a - b;
      case 3:
        return a * context.int32(pick(7) - 2);
      case 4:
        return floorDiv(a, 1 + pick(5));
      case 5:
        return floorMod(a, 1 + pick(5));
      case 6:
        return minimum(a, b);
      case 7:
        return maximum(a, b);
      case 8:
        return context.select(lessThan(a, b), b, a);
      default:
        return context.binary(BinaryOp::And, a, context.int32((1 << pick(4)) - 1));
      }
    };
    // A name of a value, and something that is known of it.
    Expr value = make(2), name = context.var("t", i32), other = make(1);
    Expr fact = pick(2) ? lessThan(name, other) : lessThan(other, name);
    LetStmt let;
    let.var = name, let.value = value;
    ranges.bind(let);
    vars.push_back(name);
    ranges.assume(fact);
    Expr a = make(3), b = pick(4) ? make(3) : name;
    bool less = ranges.less(a, b), equal = ranges.equal(a, b), differ = ranges.differ(a, b);
    analysis::Interval values = ranges.interval(a);
    analysis::Congruence steps = ranges.congruence(a);
    analysis::Poly poly = ranges.poly(a);
    Expr rebuilt = toExpr(context, i32, poly);
    for (int x = 0; x < extents[0]; ++x)
      for (int y = 0; y < extents[1]; ++y)
        for (int z = 0; z < extents[2]; ++z) {
          Substitution at{{vars[0], context.int32(x)},
                          {vars[1], context.int32(y)},
                          {vars[2], context.int32(z)}};
          at.emplace_back(name, substitute(value, at));
          if (substitute(fact, at).isFalse())
            continue;
          auto va = substitute(a, at).constant(), vb = substitute(b, at).constant();
          REQUIRE(va);
          REQUIRE(vb);
          INFO(print(a) << " = " << *va << ", " << print(b) << " = " << *vb);
          CHECK((!less || *va < *vb));
          CHECK((!equal || *va == *vb));
          CHECK((!differ || *va != *vb));
          CHECK(values.contains(*va));
          CHECK(steps.allows(*va));
          if (rebuilt)
            CHECK(substitute(rebuilt, at).constant() == va);
        }
  }
}

TEST_CASE(
    "what was found out in a scope holds there only, and holds again when it is entered again") {
  // Random steps into and out of scopes, each answer against that of ranges that never left one.
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 60; ++trial) {
    Fixture f;
    std::vector<std::unique_ptr<ForStmt>> loops;
    std::vector<Expr> values{f.m, f.n};
    for (int i = 0; i < 3; ++i) {
      loops.push_back(loop(f.context, f.context.integer(i64, pick(3)), values[pick(i + 2)],
                           f.context.integer(i64, 1 + pick(3))));
      values.push_back(loops.back()->var);
    }
    auto expression = [&] {
      Expr a = values[pick(5)] * (1 + pick(3)) + pick(5), b = values[pick(5)];
      return pick(2) ? a : pick(2) ? a - b : pick(2) ? floorDiv(a, 1 + pick(4)) : minimum(a, b);
    };
    std::vector<std::pair<Expr, Expr>> questions;
    for (int i = 0; i < 6; ++i)
      questions.emplace_back(expression(), expression());
    std::vector<std::function<void(Ranges &)>> steps;
    for (auto &l : loops)
      steps.push_back([&l](Ranges &r) { r.bind(*l); });
    for (int i = 0; i < 4; ++i) {
      Expr condition = lessThan(expression(), expression());
      bool holds = pick(2);
      steps.push_back([=](Ranges &r) { r.assume(condition, holds); });
    }
    steps.push_back([&](Ranges &r) { r.bindVar(values[4], {0, 7}); });

    Ranges ranges(f.function);
    std::vector<std::unique_ptr<Ranges::Scope>> scopes;
    std::vector<int> taken;
    for (int i = 0; i < 40; ++i) {
      if (!taken.empty() && pick(2)) {
        scopes.pop_back();
        taken.pop_back();
      } else if (taken.size() < 5) {
        scopes.push_back(std::make_unique<Ranges::Scope>(ranges));
        taken.push_back(pick(static_cast<int>(steps.size())));
        steps[static_cast<std::size_t>(taken.back())](ranges);
      }
      Ranges fresh(f.function);
      for (int step : taken)
        steps[static_cast<std::size_t>(step)](fresh);
      auto [a, b] = questions[pick(6)];
      CHECK(ranges.interval(a) == fresh.interval(a));
      CHECK(ranges.congruence(b) == fresh.congruence(b));
      CHECK(ranges.unreachable() == fresh.unreachable());
      CHECK(ranges.less(a, b) == fresh.less(a, b));
      CHECK(ranges.lessEqual(b, a) == fresh.lessEqual(b, a));
    }
    while (!scopes.empty())
      scopes.pop_back();
  }
}
