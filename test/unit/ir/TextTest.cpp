// The text form: what is printed is read again as the same.
#include "ir/Parse.h"
#include "ir/Print.h"
#include "support/RenderText.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::ir;

namespace {

struct Parsed {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<Function> function;

  explicit Parsed(const std::string &text) {
    std::uint32_t file = sources.addBuffer("test.tlir", text);
    function = parseFunction(context, text, diagnostics, file);
  }
  std::string errors() const { return renderText(diagnostics, sources); }
};

/// Prints what was parsed, and checks that it prints the same again.
std::string roundTrip(const std::string &text) {
  Parsed first(text);
  INFO(first.errors());
  REQUIRE(first.function);
  std::string printed = print(*first.function);
  Parsed second(printed);
  INFO(printed << second.errors());
  REQUIRE(second.function);
  CHECK(print(*second.function) == printed);
  // And in the same context, where equal expressions are equal handles.
  return printed;
}

std::string inKernel(const std::string &statements, const std::string &phase = "") {
  return "func @k(%A: global f16[%M, 64], %B: global f32[%M], %n: i64) dims(%M)" + phase +
         " {\n  launch grid(4) threads(128) blocks(%bx) thread_vars(%tx) tid(%tid) {\n"
         "    alloc %s: shared f16[64, 32]\n    alloc %f: fragment f32[64]\n"
         "    alloc %bar: barrier u64[2]\n" +
         statements + "  }\n}\n";
}

/// `statement` (indented by four) prints as it is written.
void keeps(const std::string &statement) {
  std::string text = inKernel("    " + statement + "\n");
  CHECK(roundTrip(text) == text);
}

} // namespace

TEST_CASE("a whole kernel prints as it is written") {
  const std::string text =
      R"(func @gemm(%A: global f16[%M, %K], %B: global f16[%K, %N] readonly norestrict, %C: global f16[%M, %N] strides(%ldc, 1) safe(1.5) out named("c"), %alpha: f32 named("a")) dims(%M, %N, %K, %ldc: i64 stride named("ld")) phase(scheduled) {
  option fast_math
  option no_storage_sync
  option no_tma
  option no_warp_specialize
  option binding_hints
  constant multiprocessor_count %sms
  constant computed %twice = %sms * 2
  workspace %ws: global f32[%M * 4] zeroed
  constraint %M % 8 == 0, "M % 8 == 0"
  source "#include <x>\n\t\"q\"\\\x01"
  launch @gemm_main grid((%N + 127) // 128, (%M + 127) // 128) threads(32, 4) extra_threads(128) cluster(2) cooperative raster(8 column) min_blocks(2) shared_bytes(49152) prelude("// hi") blocks(%bx, %by) thread_vars(%tx, _, %tz) tid(%tid) {
    alloc %A_s: shared f16[128, 32] versions(3) layout(d0(2 64:offset*64) d1(16:offset 2) -> offset<4096 offset*16=d0/1^d1/16) origin(strict) at(1024) version_bytes(8192) align(128)
    alloc %V: shared bf16[4096] view(%A_s) offset(%tx * 2)
    alloc %x: local i32[] init(3)
    map %i in 128, %j in 32 layout(reg(2:d1 2:d0*8) thread(4:d1*2 8:d0) -> d0<16 d1<8) origin(user) coalesced(8) {
      load %v = %A_s@(%i % 3)[%i, %j] if(%i < %M) otherwise(1.0)
      store %A_s@1[%i, %j] = %v * 2.0
    }
    role 0 : +128 registers(40) {
      if %bx < 3 and not (%by == 1 or %tx > 4) {
        break
      } else {
        continue
      }
    }
    exit
  }
  launch grid(1) threads(1) tid(%tid_1) {
  }
}
)";
  CHECK(roundTrip(text) == text);
}

