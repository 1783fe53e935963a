#include "support/RenderJson.h"
#include "support/RenderText.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

struct Fixture {
  SourceManager sources;
  DiagnosticEngine engine;
  std::uint32_t file = 0;

  explicit Fixture(std::string text) { file = sources.addBuffer("k.tl", std::move(text)); }

  // The range of the n-th occurrence (from 1) of `part`.
  SourceRange at(std::string_view part, int n = 1) const {
    size_t found = sources.text(file).find(part);
    for (; n > 1; --n)
      found = sources.text(file).find(part, found + 1);
    auto begin = static_cast<std::uint32_t>(found);
    return {file, begin, begin + static_cast<std::uint32_t>(part.size())};
  }
  std::string text() const { return renderText(engine.diagnostics().back(), sources); }
};

} // namespace

TEST_CASE("an error with labels, notes and a fix") {
  Fixture f("\n\n\n\n\n\n\n\n\n\n\n    b = tile(f16, [BK // 2, BN])\n\n\n\n\n\n    acc = acc + "
            "dot(a, b)\n");
  f.engine.report(diag::UnexpectedToken, f.at("dot(a, b)"), "inner dimensions differ")
      .primary("needs A[m, k] and B[k, n]")
      .label(f.at("BK // 2"), "32 here")
      .note("for --target=sm90 also")
      .fix("use the whole block", Applicability::Maybe, {{f.at("BK // 2"), "BK"}});
  CHECK(f.text() == "error[TL0001]: inner dimensions differ\n"
                    "  --> k.tl:18:17\n"
                    "   |\n"
                    "12 |     b = tile(f16, [BK // 2, BN])\n"
                    "   |                    ------- 32 here\n"
                    "...\n"
                    "18 |     acc = acc + dot(a, b)\n"
                    "   |                 ^^^^^^^^^ needs A[m, k] and B[k, n]\n"
                    "   = note: for --target=sm90 also\n"
                    "help: use the whole block (maybe)\n"
                    "12 |     b = tile(f16, [BK, BN])\n");
}

TEST_CASE("several marks in one line") {
  Fixture f("copy(A, Bs)\nx\n");
  f.engine.report(diag::UnexpectedToken, f.at("copy"), "shapes differ")
      .primary("this copy")
      .label(f.at("A"), "has 4")
      .label(f.at("Bs"), "has 8");
  CHECK(f.text() == "error[TL0001]: shapes differ\n"
                    " --> k.tl:1:1\n"
                    "  |\n"
                    "1 | copy(A, Bs)\n"
                    "  | ^^^^ -  -- has 8\n"
                    "  | |    |\n"
                    "  | |    has 4\n"
                    "  | this copy\n");
}

TEST_CASE("a gap of one line is filled") {
  Fixture f("a\nb\nc\n");
  f.engine.report(diag::UnexpectedToken, f.at("c"), "m").label(f.at("a"), "l");
  CHECK(f.text().find("1 | a\n  | - l\n2 | b\n3 | c\n  | ^\n") != std::string::npos);
}

TEST_CASE("tabs, wide characters, combining and control characters keep the columns right") {
  Fixture f("\tx = \"\xE5\x8F\x98\xCC\x81\x01\" + y\n");
  f.engine.report(diag::UnexpectedToken, f.at("y"), "m");
  // tab 4, `x = "` 5, wide 2, combining 0, control 1, `" + ` 4
  CHECK(f.text() == "error[TL0001]: m\n"
                    " --> k.tl:1:14\n"
                    "  |\n"
                    "1 |     x = \"\xE5\x8F\x98\xCC\x81\xEF\xBF\xBD\" + y\n"
                    "  |                 ^\n");
}

TEST_CASE("a long line is cut around the mark") {
  std::string line(5000, 'a');
  line.replace(3000, 5, "WRONG");
  Fixture f(line + "\n");
  f.engine.report(diag::UnexpectedToken, f.at("WRONG"), "m").primary("this");
  std::string text = f.text();
  CHECK(text.size() < 600);
  size_t source = text.find("1 | …"), mark = text.find("^^^^^ this");
  REQUIRE(source != std::string::npos);
  REQUIRE(mark != std::string::npos);
  std::string shown = text.substr(source, text.find('\n', source) - source);
  std::string under = text.substr(text.rfind('\n', mark) + 1);
  // The ellipsis is three bytes for one column.
  CHECK(shown.find("WRONG") == under.find("^^^^^") + 2);
  CHECK(shown.ends_with("…"));
}

TEST_CASE("a range over several lines marks its first and its last") {
  Fixture f("f(a,\n  b,\n  c,\n  d)\n");
  f.engine.report(diag::UnexpectedToken, {f.file, 0, 20}, "m").primary("all of it");
  CHECK(f.text() == "error[TL0001]: m\n"
                    " --> k.tl:1:1\n"
                    "  |\n"
                    "1 | f(a,\n"
                    "  | ^^^^\n"
                    "...\n"
                    "4 |   d)\n"
                    "  |   ^^ all of it\n");
}

