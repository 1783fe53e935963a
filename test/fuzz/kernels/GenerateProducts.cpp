#include "Generate.h"
#include "Writer.h"

namespace tlc::fuzz {
namespace {

/// Whole tiles of tensor cores, one to three pipelined loops over k whose products add up in one or
/// two sums: what becomes rings of tiles, producer warps, and launches that walk over tiles.
class Products : Writer {
public:
  explicit Products(std::uint64_t seed) : Writer(seed) {}

  RandomKernel run() {
    threads = pick({128, 128, 256, 256, 64, 384});
    rows = pick({64, 64, 128, 32});
    columns = pick({64, 64, 128, 32, 96, 16});
    depth = pick({32, 64, 64, 128, 16});
    input = pick(std::vector<std::string>{"f16", "f16", "f16", "bf16", "i8", "f32"});
    output = isInt() ? "i32" : pick(std::vector<std::string>{"f32", "f16"});
    transA = chance(15), transB = chance(50);
    RandomKernel kernel;
    kernel.dims = sizes();
    std::string body;
    indent = 4;
    main(body);
    std::string a = transA ? "[%K, %M]" : "[%M, %K]", b = transB ? "[%N, %K]" : "[%K, %N]";
    kernel.text = "func @fuzz(%A: global " + input + a + " readonly, %B: global " + input + b +
                  " readonly, %C: global " + output + "[%M, %N] out, %D: global f32[%M] out) " +
                  "dims(%M, %N, %K) {\n  launch grid((%N + " + num(columns - 1) + ") // " +
                  num(columns) + ", (%M + " + num(rows - 1) + ") // " + num(rows) + ") threads(" +
                  num(threads) + ") blocks(%bx, %by) thread_vars(%tx) tid(%tid) {\n" + body +
                  "  }\n}\n";
    return kernel;
  }

private:
  bool isInt() const { return input == "i8"; }
  std::string sumType() const { return isInt() ? "i32" : "f32"; }

  /// Tiles that fit and tiles that do not; no round of the loop, one, two, about as many as there
  /// are stages.
  std::vector<std::int64_t> sizes() {
    std::int64_t m = pick({rows, 2 * rows, 3 * rows, rows + 16, 1 + below(2 * rows)}),
                 n = pick({columns, 2 * columns, columns + 16, 1 + below(2 * columns)}),
                 k = depth * pick({0, 1, 1, 2, 2, 3, 4, 5, 7});
    if (chance(30))
      k += chance(50) ? 16 : 1 + below(depth);
    return {m, n, k};
  }

  void main(std::string &out) {
    std::vector<Tile> sums{alloc(out, "c", sumType(), false, {rows, columns})};
    if (chance(25))
      sums.push_back(alloc(out, "c", sumType(), false, {rows, columns}));
    for (const Tile &sum : sums)
      line(out, "fill " + sum.name + " = " + (isInt() ? "0" : "0.0"));
    // Tiles of their own for each loop, or the same for all.
    bool sharesTiles = chance(40);
    std::vector<Tile> tiles = operands(out);
    for (std::int64_t loops = pick({1, 1, 1, 2, 2, 3}); loops-- > 0;) {
      bool isGuarded = chance(15);
      if (isGuarded) {
        line(out, "if %bx " + pick(std::vector<std::string>{"<", "!="}) + " 1 {");
        indent += 2;
      }
      loop(out, tiles, sums);
      if (isGuarded) {
        indent -= 2;
        line(out, "}");
      }
      if (loops > 0 && !sharesTiles)
        tiles = operands(out);
      if (loops > 0 && chance(40))
        scale(out, sums[0], isInt() ? "2" : "0.5");
    }
    last(out, sums);
  }

  std::vector<Tile> operands(std::string &out) {
    auto shape = [](bool swapped, std::int64_t x, std::int64_t y) {
      return swapped ? std::vector{y, x} : std::vector{x, y};
    };
    return {alloc(out, "a", input, true, shape(transA, rows, depth)),
            alloc(out, "b", input, true, shape(transB, depth, columns))};
  }

  std::string part(const std::string &at, std::int64_t extent) {
    return at + " * " + num(extent) + " : +" + num(extent);
  }

