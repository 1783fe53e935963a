// Programs that tlc starts, and folders that last as long as they are needed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tlc::run {

struct Ended {
  std::string whyNotStarted; ///< the operating system's reason; empty: it ran
  int status = 0;            ///< exit status, or that of a shell: 128 + signal
  int signal = 0;
  std::string output; ///< of both streams, if captured
  bool ok() const { return whyNotStarted.empty() && status == 0 && signal == 0; }
  /// "exit status 1", "signal 11 (Segmentation fault)".
  std::string how() const;
};

enum class Streams { Inherited, Captured };

/// Runs a program to its end; the first word is looked up in PATH. `environment` adds to this
/// process's.
Ended runProcess(const std::vector<std::string> &words,
                 const std::vector<std::pair<std::string, std::string>> &environment,
                 Streams streams);

/// A folder of its own, removed with everything in it when this goes; or one that was asked for,
/// which is made and stays.
class WorkFolder {
public:
  /// An empty `keep` makes a temporary one.
  explicit WorkFolder(const std::string &keep);
  ~WorkFolder();
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;

  const std::string &path() const { return name; } ///< absolute; empty if it could not be made
  const std::string &error() const { return reason; }
  std::string operator/(const std::string &file) const { return name + "/" + file; }

private:
  std::string name, reason;
  bool temporary = false;
};

} // namespace tlc::run