TEST_CASE("ranges at the end of the text and beyond it") {
  for (SourceRange range : {SourceRange{1, 3, 3}, SourceRange{1, 4, 9}, SourceRange{1, 100, 200},
                            SourceRange{1, 0, 4}}) {
    Fixture f("abc\n");
    f.engine.report(diag::UnexpectedToken, range, "m").primary("here");
    INFO(f.text());
    CHECK(f.text().find("^ here") != std::string::npos);
  }
  Fixture empty("");
  empty.engine.report(diag::UnexpectedToken, {1, 0, 0}, "m");
  CHECK(empty.text().find("k.tl:1:1") != std::string::npos);
}

TEST_CASE("without a place there is no snippet, and a message is one line") {
  Fixture f("x\n");
  f.engine.report(diag::UnexpectedToken, {}, "two\nlines").note("because");
  CHECK(f.text() == "error[TL0001]: two lines\n  = note: because\n");
}

TEST_CASE("other files and located notes are shown with their own lines") {
  Fixture f("import lib\nlib.f(1)\n");
  std::uint32_t other = f.sources.addBuffer("lib.tl", "def f(): pass\n");
  f.engine.report(diag::UnexpectedToken, f.at("f(1)"), "m")
      .label({other, 4, 5}, "defined here")
      .note(f.at("import lib"), "imported");
  CHECK(f.text() == "error[TL0001]: m\n"
                    " --> k.tl:2:5\n"
                    "  |\n"
                    "2 | lib.f(1)\n"
                    "  |     ^^^^\n"
                    " ::: lib.tl:1:5\n"
                    "  |\n"
                    "1 | def f(): pass\n"
                    "  |     - defined here\n"
                    "note: imported\n"
                    " --> k.tl:1:1\n"
                    "  |\n"
                    "1 | import lib\n"
                    "  | ^^^^^^^^^^\n");
}

TEST_CASE("fixes that insert, delete and span lines") {
  Fixture f("if x\n  y = (1,\n    2)\n");
  f.engine.report(diag::UnexpectedToken, f.at("x"), "m")
      .fix("add a colon", Applicability::Machine, {{{f.file, 4, 4}, ":"}})
      .fix("join", Applicability::Machine, {{f.at(",\n    2"), ""}, {f.at("if "), "while "}});
  CHECK(f.text().find("help: add a colon\n1 | if x:\n") != std::string::npos);
  CHECK(f.text().find("help: join\n1 | while x\n2 |   y = (1)\n") != std::string::npos);
}

TEST_CASE("colour is only there when it is wanted") {
  Fixture f("x\n");
  f.engine.report(diag::UnexpectedToken, f.at("x"), "m");
  CHECK(f.text().find('\033') == std::string::npos);
  TextStyle style;
  style.color = true;
  CHECK(renderText(f.engine.diagnostics()[0], f.sources, style).find("\033[1;31m^\033[0m") !=
        std::string::npos);
}

TEST_CASE("the summary counts") {
  Fixture f("xy\n");
  CHECK(renderSummary(f.engine).empty());
  f.engine.report(diag::UnexpectedToken, f.at("x"), "m");
  CHECK(renderSummary(f.engine) == "1 error; `tlc explain TL0001` tells more\n");
  f.engine.setErrorLimit(2);
  for (int i = 0; i < 3; ++i)
    f.engine.report(diag::UnexpectedToken, f.at("y"), i);
  CHECK(renderSummary(f.engine) == "4 errors (2 not shown); `tlc explain TL0001` tells more\n");
}

TEST_CASE("JSON holds the same record") {
  Fixture f("é = dot\n");
  f.engine.report(diag::UnexpectedToken, f.at("dot"), "bad \"dot\"\t\x01")
      .label(f.at("é"), "l")
      .note("n")
      .fix("do", Applicability::Placeholder, {{f.at("dot"), "a\\b"}});
  std::string json = renderJson(f.engine.diagnostics()[0], f.sources);
  CHECK(json.starts_with(
      "{\"schema\":1,\"code\":\"TL0001\",\"name\":\"UnexpectedToken\",\"severity\":\"error\","
      "\"flag\":null,"
      "\"message\":\"bad "
      "\\\"dot\\\"\\t\\u0001\",\"file\":\"k.tl\",\"line\":1,\"column\":5,\"end_line\":1,"
      "\"end_column\":8,\"byte_start\":5,\"byte_end\":8,"));
  CHECK(json.find("\"labels\":[{\"file\":\"k.tl\",\"line\":1,\"column\":1,\"end_line\":1,\"end_"
                  "column\":2,\"byte_start\":0,"
                  "\"byte_end\":2,\"message\":\"l\"}]") != std::string::npos);
  CHECK(json.find("\"notes\":[{\"message\":\"n\"}]") != std::string::npos);
  CHECK(json.find("\"applicability\":\"placeholder\"") != std::string::npos);
  CHECK(json.find("\"replacement\":\"a\\\\b\"") != std::string::npos);
  CHECK(std::count(json.begin(), json.end(), '\n') == 1);
  CHECK(renderJson(f.engine, f.sources)
            .ends_with("{\"schema\":1,\"summary\":{\"errors\":1,\"warnings\":0,\"suppressed_"
                       "errors\":0}}\n"));
  CHECK(jsonString("\xFF") == "\"\\ufffd\"");
}
