#include "driver/Files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tlc {
namespace {

bool holds(const std::string &path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return false;
  std::string old((std::istreambuf_iterator<char>(file)), {});
  return old == text;
}

std::string reason() { return std::strerror(errno); }

bool writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string writeDevice(const std::string &path, std::string_view text) {
  int device = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (device < 0)
    return reason();
  std::string failure = writeAll(device, text) ? "" : reason();
  ::close(device);
  return failure;
}

std::string escaped(const std::string &path) {
  std::string out;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      out += '\\';
    else if (c == '$')
      out += '$';
    out += c;
  }
  return out;
}

} // namespace

std::string sharedPath(const std::string &name) {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char *place : {"../share/tlc", "../..", "../../.."}) {
    std::filesystem::path candidate = program.parent_path() / place / name;
    if (std::filesystem::exists(candidate, error))
      return candidate.lexically_normal().string();
  }
  return {};
}

std::string absolutePath(const std::string &path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

FileSet::~FileSet() {
  for (const Pending &file : pending)
    ::unlink(file.temporary.c_str());
}

std::string FileSet::add(const std::string &path, std::string_view text, WriteMode mode) {
  if (mode == WriteMode::IfChanged && holds(path, text))
    return {};
  std::error_code ignored;
  auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return std::filesystem::is_directory(status) ? "it is a folder" : writeDevice(path, text);
  // Through a symbolic link the file it names is replaced, not the link.
  std::string final = path;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
    if (auto resolved = std::filesystem::weakly_canonical(path, ignored); !ignored)
      final = resolved.string();

  std::string temporary = final + ".tmp-XXXXXX";
  int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return reason();
  pending.push_back({path, temporary, final});
  std::string failure;
  if (!writeAll(descriptor, text))
    failure = reason();
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (failure.empty() && ::fchmod(descriptor, 0666 & ~mask) != 0)
    failure = reason();
  if (::close(descriptor) != 0 && failure.empty())
    failure = reason();
  return failure;
}

std::pair<std::string, std::string> FileSet::commit() {
  for (auto file = pending.begin(); file != pending.end(); ++file)
    if (::rename(file->temporary.c_str(), file->final.c_str()) != 0) {
      std::pair<std::string, std::string> failure{file->path, reason()};
      for (auto made = pending.begin(); made != file; ++made)
        ::unlink(made->final.c_str());
      pending.erase(pending.begin(), file);
      return failure;
    }
  pending.clear();
  return {};
}

std::string writeFile(const std::string &path, std::string_view text, WriteMode mode) {
  FileSet one;
  std::string failure = one.add(path, text, mode);
  return failure.empty() ? one.commit().second : failure;
}

std::string depfileText(const std::vector<std::string> &targets,
                        const std::vector<std::string> &sources) {
  std::string out;
  for (const std::string &target : targets)
    out += (out.empty() ? "" : " ") + escaped(absolutePath(target));
  out += ":";
  for (const std::string &source : sources)
    out += " \\\n  " + escaped(absolutePath(source));
  return out + "\n";
}

} // namespace tlc
