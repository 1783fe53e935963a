// Parts of `tlc run` that text tests reach only in their usual forms.
#include "driver/run/Array.h"
#include "driver/run/Counts.h"
#include "driver/run/Findings.h"
#include "driver/run/Process.h"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace tlc;
using namespace tlc::run;

namespace {

interpret::Tensor numbers(DType dtype, std::vector<std::int64_t> shape) {
  interpret::Tensor out(dtype, std::move(shape));
  for (std::int64_t i = 0; i < out.count(); ++i)
    dtype.isFloat() ? out.set(i, static_cast<double>(i % 7) / 2) : out.setInteger(i, i % 7);
  return out;
}

/// Written, read and taken for the same dtype and shape again.
bool survives(const interpret::Tensor &tensor, const std::string &name) {
  WorkFolder folder("");
  std::FILE *file = std::fopen((folder / name).c_str(), "wb");
  std::string text = arrayText(name, tensor), error;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  bool missing = false;
  std::optional<ArrayFile> read = readArray(folder / name, error, missing);
  INFO(error);
  REQUIRE(read);
  std::optional<interpret::Tensor> back = asTensor(*read, tensor.dtype, tensor.shape, error);
  INFO(error);
  REQUIRE(back);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    if (back->at(i) != tensor.at(i))
      return false;
  return back->shape == tensor.shape;
}

} // namespace

TEST_CASE("arrays of every dtype survive their file") {
  constexpr Scalar all[] = {
#define TLC_SCALAR(NAME, ...) Scalar::NAME,
#include "support/DType.def"
  };
  for (Scalar scalar : all)
    for (const char *name : {"a.npy", "a.bin"}) {
      INFO(DType(scalar).str() << " in " << name);
      CHECK(survives(numbers(scalar, {3, 8}), name));
      CHECK(survives(numbers(scalar, {5}), name));
      CHECK(survives(numbers(scalar, {}), name));
      CHECK(survives(numbers(scalar, {0, 4}), name));
    }
}

TEST_CASE("headers that are no plain array are refused") {
  WorkFolder folder("");
  auto reason = [&](const std::string &dictionary) {
    std::string header = dictionary + "\n";
    std::string text =
        std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    std::FILE *file = std::fopen((folder / "a.npy").c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    std::string error;
    bool missing = true;
    bool isRead = readArray(folder / "a.npy", error, missing).has_value();
    CHECK_FALSE(missing);
    return isRead ? "read" : error;
  };
  CHECK(reason("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }") == "read");
  CHECK(reason("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }") ==
        "its elements are in column-major order; save numpy.ascontiguousarray of them");
  CHECK(reason("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }") ==
        "its NumPy header says no type and shape of plain elements");
  CHECK(reason("{'descr': '<f4', 'fortran_order': False, 'shape': (2, x), }") ==
        "its NumPy header says no type and shape of plain elements");
}

TEST_CASE("findings become diagnostics at the user's lines") {
  Session session{Options{}};
  session.sources.addBuffer("k.tl", "a\n  b = 1\nc\n");
  CHECK(reportFindings(session, "error race\ntext write at {0}, read at {1}\ntext second line\n"
                                "place /x/kernel.cu:5\tk.tl:2\nplace /x/kernel.cu:7\tk.tl:3\n"
                                "warning doubt\ntext at {0}\nplace kernel.cu:9\t?\n"));
  const auto &found = session.diagnostics.diagnostics();
  REQUIRE(found.size() == 2);
  CHECK(found[0].id == diag::RunFault);
  CHECK(found[0].message == "race: write at k.tl:2, read at k.tl:3\nsecond line");
  CHECK(session.sources.text(found[0].range) == "b = 1");
  REQUIRE(found[0].labels.size() == 1);
  CHECK(session.sources.text(found[0].labels[0].range) == "c");
  CHECK(found[1].id == diag::RunDoubt);
  CHECK(found[1].message == "doubt: at kernel.cu:9");
  CHECK_FALSE(found[1].range.valid());
  CHECK(session.exitStatus() == 4);
  CHECK_FALSE(reportFindings(session, ""));
  CHECK_FALSE(lineRange(session.sources, "k.tl:77").valid());
  CHECK_FALSE(lineRange(session.sources, "other.tl:1").valid());
}

TEST_CASE("counts are read by the names of their columns") {
  Session session{Options{}};
  session.sources.addBuffer("k.tl", "first\nsecond\n");
  std::vector<LineCounts> counts = readCounts("place\tbarriers\tsomething new\tglobal_read_bytes\n"
                                              "k.tl:2\t3\t99\t64\nk.tl:1\t0\t0\t32\n");
  REQUIRE(counts.size() == 2);
  CHECK(counts[0][Counter::Barriers] == 3);
  CHECK(counts[0][Counter::GlobalReadBytes] == 64);
  CHECK(countsTable(session, counts) == "line    global read  barriers\n"
                                        "k.tl:1           32            first\n"
                                        "k.tl:2           64         3  second\n"
                                        "sum              96         3\n");
  CHECK(countsJson(session, "f", "sm80", counts)
            .find("\"line\":1,\"text\":\"first\",\"global_read_bytes\":32") != std::string::npos);
  CHECK(readCounts("").empty());
}

TEST_CASE("programs end in one of three ways") {
  Ended ended = runProcess({"sh", "-c", "echo $WORD; echo too >&2; exit 3"}, {{"WORD", "said"}},
                           Streams::Captured);
  CHECK(ended.output == "said\ntoo\n");
  CHECK(ended.how() == "exit status 3");
  CHECK_FALSE(ended.ok());
  CHECK(runProcess({"sh", "-c", "kill -9 $$"}, {}, Streams::Captured).how() == "signal 9 (Killed)");
  CHECK_FALSE(runProcess({"/nonexistent/tool"}, {}, Streams::Captured).whyNotStarted.empty());
}

TEST_CASE("a temporary folder goes with its owner, one that was asked for stays") {
  std::string path;
  {
    WorkFolder folder("");
    path = folder.path();
    CHECK(std::filesystem::is_directory(path));
    WorkFolder kept(path + "-kept");
    CHECK(std::filesystem::is_directory(kept.path()));
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::remove(path + "-kept"));
}
