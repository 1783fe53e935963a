// Which kernels a file has and what their arguments become.
#include "elaborate/Elaborate.h"
#include "ir/Print.h"
#include "parse/Parser.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tlc;

namespace {

struct Built {
  explicit Built(std::string text, ElaborateOptions given = {}, std::string_view target = "sm90")
      : options(std::move(given)) {
    run(sources.addBuffer("test.tl", std::move(text)), target);
  }
  explicit Built(const std::filesystem::path &file, ElaborateOptions given = {})
      : options(std::move(given)) {
    std::string error;
    auto id = sources.load(file.string(), error);
    REQUIRE(id);
    run(*id, "sm90");
  }

  void run(std::uint32_t file, std::string_view target) {
    options.parseFile = [this](std::uint32_t f) { return parse(sources, f, diagnostics); };
    options.parseExpression = [this](std::uint32_t f) {
      return parseExpression(sources, f, diagnostics);
    };
    auto module = parse(sources, file, diagnostics);
    REQUIRE(module);
    result = elaborateModule(*module, sources, diagnostics, *findTarget(target), context, options);
  }

  /// "name[dims](param shapes)" of each kernel, then codes of what was reported.
  std::string text() const {
    std::string out;
    for (const auto &f : result.functions) {
      out += (out.empty() ? "" : "; ") + f->name + "(";
      for (std::size_t i = 0; i < f->params.size(); ++i) {
        const ir::Param &p = f->params[i];
        out += (i ? ", " : "") + p.name;
        if (!p.buffer)
          continue;
        out += ":" + p.buffer->dtype.str();
        for (ir::Expr x : p.buffer->shape)
          out += "," + (x.isInt() ? std::to_string(x->integer) : x->name);
        out += p.buffer->output ? "!" : "";
      }
      out += ")";
    }
    for (const Diagnostic *d : diagnostics.sorted())
      out += (out.empty() ? "" : " ") + std::string(info(d->id).code);
    return out;
  }
  std::string messages() const {
    std::string out;
    for (const Diagnostic *d : diagnostics.sorted())
      out += std::string(info(d->id).code) + " " + d->message + "\n";
    return out;
  }

  SourceManager sources;
  DiagnosticEngine diagnostics;
  ir::Context context;
  ElaborateOptions options;
  ElaborateResult result;
};

ElaborateOptions with(std::vector<std::string> defines, std::vector<std::string> kernels = {}) {
  ElaborateOptions options;
  options.defines = std::move(defines);
  options.kernels = std::move(kernels);
  return options;
}

const std::string lazy = R"(
import tilelang
import tilelang.language as T
@tilelang.jit(out_idx=[-1])
def copy(M, N, block=32, dtype="float16"):
    assert M % block == 0, f"{M} is no multiple of {block}"
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block, threads=128) as bx:
            s = T.alloc_shared((block, N), dtype)
            T.copy(A[bx * block, 0], s)
            T.copy(s, B[bx * block, 0])
    return main
)";

const std::string eager = R"(
import tilelang
import tilelang.language as T
@tilelang.jit
def scale(A, factor: T.float32, block, dtype=T.float16):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
        for i, j in T.Parallel(block, 64):
            B[bx * block + i, j] = A[bx * block + i, j] * factor
    return B
)";

} // namespace

TEST_CASE("a lazy factory takes its arguments from -D and defaults") {
  CHECK(Built(lazy, with({"M=64", "N=128"})).text() == "copy(A:float16,64,128, B:float16,64,128!)");
  CHECK(Built(lazy, with({"M=64", "N=128", "dtype=bfloat16", "block=16"})).text() ==
        "copy(A:bfloat16,64,128, B:bfloat16,64,128!)");
  CHECK(Built(lazy, with({"copy.M=64", "M=32", "N=128"})).text() ==
        "copy(A:float16,64,128, B:float16,64,128!)");
  CHECK(Built(lazy, with({"M=dynamic", "N=128", "block=1"}))
            .text()
            .starts_with("copy(A:float16,M,128, B:float16,M,128!)"));
}

TEST_CASE("what is missing is named") {
  Built asked(lazy, with({"M=64"}));
  CHECK(asked.messages() == "TL1082 kernel `copy` needs a value for `N`\n");
  CHECK(Built(lazy).text() == "TL1082"); // the only kernel, so it is meant
  CHECK(Built(lazy + eager).text() == "TL1083");
  CHECK(Built(lazy, with({}, {"copy"})).messages() ==
        "TL1082 kernel `copy` needs a value for `M`, `N`\n");
  CHECK(Built(lazy, with({}, {"copi"})).messages() ==
        "TL1084 there is no kernel `copi`, did you mean `copy`?\n");
}