TEST_CASE("every statement keeps every field") {
  const char *statements[] = {
      "alloc %y: local f8e4m3[4]",
      "alloc %y: global f32[4, 9] view(%B) unfold(3, 2, 1, 4)",
      "call @g(read map(%B box(1, 1, 8, 16) swizzle(128) unfold(3, 1, 2, 0)))",
      "let %x = %tx * 4 + 1",
      "let %x = 0.5:f16",
      "load %x: f16x4 = %s[%tx, 0] if(%tx < 4)",
      "load %x = %s![%tx]",
      "store %s[%tx, 3] = 0.25 if(%tx == 0)",
      "op 4: store %s[%tx, 3] = 0.25",
      "atomic add %B[%tx] value(1.0) if(%tx < 4) order(acq_rel) scope(system) result(%old)",
      "atomic compare_exchange %B[0] value(1.0) compare(2.0) order(seq_cst)",
      "atomic load %B[0] result(%old)",
      "move %A[0, %tx] -> %s[%tx, 0] count(8) if(%tx < 3) fill(0.0) async",
      "call @f() extern effect",
      "call @tlc::ldmatrix_x4<f16, i8x4, 4, -2>(write %f[0] : 4, read %s[0, %tx], readwrite %f[1] "
      ": "
      "%tx, \"a\\n\", %tx + 1) collective(warp) result(%r: u32)",
      "for %i in 0 .. 10 {\n    }",
      "for %i in 0:i64 .. %n step(-2) unroll expand factor(4) {\n    }",
      "for %i in %M .. 0 step(-1) pipelined stages(3) order(0, 1) stage(0, 2) group((0), (1, 2)) "
      "{\n    }",
      "for %i in 0 .. 128 threads {\n    }",
      "for %i in 0 .. 128 vector {\n    }",
      "while %tx < 3 {\n    }",
      "while {\n      load %x = %B[0]\n    } test %x < 3.0 {\n      store %B[0] = %x\n    }",
      "barrier",
      "barrier named arrive id(3) count(64)",
      "barrier cluster wait user",
      "barrier warp mask(255) vote(count) value(%tx == 0) result(%r: i32)",
      "mbar init %bar[0] value(1)",
      "mbar wait %bar[%tx % 2] value(%tx // 2 % 2)",
      "mbar arrive %bar[0] cta(1)",
      "mbar arrive_expect %bar[0] value(4096)",
      "mbar expect %bar[0] value(4096)",
      "mbar cp_async_arrive %bar[0]",
      "async cp_async commit",
      "async wgmma wait(0)",
      "async bulk wait(2)",
      "fence mbar_init",
      "print \"x = \" value(%tx)",
      "print \"\" buffer(%s)",
      "assert %tx < 4, \"too many\"",
      "assume %n > 0",
      "source \"asm(\\\"nop\\\");\"",
      "copy %A[%bx * 64 : +64, 0 : +32] -> %s",
      "copy %A[%bx, 0 : +32] -> %s[%tx : +1, 0 : +32] cp_async async barrier(%bar[0]) multicast(3) "
      "coalesced(8) evict(\"evict_first\") layout(reg(8:d1) thread(4:d1*8 32:d0) -> d0<32 d1<32) "
      "check_low(0, 1) check_high(1, 1) bounds_known",
      "copy %s -> %A[0 : +64, 0 : +32] tma",
      "gemm %s, %s -> %s transpose_a transpose_b clear(%bx == 0) policy(full_row) k_pack(2) async "
      "barrier(%bar[1]) atom(cuda mma_m16n8k16_f16_f16_f32) warps_m(2) warps_n(2)",
      "gemm %s, %s -> %s atom(cpu fma)",
      "fill %f = -inf",
      "fill %s[0 : +8, 0 : +8] = 0.0 layout(reg(8:d1) thread(8:d0) -> d0<8 d1<8)",
      "reduce abs_max %s -> %f axis(1) accumulate nan_propagate",
      "scan sum %s -> %s axis(1) reverse",
      "atomic_tile add %B[0 : +64] from(%f) order(release) tma check_low(0) check_high(1) "
      "bounds_known",
      "atomic_tile max %B[0 : +64] value(1.0) layout(reg(1) thread(64:d0) -> d0<64)",
      "reducer init max %f value(0.0)",
      "reducer update sum %f element(%f[%tx]) value(1.0)",
      "reducer finalize sum %f to(%B[0 : +64])",
      "convert %f -> %f",
      "convert %f -> %f registers source_registers(0, 2, 1, 3)",
      "convert %f -> %f shuffle rounds(provide(round(2:reg) thread(32) -> reg<2) "
      "source(round(2:thread*4) "
      "thread(4:thread 2 4:thread*8) -> thread<32) receive(round(2:reg) thread(32) -> reg<2) "
      "rounds(2) "
      "instructions(1))",
      "convert %f -> %f shared through(memory(d0(64:offset) -> offset<64) store_vector(2) "
      "load_vector(4) "
      "wavefronts(1) ideal(1) instructions(1) wavefronts(2) ideal(1) instructions(3))",
  };
  for (const char *statement : statements)
    keeps(statement);
}

