// The text form of the tile IR, for people and for Parse.h. The grammar is in README.md.
#pragma once

#include "ir/Function.h"

#include <string>

namespace tlc::ir {

/// "f16", "i32x4", "f8e4m3": how the text form spells a dtype.
std::string shortName(DType dtype);

/// The whole function, ending in a line end. parse(print(f)) gives the same function, apart from
/// source ranges.
std::string print(const Function &function);

/// For diagnostics and debugging. Names are made unique within the printed piece only.
std::string print(const Block &block);
std::string print(const Stmt &stmt);
std::string print(const Buffer &buffer); ///< its declaration
std::string print(const Element &element);
std::string print(const Region &region);
std::string print(Expr e);

} // namespace tlc::ir
