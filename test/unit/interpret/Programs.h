// Programs from text, run on arrays.
#pragma once

#include "interpret/Interpreter.h"
#include "ir/Parse.h"
#include "ir/Verify.h"
#include "support/RenderText.h"

#include <catch2/catch.hpp>

namespace tlc::interpret {

/// Parses and verifies, and keeps what that needs.
struct Kernel {
  ir::Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<ir::Function> function;

  explicit Kernel(const std::string &text) {
    std::uint32_t file = sources.addBuffer("kernel.tlir", text);
    function = ir::parseFunction(context, text, diagnostics, file);
    if (function)
      ir::verify(*function, diagnostics);
    INFO(text << renderText(diagnostics, sources));
    REQUIRE(diagnostics.diagnostics().empty());
  }
  Result run(const std::vector<Argument> &args, const Options &options = {}) {
    return interpret::run(*function, args, {}, options);
  }
};

inline Tensor random(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed = 1) {
  Tensor t(dtype, std::move(shape));
  t.fillRandom(seed);
  return t;
}

} // namespace tlc::interpret
