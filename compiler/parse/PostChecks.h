// What Python refuses while it parses although TlParser accepts it: wrong targets of assignments,
// wrong orders of parameters and arguments, mixed sets and dicts, escapes and replacement fields in
// strings. Not here is what Python finds later, when it compiles (`return` outside a function,
// repeated parameters): sema does that.
#pragma once

#include <antlr4-runtime.h>

namespace tlc::parsing {

class Parse;
void checkTree(Parse &parse, antlr4::ParserRuleContext &tree);

} // namespace tlc::parsing
