// Values of expressions: what the interpreter computes at run time is what folding computes at
// compile time, and what C++ computes.
#include "Programs.h"

#include "ir/Builder.h"
#include "ir/Print.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace tlc;
using namespace tlc::interpret;
using ir::BinaryOp;
using ir::Expr;
using ir::shortName;
using ir::UnaryOp;

namespace {

/// A function that evaluates expressions of its scalar parameters, one output per expression.
struct Evaluator {
  ir::Context context;
  ir::Function function{context};
  ir::Launch &launch;
  ir::Builder builder;
  std::vector<Tensor> outputs;
  std::vector<Argument> args;

  Evaluator()
      : launch(*function.launches.emplace_back(std::make_unique<ir::Launch>())),
        builder(function, launch.body) {
    function.name = "k";
    launch.grid = {context.int32(1)};
    launch.threads = {1, 1, 1};
    launch.blockVars = {context.var("b", Scalar::Int32)};
    launch.tid = context.var("t", Scalar::Int32);
  }
  Expr parameter(DType dtype, Argument value) {
    ir::Param p;
    p.name = "p" + std::to_string(function.params.size());
    p.scalar = context.var(p.name, dtype);
    function.params.push_back(p);
    args.push_back(value);
    return p.scalar;
  }
  void add(Expr e) {
    ir::Param p;
    p.name = "out" + std::to_string(outputs.size());
    p.buffer = &function.addBuffer(p.name, e.dtype(), ir::Scope::Global, {context.int32(1)});
    outputs.emplace_back(e.dtype(), std::vector<std::int64_t>{1});
    function.params.push_back(p);
    builder.store(*p.buffer, {context.int32(0)}, e);
  }
  void run() {
    std::size_t next = 0;
    std::vector<Argument> all;
    std::size_t scalar = 0;
    for (const ir::Param &p : function.params)
      if (p.buffer)
        all.emplace_back(outputs[next++]);
      else
        all.push_back(args[scalar++]);
    Result result = interpret::run(function, all);
    INFO(result.text());
    REQUIRE(result.ok());
  }
};

std::vector<DType> integerTypes() {
  return {Scalar::Int4,  Scalar::Int8,  Scalar::Int16,  Scalar::Int32,  Scalar::Int64,
          Scalar::UInt4, Scalar::UInt8, Scalar::UInt16, Scalar::UInt32, Scalar::UInt64};
}

} // namespace

TEST_CASE("integer operations wrap as folding does") {
  for (DType dtype : integerTypes()) {
    std::vector<std::int64_t> samples = {0, 1, 2, 3, 7, minInteger(dtype), maxInteger(dtype)};
    if (dtype.isInt())
      samples.insert(samples.end(), {-1, -2, -5});
    if (dtype.scalar == Scalar::UInt64)
      samples.push_back(-1); // all bits
    Evaluator e;
    struct Want {
      Expr folded;
      std::string text;
    };
    std::vector<Want> wanted;
    for (std::int64_t a : samples)
      for (std::int64_t b : samples) {
        Expr x = e.parameter(dtype, a), y = e.parameter(dtype, b);
        Expr cx = e.context.integer(dtype, a), cy = e.context.integer(dtype, b);
        for (BinaryOp op :
             {BinaryOp::Add,      BinaryOp::Sub,      BinaryOp::Mul,      BinaryOp::FloorDiv,
              BinaryOp::FloorMod, BinaryOp::TruncDiv, BinaryOp::TruncMod, BinaryOp::Min,
              BinaryOp::Max,      BinaryOp::And,      BinaryOp::Or,       BinaryOp::Xor,
              BinaryOp::Shl,      BinaryOp::Shr,      BinaryOp::Eq,       BinaryOp::Ne,
              BinaryOp::Lt,       BinaryOp::Le,       BinaryOp::Gt,       BinaryOp::Ge}) {
          Expr folded = e.context.binary(op, cx, cy);
          if (!folded.isInt())
            continue; // no meaning: division by zero, wide shifts
          wanted.push_back({folded, shortName(dtype) + ": " + std::to_string(a) + " " +
                                        spelling(op) + " " + std::to_string(b)});
          e.add(e.context.binary(op, x, y));
        }
        if (b != samples[0])
          continue;
        for (UnaryOp op : {UnaryOp::Neg, UnaryOp::BitNot}) {
          wanted.push_back({e.context.unary(op, cx),
                            shortName(dtype) + ": " + spelling(op) + std::to_string(a)});
          e.add(e.context.unary(op, x));
        }
        for (DType to : integerTypes()) {
          wanted.push_back({e.context.cast(to, cx),
                            shortName(dtype) + " " + std::to_string(a) + " to " + shortName(to)});
          e.add(e.context.cast(to, x));
        }
        for (DType to :
             {Scalar::Float32, Scalar::Float16, Scalar::Float64, Scalar::BFloat16, Scalar::Bool}) {
          wanted.push_back({e.context.cast(to, cx),
                            shortName(dtype) + " " + std::to_string(a) + " to " + shortName(to)});
          e.add(e.context.cast(to, x));
        }
      }
    e.run();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      INFO(wanted[i].text);
      if (wanted[i].folded.isFloat())
        CHECK(e.outputs[i].real(0) == wanted[i].folded->real);
      else
        CHECK(e.outputs[i].integer(0) == wanted[i].folded->integer);
    }
  }
}

