// Python at compile time: expressions against CPython's answers, statements against what they bind.
#include "elaborate/Parts.h"
#include "ir/Expr.h"
#include "parse/Parser.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::elaborate;

namespace {

/// A file executed at compile time, in which expressions can be evaluated.
class Session {
public:
  explicit Session(std::string text = {}, std::string_view target = "sm90") {
    options.parseFile = [this](std::uint32_t f) { return parse(sources, f, diagnostics); };
    options.parseExpression = [this](std::uint32_t f) {
      return parseExpression(sources, f, diagnostics);
    };
    e = std::make_unique<Elaborator>(sources, diagnostics, *findTarget(target), context, options);
    module = e->heap.make<ModuleObject>();
    module->name = "test";
    module->file = sources.addBuffer("test.tl", std::move(text));
    module->globals = e->makeScope(e->parts->builtins);
    module->globals->module = module;
    e->parts->mainModule = module;
    tree = parse(sources, module->file, diagnostics);
    REQUIRE(tree);
    execModule(*e, *module, *tree);
    auto frame = std::make_unique<Frame>();
    frame->scope = module->globals;
    e->frames.push_back(std::move(frame));
  }

  Value value(const std::string &text) {
    trees.push_back(parseExpression(sources, sources.addBuffer("expr", text), diagnostics));
    if (!trees.back())
      return Value::error();
    try {
      return e->eval(*trees.back()->body[0]->as<ast::ExprStmt>()->value);
    } catch (const AbortUnit &) {
      e->frames.resize(1);
      e->parts->callDepth = e->parts->exprDepth = 0;
      return Value::error();
    }
  }

  /// Its repr, or the code and message of what was reported.
  std::string operator()(const std::string &text) {
    std::size_t before = diagnostics.diagnostics().size();
    Value v = value(text);
    if (diagnostics.diagnostics().size() > before) {
      const Diagnostic &d = diagnostics.diagnostics()[before];
      return std::string(info(d.id).code) + " " + d.message;
    }
    return repr(v);
  }

  std::string errors() const {
    std::string text;
    for (const Diagnostic &d : diagnostics.diagnostics())
      text += std::string(info(d.id).code) + " " + d.message + "\n";
    return text;
  }

  SourceManager sources;
  DiagnosticEngine diagnostics;
  ir::Context context;
  ElaborateOptions options;
  std::unique_ptr<Elaborator> e;
  ModuleObject *module = nullptr;
  std::unique_ptr<ast::Module> tree;
  std::vector<std::unique_ptr<ast::Module>> trees;
};

} // namespace

TEST_CASE("expressions have CPython's values") {
  static const std::pair<const char *, const char *> cases[] = {
#include "PythonCases.inc"
  };
  Session python;
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
}

