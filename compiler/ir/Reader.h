// The reading side of TextForm.h; for Parse.cpp and ParseFunction.cpp only.
#pragma once

#include "ir/Parse.h"
#include "ir/ParseExpr.h"
#include "ir/TextForm.h"

#include <algorithm>

namespace tlc::ir::text {

class Reader {
public:
  struct Name {
    Token token;
    std::optional<DType> dtype;
  };

  Reader(Context &context, std::string_view source, DiagnosticEngine &diagnostics,
         std::uint32_t file)
      : in(context, source, diagnostics, file) {}

  bool atEnd() const { return in.at(TokenKind::End); }
  SourceRange here() const { return in.here(); }
  std::unique_ptr<Function> readFunction();

  // ---- Mandatory parts
  void text(std::string_view part) {
    for (std::size_t i = part.find_first_not_of(' '); i != part.npos;) {
      std::size_t end = std::min(part.find(' ', i), part.size());
      in.expect(part.substr(i, end - i));
      i = part.find_first_not_of(' ', end);
    }
  }
  void dtype(DType &d) { d = in.expectDType(); }
  template <class E> void word(E &value, Names names) {
    auto found = std::find(names.begin(), names.end(), in.lexer.peek().text);
    if (!in.at(TokenKind::Word) || found == names.end())
      in.expected(oneOf(names));
    in.lexer.next();
    value = static_cast<E>(found - names.begin());
  }
  void number(std::int64_t &value) { value = in.expectNumber(); }
  void string(std::string &value) { value = in.expect(TokenKind::String, "a string").text; }
  void expr(Expr &e, std::optional<DType> like = {}) { e = in.parseExpr(like); }
  std::optional<DType> wanted(const Name &name, Expr) const { return name.dtype; }
  void exprList(std::vector<Expr> &list, std::string_view close) {
    if (in.take(close))
      return;
    do
      list.push_back(in.parseExpr());
    while (in.take(","));
    in.expect(close);
  }
  void buffer(Buffer *&b) { b = in.parseBuffer(); }
  void symbol(std::string &name) { name = in.expect(TokenKind::Symbol, "`@` and a name").text; }
  void declare(Buffer *&b) {
    Token name = in.expect(TokenKind::Name, "a name for the buffer");
    in.expect(":");
    b = &function->addBuffer(name.text, DType(), Scope::Shared, {}, in.range(name));
    describe(*this, *b);
    in.define(name, {{}, b});
  }
  void element(Element &e) { e = in.parseElement(); }
  void region(Region &r) { r = in.parseRegion(); }
  void arguments(std::vector<Argument> &args);
  void pointers(std::string_view name, std::vector<Pointer> &list);
  void templateArguments(std::vector<DType> &types, std::vector<std::int64_t> &values);
  void mapVars(std::vector<Expr> &vars, std::vector<Expr> &extents);

  // ---- Variables
  template <class F> Name define(Expr &, F) {
    Name name{in.expect(TokenKind::Name, "a name"), {}};
    if (in.take(":"))
      name.dtype = in.expectDType();
    return name;
  }
  void bind(const Name &name, Expr &var, std::optional<DType> derived) {
    std::optional<DType> d = name.dtype ? name.dtype : derived;
    if (!d)
      in.malformed(in.range(name.token), "`%" + name.token.text + "` needs a dtype here");
    var = in.context.var(name.token.text, *d);
    in.define(name.token, {var, nullptr});
  }
  void setStep(Expr &step, Expr lo) { step = in.context.integer(lo.dtype(), 1); }
  void enterScope() { in.enterScope(); }
  void leaveScope() { in.leaveScope(); }

