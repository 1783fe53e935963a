// What variables can hold. A claim too narrow would leave signed overflow in emitted text.
#include "analysis/Variables.h"
#include "ir/Builder.h"

#include <catch2/catch.hpp>

#include <functional>
#include <random>

using namespace tlc;
using namespace tlc::ir;
using tlc::analysis::Interval;
using tlc::analysis::variableIntervals;

namespace {

const DType i32(Scalar::Int32);

/// alloc %x init(first); for ...: load %v = %x; store %x = update(%v).
struct Fixture {
  Context context;
  Function function{context};
  Buffer *x = &function.addBuffer("x", i32, Scope::Local, {}, {});
  Expr v = context.var("v", i32);
  Launch launch;

  Fixture(std::int64_t first, const std::function<Expr(Expr)> &update) {
    auto alloc = std::make_unique<AllocStmt>();
    alloc->buffer = x;
    alloc->init = context.int32(first);
    launch.body.push_back(std::move(alloc));
    auto loop = std::make_unique<ForStmt>();
    loop->var = context.var("i", i32);
    loop->lo = context.int32(0);
    loop->hi = context.int32(100);
    loop->step = context.int32(1);
    auto load = std::make_unique<LoadStmt>();
    load->var = v;
    load->source = {x, {}, {}};
    loop->body.push_back(std::move(load));
    auto store = std::make_unique<StoreStmt>();
    store->target = {x, {}, {}};
    store->value = update(v);
    loop->body.push_back(std::move(store));
    launch.body.push_back(std::move(loop));
  }
  std::optional<Interval> holds() const {
    auto all = variableIntervals(launch);
    auto found = all.find(x);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  }
};

} // namespace

TEST_CASE("slots and phases of rings") {
  Fixture slot(0, [](Expr v) {
    Context &c = v.context();
    return c.select(equals(v, 5), c.int32(0), v + 1);
  });
  CHECK(slot.holds() == Interval{0, 5});
  Fixture phase(0, [](Expr v) { return v.context().int32(1) - v; });
  CHECK(phase.holds() == Interval{0, 1});
}

TEST_CASE("what counts without end, or wraps around, may be anything") {
  CHECK_FALSE(Fixture(0, [](Expr v) { return v + 1; }).holds());
  CHECK_FALSE(Fixture(1, [](Expr v) { return v * 1664525 + 1013904223; }).holds());
  // It steps over the end.
  CHECK_FALSE(Fixture(0, [](Expr v) {
                Context &c = v.context();
                return c.select(equals(v, 5), c.int32(0), v + 2);
              }).holds());
}

TEST_CASE("a variable that something else writes may be anything") {
  Fixture f(0, [](Expr v) { return v.context().int32(1) - v; });
  auto atomic = std::make_unique<AtomicStmt>();
  atomic->target = {f.x, {}, {}};
  atomic->value = f.context.int32(7);
  f.launch.body.push_back(std::move(atomic));
  CHECK_FALSE(f.holds());
}

TEST_CASE("random updates stay in the interval, wrapped around as they are") {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  using Number = std::function<std::int32_t(std::int32_t)>;
  int bounded = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Number run;
    std::function<std::pair<Expr, Number>(Expr, int)> make =
        [&](Expr v, int depth) -> std::pair<Expr, Number> {
      Context &c = v.context();
      if (depth == 0 || pick(4) == 0) {
        if (pick(2))
          return {v, [](std::int32_t x) { return x; }};
        std::int32_t n = pick(8) ? pick(9) - 2 : 2000000000;
        return {c.int32(n), [n](std::int32_t) { return n; }};
      }
      auto [a, runA] = make(v, depth - 1);
      auto [b, runB] = make(v, depth - 1);
      auto both = [&](auto f) {
        return [runA, runB, f](std::int32_t x) { return f(runA(x), runB(x)); };
      };
      auto wrapped = [](std::int64_t x) {
        return static_cast<std::int32_t>(static_cast<std::uint64_t>(x));
      };
      using Wide = std::int64_t;
      switch (pick(6)) {
      case 0:
        return {a + b, both([=](Wide x, Wide y) { return wrapped(x + y); })};
      case 1:
        return {a - b, both([=](Wide x, Wide y) { return wrapped(x - y); })};
      case 2:
        return {a * b, both([=](Wide x, Wide y) { return wrapped(x * y); })};
      case 3:
        return {minimum(a, b), both([](std::int32_t x, std::int32_t y) { return std::min(x, y); })};
      case 4:
        return {maximum(a, b), both([](std::int32_t x, std::int32_t y) { return std::max(x, y); })};
      default: {
        std::int32_t at = pick(7) - 1;
        return {c.select(equals(v, at), a, b),
                [runA, runB, at](std::int32_t x) { return x == at ? runA(x) : runB(x); }};
      }
      }
    };
    std::int32_t value = pick(5) - 1;
    Fixture f(value, [&](Expr v) {
      auto [e, number] = make(v, 3);
      run = number;
      return e;
    });
    auto interval = f.holds();
    bounded += interval.has_value();
    for (int step = 0; interval && step < 100; ++step) {
      INFO("trial " << trial << ", step " << step << ": " << value);
      REQUIRE(interval->contains(value));
      value = run(value);
    }
  }
  CHECK(bounded > 200);
}

TEST_CASE("definitions that share their parts take no time") {
  Fixture sum(0, [](Expr v) { return v; });
  Context &context = sum.context;
  Expr value = sum.v;
  auto &loop = cast<ForStmt>(*sum.launch.body.back());
  Block lets;
  for (int i = 0; i < 60; ++i) { // 2^60 ways from the last one to the first
    auto let = std::make_unique<LetStmt>();
    let->var = context.var("h" + std::to_string(i), i32);
    let->value = context.binary(BinaryOp::Add, value * 31, value);
    value = let->var;
    lets.push_back(std::move(let));
  }
  cast<StoreStmt>(*loop.body.back()).value = value;
  loop.body.insert(loop.body.begin() + 1, std::make_move_iterator(lets.begin()),
                   std::make_move_iterator(lets.end()));
  CHECK(!sum.holds());
}
