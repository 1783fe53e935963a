// Writing files: nobody may see half of one, and an unchanged header must keep its time stamp.
#include "driver/Files.h"
#include "driver/Options.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "tlc-files-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string operator/(const char *name) const { return (path / name).string(); }
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ino_t inode(const std::string &path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

} // namespace

TEST_CASE("a file is replaced as a whole") {
  Folder folder;
  std::string path = folder / "a.cu";
  CHECK(writeFile(path, "one").empty());
  ino_t first = inode(path);
  CHECK(writeFile(path, "two").empty());
  CHECK(read(path) == "two");
  CHECK(inode(path) != first);
  CHECK(folder.count() == 1); // no temporary left
}

TEST_CASE("an unchanged file is not touched, a changed one is") {
  Folder folder;
  std::string path = folder / "a.h";
  REQUIRE(writeFile(path, "text").empty());
  ino_t first = inode(path);
  CHECK(writeFile(path, "text", WriteMode::IfChanged).empty());
  CHECK(inode(path) == first);
  CHECK(writeFile(path, "text!", WriteMode::IfChanged).empty());
  CHECK(read(path) == "text!");
}

TEST_CASE("failure says why and leaves nothing") {
  Folder folder;
  CHECK(writeFile(folder / "none/a.cu", "x") == "No such file or directory");
  fs::create_directory(folder / "sub");
  CHECK(writeFile(folder / "sub", "x") == "it is a folder");
  CHECK(folder.count() == 1);
}

TEST_CASE("a link stays a link, and a device stays a device") {
  Folder folder;
  REQUIRE(writeFile(folder / "real", "old").empty());
  fs::create_symlink(folder / "real", folder / "link");
  CHECK(writeFile(folder / "link", "new").empty());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read(folder / "real") == "new");
  CHECK(writeFile("/dev/null", "x").empty());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("depfiles escape what make would take apart") {
  CHECK(depfileText({"/b/out.cu"}, {"/a/x y.tl", "/a/#1.tl", "/a/$v.tl"}) ==
        "/b/out.cu: \\\n  /a/x\\ y.tl \\\n  /a/\\#1.tl \\\n  /a/$$v.tl\n");
  // Relative paths become absolute: Ninja and Make run in different folders.
  CHECK(depfileText({"out"}, {"./in"}) == (fs::current_path() / "out").string() + ": \\\n  " +
                                              (fs::current_path() / "in").string() + "\n");
}

TEST_CASE("lists are split at commas") {
  CHECK(splitList("a,,b,") == std::vector<std::string>{"a", "b"});
  CHECK(splitList("").empty());
}

TEST_CASE("words that look like values of repeatable options stay sources") {
  DiagnosticEngine diagnostics;
  ParsedCommandLine line =
      parseCommandLine({"build", "-D", "M=1", "-DN=2", "-I", "dir", "-Wno-dump", "x.tl", "-t",
                        "sm80", "--line-directives=no", "-o", "x.cu"},
                       diagnostics);
  CHECK_FALSE(line.exit);
  CHECK(line.options.defines == std::vector<std::string>{"M=1", "N=2"});
  CHECK(line.options.includeDirs == std::vector<std::string>{"dir"});
  CHECK(line.options.warnings == std::vector<std::string>{"no-dump"});
  CHECK(line.options.sources == std::vector<std::string>{"x.tl"});
  CHECK(line.options.targets == std::vector<std::string>{"sm80"});
  CHECK_FALSE(line.options.lineDirectives);
  CHECK(diagnostics.errorCount() == 0);
}
