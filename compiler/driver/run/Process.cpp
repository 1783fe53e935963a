#include "driver/run/Process.h"

#include "driver/Files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace tlc::run {
namespace {

std::string nameOf(const std::string &setting) { return setting.substr(0, setting.find('=') + 1); }

std::vector<char *> pointers(std::vector<std::string> &words) {
  std::vector<char *> out;
  for (std::string &word : words)
    out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// This process's environment with `added` in place of what has the same names.
std::vector<std::string>
environmentWith(const std::vector<std::pair<std::string, std::string>> &added) {
  std::vector<std::string> out;
  for (const auto &[name, value] : added)
    out.push_back(name + "=" + value);
  std::size_t count = out.size();
  for (char **entry = environ; *entry; ++entry) {
    bool isReplaced = false;
    for (std::size_t i = 0; i < count; ++i)
      isReplaced |= std::string_view(*entry).starts_with(nameOf(out[i]));
    if (!isReplaced)
      out.emplace_back(*entry);
  }
  return out;
}

std::string readAll(int descriptor) {
  std::string out;
  char buffer[4096];
  for (;;) {
    ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count > 0)
      out.append(buffer, static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR)
      return out;
  }
}

} // namespace

std::string Ended::how() const {
  int number = signal ? signal : status > 128 && status < 128 + 65 ? status - 128 : 0;
  return number ? "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")"
                : "exit status " + std::to_string(status);
}

Ended runProcess(const std::vector<std::string> &words,
                 const std::vector<std::pair<std::string, std::string>> &environment,
                 Streams streams) {
  Ended ended;
  std::vector<std::string> arguments = words, settings = environmentWith(environment);
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  bool captures = streams == Streams::Captured;
  if (captures && ::pipe2(ends, O_CLOEXEC) != 0) {
    ended.whyNotStarted = std::strerror(errno);
    return ended;
  }
  if (captures)
    for (int stream : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
  pid_t child = 0;
  int failure = ::posix_spawnp(&child, arguments.front().c_str(), &actions, nullptr,
                               pointers(arguments).data(), pointers(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  if (captures)
    ::close(ends[1]);
  if (failure)
    ended.whyNotStarted = std::strerror(failure);
  else if (captures)
    ended.output = readAll(ends[0]);
  if (captures)
    ::close(ends[0]);
  if (failure)
    return ended;
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  ended.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  ended.status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  return ended;
}

WorkFolder::WorkFolder(const std::string &keep) {
  std::error_code error;
  if (!keep.empty()) {
    std::filesystem::create_directories(keep, error);
    if (error)
      reason = error.message();
    else
      name = absolutePath(keep);
    return;
  }
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string pattern = (error ? std::filesystem::path("/tmp") : parent) / "tlc-run.XXXXXX";
  if (::mkdtemp(pattern.data()))
    name = pattern, temporary = true;
  else
    reason = std::strerror(errno);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (temporary)
    std::filesystem::remove_all(name, ignored);
}

} // namespace tlc::run
