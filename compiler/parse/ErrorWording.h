// Turns what ANTLR knows about a syntax error into a sentence, and goes on with the next statement.
#pragma once
#include "parse/Source.h"

#include <antlr4-runtime.h>

namespace tlc::parsing {

class ErrorWording final : public antlr4::DefaultErrorStrategy {
public:
  explicit ErrorWording(std::vector<SyntaxError> &errors) : errors(errors) {}

  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &e) override;
  void recover(antlr4::Parser *parser, std::exception_ptr e) override;
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *) override {
  } // one token decides, so errors show where a token is matched

private:
  std::vector<SyntaxError> &errors;
};

} // namespace tlc::parsing