  // ---- Options
  template <class F> void options(F f) {
    do {
      progress = false;
      f();
    } while (progress);
  }
  void flag(std::string_view name, bool &value) {
    if (option(name))
      value = true;
  }
  void flagOff(std::string_view name, bool &value) {
    if (option(name))
      value = false;
  }
  template <class T> void integer(std::string_view name, T &value, std::int64_t) {
    if (open(name)) {
      value = static_cast<T>(in.expectNumber());
      in.expect(")");
    }
  }
  void pending(std::string_view name, std::int64_t &value, bool) { integer(name, value, 0); }
  template <class E> void word(std::string_view name, E &value, Names names, E = E{}) {
    if (open(name)) {
      word(value, names);
      in.expect(")");
    }
  }
  template <class E> void choice(E &value, Names names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (option(names[i]))
        value = static_cast<E>(i);
  }
  void expression(std::string_view name, Expr &e, std::optional<DType> like = {},
                  std::optional<std::int64_t> = {}) {
    if (open(name)) {
      e = in.parseExpr(like);
      in.expect(")");
    }
  }
  void expressions(std::string_view name, std::vector<Expr> &list) {
    if (open(name))
      exprList(list, ")");
  }
  template <class T> void integers(std::string_view name, std::vector<T> &list) {
    if (option(name))
      numbers(list);
  }
  void bools(std::string_view name, std::vector<bool> &list) { integers(name, list); }
  void unfold(std::string_view name, std::optional<Unfold> &u) {
    std::vector<std::int64_t> list;
    integers(name, list);
    if (list.size() == 4)
      u = Unfold{list[0], list[1], list[2], list[3]};
    else if (!list.empty())
      in.malformed(in.range(in.lexer.peek()), "expected kernel, stride, dilation and pad");
  }
  void groups(std::string_view name, std::vector<std::vector<std::int64_t>> &list) {
    if (!open(name))
      return;
    do
      numbers(list.emplace_back());
    while (in.take(","));
    in.expect(")");
  }
  void layout(std::string_view name, std::optional<Layout> &l) {
    if (option(name))
      l = layoutInParentheses();
  }
  void bufferOption(std::string_view name, Buffer *&b) {
    if (open(name)) {
      b = in.parseBuffer();
      in.expect(")");
    }
  }
  void stringOption(std::string_view name, std::string &value) {
    if (open(name)) {
      string(value);
      in.expect(")");
    }
  }
  void elementOption(std::string_view name, Element &e) {
    if (open(name)) {
      e = in.parseElement();
      in.expect(")");
    }
  }
  void regionOption(std::string_view name, Region &r) {
    if (open(name)) {
      r = in.parseRegion();
      in.expect(")");
    }
  }
  void result(std::string_view name, Expr &var, std::optional<DType> derived) {
    if (open(name)) {
      bind(define(var, 0), var, derived);
      in.expect(")");
    }
  }
  void atom(std::string_view name, const Atom *&a);
  template <class T> bool group(std::string_view name, std::optional<T> &value) {
    if (!open(name))
      return false;
    value.emplace();
    return true;
  }
  void field(std::string_view name, Layout &l) {
    in.expect(name);
    l = layoutInParentheses();
  }
  void field(std::string_view name, Index &value) {
    in.expect(name);
    in.expect("(");
    value = in.expectNumber();
    in.expect(")");
  }
  void endGroup() { in.expect(")"); }

  // ---- Statements
  void statements(Block &b) {
    while (!in.at("}"))
      b.push_back(statement());
  }
  void block(Block &b) {
    in.expect("{");
    in.enterScope();
    statements(b);
    in.leaveScope();
    in.expect("}");
  }
  void elseBlock(Block &b) {
    if (in.take("else"))
      block(b);
  }
  /// What it binds stays known: the caller has opened a scope.
  void conditionBlock(Block &b) {
    if (!in.take("{"))
      return;
    statements(b);
    in.expect("}");
    in.expect("test");
  }

private:
  /// An option stands on the line of its statement, so that the next statement is none.
  bool option(std::string_view name) {
    const Token &t = in.lexer.peek();
    if (t.kind != TokenKind::Word || t.text != name || t.startsLine)
      return false;
    in.lexer.next();
    return progress = true;
  }
  bool open(std::string_view name) {
    if (!option(name))
      return false;
    in.expect("(");
    return true;
  }
  template <class T> void numbers(std::vector<T> &list) {
    in.expect("(");
    if (in.take(")"))
      return;
    do
      list.push_back(static_cast<T>(in.expectNumber()));
    while (in.take(","));
    in.expect(")");
  }
  static std::string oneOf(Names names) {
    std::string text = "one of";
    for (std::string_view name : names)
      text += (text.ends_with("of") ? " " : ", ") + std::string(name);
    return text;
  }
  Layout layoutInParentheses() {
    SourceRange where = in.here();
    if (!in.at("("))
      in.expected("`(` and a layout");
    auto raw = in.lexer.rawParentheses();
    auto layout = raw ? parseLayout(*raw) : std::nullopt;
    if (!layout)
      in.malformed(where, "this is no layout");
    in.expect(")");
    return *layout;
  }

  /// None, and nothing read, if something else stands here.
  std::optional<TensorMap> tensorMap();
  StmtPtr statement();
  void params();
  void scalarParams();
  void dims();
  void fact();
  void launch();
  void launchOption(Launch &l);
  std::string named(const std::string &usual);
  void variables(std::span<Expr> vars);

  ExprParser in;
  Function *function = nullptr;
  bool progress = false;
};

} // namespace tlc::ir::text
