// What is pasted with a runtime function is all that it calls: overloads stand in sections of other
// names, which reading the text does not find. Code that a host pass or another architecture alone
// compiles counts, too.
#include "emit/Runtime.h"

#include <catch2/catch.hpp>

#include <regex>
#include <set>

using namespace tlc;
using namespace tlc::emit;

namespace {

std::set<std::string> matches(std::string_view text, const std::regex &pattern) {
  const std::string copy(text);
  std::set<std::string> found;
  for (std::sregex_iterator at(copy.begin(), copy.end(), pattern), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

/// Functions that a section defines, and those that it calls without naming a namespace.
struct Names {
  std::set<std::string> defined, called;
};

Names namesOf(std::string_view text) {
  static const std::regex definition(
      R"((?:TLC_DEVICE|TLC_FN|TLC_HOST|inline)\s[^;{}()=]*?\b(\w+)\()"),
      aside(R"(//[^\n]*|\n#[^\n]*)"), call(R"((?:^|[^\w:.>])(\w+)\()");
  const std::string code = std::regex_replace(std::string(text), aside, "");
  return {matches(code, definition), matches(code, call)};
}

} // namespace

TEST_CASE("what is pasted with a runtime function defines all that it calls") {
  for (Family family : {Family::Cuda, Family::Hip, Family::Cpu}) {
    const RuntimeLibrary &library = RuntimeLibrary::of(family);
    std::set<std::string> homes; // functions that some section defines
    for (const RuntimeSection &section : library.sections())
      for (const std::string &name : namesOf(section.text).defined)
        homes.insert(name);
    for (const RuntimeSection &section : library.sections()) {
      RuntimeUse use(library);
      use.use(section.names.front());
      for (std::string_view other : section.with)
        use.use(other);
      const Names pasted = namesOf(use.deviceText() + use.hostText() + use.sharedText());
      for (const std::string &name : pasted.called)
        if (homes.count(name)) {
          INFO("family " << int(family) << ", section " << section.names.front() << " calls "
                         << name);
          CHECK(pasted.defined.count(name) == 1);
        }
    }
  }
}
