#include "parse/Parser.h"
#include "syntax/PrintAST.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

struct Parsed {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<ast::Module> module;

  explicit Parsed(std::string text, bool expression = false) {
    std::uint32_t file = sources.addBuffer("t.tl", std::move(text));
    module = expression ? parseExpression(sources, file, diagnostics)
                        : parse(sources, file, diagnostics);
  }
  std::string code() const {
    return diagnostics.diagnostics().empty()
               ? ""
               : std::string(info(diagnostics.diagnostics()[0].id).code);
  }
};

const ast::Constant &constant(const Parsed &parsed) {
  REQUIRE(parsed.module);
  auto *statement = parsed.module->body.at(0)->as<ast::ExprStmt>();
  REQUIRE(statement);
  auto *value = statement->value->as<ast::Constant>();
  REQUIRE(value);
  return *value;
}

// Fully parenthesised, to see who binds tighter.
std::string shape(const ast::Expr &expr) {
  if (auto *it = expr.as<ast::Name>())
    return it->id;
  if (auto *it = expr.as<ast::UnaryOp>())
    return "(" + std::string(spelling(it->op)) + " " + shape(*it->operand) + ")";
  if (auto *it = expr.as<ast::BinOp>())
    return "(" + shape(*it->left) + " " + std::string(spelling(it->op)) + " " + shape(*it->right) +
           ")";
  if (auto *it = expr.as<ast::Await>())
    return "(await " + shape(*it->value) + ")";
  if (auto *it = expr.as<ast::IfExp>())
    return "(" + shape(*it->body) + " if " + shape(*it->test) + " else " + shape(*it->orelse) + ")";
  if (auto *it = expr.as<ast::BoolOp>()) {
    std::string text;
    for (const ast::Expr *value : it->values)
      text += (text.empty() ? "(" : " " + std::string(spelling(it->op)) + " ") + shape(*value);
    return text + ")";
  }
  if (auto *it = expr.as<ast::Compare>()) {
    std::string text = "(" + shape(*it->left);
    for (size_t i = 0; i < it->ops.size(); ++i)
      text += " " + std::string(spelling(it->ops[i])) + " " + shape(*it->comparators[i]);
    return text + ")";
  }
  return "?";
}

std::string shape(const std::string &text) {
  Parsed parsed(text, true);
  REQUIRE(parsed.module);
  return shape(*parsed.module->body.at(0)->as<ast::ExprStmt>()->value);
}

} // namespace

TEST_CASE("precedence and associativity") {
  CHECK(shape("a + b * c") == "(a + (b * c))");
  CHECK(shape("a - b - c") == "((a - b) - c)");
  CHECK(shape("a ** b ** c") == "(a ** (b ** c))");
  CHECK(shape("-a ** -b") == "(- (a ** (- b)))");
  CHECK(shape("- ~ + a") == "(- (~ (+ a)))");
  CHECK(shape("a | b ^ c & d << e + f * g") == "(a | (b ^ (c & (d << (e + (f * g))))))");
  CHECK(shape("a * b + c << d & e ^ f | g") == "((((((a * b) + c) << d) & e) ^ f) | g)");
  CHECK(shape("a // b % c @ d / e") == "((((a // b) % c) @ d) / e)");
  CHECK(shape("a or b and not c == d") == "(a or (b and (not (c == d))))");
  CHECK(shape("a and b or c and d") == "((a and b) or (c and d))");
  CHECK(shape("not not a") == "(not (not a))");
  CHECK(shape("a < b <= c != d is not e not in f") == "(a < b <= c != d is not e not in f)");
  CHECK(shape("a if b else c if d else e") == "(a if b else (c if d else e))");
  CHECK(shape("await a ** b") == "((await a) ** b)");
  CHECK(shape("a + b < c | d") == "((a + b) < (c | d))");
}

TEST_CASE("integers are exact up to 127 bits") {
  auto value = [](const char *text) { return constant(Parsed(text)).intValue; };
  CHECK(value("0") == 0);
  CHECK(value("1_000_000") == 1000000);
  CHECK(value("0xFf_ff") == 65535);
  CHECK(value("0b1011") == 11);
  CHECK(value("0o17") == 15);
  CHECK(value("000") == 0);
  CHECK(value("18446744073709551616") == static_cast<ast::Int128>(1) << 64);
  ast::Int128 most = ~(static_cast<ast::Int128>(1) << 127);
  CHECK((value("170141183460469231731687303715884105727") == most));
  CHECK((value("0x7fffffffffffffffffffffffffffffff") == most));
  CHECK_FALSE(constant(Parsed("170141183460469231731687303715884105727")).overflow);
  CHECK(constant(Parsed("170141183460469231731687303715884105728")).overflow);
  CHECK(constant(Parsed("0x80000000000000000000000000000000")).overflow);
}

