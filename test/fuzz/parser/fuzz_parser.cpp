// fuzz_parser SEED COUNT FILE...: feeds the parser COUNT texts: the files (pieces separated by a
// line `---`) made wrong, soup of tokens, random bytes, and the shapes that exhaust stacks.
// Whatever comes in, the parser must answer with a tree or with diagnostics, all ranges must lie in
// the text, and tree and messages must be printable.
#include "parse/Parser.h"
#include "support/RenderJson.h"
#include "support/RenderText.h"
#include "syntax/PrintAST.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace tlc;

namespace {

class Fuzz {
public:
  Fuzz(unsigned seed, std::vector<std::string> texts) : chance(seed), texts(std::move(texts)) {}

  bool run(int count) {
    for (const std::string &shape : shapes())
      if (!check(shape))
        return false;
    for (int i = 0; i < count; ++i)
      if (!check(next(i)))
        return false;
    return true;
  }

private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(chance); }
  template <class T> const T &one(const std::vector<T> &list) { return list[below(list.size())]; }

  std::string next(int i) {
    switch (i % 4) {
    case 0:
      return soup();
    case 1:
      return bytes();
    default:
      return damaged();
    }
  }

  std::string soup() {
    static const std::vector<std::string> tokens = {"if",
                                                    "else",
                                                    "elif",
                                                    "for",
                                                    "in",
                                                    "while",
                                                    "def",
                                                    "class",
                                                    "return",
                                                    "lambda",
                                                    "match",
                                                    "case",
                                                    "with",
                                                    "as",
                                                    "try",
                                                    "except",
                                                    "finally",
                                                    "not",
                                                    "and",
                                                    "or",
                                                    "is",
                                                    "yield",
                                                    "await",
                                                    "async",
                                                    "import",
                                                    "from",
                                                    "global",
                                                    "del",
                                                    "None",
                                                    "x",
                                                    "y_1",
                                                    "é",
                                                    "1",
                                                    "0x1f",
                                                    "1.5e3",
                                                    "2j",
                                                    "'s'",
                                                    "f'{x}'",
                                                    "f'{x!r:>{y}}'",
                                                    "b'b'",
                                                    "\"\"\"t\n\"\"\"",
                                                    "r'\\'",
                                                    "=",
                                                    ":=",
                                                    "==",
                                                    "+=",
                                                    ":",
                                                    ",",
                                                    ";",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    "*",
                                                    "**",
                                                    "/",
                                                    "//",
                                                    "->",
                                                    ".",
                                                    "...",
                                                    "@",
                                                    "~",
                                                    "-",
                                                    "+",
                                                    "!",
                                                    "\n",
                                                    "\n    ",
                                                    "\n        ",
                                                    "\n\t",
                                                    "\\\n",
                                                    "# c\n",
                                                    "\r\n",
                                                    "\r",
                                                    "\f",
                                                    "_",
                                                    "T.copy(A[0], B)",
                                                    "for i in T.Parallel(4):",
                                                    "with T.Kernel(1) as bx:"};
    std::string text;
    for (size_t n = below(60) + 1; n > 0; --n)
      text += one(tokens) + (below(3) ? " " : "");
    return text;
  }

  std::string bytes() {
    static const std::string common =
        "()[]{}:,.=*'\"\\\n\t #fbr0123x_aif else for in@;!\xc3\xa9\x0c\r{}''";
    std::string text;
    bool any = below(2);
    for (size_t n = below(200) + 1; n > 0; --n)
      text += any ? static_cast<char>(below(256)) : common[below(common.size())];
    return text;
  }