TEST_CASE("wrong expressions are refused where they are wrong") {
  Session python("class Box:\n  size = 3\nwords = {'block': 1}\ndef f(a, b=2, *, c=3): return a\n");
  static const std::pair<const char *, const char *> cases[] = {
      {"1 // 0", "TL1012 division by zero"},
      {"1.0 / 0", "TL1012 division by zero"},
      {"5 % 0", "TL1012 division by zero"},
      {"0 ** -1", "TL1012 division by zero"},
      {"2 ** 127", "TL1013 the result of `**` does not fit 128 bits"},
      {"2 ** 126 * 4", "TL1013 the result of `*` does not fit 128 bits"},
      {"1 << 127", "TL1013 the result of `<<` does not fit 128 bits"},
      {"1 << -1", "TL1014 cannot shift by -1"},
      {"1 + 'a'", "TL1010 `+` does not apply to an int and a str"},
      {"[1] + (2,)", "TL1010 `+` does not apply to a list and a tuple"},
      {"1 < 'a'", "TL1010 `<` does not apply to an int and a str"},
      {"-'a'", "TL1011 `-` does not apply to a str"},
      {"[1, 2][2]", "TL1015 index 2 is out of range for a list of length 2"},
      {"(1, 2)[-3]", "TL1015 index -3 is out of range for a tuple of length 2"},
      {"'ab'[5]", "TL1015 index 5 is out of range for a str of length 2"},
      {"[1]['a']", "TL1018 the index of a list must be an int, but is a str"},
      {"words['blok']", "TL1016 key 'blok' is not in the dict"},
      {"{[1]: 2}", "TL1017 a list cannot be a key"},
      {"wrods", "TL1000 `wrods` is not defined, did you mean `words`?"},
      {"Box.sise", "TL1005 class `Box` has no attribute `sise`, did you mean `size`?"},
      {"'a'.splti()", "TL1005 a str has no attribute `splti`, did you mean `split`?"},
      {"(1)(2)", "TL1006 an int cannot be called"},
      {"(1)[0]", "TL1007 an int cannot be indexed"},
      {"[*1]", "TL1008 an int cannot be iterated"},
      {"f()", "TL1040 `f` needs an argument for `a`"},
      {"f(1, 2, 3)", "TL1042 `f` takes 2 positional arguments, but 3 were given"},
      {"f(1, a=2)", "TL1043 `f` gets `a` twice"},
      {"f(1, d=2)", "TL1041 `f` has no parameter `d`"},
      {"int('x')", "TL1019 the str 'x' is not an int"},
      {"int(float('nan'))", "TL1019 the float nan cannot be an int"},
      {"len(3)", "TL1018 the argument of `len` must be a sequence or a collection, but is an int"},
      {"f'{1:q}'", "TL1019 the format `q` does not fit an int"},
      {"1j", "TL1020 complex arithmetic cannot be executed by the compiler"},
      {"[i for i in range(10**9)]",
       "TL1024 compile-time evaluation takes more than 20000000 steps"},
      {"'a' * 10**12", "TL1024 compile-time evaluation takes more than 20000000 steps"},
      {"[0] * 10**30", "TL1024 compile-time evaluation takes more than 20000000 steps"},
      {"list(range(10**9))", "TL1024 compile-time evaluation takes more than 20000000 steps"},
      {"'a'.ljust(10**12)", "TL1024 compile-time evaluation takes more than 20000000 steps"},
      {"f'{1:1000000000d}'", "TL1019 the format `1000000000d` does not fit an int"},
      {"'%1000000000d' % 3", "TL1019 the format `1000000000d` does not fit an int"},
      {"(lambda f: f(f))(lambda f: f(f))", "TL1025 calls are nested deeper than 200"},
  };
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
}

TEST_CASE("values that double end at the budget, before memory does") {
  Session python;
  for (std::string step : {"s + s", "s.replace('a', s)", "''.join([s, s])", "f'{s}{s}'", "s * 2"}) {
    INFO(step);
    CHECK(python("(lambda grow: grow(grow, 'ab' * 8, 60))(lambda again, s, n: again(again, " +
                 step + ", n - 1) if n else len(s))") ==
          "TL1024 compile-time evaluation takes more than 20000000 steps");
  }
  CHECK(python("(lambda grow: grow(grow, [0], 60))(lambda again, l, n: again(again, l + l, n - 1) "
               "if n else len(l))") ==
        "TL1024 compile-time evaluation takes more than 20000000 steps");
}

TEST_CASE("an error is reported once, and what depends on it stays silent") {
  Session python;
  CHECK(python("[undefined + 1, undefined * 2][0] + foo(undefined)") ==
        "TL1000 `undefined` is not defined");
  CHECK(python.diagnostics.errorCount() == 2); // and foo
}

TEST_CASE("a dtype is its name") {
  Session python("import tilelang.language as T\nimport torch\nfrom tvm import DataType\n");
  static const std::pair<const char *, const char *> cases[] = {
      {"T.float16 == 'float16'", "True"},
      {"'float16' == T.float16", "True"},
      {"T.float16 == torch.float16", "True"},
      {"T.float16 == T.float32", "False"},
      {"T.half == T.float16", "True"},
      {"T.float16 in ['float16', 'bfloat16']", "True"},
      {"T.float16 in {'float16': 1}", "True"},
      {"{T.float16: 1}['float16']", "1"},
      {"{'float16': 1}[T.float16]", "1"},
      {"T.float16.bits", "16"},
      {"T.float16.bytes", "2"},
      {"T.float32x4.lanes", "4"},
      {"DataType('int4').bits", "4"},
      {"str(T.float16)", "'float16'"},
      {"T.float16.startswith('float')", "True"},
      {"'x_' + T.float16", "'x_float16'"},
      {"f'{T.float16}'", "'float16'"},
      {"isinstance(T.float16, str)", "True"},
      {"''.join(c for c in T.int8 if c.isdigit())", "'8'"},
      {"T.float8_e4m3fn.is_float4()", "False"},
  };
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
}

