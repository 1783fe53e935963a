#include "Generate.h"
#include "Writer.h"

namespace tlc::fuzz {
namespace {

class Generator : Writer {
public:
  explicit Generator(std::uint64_t seed) : Writer(seed) {}

  RandomKernel run() {
    RandomKernel kernel;
    threads = pick({32, 64, 128, 128, 256, 96});
    rows = pick({16, 32, 64, 64, 48});
    columns = pick({16, 32, 64, 128, 40});
    depth = pick({16, 32, 64});
    // Sizes that the tiles divide, and sizes that they do not.
    std::int64_t m = pick({rows, 2 * rows, rows + 1 + below(rows), 1 + below(rows)});
    std::int64_t n = pick({columns, 2 * columns, columns + 8, 1 + below(columns)});
    std::int64_t k = pick({depth, 2 * depth, 3 * depth, depth + 8, 1 + below(3 * depth)});
    kernel.dims = {m, n, k};
    std::string body;
    indent = 4;
    first(body);
    for (std::int64_t i = 2 + below(5); i-- > 0;)
      statement(body, 0);
    last(body);
    kernel.text = "func @fuzz(%A: global " + inputType + "[%M, %K] readonly, %B: global " +
                  inputType +
                  "[%K, %N] readonly, %C: global f32[%M, %N], %D: global f32[%M] out, %E: global "
                  "i32[8]) dims(%M, %N, %K) {\n  launch grid((%N + " +
                  std::to_string(columns - 1) + ") // " + std::to_string(columns) + ", (%M + " +
                  std::to_string(rows - 1) + ") // " + std::to_string(rows) + ") threads(" +
                  std::to_string(threads) + ") blocks(%bx, %by) thread_vars(%tx) tid(%tid) {\n" +
                  body + "  }\n}\n";
    return kernel;
  }

private:
  std::string literal(const Tile &t) {
    return t.isFloat() ? pick(std::vector<std::string>{"0.0", "0.5", "-0.25"}) : num(below(5));
  }

  /// Loads, and a product or two over k.
  void first(std::string &out) {
    inputType = pick(std::vector<std::string>{"f16", "f16", "bf16", "f32", "i8"});
    bool isInt = inputType == "i8";
    std::string sum = isInt ? "i32" : "f32";
    Tile a = alloc(out, "a", inputType, true, {rows, depth}),
         b = alloc(out, "b", inputType, true, {depth, columns});
    Tile c = alloc(out, "c", sum, false, {rows, columns});
    bool clears = chance(30);
    if (!clears)
      line(out, "fill " + c.name + " = " + (isInt ? "0" : "0.0"));
    std::string k = name("k");
    std::string loop = "for " + k + " in 0 .. (%K + " + num(depth - 1) + ") // " + num(depth);
    line(out, loop + (chance(70) ? " pipelined stages(" + num(below(4)) + ")" : "") + " {");
    indent += 2;
    std::string at = k + " * " + num(depth);
    line(out, "copy %A[%by * " + num(rows) + " : +" + num(rows) + ", " + at + " : +" + num(depth) +
                  "] -> " + a.name);
    line(out, "copy %B[" + at + " : +" + num(depth) + ", %bx * " + num(columns) + " : +" +
                  num(columns) + "] -> " + b.name);
    if (!isInt && chance(25))
      scale(out, chance(50) ? a : b);
    line(out, "gemm " + a.name + ", " + b.name + " -> " + c.name +
                  (clears ? " clear(" + k + " == 0)" : ""));
    indent -= 2;
    line(out, "}");
    // Of a few units at most, as a float.
    Tile f = alloc(out, "f", "f32", false, {rows, columns});
    std::string i = name("i"), j = name("j"), x = name("x");
    line(out, "map " + i + " in " + num(rows) + ", " + j + " in " + num(columns) + " {");
    line(out, "  load " + x + " = " + c.name + "[" + i + ", " + j + "]");
    line(out, "  store " + f.name + "[" + i + ", " + j +
                  "] = " + (isInt ? "f32(" + x + ") * 0.01" : x + " * 0.1"));
    line(out, "}");
    tiles.push_back(f);
  }

  void scale(std::string &out, const Tile &t) { scaleBy(out, t, "0.5"); }
  void scaleBy(std::string &out, const Tile &t, const std::string &factor) {
    std::string i = name("i"), j = name("j"), x = name("x");
    line(out, "map " + i + " in " + num(t.shape[0]) + ", " + j + " in " + num(t.shape[1]) + " {");
    line(out, "  load " + x + " = " + t.name + "[" + i + ", " + j + "]");
    line(out, "  store " + t.name + "[" + i + ", " + j + "] = " + x + " * " + factor);
    line(out, "}");
  }

