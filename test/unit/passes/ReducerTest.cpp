// Deferred accumulators, before and after all passes, wherever they end up.
#include "TextKernel.h"

using tlc::test::TextKernel;

namespace {

/// A kernel that updates `%r` by `updates`; its result goes to %S.
std::string kernel(const std::string &op, const std::string &shape, const std::string &updates,
                   const std::string &begin = "", const char *threads = "128") {
  return "func @k(%A: global i32[64, 48], %S: global i32[" + shape +
         "] out) {\n  launch @main grid(1) threads(" + threads +
         ") blocks(%bx) tid(%tid) {\n    alloc %r: fragment i32[" + shape + "]\n    reducer init " +
         op + " %r" + begin + "\n" + updates + "    reducer finalize " + op +
         " %r to(%S)\n  }\n}\n";
}

std::string update(const std::string &op, const std::string &index) {
  return "    map %i in 64, %j in 48 {\n      load %x = %A[%i, %j]\n      reducer update " + op +
         " %r element(%r[" + index + "]) value(%x)\n    }\n";
}

/// How many statements of `T` the kernel has after the passes, on this target.
template <typename T> std::size_t checked(const std::string &text, const char *target) {
  CAPTURE(text, target);
  TextKernel k(text, target);
  k.mustRun();
  k.checkSame();
  return k.all<T>().size();
}

} // namespace

TEST_CASE("reducers: parts along either axis, all operators, odd numbers of threads") {
  for (const char *op : {"sum", "max", "min", "and", "or", "xor"})
    for (const char *index : {"%i", "%j"}) {
      std::string shape = index == std::string("%i") ? "64" : "48";
      for (const char *threads : {"128", "96"})
        CHECK(checked<tlc::ir::AtomicStmt>(
                  kernel(op, shape, update(op, index), " value(5)", threads), "sm80") == 0);
      checked<tlc::ir::ForStmt>(kernel(op, shape, update(op, index), " value(5)"), "cpu");
    }
}

TEST_CASE("reducers: what registers cannot hold goes to shared memory, as atomics") {
  // Diagonals: a thread's elements are no function of digits of its index.
  CHECK(checked<tlc::ir::AtomicStmt>(kernel("sum", "111", update("sum", "%i + %j")), "sm80") > 0);
  // Two loops whose parts lie differently.
  std::string transposed = "    alloc %f: fragment i32[48, 64]\n    map %i in 48, %j in 64 {\n     "
                           " load %x = %A[%j, %i]\n"
                           "      store %f[%i, %j] = %x\n    }\n    map %i1 in 48, %j1 in 64 {\n   "
                           "   load %y = %f[%i1, %j1]\n"
                           "      reducer update sum %r element(%r[%i1]) value(%y)\n    }\n";
  checked<tlc::ir::AtomicStmt>(kernel("sum", "48", update("sum", "%j") + transposed), "sm80");
  checked<tlc::ir::AtomicStmt>(kernel("sum", "48", update("sum", "%j") + transposed), "cpu");
}

TEST_CASE("reducers: thread code updates its thread's copy") {
  std::string each =
      "    load %x = %A[%tid % 64, 3]\n    reducer update max %r element(%r[%tid % 3]) value(%x)\n";
  for (const char *target : {"sm80", "cpu"})
    checked<tlc::ir::CallStmt>(kernel("max", "3", each, " value(-100000)"), target);
}
