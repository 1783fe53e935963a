// Random pipelined loops compute what they did before.
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
    std::string text =
        "func @k(%A: global f16[%K, 64], %B: global f16[%K, 64], %X: global i32[64], %C: global "
        "f32[8, 64] out, %n: i32) dims(%K) {\n"
        "  launch grid(1) threads(32) blocks(%bx) tid(%tid) {\n"
        "    alloc %a: shared f16[8, 64]\n    alloc %b: shared f16[8, 64]\n"
        "    alloc %w: shared f32[8, 64]\n    alloc %sum: fragment f32[8, 64]\n"
        "    alloc %c: local i32[] init(0)\n"
        "    fill %a = 0.0\n    fill %b = 0.0\n    fill %w = 0.0\n    fill %sum = 0.0\n";
    if (pick(3) == 0)
      text += "    for %o in 0 .. 2 {\n" + loop("      ") + "    }\n";
    else
      text += loop("    ");
    if (pick(3) == 0)
      text += loop("    ");
    if (pick(2)) // somebody looks at what is left in the tile
      text += accumulate("    ", pick(2) ? "%a" : "%b");
    return text + "    copy %sum -> %C\n  }\n}\n";
  }

private:
  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  std::string name(const char *base) { return std::string("%") + base + std::to_string(fresh++); }

  std::string accumulate(const std::string &pad, const std::string &tile) {
    std::string i = name("i"), j = name("j"), x = name("x"), y = name("y");
    return pad + "map " + i + " in 8, " + j + " in 64 {\n" + pad + "  load " + x + " = " + tile +
           "[" + i + ", " + j + "]\n" + pad + "  load " + y + " = %sum[" + i + ", " + j + "]\n" +
           pad + "  store %sum[" + i + ", " + j + "] = f32(" + x + ") + " + y + " * 0.5\n" + pad +
           "}\n";
  }

  std::string statement(const std::string &pad, const std::string &k, int depth) {
    std::string tile = pick(2) ? "%a" : "%b";
    std::string tensor = tile == "%a" ? "%A" : "%B";
    int kind = pick(depth ? 11 : 8);
    if (filled && (kind < 4 || kind == 7) && pick(8))
      kind = 4;
    switch (kind) {
    case 0:
    case 1:
      return pad + "copy " + tensor + "[" + k + " * 8 : +8, 0 : +64] -> " + tile + "\n";
    case 2: { // rows that a load says
      std::string row = name("r");
      return pad + "load " + row + " = %X[" + k + " % 64]\n" + pad + "copy " + tensor + "[(" + row +
             " % 3 + " + k + ") * 8 : +8, 0 : +64] -> " + tile + "\n";
    }
    case 3: // a part of the tile
      return pad + "copy " + tensor + "[" + k + " * 8 : +4, 0 : +64] -> " + tile +
             "[0 : +4, 0 : +64]\n";
    case 4:
    case 5:
      return accumulate(pad, tile);
    case 6: { // a counter that the loop carries
      std::string c = name("c");
      return pad + "load " + c + " = %c[]\n" + pad + "store %c[] = " + c + " + 1\n" +
             (pick(2)
                  ? pad + "copy " + tensor + "[" + c + " % 5 * 8 : +8, 0 : +64] -> " + tile + "\n"
                  : "");
    }
    case 7:
      return pad + "fill " + tile + " = 0.5\n";
    case 8:
    case 9: {
      std::string v = name("v");
      std::string condition = pick(2) ? k + " % 2 == " + std::to_string(pick(2)) : v + " > 0";
      std::string text = pad + "load " + v + " = %X[" + k + " % 64]\n" + pad + "if " + condition +
                         " {\n" + body(pad + "  ", k, depth - 1);
      if (pick(4) == 0)
        text += pad + "  " + (pick(2) ? "continue" : "break") + "\n";
      return text + pad + "}\n";
    }
    default:
      return pad + "copy %w -> %C\n" + pad + "copy %C -> %w\n";
    }
  }

  std::string body(const std::string &pad, const std::string &k, int depth) {
    std::string text;
    for (int i = 0, count = 1 + pick(3); i < count; ++i)
      text += statement(pad, k, depth);
    return text;
  }

  std::string loop(const std::string &pad) {
    std::string k = name("k");
    std::string text = pad + "for " + k + " in " + (pick(3) ? "0" : "1") + " .. %n" +
                       (pick(4) ? "" : " step(2)") + " pipelined stages(" +
                       std::to_string(1 + pick(4)) + ") {\n";
    // Mostly what can be pipelined: tiles that are filled first, once, perhaps under a condition.
    bool orderly = pick(4) != 0;
    filled = orderly;
    if (orderly) {
      std::string inner = pad + "  ", guard = name("g");
      bool guarded = pick(3) == 0;
      if (guarded) {
        text += inner + "load " + guard + " = %X[" + k + " % 64]\n" + inner + "if " + guard +
                " > 0 {\n";
        inner += "  ";
      }
      text += inner + "copy %A[" + k + " * 8 : +8, 0 : +64] -> %a\n";
      if (pick(2))
        text += inner + "copy %B[" + k + " * 8 : +4, 0 : +64] -> %b[0 : +4, 0 : +64]\n" + inner +
                "copy %B[" + k + " * 8 + 4 : +4, 0 : +64] -> %b[4 : +4, 0 : +64]\n";
      else
        text += inner + "copy %B[" + k + " * 8 : +8, 0 : +64] -> %b\n";
      text += body(inner, k, 1);
      if (guarded)
        text += pad + "  }\n";
    }
    for (int i = 0, count = orderly ? pick(2) : 2 + pick(4); i < count; ++i)
      text += statement(pad + "  ", k, 2);
    filled = false;
    return text + pad + "}\n";
  }

  std::mt19937 random;
  int fresh = 0;
  bool filled = false; ///< the tiles have their contents for this round
};

} // namespace

TEST_CASE("random pipelined loops compute the same") {
  unsigned pipelined = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::string text = Generator(seed).kernel();
    for (const char *target : {"sm80", "sm75"}) {
      TextKernel kernel(text, target);
      INFO("seed " << seed << " for " << target << "\n" << text);
      kernel.mustRun({"simplify", "bounds", "plan", "split-copies", "pipeline", "simplify"});
      for (auto &buffer : kernel.function->buffers)
        pipelined += buffer->versions > 1;
      for (int n : {0, 1, 2, 3, 6})
        kernel.checkSame({40}, {static_cast<double>(n)});
    }
  }
  CHECK(pipelined > 60);
}