TEST_CASE("floats and imaginary numbers") {
  auto value = [](const char *text) {
    Parsed parsed(text);
    CHECK(constant(parsed).type == ast::ConstantType::Float);
    return constant(parsed).floatValue;
  };
  CHECK(value("1.5") == 1.5);
  CHECK(value("1_0.2_5e1_0") == 10.25e10);
  CHECK(value(".5") == 0.5);
  CHECK(value("1.") == 1.0);
  CHECK(value("1e400") == std::numeric_limits<double>::infinity());
  CHECK(value("1e-400") == 0.0);
  CHECK(value("0.1") == 0.1);
  Parsed imaginary("2.5J");
  CHECK(constant(imaginary).type == ast::ConstantType::Complex);
  CHECK(constant(imaginary).floatValue == 2.5);
}

TEST_CASE("strings stand for their characters") {
  auto text = [](const std::string &source) { return constant(Parsed(source)).text; };
  CHECK(text(R"('a\n\t\\\'\"\a\0\101\x41')") == std::string("a\n\t\\'\"\a\0AA", 10));
  CHECK(text(R"('\u00e9\U0001F600\N{EURO SIGN}')") == "é😀€");
  CHECK(text(R"(r'a\n\'')") == "a\\n\\'");
  CHECK(text(R"('\q\8')") == "\\q\\8");
  CHECK(text("'a\\\nb'") == "ab");
  CHECK(text("'a\\\r\nb'") == "ab");
  CHECK(text("'''a\r\nb\nc'''") == "a\nb\nc");
  CHECK(text("'''a\rb'''") == "a\nb");
  CHECK(text(R"("a" 'b' r'\c')") == "ab\\c");
  CHECK(text("'é'") == "é");
  Parsed bytes(R"(b'\xff\u0041\777' b"x")");
  CHECK(constant(bytes).type == ast::ConstantType::Bytes);
  CHECK(constant(bytes).text == "\xff\\u0041\xffx");
  Parsed latin1("# -*- coding: latin-1 -*-\n'\xe9'\n");
  CHECK(constant(latin1).text == "é");
}

TEST_CASE("the rest of the constants") {
  CHECK(constant(Parsed("None")).type == ast::ConstantType::None);
  CHECK(constant(Parsed("...")).type == ast::ConstantType::Ellipsis);
  CHECK(constant(Parsed("True")).boolValue);
  CHECK(constant(Parsed("False")).type == ast::ConstantType::Bool);
}

TEST_CASE("a kernel's tree") {
  Parsed parsed("@T.prim_func\n"
                "def k(A: T.Tensor((M, N), 'float16')):\n"
                "    with T.Kernel(T.ceildiv(N, 64), threads=128) as bx:\n"
                "        for i, j in T.Parallel(8, 8):\n"
                "            A[bx * 64 + i, j:] += 1\n");
  REQUIRE(parsed.module);
  CHECK(ast::print(*parsed.module, parsed.sources) == R"(Module
  body:
    FunctionDef 2:1-5:36 name="k"
      args: arguments
        args:
          arg 2:7-2:37 arg="A"
            annotation: Call 2:10-2:37
              func: Attribute 2:10-2:18 attr="Tensor"
                value: Name 2:10-2:11 id="T"
              args:
                Tuple 2:19-2:25
                  elts:
                    Name 2:20-2:21 id="M"
                    Name 2:23-2:24 id="N"
                Constant 2:27-2:36 str "float16"
      body:
        With 3:5-5:36
          items:
            withitem
              context_expr: Call 3:10-3:49
                func: Attribute 3:10-3:18 attr="Kernel"
                  value: Name 3:10-3:11 id="T"
                args:
                  Call 3:19-3:35
                    func: Attribute 3:19-3:28 attr="ceildiv"
                      value: Name 3:19-3:20 id="T"
                    args:
                      Name 3:29-3:30 id="N"
                      Constant 3:32-3:34 int 64
                keywords:
                  keyword 3:37-3:48 arg="threads"
                    value: Constant 3:45-3:48 int 128
              optional_vars: Name 3:53-3:55 id="bx"
          body:
            For 4:9-5:36
              target: Tuple 4:13-4:17
                elts:
                  Name 4:13-4:14 id="i"
                  Name 4:16-4:17 id="j"
              iter: Call 4:21-4:37
                func: Attribute 4:21-4:31 attr="Parallel"
                  value: Name 4:21-4:22 id="T"
                args:
                  Constant 4:32-4:33 int 8
                  Constant 4:35-4:36 int 8
              body:
                AugAssign 5:13-5:36 op=+
                  target: Subscript 5:13-5:31
                    value: Name 5:13-5:14 id="A"
                    slice: Tuple 5:15-5:30
                      elts:
                        BinOp 5:15-5:26 op=+
                          left: BinOp 5:15-5:22 op=*
                            left: Name 5:15-5:17 id="bx"
                            right: Constant 5:20-5:22 int 64
                          right: Name 5:25-5:26 id="i"
                        Slice 5:28-5:30
                          lower: Name 5:28-5:29 id="j"
                  value: Constant 5:35-5:36 int 1
      decorator_list:
        Attribute 1:2-1:13 attr="prim_func"
          value: Name 1:2-1:3 id="T"
)");
}

