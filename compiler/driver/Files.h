// Writing files so that nobody ever sees a half-written or needlessly touched one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc {

enum class WriteMode {
  Always,    ///< the time stamp tells that this was made anew
  IfChanged, ///< left alone if it already holds the text: whoever includes it is not rebuilt
};

/// Files that appear together or not at all: `add` writes each under a temporary name, `commit`
/// gives all their names. Without `commit` nothing is left behind and earlier files are untouched.
class FileSet {
public:
  FileSet() = default;
  FileSet(const FileSet &) = delete;
  FileSet &operator=(const FileSet &) = delete;
  ~FileSet();

  /// Writes `text` to a temporary file beside `path`. Returns the operating system's reason on
  /// failure, else an empty string. A device or pipe cannot be renamed over: it is written at once.
  std::string add(const std::string &path, std::string_view text,
                  WriteMode mode = WriteMode::Always);

  /// Renames. On failure: the name that could not be given and the reason; nothing of the rest is
  /// left.
  std::pair<std::string, std::string> commit();

private:
  struct Pending {
    std::string path, temporary, final;
  };
  std::vector<Pending> pending;
};

/// A set of one. Returns the operating system's reason on failure, else an empty string.
std::string writeFile(const std::string &path, std::string_view text,
                      WriteMode mode = WriteMode::Always);

/// The list of files that `target` was made from, as make and Ninja read it: spaces, # and $
/// escaped, absolute paths.
std::string depfileText(const std::vector<std::string> &targets,
                        const std::vector<std::string> &sources);

/// A file or folder that tlc brings along ("stdlib", "tools/emulate.sh"): beside an installed tlc,
/// or in the checkout it was built from. Empty if there is none.
std::string sharedPath(const std::string &name);

/// Absolute and without `.` and `..`; symbolic links stay.
std::string absolutePath(const std::string &path);

} // namespace tlc
