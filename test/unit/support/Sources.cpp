#include "support/Check.h"
#include "support/SourceManager.h"
#include "support/Unicode.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

using namespace tlc;

TEST_CASE("positions count lines from 1 and characters from 1") {
  SourceManager sources;
  std::uint32_t file = sources.addBuffer("a", "x\né変y\r\n\nlast");
  CHECK(file == 1);
  CHECK(sources.lineCount(file) == 4);
  CHECK(sources.position(file, 0) == LineColumn{1, 1});
  CHECK(sources.position(file, 1) == LineColumn{1, 2}); // at the line end
  CHECK(sources.position(file, 2) == LineColumn{2, 1});
  CHECK(sources.position(file, 4) == LineColumn{2, 2});
  CHECK(sources.position(file, 7) == LineColumn{2, 3});
  CHECK(sources.position(file, 10) == LineColumn{3, 1});
  CHECK(sources.position(file, 15) == LineColumn{4, 5});
  CHECK(sources.position(file, 999) == LineColumn{4, 5});
  CHECK(sources.lineText(file, 2) == "é変y");
  CHECK(sources.lineText(file, 3).empty());
  CHECK(sources.lineText(file, 4) == "last");
  CHECK(sources.lineText(file, 99).empty());
  CHECK(sources.text(SourceRange{file, 2, 4}) == "é");
  CHECK(sources.text(SourceRange{file, 11, 999}) == "last");
  CHECK(sources.text(SourceRange{}).empty());
  CHECK_THROWS_AS(sources.text(7u), InternalError);
  CHECK_THROWS_AS(sources.text(0u), InternalError);
}

TEST_CASE("files are read once; what cannot be read gives the reason") {
  SourceManager sources;
  std::string path = "sources_test.tmp", error;
  std::ofstream(path) << "content";
  auto first = sources.load(path, error);
  REQUIRE(first);
  CHECK(sources.text(*first) == "content");
  CHECK(sources.load(path, error) == first);
  std::remove(path.c_str());
  CHECK_FALSE(sources.load("no/such/file.tl", error));
  CHECK(error == "No such file or directory");
  CHECK_FALSE(sources.load("/", error));
  CHECK(error == "Is a directory");
  CHECK(sources.fileCount() == 1);
}

TEST_CASE("path prefixes are mapped, the last that fits wins") {
  SourceManager sources;
  std::uint32_t file = sources.addBuffer("/home/me/p/k.tl", "");
  CHECK(sources.displayPath(file) == "/home/me/p/k.tl");
  sources.mapPathPrefix("/home/me", "~");
  sources.mapPathPrefix("/home/me/p/", "");
  sources.mapPathPrefix("/other", "x");
  CHECK(sources.displayPath(file) == "k.tl");
  CHECK(sources.path(file) == "/home/me/p/k.tl");
  CHECK(sources.displayPath(sources.addBuffer("-", "")) == "<stdin>");
}

TEST_CASE("UTF-8 is read and written, and what is not UTF-8 is skipped a byte at a time") {
  for (char32_t c : {U'a', U'\u007f', U'\u0080', U'é', U'\u07ff', U'\u0800', U'変', U'\uffff',
                     U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    appendCharacter(text, c);
    std::size_t at = 0;
    CHECK(nextCharacter(text, at) == c);
    CHECK(at == text.size());
  }
  // A lone continuation, an overlong form, a surrogate, beyond the last character, cut off.
  for (std::string_view bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                               "\xF4\x90\x80\x80", "\xE5\x8F", "\xFF"}) {
    std::size_t at = 0;
    CHECK(nextCharacter(bad, at) == 0xFFFD);
    CHECK(at == 1);
  }
  CHECK(displayWidth('a') == 1);
  CHECK(displayWidth(U'変') == 2);
  CHECK(displayWidth(0x0301) == 0);
}

TEST_CASE("ranges join") {
  SourceRange a{1, 2, 4}, b{1, 8, 9}, other{2, 0, 1};
  CHECK(join(a, b) == SourceRange{1, 2, 9});
  CHECK(join(b, a) == SourceRange{1, 2, 9});
  CHECK(join({}, a) == a);
  CHECK(join(a, {}) == a);
  CHECK(join(a, other) == a);
  CHECK_FALSE(join({}, {}).valid());
}

TEST_CASE("internal errors carry the place") {
  try {
    TLC_CHECK(1 + 1 == 3, std::string("arithmetic ") + "broke");
    FAIL("not thrown");
  } catch (const InternalError &error) {
    CHECK(error.message() == "arithmetic broke");
    CHECK(error.file().ends_with("Sources.cpp"));
    CHECK(error.line() > 0);
    CHECK(std::string(error.what()).find("arithmetic broke (") == 0);
  }
  CHECK_NOTHROW([] { TLC_CHECK(true, "fine"); }());
}
