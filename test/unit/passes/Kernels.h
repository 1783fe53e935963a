// Small kernels made with the builder, for tests of passes.
#pragma once

#include "ir/Builder.h"
#include "ir/Print.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tlc::test {

using namespace tlc::ir;

/// A function under construction, with one launch.
struct Kernel {
  std::unique_ptr<Context> context = std::make_unique<Context>();
  std::unique_ptr<Function> function = std::make_unique<Function>(*context);
  Launch *launch = nullptr;
  std::unique_ptr<Builder> builder;

  explicit Kernel(std::int64_t threads = 128, std::vector<std::int64_t> grid = {1}) {
    function->name = "kernel";
    function->launches.push_back(std::make_unique<Launch>());
    launch = function->launches.back().get();
    for (std::int64_t g : grid) {
      launch->grid.push_back(context->int32(g));
      launch->blockVars.push_back(
          context->var(launch->blockVars.empty() ? "bx" : "by", DType(Scalar::Int32)));
    }
    launch->threads = {threads, 1, 1};
    launch->tid = context->var("tid", DType(Scalar::Int32));
    builder = std::make_unique<Builder>(*function, launch->body);
  }

  std::vector<Expr> shape(const std::vector<std::int64_t> &extents) const {
    std::vector<Expr> out;
    for (std::int64_t e : extents)
      out.push_back(context->int32(e));
    return out;
  }
  Buffer &global(const char *name, DType dtype, const std::vector<std::int64_t> &extents,
                 bool output = false) {
    Buffer &b = function->addBuffer(name, dtype, Scope::Global, shape(extents));
    b.writable = b.output = output;
    Param p;
    p.buffer = &b;
    p.name = name;
    function->params.push_back(p);
    return b;
  }
  Buffer &alloc(const char *name, DType dtype, Scope scope,
                const std::vector<std::int64_t> &extents) {
    Buffer &b = function->addBuffer(name, dtype, scope, shape(extents));
    builder->alloc(b);
    return b;
  }
  Region whole(Buffer &b) const { return wholeRegion(*context, b); }
  Region part(Buffer &b, std::vector<Expr> offsets,
              const std::vector<std::int64_t> &extents) const {
    Region r;
    r.buffer = &b;
    r.offsets = std::move(offsets);
    r.extents = shape(extents);
    return r;
  }
  CopyStmt &copy(Region from, Region to) {
    auto &s = builder->add<CopyStmt>();
    s.source = std::move(from);
    s.target = std::move(to);
    return s;
  }
  FillStmt &fill(Buffer &b, double value) {
    auto &s = builder->add<FillStmt>();
    s.target = whole(b);
    s.value = b.dtype.isFloat() ? context->real(b.dtype, value)
                                : context->integer(b.dtype, static_cast<std::int64_t>(value));
    return s;
  }
  GemmStmt &gemm(Buffer &a, Buffer &b, Buffer &c) {
    auto &s = builder->add<GemmStmt>();
    s.a = whole(a);
    s.b = whole(b);
    s.c = whole(c);
    return s;
  }
  ReduceStmt &reduce(ReduceOp op, Buffer &from, Buffer &to, unsigned axis) {
    auto &s = builder->add<ReduceStmt>();
    s.op = op;
    s.source = whole(from);
    s.target = whole(to);
    s.axis = axis;
    return s;
  }
  /// A map over `extents`; `body` gets the variables and a builder in its body.
  MapStmt &map(const std::vector<std::int64_t> &extents,
               const std::function<void(std::vector<Expr>, Builder &)> &body) {
    auto &s = builder->add<MapStmt>();
    s.extents = shape(extents);
    for (std::size_t i = 0; i < extents.size(); ++i)
      s.vars.push_back(
          context->var(std::string(1, static_cast<char>('i' + i)), DType(Scalar::Int32)));
    Builder inner(*function, s.body);
    body(s.vars, inner);
    return s;
  }
};

/// Runs passes; fails the test on errors.
struct Pipeline {
  const Target &target;
  DiagnosticEngine diagnostics;
  passes::Schedule schedule;

  explicit Pipeline(const char *name) : target(*findTarget(name)) {}
  void run(Function &function,
           std::initializer_list<void (*)(Function &, passes::PassContext &)> passes) {
    passes::PassContext context{target, diagnostics, schedule, {}};
    for (auto *pass : passes) {
      pass(function, context);
      for (const Diagnostic &d : diagnostics.diagnostics())
        if (d.severity == Severity::Error)
          FAIL(d.message);
    }
  }
};

/// All statements of one kind, in program order.
template <typename T> std::vector<T *> all(Function &function) {
  std::vector<T *> out;
  for (auto &launch : function.launches)
    walk(launch->body, [&](Stmt &s) {
      if (auto *t = dynCast<T>(&s))
        out.push_back(t);
      return true;
    });
  return out;
}

/// C = A B in tiles, f16 with f32 accumulation: the kernel of every introduction.
struct GemmKernel : Kernel {
  Buffer *As = nullptr, *Bs = nullptr, *Cl = nullptr;
  GemmKernel(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t threads,
             DType type = DType(Scalar::Float16), DType sum = DType(Scalar::Float32),
             bool transposeB = false)
      : Kernel(threads, {4, 4}) {
    Buffer &A = global("A", type, {4 * m, 4 * k}),
           &B = transposeB ? global("B", type, {4 * n, 4 * k}) : global("B", type, {4 * k, 4 * n});
    Buffer &C = global("C", sum, {4 * m, 4 * n}, true);
    As = &alloc("A_s", type, Scope::Shared, {m, k});
    Bs = transposeB ? &alloc("B_s", type, Scope::Shared, {n, k})
                    : &alloc("B_s", type, Scope::Shared, {k, n});
    Cl = &alloc("C_l", sum, Scope::Fragment, {m, n});
    Expr bx = launch->blockVars[0], by = launch->blockVars[1], zero = context->int32(0);
    fill(*Cl, 0);
    builder->loop("ko", zero, context->int32(4), ForKind::Serial, [&](Expr ko) {
      copy(part(A, {by * m, ko * k}, {m, k}), whole(*As)).async = true;
      if (transposeB)
        copy(part(B, {bx * n, ko * k}, {n, k}), whole(*Bs)).async = true;
      else
        copy(part(B, {ko * k, bx * n}, {k, n}), whole(*Bs)).async = true;
      auto &g = gemm(*As, *Bs, *Cl);
      g.transposeB = transposeB;
    });
    copy(whole(*Cl), part(C, {by * m, bx * n}, {m, n}));
  }
};

} // namespace tlc::test
