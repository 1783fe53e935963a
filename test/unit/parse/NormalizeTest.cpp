#include "parse/Normalize.h"

#include <catch2/catch.hpp>

using tlc::parsing::normalized;

TEST_CASE("names are brought into the form NFKC") {
  const std::pair<const char *, const char *> cases[] = {
      {"plain_1", "plain_1"},
      {"ﬁ", "fi"},
      {"𝐍𝟗", "N9"},
      {"ﾃﾞ", "デ"}, // a narrow letter and its mark become one wide letter
      {"e\u0301", "é"},
      {"é", "é"},
      {"q\u0301", "q\u0301"},       // no such letter
      {"a\u0302\u0301", "ấ"},       // joined twice
      {"a\u0301\u0323", "ạ\u0301"}, // the lower mark first, whatever the order they were typed in
      {"a\u0323\u0301", "ạ\u0301"},
      {"a\u0327\u0301", "á\u0327"}, // joins past a mark of a lower class
      {"a\u05b0\u094d\u0301", "á\u094d\u05b0"},
      {"\u1112\u1161\u11ab", "한"},
      {"한", "한"},
      {"하\u11ab", "한"},
      {"ǆ", "dž"},
      {"\u0958", "\u0915\u093c"}, // taken apart and not joined again
      {"\u2126", "Ω"},
      {"ſ", "s"},
  };
  for (auto [name, normal] : cases) {
    INFO(name);
    CHECK(normalized(name) == normal);
    CHECK(normalized(normal) == normal);
  }
}