TEST_CASE("a -D that nothing asks for is an error") {
  Built built(lazy, with({"M=64", "N=128", "blokc=16"}));
  CHECK(built.messages() == "TL1081 -D blokc=16: nothing compiled here asks for `blokc`, did you "
                            "mean `block`?\n");
  CHECK(Built(lazy, with({"M"})).text().ends_with("TL1080"));
  CHECK(Built(lazy, with({"M=32", "M=64", "N=64"})).text().ends_with("TL1080"));
}

TEST_CASE("an assert of the factory speaks") {
  Built built(lazy, with({"M=65", "N=128"}));
  CHECK(built.messages() == "TL1022 assertion failed: 65 is no multiple of 32\n");
}

TEST_CASE("an eager kernel's tensors, typed scalars and const dims stay at run time") {
  CHECK(Built(eager, with({"block=16"})).text() == "scale(A:float16,M,N, factor, B:float16,M,N!)");
  CHECK(Built(eager, with({"block=16", "M=64", "N=64"})).text() ==
        "scale(A:float16,64,64, factor, B:float16,64,64!)");
  CHECK(Built(eager, with({"block=16", "N=64"})).text() ==
        "scale(A:float16,M,64, factor, B:float16,M,64!)");
  CHECK(Built(eager, with({"N=64"})).messages() ==
        "TL1082 kernel `scale` needs a value for `block`\n");
}

TEST_CASE("instantiations of the file name kernels") {
  std::string file = lazy + "small = copy(32, 64)\nbig = copy.compile(M=64, N=128, block=16)\n";
  CHECK(Built(file).text() == "small(A:float16,32,64, B:float16,32,64!); "
                              "big(A:float16,64,128, B:float16,64,128!)");
  CHECK(Built(file, with({}, {"big"})).text() == "big(A:float16,64,128, B:float16,64,128!)");
  CHECK(Built(file, with({"small.N=96"}))
            .text()
            .starts_with("small(A:float16,32,96, B:float16,32,96!)"));
  CHECK(Built(eager + "f = scale.compile(M=64, N=64, block=16)\n").text() ==
        "f(A:float16,64,64, factor, B:float16,64,64!)");
}

TEST_CASE("instantiations of the command line") {
  ElaborateOptions options;
  options.instantiations = {"a = copy(32, 64)", "b = copy.compile(M=64, N=64, dtype=T.float32)"};
  CHECK(Built(lazy, options).text() == "a(A:float16,32,64, B:float16,32,64!); "
                                       "b(A:float32,64,64, B:float32,64,64!)");
  options.instantiations = {"copy(32, 64)"};
  CHECK(Built(lazy, options).text().starts_with("TL1086"));
  options.instantiations = {"a = copy(32, 64)", "a = copy(64, 64)"};
  CHECK(Built(lazy, options).text().find("TL1085") != std::string::npos);
}

TEST_CASE("a bare prim_func, --name") {
  std::string bare = R"(
import tilelang.language as T
N = 64
@T.prim_func
def add(A: T.Tensor((N,), "float32"), n: T.int32):
    with T.Kernel(1, threads=64):
        A[0] = T.float32(n)
)";
  CHECK(Built(bare).text() == "add(A:float32,64, n)");
  CHECK(Built(bare, with({"N=32"})).text() == "add(A:float32,32, n)");
  ElaborateOptions options;
  options.name = "other";
  CHECK(Built(bare, options).text() == "other(A:float32,64, n)");
}