TEST_CASE("statements bind as in Python") {
  Session python(R"(
a = b = 1
(c, d), [*e] = (2, 3), 'xy'
a, b = b + 1, a + 2
l = [1, 2, 3, 4]
l[0], l[1] = l[1], l[0]
l[2:] = [9, 9, 9]
del l[0]
n = 10
n += 5; n //= 2; n **= 2
m = l
m += [7]
i = 0
while True:
    i += 1
    if i % 2: continue
    if i > 6: break
else:
    i = -1
for j in range(3):
    pass
else:
    k = 'done'
def gen():
    for x in range(3):
        yield x
    yield from 'ab'
g = list(gen())
def outer():
    count = 0
    def inc():
        nonlocal count
        count += 1
        return count
    inc(); inc()
    return count
o = outer()
def setter():
    global o2
    o2 = 5
s0 = setter()
def late():
    return later
later = 'bound after'
t = late()
def fact(n): return 1 if n < 2 else n * fact(n - 1)
f20 = fact(20)
try:
    raise ValueError('no', 1)
except (KeyError, ValueError) as ex:
    caught = str(ex)
else:
    caught = 'none'
finally:
    fin = True
try:
    1 // 0
except ZeroDivisionError:
    zero = 'caught'
try:
    {}['x']
except LookupError:
    key = 'caught'
match (1, [2, 3]):
    case (1, [x, *rest]) if x > 1:
        found = (x, rest)
    case _:
        found = None
def bump(x, acc=[]):
    acc.append(x)
    return len(acc)
bumps = (bump(1), bump(1))
)");
  CHECK(python.errors() == "");
  static const std::pair<const char *, const char *> cases[] = {
      {"(a, b, c, d, e)", "(2, 3, 2, 3, ['x', 'y'])"},
      {"l", "[1, 9, 9, 9, 7]"},
      {"m is l", "True"},
      {"n", "49"},
      {"i", "8"},
      {"(j, k)", "(2, 'done')"},
      {"g", "[0, 1, 2, 'a', 'b']"},
      {"(o, o2)", "(2, 5)"},
      {"t", "'bound after'"},
      {"f20", "2432902008176640000"},
      {"(caught, fin, zero, key)", "(\"('no', 1)\", True, 'caught', 'caught')"},
      {"found", "(2, [3])"},
      {"bumps", "(1, 2)"},
  };
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
}

