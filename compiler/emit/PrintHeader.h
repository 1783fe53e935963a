// The C header, and the metadata that describes the same interface to programs.
#pragma once

#include "emit/PrintHost.h"

#include <span>
#include <string>

namespace tlc::emit {

/// What a caller must know: the common block and the functions.
std::string printDeclarations(std::span<const Unit> units);
/// The declarations as a file.
std::string printHeader(std::span<const Unit> units, const Options &options);
/// One function as a JSON object of several lines.
std::string unitJson(const Unit &unit, const Options &options);
/// The whole metadata file.
std::string printMetadata(std::span<const Unit> units, const Options &options);
/// How to compile the emitted source: "nvcc -std=c++17 -gencode=… -c gemm.cu".
std::string buildCommand(const Options &options);
/// The common block of all headers, guarded by TLC_ABI_1.
std::string commonBlock();

} // namespace tlc::emit