TEST_CASE("factories in steps share one set of values") {
  std::string steps = R"(
import tilelang
import tilelang.language as T
def make(M, N):
    @tilelang.jit(out_idx=-1)
    def kernel_func(block, threads=64):
        @T.prim_func
        def main(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
            with T.Kernel(M // block, threads=threads) as bx:
                s = T.alloc_shared((block, N), "float16")
                T.copy(A[bx * block, 0], s)
                T.copy(s, B[bx * block, 0])
        return main
    return kernel_func
)";
  CHECK(Built(steps, with({"M=64", "N=32", "block=16"})).text() ==
        "make(A:float16,64,32, B:float16,64,32!)");
  CHECK(Built(steps, with({"M=64", "N=32"})).messages() ==
        "TL1082 kernel `make` needs a value for `block`\n");
}

TEST_CASE("tilelang.compile is the kernel itself") {
  std::string compiled = R"(
import tilelang
import tilelang.language as T
def make(M):
    @T.prim_func
    def main(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
        with T.Kernel(1, threads=64):
            B[0] = A[0]
    return tilelang.compile(main, out_idx=[1])
)";
  CHECK(Built(compiled, with({"M=64"})).text() == "make(A:float32,64, B:float32,64!)");
}

TEST_CASE("autotune: the first valid configuration, whole or not at all") {
  std::string tuned = R"(
import tilelang
import tilelang.language as T
def configs(M):
    return [dict(block=M * 2, threads=64), dict(block=16, threads=96)]
@tilelang.autotune(configs=configs)
@tilelang.jit
def k(M, block=None, threads=128):
    assert M % block == 0
    @T.prim_func
    def main(A: T.Tensor((M,), "float32")):
        with T.Kernel(M // block, threads=threads) as bx:
            A[bx] = 1.0
    return main
)";
  Built first(tuned, with({"M=64"}));
  CHECK(first.text() == "k(A:float32,64)");
  REQUIRE(first.result.functions.size() == 1);
  CHECK(first.result.functions[0]->launches[0]->threads[0] == 96);
  CHECK(first.result.functions[0]->launches[0]->grid[0].isConstant(4));
  Built given(tuned, with({"M=64", "block=32"}));
  REQUIRE(given.result.functions.size() == 1);
  CHECK(given.result.functions[0]->launches[0]->threads[0] == 128);
  CHECK(Built(tuned, with({"M=3"})).text() == "TL1087 TL1022");
  CHECK(Built(tuned).messages() == "TL1082 kernel `k` needs a value for `M`\n");
}

TEST_CASE("policies, lists and None as values") {
  std::string text = R"(
import tilelang.language as T
def make(policy, shape, extra="x", flag=True):
    assert policy == T.GemmWarpPolicy.FullRow
    assert extra is None and not flag
    @T.prim_func
    def main(A: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=64):
            A[0, 0] = 1.0
    return main
)";
  CHECK(Built(text, with({"policy=FullRow", "shape=(8, 16)", "extra=None", "flag=False"})).text() ==
        "make(A:float32,8,16)");
  CHECK(Built(text, with({"policy=T.GemmWarpPolicy.FullRow", "shape=[8, 16]", "extra=None",
                          "flag=False"}))
            .text() == "make(A:float32,8,16)");
}

TEST_CASE("assumptions are constraints") {
  ElaborateOptions options = with({"block=16"});
  options.assumptions = {"M % 16 == 0"};
  Built built(eager, options);
  CHECK(built.diagnostics.errorCount() == 0);
  REQUIRE(built.result.functions.size() == 1);
  CHECK(built.result.functions[0]->constraints.size() == 1);
  options.assumptions = {"Q % 16 == 0"};
  CHECK(Built(eager, options).text().ends_with("TL1091"));
}

TEST_CASE("-D A.strides=dynamic makes the strides arguments") {
  Built built(eager, with({"block=16", "A.strides=dynamic"}));
  CHECK(built.diagnostics.errorCount() == 0);
  REQUIRE(built.result.functions.size() == 1);
  const ir::Function &f = *built.result.functions[0];
  REQUIRE(f.dims.size() == 3);
  CHECK(f.dims[2].isStride);
  CHECK(f.dims[2].name == "A_stride0");
  CHECK(f.params[0].buffer->strides.size() == 2);
  CHECK(Built(eager, with({"block=16", "Q.strides=dynamic"})).text().ends_with("TL1081"));
}

TEST_CASE("the host part is parsed and never executed") {
  std::string host = lazy + R"(
import torch, argparse
def main():
    kernel = copy(1024, 1024)
    a = torch.randn(3).cuda()
    if a.sum() > 0:
        raise RuntimeError("executed")
parser = argparse.ArgumentParser()
args = parser.parse_args()
if args.verbose:
    print("x")
for name in args.names:
    print(name)
torch.manual_seed(0)
main()
if __name__ == "__main__":
    main()
)";
  CHECK(Built(host, with({"M=64", "N=64"})).text() == "copy(A:float16,64,64, B:float16,64,64!)");
}

TEST_CASE("T may be imported whole, and a slip in its names is no host code") {
  std::string starred = R"(
from tilelang.language import *
@prim_func
def k(A: Tensor((64,), float16)):
    with Kernel(1, threads=32):
        A[0] = 1.0
)";
  CHECK(Built(starred).text() == "k(A:float16,64)");
  std::string slip = "import tilelang.language as T\ndtype = T.flaot16\n";
  CHECK(Built(slip).messages().starts_with(
      "TL1005 module `tilelang.language` has no attribute `flaot16`, did you mean `float16`?\n"));
}

TEST_CASE("functions that define kernels for themselves are no units") {
  std::string tests = lazy + R"(
def test_copy():
    @T.prim_func
    def main(A: T.Tensor((4,), "float32")):
        with T.Kernel(1): A[0] = 1.0
    kernel = tilelang.compile(main)
    assert kernel.get_source().count("x") == 1
def make():
    def inner():
        @T.prim_func
        def main(A: T.Tensor((4,), "float32")):
            with T.Kernel(1): A[0] = 1.0
        return main
    kernel = inner()
    return tilelang.compile(kernel)
)";
  CHECK(Built(tests).text() == "make(A:float32,4) TL1092");
}

