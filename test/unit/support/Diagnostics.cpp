#include "support/Diagnostics.h"

#include "support/Check.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tlc;

TEST_CASE("every diagnostic has a code of its own, a one-line message and an explanation") {
  std::set<std::string_view> codes, names;
  for (unsigned i = 0; i < diag::count; ++i) {
    const DiagnosticInfo &entry = info(static_cast<diag::Id>(i));
    INFO(entry.code << " " << entry.name);
    CHECK(entry.id == i);
    CHECK(entry.code.size() == 6);
    CHECK(entry.code.starts_with("TL"));
    CHECK(codes.insert(entry.code).second);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.message.empty());
    CHECK(entry.message.find('\n') == std::string_view::npos);
    CHECK(entry.message.back() != '.');
    CHECK_FALSE(entry.explain.empty());
    CHECK((entry.severity == Severity::Warning) == !entry.flag.empty());
    CHECK(findDiagnostic(entry.code) == &entry);
  }
  CHECK(findDiagnostic("tl0001") == &info(diag::UnexpectedToken));
  CHECK(findDiagnostic("TL0000") == nullptr);
  CHECK(findDiagnostic("") == nullptr);
}

TEST_CASE("placeholders of every kind are filled") {
  CHECK(formatMessage("a {0} b {1} {0}", {"x", "y"}) == "a x b y x");
  CHECK(formatMessage("{{0}} {0}", {"{1}"}) == "{0} {1}");
  CHECK(formatMessage("50% {x", {}) == "50% {x");
  CHECK_THROWS_AS(formatMessage("{1}", {"only one"}), InternalError);
  DiagnosticEngine engine;
  engine.report(diag::NumberTooLong, {1, 0, 1}, 5000, std::size_t(4300));
  CHECK(engine.diagnostics()[0].message == "this number has 5000 digits, more than 4300");
  engine.report(diag::UnexpectedToken, {1, 0, 1}, true);
  CHECK(engine.diagnostics()[1].message == "True");
  engine.report(diag::UnexpectedToken, {1, 0, 1}, 'c');
  engine.report(diag::UnexpectedToken, {1, 0, 1}, 0.5);
  engine.report(diag::UnexpectedToken, {1, 0, 1}, -3L);
  engine.report(diag::UnexpectedToken, {1, 0, 1}, std::string("text"));
  CHECK(engine.diagnostics()[2].message == "c");
  CHECK(engine.diagnostics()[3].message == "0.5");
  CHECK(engine.diagnostics()[4].message == "-3");
  CHECK(engine.diagnostics()[5].message == "text");
}

TEST_CASE("the same diagnostic is shown once") {
  DiagnosticEngine engine;
  engine.report(diag::NullByte, {1, 0, 1}).note("first");
  engine.report(diag::NullByte, {1, 0, 1}).note("second"); // must not touch the first one
  engine.report(diag::NullByte, {1, 1, 2});
  engine.report(diag::InvalidUtf8, {1, 0, 1});
  REQUIRE(engine.diagnostics().size() == 3);
  CHECK(engine.errorCount() == 3);
  REQUIRE(engine.diagnostics()[0].notes.size() == 1);
  CHECK(engine.diagnostics()[0].notes[0].text == "first");
}

TEST_CASE("after the limit errors count but are not kept") {
  DiagnosticEngine engine;
  engine.setErrorLimit(2);
  for (unsigned i = 0; i < 5; ++i)
    engine.report(diag::NullByte, {1, i, i + 1}).note("harmless where it is not kept");
  CHECK(engine.diagnostics().size() == 2);
  CHECK(engine.errorCount() == 5);
  CHECK(engine.suppressedErrors() == 3);
  CHECK(engine.limitReached());
  engine.setErrorLimit(0);
  CHECK_FALSE(engine.limitReached());
}

