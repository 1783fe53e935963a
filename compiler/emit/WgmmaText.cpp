#include "emit/WgmmaText.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tlc::emit {

namespace {

/// Removes `prefix` from the front of `text` if it is there.
bool take(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool takeNumber(std::string_view &text, unsigned &number) {
  if (text.starts_with('0'))
    return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

std::string_view takeWord(std::string_view &text) {
  std::string_view word = text.substr(0, text.find('_'));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

bool isFloat8(std::string_view type) { return type == "e4m3" || type == "e5m2"; }
bool isInt8(std::string_view type) { return type == "s8" || type == "u8"; }

/// PTX manual, "Asynchronous Warpgroup Level Matrix Instructions": types and shapes.
bool exists(const WgmmaShape &s) {
  if (s.n == 0 || s.n > 256 || s.n % 8 != 0 || (s.sparse && s.k % 2 != 0))
    return false;
  unsigned kept = s.sparse ? s.k / 2 : s.k; // of A along k
  if (isInt8(s.a) && isInt8(s.b))
    return s.sum == "s32" && kept == 32 && (s.n <= 24 || s.n % 16 == 0);
  if (isFloat8(s.a) && isFloat8(s.b))
    return (s.sum == "f32" || s.sum == "f16") && kept == 32;
  if (s.a != s.b)
    return false;
  if (s.a == "f16")
    return (s.sum == "f32" || s.sum == "f16") && kept == 16;
  return s.sum == "f32" && ((s.a == "bf16" && kept == 16) || (s.a == "tf32" && kept == 8));
}

/// `items` with commas between, in lines of at most `width` characters.
std::vector<std::string> lines(const std::vector<std::string> &items, std::size_t width) {
  std::vector<std::string> out = {""};
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string text = items[i] + (i + 1 < items.size() ? "," : "");
    if (!out.back().empty() && out.back().size() + 1 + text.size() > width)
      out.emplace_back();
    out.back() += (out.back().empty() ? "" : " ") + text;
  }
  return out;
}

std::string numbered(unsigned operand) { return "%" + std::to_string(operand); }

/// Comments, template and parameters of the function, up to its brace.
std::string declarationText(std::string_view name, const WgmmaShape &s) {
  std::string_view element = s.sum == "f32" ? "float" : s.sum == "f16" ? "__half" : "int32_t";
  std::vector<std::string> known; // when compiling
  if (s.selectable())
    known.push_back("int Selector");
  if (s.transposable() && !s.registers)
    known.push_back("int TransA");
  if (s.transposable())
    known.push_back("int TransB");
  std::string out =
      "// d = a b, plus d if `accumulate`: 64 x " + std::to_string(s.n) + " sums of a warpgroup.\n";
  if (s.transposable())
    out += "// Trans...: 1 if the operand is contiguous along m or n, not along k.\n";
  if (s.sparse)
    out += "// metadata: as of mma.sp, each warp's 16 rows by themselves.\n";
  if (!known.empty())
    out += "template <" + lines(known, 96).front() + ">\n";
  std::vector<std::string> arguments = {std::string(element) + " *d",
                                        s.registers ? "const void *a" : "uint64_t a", "uint64_t b"};
  if (s.sparse)
    arguments.push_back("uint32_t metadata");
  arguments.push_back("bool accumulate");
  std::string head = "TLC_DEVICE void " + std::string(name) + "(", joined;
  for (const std::string &line : lines(arguments, 96 - head.size()))
    joined += (joined.empty() ? "" : "\n" + std::string(head.size(), ' ')) + line;
  return out + head + joined + ") {\n";
}

} // namespace

std::optional<WgmmaShape> wgmmaShape(std::string_view name) {
  WgmmaShape shape;
  if (!take(name, "wgmma_"))
    return std::nullopt;
  shape.sparse = take(name, "sp_");
  if (!take(name, "m64n") || !takeNumber(name, shape.n) || !take(name, "k") ||
      !takeNumber(name, shape.k) || !take(name, "_"))
    return std::nullopt;
  shape.a = takeWord(name);
  shape.b = takeWord(name);
  shape.sum = takeWord(name);
  shape.registers = name == "rs";
  if ((name != "rs" && name != "ss") || !exists(shape))
    return std::nullopt;
  return shape;
}

std::string wgmmaText(std::string_view name, const WgmmaShape &s) {
  unsigned sums = s.sums();
  // The sums, A, B, whether to add, and what is known when compiling.
  std::vector<std::string> places, outputs, inputs, left, rest;
  for (unsigned i = 0; i < sums; ++i) {
    places.push_back(numbered(i));
    std::string at = "[" + std::to_string(i) + "]";
    outputs.push_back(s.sum == "f32" ? "\"+f\"(d" + at + ")"
                                     : std::string("\"+r\"(") +
                                           (s.sum == "f16" ? "words(d)" : "d") + at + ")");
  }
  unsigned next = sums;
  auto input = [&](const std::string &text) {
    inputs.push_back(text);
    return numbered(next++);
  };
  std::string a = "{";
  if (s.registers) {
    for (unsigned i = 0; i < 4; ++i)
      a += (i ? ", " : "") + input("\"r\"(word[" + std::to_string(i) + "])");
    a += "}";
  } else {
    a = input("\"l\"(a)");
  }
  std::string b = input("\"l\"(b)"), metadata;
  if (s.sparse) {
    metadata = ", " + input("\"r\"(metadata)");
    metadata += ", " + (s.selectable() ? input("\"n\"(Selector)") : "0");
  }
  std::string add = input("\"r\"(int(accumulate))"), known;
  if (s.sum != "s32")
    known += ", 1, 1";
  if (s.transposable()) {
    if (!s.registers)
      known += ", " + input("\"n\"(TransA)");
    known += ", " + input("\"n\"(TransB)");
  }

  std::string out = declarationText(name, s);
  if (s.registers)
    out += "  const uint32_t *word = static_cast<const uint32_t *>(a);\n";
  out += "  asm volatile(\"{\\n.reg .pred add;\\nsetp.ne.b32 add, " + add + ", 0;\\n\"\n";
  out += "               \"wgmma.mma_async" + std::string(s.sparse ? ".sp" : "") +
         ".sync.aligned.m64n" + std::to_string(s.n) + "k" + std::to_string(s.k) + "." +
         std::string(s.sum) + "." + std::string(s.a) + "." + std::string(s.b) + " \"\n";
  std::vector<std::string> sumLines = lines(places, 74);
  for (std::size_t i = 0; i < sumLines.size(); ++i)
    out += std::string("               \"") + (i ? "" : "{") + sumLines[i] +
           (i + 1 < sumLines.size() ? " \"\n" : "}, \"\n");
  out += "               \"" + a + ", " + b + metadata + ", add" + known + ";\\n}\"\n";
  auto list = [&](std::string_view mark, const std::vector<std::string> &items) {
    std::string text;
    for (const std::string &line : lines(items, 80))
      text += (text.empty() ? "               " + std::string(mark) + " " : "\n                 ") +
              line;
    return text;
  };
  out += list(":", outputs) + "\n" + list(":", inputs) + ");\n}";
  return out;
}

} // namespace tlc::emit