  Tile &any(std::size_t rank, bool mustBeShared = false) {
    std::vector<Tile *> fit;
    for (Tile &t : tiles)
      if (t.shape.size() == rank && (!mustBeShared || t.isShared))
        fit.push_back(&t);
    return fit.empty() ? tiles.front() : *pick(fit);
  }

  void statement(std::string &out, int depthOfNesting) {
    switch (below(depthOfNesting < 2 ? 11 : 8)) {
    case 0:
      return convertCopy(out);
    case 1:
      return elementwise(out);
    case 2:
      return reduce(out);
    case 3:
      return broadcast(out);
    case 4:
      return part(out);
    case 5:
      return threads > 32 && chance(50) ? perThread(out) : scan(out);
    case 6:
      return secondProduct(out);
    case 7:
      return fromGlobal(out);
    case 8:
      return loop(out, depthOfNesting);
    case 9:
      return branch(out, depthOfNesting);
    default:
      return atomics(out);
    }
  }

  /// Same shape, another place or dtype.
  void convertCopy(std::string &out) {
    Tile from = any(chance(80) ? 2 : 1);
    std::string dtype =
        from.isFloat() ? pick(std::vector<std::string>{"f32", "f16", "bf16"}) : from.dtype;
    Tile to = alloc(out, "t", dtype, chance(50), from.shape);
    line(out, "copy " + from.name + " -> " + to.name);
    keep(to);
  }

  /// A tile that is defined in the block where it was made only.
  void keep(const Tile &t) { tiles.push_back(t); }

  std::string access(const Tile &t, const std::string &i, const std::string &j) {
    if (t.shape.size() == 2)
      return t.name + "[" + i + ", " + j + "]";
    return t.name + "[" + (t.shape[0] == rows ? i : j) + "]";
  }

  void elementwise(std::string &out) {
    Tile to = any(2);
    std::string i = name("i"), j = name("j");
    line(out, "map " + i + " in " + num(to.shape[0]) + ", " + j + " in " + num(to.shape[1]) + " {");
    indent += 2;
    std::string sum;
    for (std::int64_t n = 1 + below(3); n-- > 0;) {
      Tile from = any(chance(60) ? 2 : 1);
      bool fits = from.shape.size() == 2
                      ? from.shape == to.shape
                      : from.shape[0] == to.shape[0] || from.shape[0] == to.shape[1];
      if (!fits)
        from = to;
      std::string x = name("x"), predicate = chance(25) ? " if(" + i + " < " +
                                                              num(1 + below(to.shape[0])) +
                                                              ") otherwise(" + literal(from) + ")"
                                                        : "";
      // Not what another point writes.
      line(out, "load " + x + " = " +
                    (from.shape.size() == 2
                         ? from.name + "[" + i + ", " + j + "]"
                         : from.name + "[" + (from.shape[0] == to.shape[0] ? i : j) + "]") +
                    predicate);
      std::string value =
          from.isFloat() ? (from.dtype == "f32" ? x : "f32(" + x + ")") : "f32(" + x + ") * 0.125";
      if (sum.empty())
        sum = value + " * 0.5";
      else
        sum = chance(40) ? "(" + sum + " + " + value + ")"
                         : (chance(50) ? "max(" : "min(") + sum + ", " + value + ")";
    }
    if (chance(30))
      sum = "select((" + i + " + " + j + ") % " + num(2 + below(5)) + " == 0, " + sum + ", " +
            "f32(" + j + ") * 0.0625)";
    if (chance(25))
      sum = (chance(50) ? "tanh(" : "sigmoid(") + sum + ")";
    store(out, to, i + ", " + j, sum);
    indent -= 2;
    line(out, "}");
  }

  void store(std::string &out, const Tile &to, const std::string &index, const std::string &value) {
    std::string v = name("v");
    line(out, "let " + v + " = " + value);
    std::string cast = to.dtype == "f32" ? v
                       : to.isFloat()    ? to.dtype + "(" + v + ")"
                                         : to.dtype + "(" + v + " * 8.0)";
    line(out, "store " + to.name + "[" + index + "] = " + cast);
  }

