// What the emulator found, told as diagnostics at the user's own lines.
#pragma once

#include "driver/Session.h"

#include <string_view>

namespace tlc::run {

/// Reports the findings in the text that the emulator wrote to EMU_REPORT. True if there was an
/// error among them.
///
/// Each finding is a few lines: its severity and kind; its text, in which {0}, {1} ... stand for
/// the places below; a line for each place, the emitted one and the user's, "?" where it is not
/// known.
///
///   error race
///   text read of shared+640 by thread (8,0,0) at {0}, unordered with the write at {1}
///   place kernel.cu:525 gemm.tl:26
///   place kernel.cu:462 gemm.tl:24
bool reportFindings(Session &session, std::string_view text);

/// The line that "gemm.tl:26" names, without its indentation; invalid if no file of the session is
/// called so.
SourceRange lineRange(const SourceManager &sources, std::string_view place);

} // namespace tlc::run
