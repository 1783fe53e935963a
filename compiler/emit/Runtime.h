// The runtime's source files as the compiler carries them: which functions there are, which of them
// an emitted file needs, and their text.
#pragma once

#include "target/Target.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tlc::emit {

/// One file of runtime/, embedded at build time.
struct RuntimeFile {
  std::string_view name; ///< below runtime/, "cuda/async.cuh"
  std::string_view text;
};
std::span<const RuntimeFile> runtimeFiles();

/// A piece of a runtime file from one `//@ name...` line to the next: what is pasted as a whole.
/// `//@ min_half : min half` is an overload that comes along where both `min` and `half` are used.
struct RuntimeSection {
  std::string_view file;
  std::vector<std::string_view> names;    ///< what it defines; the first one names it
  std::vector<std::string_view> with;     ///< if not empty: pasted where all of these are
  std::string_view text;                  ///< without the marker line
  std::vector<std::string_view> includes; ///< system headers of its file
};

/// The sections for one family of targets, each after those it needs.
class RuntimeLibrary {
public:
  /// Built once per family. Throws InternalError if a name is defined twice.
  static const RuntimeLibrary &of(Family family);

  std::span<const RuntimeSection> sections() const { return all; }
  /// Also true of functions that are written when they are used (WgmmaText.h).
  bool has(std::string_view name) const;
  /// Other sections that a section uses, by number; all stand before it. Reads the section's text.
  std::vector<unsigned> needsOf(unsigned section) const;

private:
  friend class RuntimeUse;
  explicit RuntimeLibrary(Family family);
  void addFile(const RuntimeFile &file);

  Family family;
  std::vector<RuntimeSection> all;
  std::unordered_map<std::string_view, unsigned> index;
};

/// What one emitted file uses, collected while it is printed.
class RuntimeUse {
public:
  explicit RuntimeUse(const RuntimeLibrary &library) : library(library) {}

  /// Notes a use. Throws InternalError if there is no such function on this family.
  void use(std::string_view name);
  bool has(std::string_view name) const { return library.has(name); }

  /// The text to paste: namespace tlc within an anonymous one, device functions and host functions
  /// apart, because the emulator brings its own device functions.
  std::string deviceText() const;
  /// Device functions that no runtime file holds, to be pasted in any case and after the others.
  std::string generatedText() const;
  std::string hostText() const;
  /// What all emitted files of a program share: stands outside anonymous namespaces.
  std::string sharedText() const;
  /// Macros that must stand outside the namespace.
  std::string macroText() const;
  /// System headers that the used sections need, in order, without repetition: "cuda_fp16.h".
  std::vector<std::string> includes() const;
  /// Runtime files that hold the used sections, for --runtime=include.
  std::vector<std::string> files() const;

private:
  const std::vector<bool> &closure() const;
  template <typename Predicate> std::string textOf(Predicate &&wanted) const;

  const RuntimeLibrary &library;
  std::unordered_set<unsigned> used;
  mutable std::vector<bool> closed;            ///< what `closure` found; empty after another use
  std::map<std::string, std::string> products; ///< of warpgroups: name and text
};

} // namespace tlc::emit