TEST_CASE("expressions keep their meaning") {
  const char *expressions[] = {
      "%tx + %bx * 2 - 3",
      "(%tx + %bx) * 2",
      "%tx - (%bx - %tid)",
      "%tx - %bx - %tid",
      "%tx // 3 % 5",
      "%tx * (%bx % 3)",
      "-(%tx + 1)",
      "~%tx & 7 | %bx ^ %tid << 2 >> %tx",
      "(%tx | %bx) & 3",
      "min(%tx, 4) + max(%bx, %tx)",
      "truncdiv(%tx, 4) + truncmod(%tx, %bx)",
      "select(%tx < 4, %n, 2:i64)",
      "f16(f32(%tx))",
      "f8e4m3(f32(%tx))",
      "f8e4m3.inf(f32(%tx))",
      "f16.sat(f32(%tx))",
      "bitcast.u32(f32(%tx))",
      "fma(f32(%tx), 2.0, exp2(f32(%bx)))",
      "vector(%tx, %bx, 1, 2)",
      "broadcast(%tx, 4)",
      "broadcast(0.5:f16, 8)",
      "%n + 1",
      "%n * 1099511627776",
      "i64(%tx) * %n - 1",
      "0.1:f64",
      "0.1",
      "1e-45",
      "65504.0:f16",
      "-448.0:f8e4m3",
      "nan",
      "-inf:bf16",
      "-9223372036854775808:i64",
      "18446744073709551615:u64",
      "%tx < 3 and %bx < 4 or not (%tx == 1)",
      "not (%tx < 3 or %bx < 4)",
      "(%tx < 3) == (%bx < 4)",
      "true",
  };
  for (std::string expression : expressions) {
    Parsed first(inKernel("    let %x = " + expression + "\n"));
    INFO(expression << "\n" << first.errors());
    REQUIRE(first.function);
    auto &body = first.function->launches[0]->body;
    auto &let = cast<LetStmt>(*body.back());
    std::string printed = roundTrip(print(*first.function));
    // The same names in the same context give the same handle.
    std::string text = inKernel("    let %x = " + print(let.value) + "\n");
    Parsed second(text);
    INFO(text << second.errors());
    REQUIRE(second.function);
    CHECK(print(*second.function) == printed);
  }
}

TEST_CASE("names are made unique") {
  Context context;
  Function f(context);
  f.name = "k";
  auto &launch = *f.launches.emplace_back(std::make_unique<Launch>());
  launch.grid = {context.int32(1)};
  launch.tid = context.var("x", DType(Scalar::Int32));
  for (const char *name : {"x", "x", "x_1", "", "3d", "a b"}) {
    auto let = std::make_unique<LetStmt>();
    let->var = context.var(name, DType(Scalar::Int32));
    let->value = launch.tid + 1;
    launch.body.push_back(std::move(let));
  }
  std::string text = print(f);
  for (const char *name : {"%x_1 =", "%x_2 =", "%x_1_1 =", "%v =", "%v3d =", "%a_b ="})
    CHECK(text.find(name) != text.npos);
  CHECK(roundTrip(text) == text);
}