TEST_CASE("endless work ends with an error") {
  std::string endless = R"(
import tilelang.language as T
def make(n):
    i = 0
    while i < n:
        i += 1
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1): A[0] = 1.0
    return main
)";
  CHECK(Built(endless, with({"n=1000000000"})).text() == "TL1024");
  CHECK(Built(std::string("def f(n):\n    return f(n + 1)\n"), with({"n=1"}, {"f"})).text() ==
        "TL1025");
}

// ---- Imports

namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    path = std::filesystem::temp_directory_path() /
           ("tlc-imports-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path write(const std::string &name, const std::string &text) const {
    std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  static inline int count = 0;
};

const std::string user = R"(
import tilelang.language as T
@T.prim_func
def k(A: T.Tensor((SIZE,), "float32")):
    with T.Kernel(1, threads=32):
        A[0] = 1.0
)";

} // namespace

TEST_CASE("files import files and packages") {
  Folder f;
  f.write("sizes.py", "SIZE = 16\n_hidden = 1\n");
  f.write("pkg/__init__.tl", "from .inner import SIZE\nfrom . import inner\n");
  f.write("pkg/inner.tl", "from ..sizes import SIZE as S\nSIZE = S * 2\n");
  CHECK(Built(f.write("a.tl", "from sizes import SIZE\n" + user)).text() == "k(A:float32,16)");
  CHECK(Built(f.write("b.tl", "import sizes\nSIZE = sizes.SIZE\n" + user)).text() ==
        "k(A:float32,16)");
  CHECK(Built(f.write("c.tl", "from sizes import *\n" + user)).text() == "k(A:float32,16)");
  CHECK(Built(f.write("d.tl", "from pkg import SIZE\n" + user)).text() == "k(A:float32,32)");
  CHECK(Built(f.write("e.tl", "import pkg.inner as i\nSIZE = i.SIZE\n" + user)).text() ==
        "k(A:float32,32)");
  CHECK(Built(f.write("g.tl", "import pkg.inner\nSIZE = pkg.inner.SIZE\n" + user)).text() ==
        "k(A:float32,32)");
  Built listed(f.write("h.tl", "from pkg import SIZE\n" + user));
  CHECK(listed.result.imported.size() == 3);
}

TEST_CASE("imports that cannot be") {
  Folder f;
  f.write("one.tl", "from two import x\n");
  f.write("two.tl", "from one import y\n");
  f.write("sizes.py", "SIZE = 16\n");
  Built cycle(f.write("a.tl", "from one import x\nSIZE = x\n" + user));
  CHECK(cycle.text().find("TL1060") != std::string::npos);
  Built missing(f.write("b.tl", "from sizes import SIZ as SIZE\n" + user));
  CHECK(missing.messages().starts_with(
      "TL1061 `sizes` has no `SIZ` to import, did you mean `SIZE`?\n"));
  // A module that does not exist anywhere is unknown, which matters where it is used.
  Built unknown(f.write("c.tl", "from nowhere import SIZE\n" + user));
  CHECK(unknown.text() == "TL1021");
}

TEST_CASE("-I and the library are searched after the file's own folder") {
  Folder f, include, library;
  include.write("lib.tl", "SIZE = 8\n");
  library.write("lib.tl", "SIZE = 9\n");
  library.write("std.tl", "SIZE = 10\n");
  ElaborateOptions options;
  options.includeDirs = {include.path.string()};
  options.standardLibrary = library.path.string();
  CHECK(Built(f.write("a.tl", "from lib import SIZE\n" + user), options).text() ==
        "k(A:float32,8)");
  CHECK(Built(f.write("b.tl", "from std import SIZE\n" + user), options).text() ==
        "k(A:float32,10)");
}

TEST_CASE("names that a module's statement left half done are unknown") {
  auto using_ = [](const std::string &statements) {
    return Built("import tilelang.language as T\n" + statements + R"(
@T.prim_func
def copy(A: T.Tensor((8,), T.float32)):
    with T.Kernel(1, threads=32):
        A[0] = N
)")
        .text();
  };
  CHECK(using_("N = 4\n") == "copy(A:float32,8)");
  // Ended by the budget, by an exception, or by a condition of which nothing is known.
  CHECK(using_("N = 1\nfor i in range(100000000):\n    N = N + 1\n") == "TL1021");
  CHECK(using_("N = 1\nfor i in range(3):\n    N = N + 1\n    raise ValueError()\n") == "TL1021");
  CHECK(using_("import torch\nN = 1\nif torch.rand(1) > 0:\n    N = 2\n") == "TL1021");
  CHECK(using_("import torch\nN = 1\nwhile torch.rand(1) > 0:\n    N = 2\n") == "TL1021");
}