  std::string damaged() {
    static const std::vector<std::string> pieces = {
        "(",   ")",  "[",  "]",  "{",          "}",    "'",    "\"",
        "'''", "\\", "\n", "\t", " ",          "    ", ":",    ",",
        "=",   "#",  "f'", "{",  "}",          "\xc3", "\xff", std::string(1, '\0'),
        "\r",  "\f", "0",  "_",  "match x:\n", "\\N{", "\\x",  "else:\n"};
    std::string text = one(texts);
    if (text.size() > 6000) { // a window
      size_t at = text.find('\n', below(text.size() - 4000));
      text = text.substr(at == text.npos ? 0 : at + 1, 4000);
    }
    for (size_t n = below(4) + 1; n > 0 && !text.empty(); --n) {
      size_t at = below(text.size()), length = std::min(below(12), text.size() - at);
      switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, one(pieces));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(20)));
        break;
      case 3:
        text.replace(at, length, one(pieces));
        break;
      default:
        text.resize(at);
        break;
      }
    }
    return text;
  }

  static std::string repeated(std::string_view what, size_t n) {
    std::string text;
    text.reserve(what.size() * n);
    for (; n > 0; --n)
      text += what;
    return text;
  }

  // Much of what nests or chains; of brackets a megabyte.
  static std::vector<std::string> shapes() {
    std::vector<std::string> list;
    for (std::string_view what : {"(",     "[",    "{",       "((",           "f(",     "x[",
                                  "-",     "not ", "lambda:", "x if y else ", "2**",    "await ",
                                  "f'{",   "'",    "\\\n",    "a.",           "a+",     "a,",
                                  "a=",    "a<",   "a and ",  "@a\n",         "if x:",  "if x:\n ",
                                  "else:", "\t",   " ",       "\n",           "#",      "\xc3\xa9",
                                  "\xff",  "0",    "_",       "1_",           "*",      "*a,",
                                  "...",   ";",    ":",       "def f(",       "with (", "match x:",
                                  "case ", "x:=",  "(x:=",    "{**",          "[*"})
      list.push_back(repeated(what, 200000 / what.size()));
    list.push_back(repeated("(", 1000000));
    list.push_back(std::string(1000000, '\0'));
    list.push_back(repeated("(", 500000) + repeated(")", 500000));
    list.push_back("x" + repeated("+x", 100000));
    list.push_back("x" + repeated(".x", 100000));
    list.push_back("x" + repeated("()", 100000));
    list.push_back("x" + repeated(" if y else x", 80000));
    list.push_back("if x: pass\n" + repeated("elif x: pass\n", 50000));
    std::string stairs;
    for (size_t i = 0; i < 1000; ++i)
      stairs += std::string(i, ' ') + "if x:\n";
    list.push_back(stairs);
    list.push_back("f'" + repeated("{x}", 20000) + "'");
    list.push_back("x = '" + repeated("\\x41", 250000) + "'");
    return list;
  }

  bool check(const std::string &text) {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    std::uint32_t file = sources.addBuffer("fuzz", text);
    auto start = std::chrono::steady_clock::now();
    std::string problem;
    try {
      auto module = parse(sources, file, diagnostics);
      if ((module == nullptr) != diagnostics.hasErrors())
        problem = "neither a tree nor an error, or both";
      if (module)
        print(*module, sources);
      for (const Diagnostic &it : diagnostics.diagnostics()) {
        if (!it.range.valid() || it.range.begin > it.range.end ||
            it.range.begin > sources.text(file).size())
          problem = "a range outside of the text: " + it.message;
        if (it.message.size() > 400)
          problem = "a message without measure";
      }
      if (renderText(diagnostics, sources).size() > 200000)
        problem = "a rendering without measure";
      renderJson(diagnostics, sources);
    } catch (const std::exception &e) {
      problem = std::string("exception: ") + e.what();
    }
    double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (took > 1)
      std::fprintf(stderr, "slow %.1f s: %s\n", took, jsonString(text.substr(0, 100)).c_str());
    if (took > 30)
      problem = "took " + std::to_string(took) + " s";
    if (problem.empty())
      return true;
    std::ofstream("fuzz_parser.failed", std::ios::binary) << text;
    std::printf("%s; the text is in fuzz_parser.failed: %s\n", problem.c_str(),
                jsonString(text.substr(0, 300)).c_str());
    return false;
  }

  std::mt19937 chance;
  std::vector<std::string> texts;
};

std::vector<std::string> readPieces(int count, char **paths) {
  std::vector<std::string> texts{"x = 1\n"};
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find("\n---\n", at), text.size());
      texts.push_back(text.substr(at, end - at));
      at = end + 5;
    }
  }
  return texts;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: fuzz_parser SEED COUNT FILE...\n");
    return 2;
  }
  Fuzz fuzz(static_cast<unsigned>(std::atoi(argv[1])), readPieces(argc - 3, argv + 3));
  bool ok = fuzz.run(std::atoi(argv[2]));
  std::printf("%s\n", ok ? "nothing found" : "failed");
  return ok ? 0 : 1;
}