  void reduce(std::string &out) {
    Tile from = any(2);
    std::int64_t axis = below(2);
    std::string op = pick(std::vector<std::string>{"max", "min", "abs_max", "sum"});
    Tile to = alloc(out, "r", from.dtype == "f16" || from.dtype == "bf16" ? "f32" : from.dtype,
                    false, {from.shape[axis == 0 ? 1 : 0]});
    line(out, "reduce " + op + " " + from.name + " -> " + to.name + " axis(" + num(axis) + ")");
    if (op == "sum") {
      std::string i = name("i"), x = name("x");
      line(out, "map " + i + " in " + num(to.shape[0]) + " {");
      line(out, "  load " + x + " = " + to.name + "[" + i + "]");
      line(out,
           "  store " + to.name + "[" + i + "] = " + (to.isFloat() ? x + " * 0.02" : x + " // 64"));
      line(out, "}");
    }
    keep(to);
  }

  void broadcast(std::string &out) {
    Tile from = any(1);
    if (from.shape.size() != 1)
      return reduce(out);
    std::int64_t other = from.shape[0] == rows ? columns : rows;
    bool isRow = from.shape[0] == rows;
    Tile to = alloc(out, "w", pick(std::vector<std::string>{"f32", "f16"}), chance(50),
                    isRow ? std::vector<std::int64_t>{from.shape[0], other}
                          : std::vector<std::int64_t>{other, from.shape[0]});
    std::string i = name("i"), j = name("j"), x = name("x");
    line(out, "map " + i + " in " + num(to.shape[0]) + ", " + j + " in " + num(to.shape[1]) + " {");
    indent += 2;
    line(out, "load " + x + " = " + from.name + "[" + (isRow ? i : j) + "]");
    std::string value = from.dtype == "f32" ? x : "f32(" + x + ")";
    store(out, to, i + ", " + j, value + " * 0.5");
    indent -= 2;
    line(out, "}");
    keep(to);
  }

  /// A part of a shared tile through registers and back, or filled.
  void part(std::string &out) {
    Tile t = any(2, true);
    if (!t.isShared || t.shape[0] % 2 || t.shape[1] % 2)
      return convertCopy(out);
    std::int64_t h = t.shape[0] / 2, w = t.shape[1] / 2;
    std::string region = t.name + "[" + num(below(2) * h) + " : +" + num(h) + ", " +
                         num(below(2) * w) + " : +" + num(w) + "]";
    if (chance(40))
      return line(out, "fill " + region + " = " + literal(t));
    Tile u = alloc(out, "u", t.dtype, false, {h, w});
    line(out, "copy " + region + " -> " + u.name);
    if (t.isFloat())
      scale(out, u);
    line(out, "copy " + u.name + " -> " + region);
  }

  /// A result multiplied again, from shared memory or from registers.
  void secondProduct(std::string &out) {
    if (inputType == "i8")
      return elementwise(out);
    const Tile &from = tiles.front();
    Tile p = alloc(out, "p", inputType, chance(50), from.shape);
    line(out, "copy " + from.name + " -> " + p.name);
    Tile v = alloc(out, "v", inputType, true, {columns, columns});
    line(out, "copy %B[" + num(below(3) * 8) + " : +" + num(columns) + ", %bx * " + num(columns) +
                  " : +" + num(columns) + "] -> " + v.name);
    Tile c = alloc(out, "c", "f32", false, from.shape);
    line(out, "fill " + c.name + " = 0.25");
    line(out, "gemm " + p.name + ", " + v.name + " -> " + c.name +
                  (chance(40) ? " transpose_b" : "") + (chance(30) ? " policy(full_row)" : ""));
    scaleBy(out, c, "0.05");
    keep(c);
  }

  /// Elements of a tensor, near and beyond its end.
  void fromGlobal(std::string &out) {
    Tile to = alloc(out, "g", "f32", chance(30), {rows, chance(50) ? columns : 16});
    std::string i = name("i"), j = name("j"), x = name("x");
    std::string row = "%by * " + num(rows) + " + " + i;
    line(out, "map " + i + " in " + num(to.shape[0]) + ", " + j + " in " + num(to.shape[1]) + " {");
    indent += 2;
    std::string column = chance(30) ? j + " // 2" : chance(50) ? j + " + " + num(1 + below(4)) : j;
    line(out, "load " + x + " = %A[" + row + ", " + column + "]");
    store(out, to, i + ", " + j,
          (inputType == "f32" ? x : "f32(" + x + ")") +
              (inputType == "i8" ? " * 0.125" : " * 0.5"));
    indent -= 2;
    line(out, "}");
    keep(to);
  }

