#include "Programs.h"

#include "interpret/Compare.h"

using namespace tlc;
using namespace tlc::interpret;

namespace {

std::string scaled(const std::string &factor, const std::string &more = "") {
  return "func @k(%A: global f16[%M, 8], %B: global f16[%M, 8] out, %s: f32) dims(%M) {\n"
         "  launch grid(1) threads(32) blocks(%b) tid(%t) {\n    map %i in %M, %j in 8 {\n      "
         "load %x = %A[%i, %j]\n"
         "      store %B[%i, %j] = f16(f32(%x) * %s * " +
         factor + ")\n    }\n" + more + "  }\n}\n";
}

} // namespace

TEST_CASE("equal functions compare equal, others do not") {
  Kernel one(scaled("2.0")), same(scaled("2.0", "    barrier\n")), other(scaled("2.1")),
      racing(scaled("2.0", "    store %B[0, 0] = f16(f32(%t))\n"));
  CompareOptions options;
  options.dims = {5};
  options.scalars = {3};
  CHECK(compare(*one.function, *same.function, options).empty());
  std::string text = compare(*one.function, *other.function, options);
  CHECK_THAT(text, Catch::Contains("B[0, 0] is") && Catch::Contains("of 40"));
  options.tolerance = 0.2;
  CHECK(compare(*one.function, *other.function, options).empty());
  CHECK_THAT(compare(*one.function, *racing.function, options), Catch::Contains("after:\nrace"));
  options.prepare = [](Inputs &inputs) {
    for (int i = 0; i < 40; ++i)
      inputs.tensors[0].set(i, 0);
  };
  options.tolerance = 0;
  CHECK(compare(*one.function, *other.function, options).empty());
}

TEST_CASE("tensors disagree by more than what is allowed, wide integers by a unit") {
  Tensor a(DType(Scalar::Int64), {2, 2}), b(DType(Scalar::Int64), {2, 2});
  a.setInteger(2, (std::int64_t{1} << 60) + 1);
  b.setInteger(2, std::int64_t{1} << 60);
  Disagreement wide = disagreement(a, b, 0, 0);
  CHECK(wide.count == 1);
  CHECK(wide.first == 2);

  Tensor x(DType(Scalar::Float32), {3}), y(DType(Scalar::Float32), {3});
  x.set(0, 100), y.set(0, 101);
  x.set(1, NAN), y.set(1, NAN);
  x.set(2, INFINITY), y.set(2, 1);
  CHECK(disagreement(x, y, 1, 0).count == 1);
  CHECK(disagreement(x, y, 0, 0.01).count == 1);
  CHECK(disagreement(x, y, 0.5, 0.004).count == 2);
  CHECK(disagreement(x, y, 0.5, 0.004).first == 0);
  CHECK(disagreement(x, y, 0, 0).largest == 1);
}