TEST_CASE("errors say where and what") {
  struct Case {
    const char *statement, *code, *message;
  } cases[] = {
      {"stor %s[0, 0] = 1.0", "TL6001", "expected a statement, found `stor`"},
      {"store %s[0, 0 = 1.0", "TL6001", "expected `]`, found `=`"},
      {"store %q[0, 0] = 1.0", "TL6002", "`%q` is not bound here"},
      {"let %x = %y", "TL6002", "`%y` is not bound here"},
      {"let %tx = 3", "TL6003", "`%tx` is bound twice"},
      {"let %x = %tx + %n", "TL6003", "operands of a binary operation differ in type"},
      {"let %x = 3000000000", "TL6003", "this number does not fit i32"},
      {"let %x = 300:i8", "TL6003", "this number does not fit i8"},
      {"let %x = %s", "TL6003", "is a buffer"},
      {"let %x = foo(1)", "TL6003", "there is no function `foo`"},
      {"fill %tx = 0.0", "TL6003", "is a variable"},
      {"fill %s = 0.0 layout(x)", "TL6003", "this is no layout"},
      {"gemm %s, %s -> %s atom(cuda none)", "TL6003", "there is no atom `none`"},
      {"call @f() result(%r)", "TL6003", "`%r` needs a dtype here"},
      {"print \"x", "TL6001", "a string without end"},
      {"barrier sideways", "TL6001", "expected a statement, found `sideways`"},
  };
  for (const Case &c : cases) {
    Parsed parsed(inKernel("    " + std::string(c.statement) + "\n"));
    INFO(c.statement << "\n" << parsed.errors());
    CHECK(!parsed.function);
    REQUIRE(parsed.diagnostics.diagnostics().size() == 1);
    const Diagnostic &d = parsed.diagnostics.diagnostics()[0];
    CHECK(info(d.id).code == c.code);
    CHECK(d.message.find(c.message) != std::string::npos);
    CHECK(parsed.sources.begin(d.range).line == 6);
  }
}

TEST_CASE("a name lives to the end of its block") {
  Parsed parsed(inKernel("    if %tx < 1 {\n      let %x = 1 + %tx\n    }\n    let %y = %x\n"));
  CHECK(!parsed.function);
  Parsed again(inKernel("    if %tx < 1 {\n      let %x = 1 + %tx\n    }\n    let %x = %tx + 1\n"));
  CHECK(again.function);
}

TEST_CASE("damaged text gives an error, not a crash") {
  const std::string text = inKernel(
      "    map %i in 64, %j in 32 layout(reg(2:d1) thread(64:d0 16:d1*2) -> d0<64 d1<32) {\n"
      "      load %x = %s@0[%i, %j] if(%i < 3) otherwise(0.5:f16)\n"
      "      store %s[%i, %j] = f16.sat(f32(%x) * 2.0)\n    }\n"
      "    call @f<f16, 2>(read %s[0, 0] : 4, \"text\") result(%r: u32)\n"
      "    copy %A[%bx * 64 : +64, 0 : +32] -> %s check_low(0, 1)\n");
  auto survives = [](const std::string &damaged) {
    Context context;
    DiagnosticEngine diagnostics;
    auto f = parseFunction(context, damaged, diagnostics);
    CHECK(static_cast<bool>(f) == diagnostics.diagnostics().empty());
  };
  for (std::size_t cut = 0; cut + 1 < text.size(); ++cut)
    survives(text.substr(0, cut));
  const char replacements[] = "%@(){}[]:+-<>0.\"x #";
  for (std::size_t at = 0; at < text.size(); ++at)
    for (char c : {replacements[at % 19], replacements[(at * 7 + 3) % 19]}) {
      std::string damaged = text;
      damaged[at] = c;
      survives(damaged);
    }
  survives("func @k(%A: global f16[4]) {\n launch grid(1) {\n copy %A[0.5] -> %A[0.5]\n }\n}\n");
  survives("func @k(%A: global f16[4]) {\n launch grid(1) {\n for %i in 0.5 .. 1.0 {\n }\n }\n}\n");
}