  void scan(std::string &out) {
    Tile from = any(2, true);
    if (!from.isShared || from.dtype != "f32")
      return elementwise(out);
    line(out, "scan max " + from.name + " -> " + from.name + " axis(" + num(below(2)) + ")" +
                  (chance(30) ? " reverse" : ""));
  }

  /// Plain thread code over shared memory: write, then read what another thread wrote.
  void perThread(std::string &out) {
    Tile t = alloc(out, "s", "f32", true, {threads});
    line(out, "store " + t.name + "[%tx] = f32(%tx) * 0.015625");
    std::string x = name("x"), y = name("y");
    line(out, "load " + x + " = " + t.name + "[" + num(threads - 1) + " - %tx]");
    line(out, "store " + t.name + "[%tx] = " + x + " + 0.5");
    line(out, "load " + y + " = " + t.name + "[(%tx + " + num(1 + below(threads - 1)) + ") % " +
                  num(threads) + "]");
    Tile u = any(1);
    if (u.shape.size() == 1 && u.isShared && u.dtype == "f32" && u.shape[0] <= threads)
      line(out, "store " + u.name + "[%tx] = " + y + " if(%tx < " + num(u.shape[0]) + ")");
  }

  void nested(std::string &out, int depthOfNesting) {
    std::size_t known = tiles.size();
    indent += 2;
    for (std::int64_t n = 1 + below(3); n-- > 0;)
      statement(out, depthOfNesting + 1);
    indent -= 2;
    tiles.resize(known);
  }
  void loop(std::string &out, int depthOfNesting) {
    line(out, "for " + name("l") + " in 0 .. " + num(1 + below(3)) + (chance(20) ? " unroll" : "") +
                  " {");
    nested(out, depthOfNesting);
    line(out, "}");
  }
  void branch(std::string &out, int depthOfNesting) {
    line(out,
         "if %bx " + pick(std::vector<std::string>{"==", "<", "!="}) + " " + num(below(2)) + " {");
    nested(out, depthOfNesting);
    if (chance(40)) {
      line(out, "} else {");
      nested(out, depthOfNesting);
    }
    line(out, "}");
  }
  void atomics(std::string &out) {
    if (chance(50))
      return line(out, "atomic add %E[" + num(below(8)) + "] value(1) if(%tx < " +
                           num(1 + below(threads)) + ")");
    std::string i = name("i");
    line(out, "map " + i + " in " + num(8 + below(200)) + " {");
    line(out, "  atomic add %E[" + i + " % 8] value(" + i + " // 3)");
    line(out, "}");
  }

  void last(std::string &out) {
    // Every tile of full size reaches the result.
    Tile total = tiles.front();
    std::string i = name("i"), j = name("j");
    line(out, "map " + i + " in " + num(rows) + ", " + j + " in " + num(columns) + " {");
    indent += 2;
    std::string sum;
    for (const Tile &t : tiles) {
      bool fits = t.shape.size() == 2 ? t.shape[0] == rows && t.shape[1] == columns
                                      : t.shape[0] == rows || t.shape[0] == columns;
      if (!fits)
        continue;
      std::string x = name("x");
      line(out, "load " + x + " = " + access(t, i, j));
      std::string value = t.dtype == "f32" ? x : "f32(" + x + ")";
      sum = sum.empty() ? value : sum + " + " + value + " * 0.75";
    }
    store(out, total, i + ", " + j, sum);
    indent -= 2;
    line(out, "}");
    line(out, "copy " + total.name + " -> %C[%by * " + num(rows) + " : +" + num(rows) + ", %bx * " +
                  num(columns) + " : +" + num(columns) + "]");
    Tile d = alloc(out, "d", "f32", false, {rows});
    line(out, "reduce max " + total.name + " -> " + d.name + " axis(1)");
    line(out, "if %bx == 0 {");
    line(out, "  copy " + d.name + " -> %D[%by * " + num(rows) + " : +" + num(rows) + "]");
    line(out, "}");
  }

  std::int64_t threads = 0, rows = 0, columns = 0, depth = 0;
  std::string inputType;
  std::vector<Tile> tiles;
};

} // namespace

RandomKernel generateTiles(std::uint64_t seed) { return Generator(seed).run(); }

} // namespace tlc::fuzz
