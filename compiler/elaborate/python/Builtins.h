// Shared by the files that define Python's built-in functions.
#pragma once

#include "elaborate/Parts.h"

namespace tlc::elaborate {

// Classes.cpp
Value builtinProperty(Elaborator &e, CallArgs &args);
Value builtinStaticmethod(Elaborator &e, CallArgs &args);
Value builtinClassmethod(Elaborator &e, CallArgs &args);
Value builtinSuper(Elaborator &e, CallArgs &args);

void installTypes(Elaborator &e, Scope &scope);     ///< BuiltinTypes.cpp: int, str, list …
void installIterators(Elaborator &e, Scope &scope); ///< BuiltinIterators.cpp: zip, map, sorted …

/// The first poison among the arguments; an error value if one is wrong; None if all are known.
Value unknownAmong(const CallArgs &args);
/// Reports that an argument has the wrong type; passes on errors and poison in silence.
Value badArgument(Elaborator &e, const CallArg &arg, std::string_view what,
                  std::string_view wanted);

} // namespace tlc::elaborate