  void loop(std::string &out, const std::vector<Tile> &tiles, const std::vector<Tile> &sums) {
    const Tile &a = tiles[0], &b = tiles[1];
    std::string k = name("k");
    line(out,
         "for " + k + " in 0 .. (%K + " + num(depth - 1) + ") // " + num(depth) +
             (chance(90) ? " pipelined stages(" + num(pick({0, 1, 2, 2, 3, 3, 4})) + ")" : "") +
             " {");
    indent += 2;
    std::string m = part("%by", rows), n = part("%bx", columns), along = part(k, depth);
    line(out, "copy %A[" + (transA ? along + ", " + m : m + ", " + along) + "] -> " + a.name);
    bool isLate = chance(25); // something between the copies
    if (isLate && chance(50))
      scale(out, sums.back(), isInt() ? "1" : "1.0");
    line(out, "copy %B[" + (transB ? n + ", " + along : along + ", " + n) + "] -> " + b.name);
    if (chance(10)) // the tile is changed by threads before it is used
      scale(out, a, isInt() ? "1" : "0.5");
    std::string left = a.name;
    if (!transA && chance(20)) { // from registers
      Tile r = alloc(out, "r", input, false, a.shape);
      line(out, "copy " + a.name + " -> " + r.name);
      if (chance(50))
        scale(out, r, isInt() ? "1" : "0.5");
      left = r.name;
    }
    for (const Tile &sum : sums) {
      bool isConditional = chance(10);
      if (isConditional)
        line(out, "if " + k + " % 2 == 0 {"), indent += 2;
      line(out, "gemm " + left + ", " + b.name + " -> " + sum.name +
                    (transA && left == a.name ? " transpose_a" : "") +
                    (transB ? " transpose_b" : "") + (chance(10) ? " clear(" + k + " == 1)" : "") +
                    (chance(20) ? " policy(full_row)" : ""));
      if (isConditional)
        indent -= 2, line(out, "}");
    }
    if (chance(15)) // the sum is used in every round
      scale(out, sums[0], isInt() ? "1" : "0.75");
    indent -= 2;
    line(out, "}");
  }

  void scale(std::string &out, const Tile &t, const std::string &factor) {
    std::string i = name("i"), j = name("j"), x = name("x");
    line(out, "map " + i + " in " + num(t.shape[0]) + ", " + j + " in " + num(t.shape[1]) + " {");
    line(out, "  load " + x + " = " + t.name + "[" + i + ", " + j + "]");
    line(out, "  store " + t.name + "[" + i + ", " + j + "] = " + x + " * " + factor);
    line(out, "}");
  }

  void last(std::string &out, const std::vector<Tile> &sums) {
    const Tile &c = sums[0];
    std::string m = part("%by", rows), n = part("%bx", columns);
    if (sums.size() == 2) {
      std::string i = name("i"), j = name("j"), x = name("x"), y = name("y");
      line(out, "map " + i + " in " + num(rows) + ", " + j + " in " + num(columns) + " {");
      line(out, "  load " + x + " = " + c.name + "[" + i + ", " + j + "]");
      line(out, "  load " + y + " = " + sums[1].name + "[" + i + ", " + j + "]");
      line(out, "  store " + c.name + "[" + i + ", " + j + "] = " + x + " - " + y + " * " +
                    (isInt() ? "3" : "0.5"));
      line(out, "}");
    }
    std::string from = c.name;
    if (chance(40)) { // by way of a shared tile, or of another type
      Tile t = alloc(out, "o", output, chance(70), c.shape);
      line(out, "copy " + c.name + " -> " + t.name);
      from = t.name;
    }
    line(out, "copy " + from + " -> %C[" + m + ", " + n + "]");
    Tile f = alloc(out, "f", "f32", false, c.shape), d = alloc(out, "d", "f32", false, {rows});
    line(out, "copy " + c.name + " -> " + f.name);
    line(out, "reduce " + pick(std::vector<std::string>{"max", "abs_max", "min"}) + " " + f.name +
                  " -> " + d.name + " axis(1)");
    line(out, "if %bx == 0 {");
    line(out, "  copy " + d.name + " -> %D[" + m + "]");
    line(out, "}");
  }

  std::int64_t threads = 0, rows = 0, columns = 0, depth = 0;
  std::string input, output;
  bool transA = false, transB = false;
};

} // namespace

RandomKernel generateProducts(std::uint64_t seed) { return Products(seed).run(); }

} // namespace tlc::fuzz
