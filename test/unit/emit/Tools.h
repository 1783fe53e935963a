// Running compilers and programs on emitted text.
#pragma once

#include "emit/Emit.h"

#include <string>

namespace tlc::emit::test {

/// A folder of the test's own, emptied first.
std::string freshFolder(const std::string &name);
void writeText(const std::string &path, const std::string &text);
/// Runs a command; returns what it printed, "" if it printed nothing and succeeded. A failure adds
/// a line with the status.
std::string complaints(const std::string &command);
/// Whether a program is on the path ("nvcc", or TLC_NVCC).
bool hasProgram(const std::string &name);
std::string nvcc();

/// Options for one target; files are called `name`.
Options optionsFor(const std::string &target, const std::string &name);
EmittedFiles emitOne(const ir::Function &function, const Options &options);
/// Writes name.cu (or .cpp) and name.h into `folder`; returns the source's path.
std::string writeFiles(const std::string &folder, const EmittedFiles &files,
                       const Options &options);

} // namespace tlc::emit::test
