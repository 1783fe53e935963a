#include "parse/Parser.h"

#include "parse/BuildAST.h"

#include <algorithm>

namespace tlc {
namespace {

using namespace parsing;

constexpr size_t maxErrors = 50;

void report(const std::vector<SyntaxError> &errors, std::uint32_t file,
            DiagnosticEngine &diagnostics) {
  auto range = [&](size_t begin, size_t end) {
    return SourceRange{file, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  };
  size_t shown = 0;
  for (const SyntaxError &error : errors) {
    if (shown++ == maxErrors) {
      diagnostics.report(diag::TooManySyntaxErrors, range(error.begin, error.begin), maxErrors);
      break;
    }
    auto builder = diagnostics.report(error.id, range(error.begin, error.end), error.args);
    for (const SyntaxError::Label &label : error.labels)
      builder.label(range(label.begin, label.end), label.text);
    if (!error.help.empty())
      builder.help(error.help);
  }
}

std::unique_ptr<ast::Module> run(SourceManager &sources, std::uint32_t file,
                                 DiagnosticEngine &diagnostics, bool isModule) {
  Source source;
  if (sources.isDecoded(file)) {
    source = decoded(sources.text(file));
  } else {
    source = decode(sources.text(file));
    sources.replaceText(file, source.text);
  }
  Parse parse(source);
  auto module = std::make_unique<ast::Module>();
  module->file = file;
  module->range = {file, static_cast<std::uint32_t>(source.begin),
                   static_cast<std::uint32_t>(source.text.size())};
  if (isModule ? parse.module() : parse.expression()) {
    BuildAST build(parse, file, *module);
    const auto &tree = *parse.parsed.front().tree;
    isModule ? build.buildModule(tree) : build.buildExpression(tree);
  }
  if (parse.errors.empty())
    return module;
  report(parse.errors, file, diagnostics);
  return nullptr;
}

} // namespace

std::unique_ptr<ast::Module> parse(SourceManager &sources, std::uint32_t file,
                                   DiagnosticEngine &diagnostics) {
  return run(sources, file, diagnostics, true);
}

std::unique_ptr<ast::Module> parseExpression(SourceManager &sources, std::uint32_t file,
                                             DiagnosticEngine &diagnostics) {
  return run(sources, file, diagnostics, false);
}

} // namespace tlc