TEST_CASE("ranges inside f-strings are those of the file") {
  Parsed parsed("x = f'a{b + c:>{d}}'\n");
  REQUIRE(parsed.module);
  auto *joined = parsed.module->body[0]->as<ast::Assign>()->value->as<ast::JoinedStr>();
  REQUIRE(joined);
  REQUIRE(joined->values.size() == 2);
  auto *field = joined->values[1]->as<ast::FormattedValue>();
  REQUIRE(field);
  CHECK(parsed.sources.text(field->range) == "{b + c:>{d}}");
  CHECK(parsed.sources.text(field->value->range) == "b + c");
  REQUIRE(field->formatSpec);
  CHECK(parsed.sources.text(
            field->formatSpec->values[1]->as<ast::FormattedValue>()->value->range) == "d");
}

TEST_CASE("an expression alone") {
  Parsed tuple("(64, T.float16)", true);
  REQUIRE(tuple.module);
  CHECK(tuple.module->body[0]->as<ast::ExprStmt>()->value->is<ast::Tuple>());
  CHECK(Parsed(" matmul.compile(M=1024)\n", true).module);
  CHECK(Parsed("1, 2", true).module);
  CHECK(Parsed("", true).code() == "TL0002");
  CHECK(Parsed("a b", true).code() == "TL0001");
  CHECK(Parsed("a = 1", true).diagnostics.hasErrors());
  CHECK(Parsed("if x: pass", true).diagnostics.hasErrors());
  CHECK(Parsed("(1", true).code() == "TL0020");
  CHECK(Parsed("f() + 08", true).code() == "TL0030");
}

TEST_CASE("whatever the bytes, lines and columns are those an editor shows") {
  Parsed windows("\xEF\xBB\xBFx = 1\r\ny = (\r\n  é $ 2)\r\n");
  REQUIRE(windows.diagnostics.diagnostics().size() == 1);
  CHECK(windows.sources.begin(windows.diagnostics.diagnostics()[0].range) == LineColumn{3, 5});
  Parsed mac("x = 1\ry = $\r");
  REQUIRE(mac.diagnostics.diagnostics().size() == 1);
  CHECK(mac.sources.begin(mac.diagnostics.diagnostics()[0].range) == LineColumn{2, 5});
}

TEST_CASE("a file can be parsed twice") {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::uint32_t file = sources.addBuffer("t", "# coding: latin-1\n'\xe9'\r");
  auto first = parse(sources, file, diagnostics);
  std::string text = sources.text(file);
  auto second = parse(sources, file, diagnostics);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(sources.text(file) == text);
  CHECK(ast::print(*first, sources) == ast::print(*second, sources));
}

TEST_CASE("empty inputs are modules without statements") {
  for (const char *text : {"", "\n", "# only\n", "\xEF\xBB\xBF", "   \n\t\n", "\\\n\n"}) {
    Parsed parsed(text);
    INFO(text);
    REQUIRE(parsed.module);
    CHECK(parsed.module->body.empty());
  }
}
