// The host's side of a function: argument checks, grids, launches, and the C entry points.
#pragma once

#include "emit/Interface.h"
#include "emit/PrintKernel.h"

namespace tlc::emit {

/// A function as one target runs it.
struct Variant {
  const Target *target = nullptr;
  const ir::Function *function = nullptr;
  std::string scope; ///< "sm80::", or "" if the file has one target
  std::vector<PrintedKernel> kernels;
};

/// One C entry point with all its variants.
struct Unit {
  Interface interface;
  std::vector<Variant> variants;
  std::string json; ///< the metadata, as _info gives it
};

/// Whether calls may leave out the workspace, which makes some of them faster. (A program that
/// wants one itself has no such parts.)
bool mayLackWorkspace(const Unit &unit);

/// Everything of a unit that is in namespaces: argument structure, checks, plans, launches.
void printHostInside(const Unit &unit, const Options &options, const Dialect &dialect,
                     RuntimeUse &runtime, TextWriter &out);
/// The choice of a variant for a device, loading, and calls of the chosen one.
void printChoice(const Unit &unit, const Options &options, const Dialect &dialect,
                 RuntimeUse &runtime, TextWriter &out);
/// The C functions.
void printEntries(const Unit &unit, const Options &options, const Dialect &dialect,
                  RuntimeUse &runtime, TextWriter &out);

} // namespace tlc::emit
