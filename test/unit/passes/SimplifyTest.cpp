#include "TextKernel.h"

#include <random>

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

std::string scalar(const std::string &body, const std::string &phase = "") {
  return "func @k(%A: global f32[64], %C: global i32[64] out, %n: i32) dims(%M)" + phase +
         " {\n  launch grid(4) threads(64) blocks(%bx) tid(%tid) {\n" + body + "  }\n}\n";
}

std::string simplified(const std::string &body) {
  TextKernel kernel(scalar(body));
  kernel.mustRun({"simplify"});
  std::string text = kernel.text();
  std::size_t first = text.find("tid(%tid) {\n") + 12;
  return text.substr(first, text.rfind("  }\n}") - first);
}

} // namespace

TEST_CASE("branches and loops that ranges decide") {
  CHECK(simplified("    if %tid < 64 {\n      store %C[%tid] = 1\n    }\n") ==
        "    store %C[%tid] = 1\n");
  CHECK(simplified("    if %bx * 64 + %tid >= 256 {\n      store %C[%tid] = 1\n    }\n").empty());
  CHECK(simplified("    for %i in 3 .. 4 {\n      store %C[%i] = %i\n    }\n") ==
        "    store %C[3] = 3\n");
  CHECK(simplified("    for %i in 4 .. 4 {\n      store %C[%i] = %i\n    }\n").empty());
  // One trip, but left by a break: stays a loop.
  CHECK(simplified("    for %i in 3 .. 4 {\n      if %n < 3 {\n        break\n      }\n      store "
                   "%C[%i] = %i\n    }\n")
            .find("for") != std::string::npos);
}

TEST_CASE("values that ranges decide") {
  CHECK(simplified("    store %C[%tid] = min(%tid, 64) + max(%bx, 0)\n") ==
        "    store %C[%tid] = %tid + %bx\n");
  CHECK(simplified("    store %C[%tid] = (%tid + %bx * 64) // 64\n") ==
        "    store %C[%tid] = %bx\n");
  CHECK(simplified("    store %C[%tid] = select(%tid < 64, %n, 7)\n") ==
        "    store %C[%tid] = %n\n");
  // Not without knowing: n may be negative.
  CHECK(simplified("    store %C[%tid] = %n // 4 * 4 + %n % 4\n") == "    store %C[%tid] = %n\n");
  CHECK(simplified("    store %C[%tid] = max(%n, 0)\n") == "    store %C[%tid] = max(%n, 0)\n");
}

TEST_CASE("predicates and dead code") {
  CHECK(simplified(
            "    load %x = %A[%tid] if(%tid < 64)\n    store %C[%tid] = i32(%x) if(%bx < 4)\n") ==
        "    load %x = %A[%tid]\n    store %C[%tid] = i32(%x)\n");
  CHECK(simplified("    load %x = %A[%tid]\n    let %y = %x + 1.0\n").empty());
  CHECK(simplified(
            "    load %x = %A[%tid] if(%tid > 70) otherwise(2.0)\n    store %C[0] = i32(%x)\n") ==
        "    store %C[0] = 2\n");
}

TEST_CASE("thread code gets C's division where nothing is negative") {
  TextKernel kernel(
      scalar("    store %C![(%tid + %bx) // 3] = (%n // 3) + %tid % 5\n", " phase(thread)"));
  kernel.mustRun({"simplify"});
  CHECK(kernel.contains("truncdiv(%tid + %bx, 3)"));
  CHECK(kernel.contains("truncmod(%tid, 5)"));
  CHECK(kernel.contains("%n // 3"));
}

TEST_CASE("random scalar kernels compute the same after simplify") {
  std::mt19937 random(77);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 120; ++trial) {
    int fresh = 0;
    std::vector<std::string> vars = {"%tid", "%bx", "%n"};
    std::function<std::string(int)> expr = [&](int depth) -> std::string {
      if (depth == 0)
        return pick(4) ? vars[static_cast<std::size_t>(pick(static_cast<int>(vars.size())))]
                       : std::to_string(pick(9));
      std::string a = expr(depth - 1), b = expr(depth - 1), c = std::to_string(1 + pick(6));
      switch (pick(9)) {
      case 0:
        return "(" + a + " + " + b + ")";
      case 1:
        return "(" + a + " - " + b + ")";
      case 2:
        return "(" + a + " * " + c + ")";
      case 3:
        return "(" + a + " // " + c + ")";
      case 4:
        return "(" + a + " % " + c + ")";
      case 5:
        return "min(" + a + ", " + b + ")";
      case 6:
        return "max(" + a + ", " + b + ")";
      case 7:
        return "select(" + a + " < " + b + ", " + b + ", " + a + ")";
      default:
        return "truncmod(" + a + ", " + c + ")";
      }
    };
    std::function<std::string(int, std::string)> block = [&](int depth, std::string pad) {
      std::string text;
      std::size_t outer = vars.size();
      for (int i = 0, count = 1 + pick(3); i < count; ++i) {
        std::string name = "%v" + std::to_string(fresh++);
        switch (depth ? pick(4) : pick(2)) {
        case 0:
          text += pad + "let " + name + ": i32 = " + expr(2) + "\n";
          vars.push_back(name);
          break;
        case 1:
          text += pad + "atomic add %C[" + expr(1) + " % 64] value(" + expr(2) + ")\n";
          break;
        case 2:
          text += pad + "if " + expr(2) + (pick(2) ? " < " : " == ") + expr(1) + " {\n" +
                  block(depth - 1, pad + "  ") + pad + "} else {\n" + block(depth - 1, pad + "  ") +
                  pad + "}\n";
          break;
        default: {
          std::string head = pad + "for " + name + " in " + std::to_string(pick(3)) + " .. " +
                             std::to_string(pick(6)) + (pick(2) ? " step(2)" : "") + " {\n";
          vars.push_back(name);
          text += head + block(depth - 1, pad + "  ") + pad + "}\n";
          vars.pop_back();
        }
        }
      }
      vars.resize(outer);
      return text;
    };
    std::string text = scalar(block(2, "    "));
    text.replace(text.find("threads(64)"), 11, "threads(4)");
    INFO(text);
    TextKernel kernel(text);
    kernel.mustRun({"simplify", "unroll", "simplify"});
    kernel.checkSame({3}, {static_cast<double>(pick(9) - 3)});
  }
}
