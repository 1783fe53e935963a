// Long lines of emitted text.
#pragma once

#include "support/TextWriter.h"

#include <string>

namespace tlc::emit {

/// Writes a statement, broken where it is nested least deeply (after a comma, before an operator)
/// so that lines stay within 100 columns; continuation lines are indented by 4 more.
void writeWrapped(TextWriter &out, const std::string &text);

} // namespace tlc::emit
