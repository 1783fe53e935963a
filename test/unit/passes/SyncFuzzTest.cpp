// Random thread code: after insert-sync nothing races, or the pass said that it cannot help.
#include "TextKernel.h"

#include <random>

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string kernel() {
    std::string body = "    store %s@0![%tid] = 0.5\n    store %s@1![%tid] = 0.5\n"
                       "    store %s@2![%tid] = 0.5\n    store %t![%tid] = 0.25\n";
    body += block(3, "    ");
    return "func @k(%A: global f32[64], %C: global f32[64] out, %n: i32) phase(thread) {\n"
           "  launch grid(1) threads(64) blocks(%bx) tid(%tid) {\n"
           "    alloc %s: shared f32[64] versions(3) at(0) version_bytes(256)\n"
           "    alloc %t: shared f32[64] at(768) version_bytes(256)\n"
           "    alloc %x: local f32[] init(1.0)\n" +
           body + "    load %last = %x![0]\n    store %C![%tid] = %last\n  }\n}\n";
  }

private:
  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  std::string index() {
    switch (pick(5)) {
    case 0:
      return "63 - %tid";
    case 1:
      return "(%tid + " + std::to_string(pick(9)) + ") % 64";
    case 2:
      return "%tid ^ " + std::to_string(1 << pick(6));
    default:
      return "%tid";
    }
  }
  std::string element() {
    if (pick(3) == 0)
      return "%t![" + index() + "]";
    std::string version = std::to_string(pick(3));
    if (!loops.empty() && pick(3))
      version = "((" + loops.back() + " + " + std::to_string(pick(4)) + ") % 3)";
    return "%s@" + version + "![" + index() + "]";
  }

  std::string block(int depth, const std::string &pad) {
    std::string text;
    for (int i = 0, count = 1 + pick(4); i < count; ++i) {
      std::string name = std::to_string(fresh++);
      switch (depth ? pick(8) : pick(4)) {
      case 0:
      case 1:
        text += pad + "load %v" + name + " = %x![0]\n" + pad + "store " + element() + " = %v" +
                name + "\n";
        break;
      case 2:
      case 3:
        text += pad + "load %v" + name + " = " + element() + "\n" + pad + "load %w" + name +
                " = %x![0]\n" + pad + "store %x![0] = %v" + name + " * 0.5 + %w" + name +
                " * 0.25\n";
        break;
      case 4:
      case 5: {
        std::string var = "%i" + name;
        text += pad + "for " + var + " in " + std::to_string(pick(3)) + " .. " +
                (pick(2) ? "%n" : std::to_string(pick(5))) + " {\n";
        loops.push_back(var);
        text += block(depth - 1, pad + "  ");
        if (pick(5) == 0)
          text += pad + "  if " + var + " == %n - 2 {\n" + pad + "    " +
                  (pick(2) ? "break" : "continue") + "\n" + pad + "  }\n" +
                  block(depth - 1, pad + "  ");
        loops.pop_back();
        text += pad + "}\n";
        break;
      }
      case 6:
        text += pad + "if %n > " + std::to_string(pick(5)) + " {\n" + block(depth - 1, pad + "  ") +
                pad + "} else {\n" + block(depth - 1, pad + "  ") + pad + "}\n";
        break;
      default:
        text += pad + "if %tid < " + std::to_string(8 * pick(8)) + " {\n" + block(0, pad + "  ") +
                pad + "}\n";
      }
    }
    return text;
  }

  std::mt19937 random;
  std::vector<std::string> loops;
  int fresh = 0;
};

} // namespace

TEST_CASE("random thread code does not race after insert-sync") {
  int checked = 0;
  for (unsigned seed = 0; seed < 250; ++seed) {
    std::string text = Generator(seed).kernel();
    // Divergent stores to one element by several threads are not generated, except by xor and
    // shifts, which are one to one.
    TextKernel kernel(text);
    if (!kernel.run({"insert-sync"})) {
      CHECK(kernel.reported(diag::BarrierInDivergent));
      continue;
    }
    ++checked;
    for (int n : {0, 1, 2, 5}) {
      INFO("seed " << seed << ", n = " << n);
      kernel.checkRuns({}, {static_cast<double>(n)});
    }
  }
  CHECK(checked > 100);
}
