// Layouts from their text: `reg(2:n 2:m*8) thread(4:n*2 8:m) -> m<16 n<8`, XOR terms behind.
#include "ir/Lexer.h"
#include "ir/Parse.h"

#include <algorithm>
#include <tuple>

namespace tlc::ir {
namespace {

using text::Lexer;
using text::TokenKind;

/// Thrown and caught here: the text is no layout.
struct Malformed {};

class LayoutReader {
public:
  explicit LayoutReader(std::string_view source) : in(source) {}

  Layout read() {
    while (!in.peek().is("->"))
      inputAxis();
    in.next();
    while (in.peek().kind != TokenKind::End) {
      std::string name = word();
      if (take("<"))
        outputAxis(std::move(name));
      else
        xorTerm(name);
    }
    for (const Pending &p : pending)
      output(p.output).terms.push_back(p.term);
    // The order of normalized layouts, without merging digits that the text keeps apart.
    for (OutputAxis &o : layout.outputs)
      std::stable_sort(o.terms.begin(), o.terms.end(), [](const Term &a, const Term &b) {
        return std::tuple(a.weight, a.digits, a.flip) < std::tuple(b.weight, b.digits, b.flip);
      });
    layout.check();
    return std::move(layout);
  }

private:
  struct Pending {
    std::string output;
    Term term;
  };

  bool take(std::string_view punct) {
    bool is = in.peek().is(punct);
    if (is)
      in.next();
    return is;
  }
  void expect(std::string_view punct) {
    if (!take(punct))
      throw Malformed{};
  }
  std::string word() {
    if (in.peek().kind != TokenKind::Word)
      throw Malformed{};
    return in.next().text;
  }
  Index number() {
    if (in.peek().kind != TokenKind::Int)
      throw Malformed{};
    return static_cast<Index>(in.next().integer);
  }
  OutputAxis &output(const std::string &name) {
    for (OutputAxis &o : layout.outputs)
      if (o.name == name)
        return o;
    throw Malformed{};
  }

  void inputAxis() {
    layout.inputs.push_back({word(), {}});
    expect("(");
    while (!take(")")) {
      if (layout.digitCount() >= 63)
        throw Malformed{};
      DigitSet digit = DigitSet{1} << layout.digitCount();
      layout.inputs.back().radices.push_back(number());
      while (take(":")) {
        std::string name = word();
        pending.push_back({name, {digit, take("*") ? number() : 1, false}});
      }
    }
  }

  void outputAxis(std::string name) {
    Index size = number();
    layout.outputs.push_back({std::move(name), size, take("+") ? number() : 0, {}});
  }

  /// name*weight=axis/place^axis/place, with 1^ in front if flipped.
  void xorTerm(const std::string &name) {
    expect("*");
    Term term{0, number(), false};
    expect("=");
    if (in.peek().kind == TokenKind::Int) {
      term.flip = number() == 1;
      if (!take("^"))
        throw Malformed{};
    }
    do {
      std::string axis = word();
      expect("/");
      term.digits ^= digitAt(axis, number());
    } while (take("^"));
    pending.push_back({name, term});
  }

  DigitSet digitAt(const std::string &axis, Index place) {
    for (int d = 0; d < layout.digitCount(); ++d) {
      auto [a, p] = layout.place(d);
      if (layout.inputs[static_cast<std::size_t>(a)].name == axis && p == place)
        return DigitSet{1} << d;
    }
    throw Malformed{};
  }

  Lexer in;
  Layout layout;
  std::vector<Pending> pending;
};

} // namespace

std::optional<Layout> parseLayout(std::string_view source) {
  try {
    return LayoutReader(source).read();
  } catch (const Malformed &) {
    return std::nullopt;
  } catch (const LayoutError &) {
    return std::nullopt;
  }
}

} // namespace tlc::ir