TEST_CASE("builders stay valid while more is reported") {
  DiagnosticEngine engine;
  engine.setErrorLimit(0);
  DiagnosticBuilder first = engine.report(diag::NullByte, {1, 0, 1});
  for (unsigned i = 1; i < 1000; ++i)
    engine.report(diag::NullByte, {1, i, i + 1});
  first.primary("here").label({1, 4, 5}, "there").label({}, "nowhere").help("do this");
  const Diagnostic &it = engine.diagnostics()[0];
  CHECK(it.primaryText == "here");
  CHECK(it.labels.size() == 1); // a label without a place says nothing
  CHECK(it.fixes.size() == 1);
}

TEST_CASE("contexts become located notes, innermost first") {
  DiagnosticEngine engine;
  {
    DiagnosticEngine::Context outer(engine, {1, 0, 1}, "outer");
    DiagnosticEngine::Context inner(engine, {1, 5, 6}, "inner");
    engine.report(diag::NullByte, {1, 9, 10});
  }
  engine.report(diag::NullByte, {1, 10, 11});
  const auto &notes = engine.diagnostics()[0].notes;
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].text == "inner");
  CHECK(notes[1].text == "outer");
  CHECK(notes[1].range == SourceRange{1, 0, 1});
  CHECK(engine.diagnostics()[1].notes.empty());
}

TEST_CASE("diagnostics are sorted by file and place, those without a place last") {
  DiagnosticEngine engine;
  engine.report(diag::UnexpectedToken, {}, "nowhere");
  engine.report(diag::UnexpectedToken, {2, 0, 1}, "second file");
  engine.report(diag::UnexpectedToken, {1, 9, 10}, "late");
  engine.report(diag::UnexpectedToken, {1, 2, 3}, "early");
  engine.report(diag::UnexpectedToken, {1, 2, 3}, "early too");
  std::string order;
  for (const Diagnostic *it : engine.sorted())
    order += it->message + ";";
  CHECK(order == "early;early too;late;second file;nowhere;");
}

TEST_CASE("rollback forgets") {
  DiagnosticEngine engine;
  engine.report(diag::NullByte, {1, 0, 1});
  auto mark = engine.mark();
  engine.report(diag::NullByte, {1, 1, 2});
  engine.report(diag::InvalidUtf8, {1, 1, 2});
  engine.rollback(mark);
  CHECK(engine.diagnostics().size() == 1);
  CHECK(engine.errorCount() == 1);
  engine.report(diag::NullByte, {1, 1, 2}); // not a repetition: the first was forgotten
  CHECK(engine.errorCount() == 2);
}

TEST_CASE("warnings are switched by name") {
  std::vector<std::string_view> flags = warningFlags();
  CHECK(std::is_sorted(flags.begin(), flags.end()));
  DiagnosticEngine engine;
  CHECK_FALSE(engine.enableWarning("no-such-warning", false));
  CHECK_FALSE(engine.warningAsError("no-such-warning", true));
  CHECK(engine.enableWarning("all", false));
  CHECK(engine.warningAsError("all", true));
  const DiagnosticInfo *warning = nullptr;
  for (unsigned i = 0; i < diag::count && !warning; ++i)
    if (info(static_cast<diag::Id>(i)).severity == Severity::Warning)
      warning = &info(static_cast<diag::Id>(i));
  REQUIRE(warning);
  const std::vector<std::string> args(10, "x");
  auto report = [&](unsigned at) { engine.report(warning->id, {1, at, at + 1}, args); };
  report(0); // -Wno-all
  CHECK(engine.diagnostics().empty());
  CHECK(engine.enableWarning(warning->flag, true));
  report(1); // this one again, and -Werror
  CHECK(engine.errorCount() == 1);
  CHECK(engine.diagnostics().back().severity == Severity::Error);
  CHECK(engine.warningAsError(warning->flag, false));
  report(2);
  CHECK(engine.warningCount() == 1);
  CHECK(engine.enableWarning(warning->flag, false));
  report(3);
  CHECK(engine.diagnostics().size() == 2);
}
