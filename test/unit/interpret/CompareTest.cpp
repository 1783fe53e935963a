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
