#include "Elaborated.h"

#include "parse/Parser.h"

#include <catch2/catch.hpp>

namespace tlc::test {

Elaborated::Elaborated(std::string text, std::string_view targetName,
                       std::vector<std::string> defines) {
  std::uint32_t file = sources.addBuffer("test.tl", std::move(text));
  std::unique_ptr<ast::Module> module = parse(sources, file, diagnostics);
  if (!module)
    return;
  const Target *target = findTarget(targetName);
  REQUIRE(target);
  ElaborateOptions options;
  options.defines = std::move(defines);
  options.parseFile = [this](std::uint32_t f) { return parse(sources, f, diagnostics); };
  options.parseExpression = [this](std::uint32_t f) {
    return parseExpression(sources, f, diagnostics);
  };
  result = elaborateModule(*module, sources, diagnostics, *target, context, options);
}

std::string Elaborated::ir() {
  std::string text = messages();
  for (auto &function : result.functions) {
    for (const ir::Fault &fault : ir::faults(*function))
      text += "FAULT " + fault.message + "\n";
    text += ir::print(*function);
  }
  return text;
}

std::string Elaborated::messages() const {
  std::string text;
  for (const Diagnostic *d : diagnostics.sorted())
    text += std::string(info(d->id).code) + " " + d->message + "\n";
  return text;
}

std::string Elaborated::codes() const {
  std::string text;
  for (const Diagnostic *d : diagnostics.sorted())
    text += (text.empty() ? "" : " ") + std::string(info(d->id).code);
  return text;
}

std::string Elaborated::underlined() const {
  std::vector<const Diagnostic *> all = diagnostics.sorted();
  return all.empty() ? "" : std::string(sources.text(all.front()->range));
}

ir::Function &Elaborated::only() {
  INFO(messages());
  REQUIRE(result.functions.size() == 1);
  return *result.functions[0];
}

std::string kernelWith(std::string_view body) {
  std::string text = R"(import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 64), T.float16),
         C: T.Tensor((64, 64), T.float16), V: T.Tensor((64,), T.float32),
         I: T.Tensor((64,), T.int32), n: T.int32, m: T.int32, x: T.float32):
    with T.Kernel(4, 4, threads=128) as (bx, by):
        tx = T.get_thread_binding()
)";
  std::string_view rest = body;
  while (!rest.empty()) {
    std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    text += line.empty() ? "\n" : "        " + std::string(line) + "\n";
  }
  return text;
}

std::string stored(std::string_view lhs, std::string_view expr) {
  Elaborated e(kernelWith(std::string(lhs) + " = " + std::string(expr)));
  if (e.diagnostics.hasErrors())
    return e.messages();
  auto *store = e.find<ir::StoreStmt>();
  REQUIRE(store);
  for (const ir::Fault &fault : ir::faults(e.only()))
    return "FAULT " + fault.message;
  return ir::print(store->value);
}

} // namespace tlc::test
