// Every instruction that the target's tables promise has a runtime function that compiles.
#include "Tools.h"

#include "emit/Dialect.h"
#include "emit/Runtime.h"
#include "target/Atoms.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::emit::test;

TEST_CASE("every matrix instruction has a function of its name") {
  for (const Atom &atom : atomTable(Family::Cuda)) {
    INFO(atom.name);
    if (atom.kind == AtomKind::Matrix)
      CHECK(RuntimeLibrary::of(Family::Cuda).has(atom.name));
  }
}

TEST_CASE("the matrix instructions compile for the architectures that have them", "[nvcc]") {
  if (nvcc().empty())
    return;
  const Dialect &dialect = dialectOf(Family::Cuda);
  std::string folder = freshFolder("atoms");
  CHECK(complaints("ln -s " TLC_SOURCE_DIR "/runtime " + folder + "/tlc") == "");
  for (const char *name : {"sm75", "sm80", "sm89", "sm90", "sm100"}) {
    const Target &target = *findTarget(name);
    std::string text = "#include \"tlc/cuda/matrix.cuh\"\n";
    unsigned count = 0;
    for (const Atom &atom : atomTable(Family::Cuda))
      if (atom.kind == AtomKind::Matrix && atom.minimumArchitecture <= target.architecture)
        text += "__global__ void k" + std::to_string(count++) + "(" + scalarType(dialect, atom.c) +
                " *c, const " + storageType(dialect, atom.a) + " *a, const " +
                storageType(dialect, atom.b) + " *b) { tlc::" + atom.name + "(c, a, b); }\n";
    REQUIRE(count > 0);
    writeText(folder + "/" + name + ".cu", text);
    CHECK(complaints(nvcc() + " -std=c++17 " + target.flags[0] +
                     " -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -I" + folder + " -c " +
                     folder + "/" + name + ".cu -o " + folder + "/out.o") == "");
  }
}

TEST_CASE("sections of the runtime bring what they need and nothing later") {
  for (Family family : {Family::Cuda, Family::Cpu}) {
    const RuntimeLibrary &library = RuntimeLibrary::of(family);
    for (unsigned i = 0; i < library.sections().size(); ++i)
      for (unsigned need : library.needsOf(i))
        CHECK(need < i);
    RuntimeUse use(library);
    use.use("min");
    CHECK(use.deviceText().find("half") == std::string::npos);
    use.use("half");
    CHECK(use.deviceText().find("min(") != std::string::npos);
    CHECK(use.deviceText().find(family == Family::Cuda ? "__half min(" : "float16 min(") !=
          std::string::npos);
  }
}