TEST_CASE("float operations round once per operation") {
  double nan = std::numeric_limits<double>::quiet_NaN(),
         inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {Scalar::Float16, Scalar::BFloat16, Scalar::Float32, Scalar::Float64,
                      Scalar::Float8E4M3FN, Scalar::Float8E5M2}) {
    Evaluator e;
    std::vector<std::pair<Expr, std::string>> wanted;
    std::vector<double> samples = {0.0,  -0.0,  1.0,  0.1, -2.75, 300.7, 1e-3,
                                   5e-8, 65504, 1e30, inf, -inf,  nan};
    for (double a : samples)
      for (double b : samples) {
        Expr x = e.parameter(dtype, a), y = e.parameter(dtype, b);
        Expr cx = e.context.real(dtype, a), cy = e.context.real(dtype, b);
        for (BinaryOp op :
             {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min,
              BinaryOp::Max, BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le}) {
          if ((op == BinaryOp::Min || op == BinaryOp::Max) && cx->real == 0 && cy->real == 0)
            continue; // which zero is free
          wanted.push_back(
              {e.context.binary(op, cx, cy), shortName(dtype) + ": " + std::to_string(a) + " " +
                                                 spelling(op) + " " + std::to_string(b)});
          e.add(e.context.binary(op, x, y));
        }
      }
    for (double a : samples) {
      Expr x = e.parameter(dtype, a), cx = e.context.real(dtype, a);
      for (DType to : {Scalar::Int8, Scalar::UInt8, Scalar::Int32, Scalar::Int64, Scalar::UInt64,
                       Scalar::Float16, Scalar::Float32, Scalar::Float8E4M3FN, Scalar::Float8E5M2,
                       Scalar::Float8E4M3FNUZ, Scalar::Float4E2M1FN, Scalar::Float6E2M3FN,
                       Scalar::Float6E3M2FN})
        for (bool saturate : {false, true}) {
          wanted.push_back({e.context.cast(to, cx, saturate),
                            shortName(dtype) + " " + std::to_string(a) + " to " + shortName(to)});
          e.add(e.context.cast(to, x, saturate));
        }
      for (auto fn :
           {ir::MathFn::Exp, ir::MathFn::Log, ir::MathFn::Sqrt, ir::MathFn::Abs, ir::MathFn::Floor,
            ir::MathFn::RoundEven, ir::MathFn::IsNan, ir::MathFn::Sigmoid}) {
        wanted.push_back({e.context.math(fn, {cx}),
                          shortName(dtype) + ": " + ir::mathName(fn) + " " + std::to_string(a)});
        e.add(e.context.math(fn, {x}));
      }
    }
    e.run();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto &[folded, text] = wanted[i];
      INFO(text);
      REQUIRE(folded.isConstant());
      if (folded.isFloat()) {
        double got = e.outputs[i].real(0);
        bool same =
            std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(folded->real) ||
            (std::isnan(got) && std::isnan(folded->real));
        INFO(got << " instead of " << folded->real);
        CHECK(same);
      } else {
        CHECK(e.outputs[i].integer(0) == folded->integer);
      }
    }
  }
}

TEST_CASE("narrow formats are stored and loaded bit by bit") {
  for (DType dtype :
       {Scalar::Float16, Scalar::BFloat16, Scalar::Float8E4M3FN, Scalar::Float8E4M3FNUZ,
        Scalar::Float8E5M2, Scalar::Float8E5M2FNUZ, Scalar::Float8E8M0FNU, Scalar::Float6E2M3FN,
        Scalar::Float6E3M2FN, Scalar::Float4E2M1FN}) {
    std::int64_t count = std::int64_t{1} << dtype.bits();
    Tensor t(dtype, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      double value = decodeFloat(dtype, static_cast<std::uint64_t>(i));
      t.set(i, value);
      INFO(shortName(dtype) << " pattern " << i << " is " << value << ", came back as "
                            << t.real(i));
      CHECK((t.real(i) == value || (std::isnan(value) && std::isnan(t.real(i)))));
    }
    // Neighbours were left alone.
    double first = decodeFloat(dtype, 1);
    CHECK(t.real(1) == first);
  }
}

TEST_CASE("selects, vectors, bit patterns") {
  Kernel kernel(R"(
func @k(%A: global f32[8], %B: global u32[8] out, %C: global f16[8] out) {
  launch grid(1) threads(8) blocks(%b) tid(%t) {
    load %x = %A[%t]
    store %B[%t] = bitcast.u32(select(%x < 0.0, -%x, %x * 2.0))
    if %t < 2 {
      load %v: f32x4 = %A[%t * 4]
      let %w = %v * broadcast(0.5, 4) + vector(1.0, 2.0, 3.0, extract(%v, 0))
      store %C[%t * 4] = f16x4(%w)
    }
  }
}
)");
  Tensor a = random(Scalar::Float32, {8}), b(Scalar::UInt32, {8}), c(Scalar::Float16, {8});
  Result result = kernel.run({a, b, c});
  INFO(result.text());
  REQUIRE(result.ok());
  for (std::int64_t i = 0; i < 8; ++i) {
    auto x = static_cast<float>(a.real(i));
    CHECK(b.integer(i) == std::bit_cast<std::uint32_t>(x < 0 ? -x : x * 2));
    float more = i % 4 == 3 ? static_cast<float>(a.real(i - 3)) : static_cast<float>(i % 4 + 1);
    CHECK(c.real(i) == roundFloat(Scalar::Float16, x * 0.5f + more));
  }
}
