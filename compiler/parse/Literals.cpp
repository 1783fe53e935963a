#include "parse/Literals.h"

#include "support/Unicode.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include <llvm/Support/Unicode.h>

namespace tlc::parsing {
namespace {

unsigned digitValue(char c) {
  return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a') + 10;
}

void setInteger(ast::Constant &constant, std::string_view digits, unsigned base) {
  constant.type = ast::ConstantType::Int;
  const auto most = (static_cast<unsigned __int128>(1) << 127) - 1;
  unsigned __int128 value = 0;
  for (char c : digits) {
    unsigned digit = digitValue(c);
    if (value > (most - digit) / base) {
      constant.overflow = true;
      return;
    }
    value = value * base + digit;
  }
  constant.intValue = static_cast<ast::Int128>(value);
}

// Decodes one literal from left to right.
class Decoder {
public:
  Decoder(std::string_view text, LiteralStyle style, std::string &out)
      : text(text), style(style), out(out) {}

  bool run() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\\' && !style.raw) {
        if (!escape())
          return false;
      } else if (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n') {
        ++at;
      } else {
        out += c;
        ++at;
        if (style.doubledBraces && (c == '{' || c == '}') && at < text.size() && text[at] == c)
          ++at;
      }
    }
    return true;
  }

  size_t badBegin = 0, badEnd = 0;

private:
  bool escape() {
    if (at + 1 == text.size()) { // an f-string's field follows
      out += text[at++];
      return true;
    }
    char kind = text[at + 1];
    static constexpr std::string_view letters = "\\'\"abfnrtv", values = "\\'\"\a\b\f\n\r\t\v";
    if (size_t index = letters.find(kind); index != letters.npos) {
      out += values[index];
      at += 2;
    } else if (kind == '\n') {
      at += 2;
    } else if (kind == '\r' && at + 2 < text.size() && text[at + 2] == '\n') {
      at += 3;
    } else if (kind >= '0' && kind <= '7') {
      octal();
    } else if (kind == 'x' || (!style.bytes && (kind == 'u' || kind == 'U'))) {
      hexadecimal(kind == 'x' ? 2 : kind == 'u' ? 4 : 8);
    } else if (kind == 'N' && !style.bytes) {
      return named();
    } else {
      out += text[at++]; // an unknown escape stands for itself
    }
    return true;
  }

  void put(unsigned long value) {
    if (style.bytes)
      out += static_cast<char>(static_cast<unsigned char>(value));
    else
      appendCharacter(out, static_cast<char32_t>(value));
  }

  void octal() {
    unsigned long value = 0;
    ++at;
    for (int n = 0; n < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++n)
      value = value * 8 + digitValue(text[at++]);
    put(value);
  }

  void hexadecimal(size_t digits) {
    put(std::strtoul(std::string(text.substr(at + 2, digits)).c_str(), nullptr, 16));
    at += 2 + digits;
  }

  bool named() {
    size_t close = text.find('}', at);
    std::string name(text.substr(at + 3, close - at - 3));
    for (char &c : name)
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::optional<char32_t> c = llvm::sys::unicode::nameToCodepointStrict(name);
    if (!c) {
      badBegin = at;
      badEnd = close + 1;
      return false;
    }
    appendCharacter(out, *c);
    at = close + 1;
    return true;
  }

  const std::string_view text;
  const LiteralStyle style;
  std::string &out;
  size_t at = 0;
};

} // namespace

void setNumber(ast::Constant &constant, std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '_'; });
  char prefix = digits.size() > 1 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : ' ';
  if (prefix == 'x' || prefix == 'o' || prefix == 'b')
    return setInteger(constant, std::string_view(digits).substr(2),
                      prefix == 'x'   ? 16
                      : prefix == 'o' ? 8
                                      : 2);
  if (digits.find_first_not_of("0123456789") == digits.npos)
    return setInteger(constant, digits, 10);
  bool imaginary = (digits.back() | 0x20) == 'j';
  constant.type = imaginary ? ast::ConstantType::Complex : ast::ConstantType::Float;
  // strtod: too large becomes infinity, too small 0, as in Python. The process never leaves the "C"
  // locale.
  constant.floatValue = std::strtod(digits.c_str(), nullptr);
}

bool decodeLiteral(std::string_view text, LiteralStyle style, std::string &out,
                   std::size_t &badBegin, std::size_t &badEnd) {
  Decoder decoder(text, style, out);
  bool ok = decoder.run();
  badBegin = decoder.badBegin;
  badEnd = decoder.badEnd;
  return ok;
}

} // namespace tlc::parsing