TEST_CASE("classes, enums, dataclasses") {
  Session python(R"(
import enum
from dataclasses import dataclass, field, asdict
from typing import NamedTuple, Optional
from collections import namedtuple
class Mode(enum.Enum):
    A = 1
    B = 'b'
    def both(self): return self.name + str(self.value)
class Word(str, enum.Enum):
    A = 'a'
class Level(enum.IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()
@dataclass
class Config:
    m: int
    n: int = 64
    tags: list = field(default_factory=list)
    @property
    def area(self): return self.m * self.n
    @staticmethod
    def make(x): return Config(x, x)
    @classmethod
    def named(cls): return cls.__name__
class Base:
    kind = 'base'
    def __init__(self, x): self.x = x
    def show(self): return self.kind + str(self.x)
    def __add__(self, other): return self.x + other
    def __getitem__(self, i): return self.x * i
    def __len__(self): return self.x
    def __call__(self, y): return self.x - y
    def __eq__(self, other): return self.x == other.x
class Derived(Base):
    kind = 'derived'
    def __init__(self, x):
        super().__init__(x + 1)
Point = namedtuple('Point', 'x y')
class Broken:
    value = undefined_thing   # never used: never evaluated
c = Config(3)
d = Derived(4)
p = Point(1, y=2)
)");
  CHECK(python.errors() == "");
  static const std::pair<const char *, const char *> cases[] = {
      {"Mode.A", "<Mode.A: 1>"},
      {"Mode('b').name", "'B'"},
      {"Mode['A'].both()", "'A1'"},
      {"[m.name for m in Mode]", "['A', 'B']"},
      {"Mode.A is Mode.A and Mode.A != Mode.B", "True"},
      {"Word.A == 'a' and {'a': 1}[Word.A] == 1", "True"},
      {"Level.HIGH + 1", "3"},
      {"Level.LOW < Level.HIGH", "True"},
      {"isinstance(Mode.A, Mode)", "True"},
      {"c", "Config(m=3, n=64, tags=[])"},
      {"c.area", "192"},
      {"c == Config(3)", "True"},
      {"Config.make(2).n", "2"},
      {"Config.named()", "'Config'"},
      {"asdict(c)", "{'m': 3, 'n': 64, 'tags': []}"},
      {"d.show()", "'derived5'"},
      {"(d + 1, d[3], len(d), d(1))", "(6, 15, 5, 4)"},
      {"d == Derived(4)", "True"},
      {"isinstance(d, Base)", "True"},
      {"issubclass(Derived, Base)", "True"},
      {"p.x + p[1]", "3"},
      {"tuple(p)", "(1, 2)"},
      {"getattr(c, 'nope', 9)", "9"},
      {"hasattr(c, 'm')", "True"},
  };
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
}

TEST_CASE("modules that are known without their source") {
  Session python(R"(
import math, itertools, functools, operator
import tilelang, torch
from tilelang.carver.arch import driver
def add(a, b, c=0): return a + b + c
)");
  static const std::pair<const char *, const char *> cases[] = {
      {"math.ceil(2.1)", "3"},
      {"math.floor(-2.1)", "-3"},
      {"math.log2(8)", "3.0"},
      {"math.sqrt(16)", "4.0"},
      {"math.gcd(12, 18)", "6"},
      {"math.lcm(4, 6)", "12"},
      {"math.prod([2, 3, 4])", "24"},
      {"math.log(8, 2)", "3.0"},
      {"math.isqrt(17)", "4"},
      {"math.inf > 1", "True"},
      {"list(itertools.product([1, 2], 'ab'))", "[(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')]"},
      {"list(itertools.chain([1], [2]))", "[1, 2]"},
      {"list(itertools.combinations([1, 2, 3], 2))", "[(1, 2), (1, 3), (2, 3)]"},
      {"list(itertools.accumulate([1, 2, 3]))", "[1, 3, 6]"},
      {"functools.partial(add, 1, c=5)(2)", "8"},
      {"functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])", "24"},
      {"operator.mul(3, 4)", "12"},
      {"tilelang.cdiv(7, 2)", "4"},
      {"tilelang.next_power_of_2(100)", "128"},
      {"tilelang.math.next_power_of_2(64)", "64"},
      {"tilelang.PassConfigKey.TL_ENABLE_FAST_MATH.value", "'tl.enable_fast_math'"},
      {"tilelang.PassConfigKey.TL_ENABLE_FAST_MATH == 'tl.enable_fast_math'", "True"},
      {"{tilelang.PassConfigKey.TIR_NOALIAS: 1}[tilelang.PassConfigKey.TIR_NOALIAS]", "1"},
      {"torch.cuda.get_device_capability()", "(9, 0)"},
      {"torch.version.hip is None", "True"},
      {"math.sqrt(-1)", "TL1019 `math.sqrt` is not defined for -1"},
      {"math.foo", "TL1005 module `math` has no attribute `foo`"},
  };
  for (auto [expression, expected] : cases) {
    INFO(expression);
    CHECK(python(expression) == expected);
  }
  CHECK(python.value("driver.get_num_sms()").isExpr());
  Session hip("import torch\n", "gfx942");
  CHECK(hip("torch.cuda.get_device_capability()") == "(9, 4)");
  CHECK(hip("torch.version.hip is None") == "False");
}

TEST_CASE("what is not known passes through, and decides nothing") {
  Session python("import torch\nimport numpy as np\nx = torch.randn(4, 4).cuda()\ny = x @ x + 1\n"
                 "z = [np.zeros(3), y[0].shape]\n");
  CHECK(python.errors() == "");
  CHECK(python.value("y.shape[0] // 2").isPoison());
  CHECK(python.value("z[1]").isPoison());
  CHECK(python("len(z)") == "2");
  CHECK(python("1 if y.sum() > 0 and x.is_cuda() else 2").starts_with("<"));
  CHECK(python("(lambda: 1 if y.sum() > 0 else 2)()") ==
        "TL1021 `torch.randn.cuda.sum` is not known at compile time, so this condition cannot be "
        "decided");
  CHECK(python("[i for i in x]").starts_with("TL1021"));
}
