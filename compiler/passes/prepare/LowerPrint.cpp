// lower-print: who prints, and buffers element by element.
//
//   print "sum" value %s                      if %tid == 0 { print "sum" value %s }
//   print "" buffer %A_s             =>       if %tid == 0 {
//                                               for %i in 0 .. 4 { for %j in 0 .. 8 {
//                                                 let %v = %A_s[%i, %j]
//                                                 print "A_s" value %v index %i*8 + %j } } }
//
// What is the same for all threads is printed by the first thread of the block or role, anything
// else by every thread that gets there, since a statement runs in all threads. A fragment goes
// through shared memory first: no thread has all of it. On a CPU serialize-threads finds for itself
// what need not be repeated.
//
// Why here: behind find-roles, which says whose first thread is meant; before layouts, so that
// elements are found by the index that the program knows and barriers come by themselves.
#include "analysis/Uniformity.h"
#include "ir/Builder.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

namespace tlc::passes {

using namespace ir;

namespace {

class PrintLowering {
public:
  PrintLowering(Function &function, Launch &launch, bool gpu)
      : function(function), launch(launch), uniformity(launch), gpu(gpu) {}

  void run() { visit(launch.body, 0); }

private:
  void visit(Block &block, std::int64_t firstThread) {
    Block out;
    for (StmtPtr &stmt : block) {
      if (stmt->kind == StmtKind::Print) {
        lower(std::move(stmt), firstThread, out);
        continue;
      }
      if (stmt->kind != StmtKind::Map) { // there each element prints for itself
        auto *role = dynCast<RoleStmt>(stmt.get());
        std::int64_t first = firstThread + (role ? role->first : 0);
        forEachBlock(*stmt, [&](Block &inner) { visit(inner, first); });
      }
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  bool once(const PrintStmt &stmt) const {
    if (!gpu || uniformity.divergent(stmt))
      return false;
    if (stmt.buffer)
      return stmt.buffer->scope != Scope::Local || !uniformity.varies(*stmt.buffer);
    return !stmt.value || uniformity.uniform(stmt.value);
  }

  void lower(StmtPtr stmt, std::int64_t firstThread, Block &out) {
    Builder builder(function, out);
    builder.range = stmt->range;
    const auto &print = cast<PrintStmt>(*stmt);
    bool isOnce = once(print);
    Buffer *buffer = print.buffer;
    if (buffer && buffer->scope == Scope::Fragment)
      buffer = &throughShared(*buffer, builder);
    auto emit = [&] {
      if (buffer)
        elements(*buffer, print.message + (print.message.empty() ? "" : " ") + print.buffer->name,
                 builder);
      else
        builder.add(std::move(stmt));
    };
    if (isOnce)
      builder.when(equals(launch.tid, firstThread), emit);
    else
      emit();
  }

  /// The fragment's elements where one thread can read them all.
  Buffer &throughShared(Buffer &fragment, Builder &builder) {
    Buffer &shared = function.addBuffer(fragment.name + "_printed", fragment.dtype, Scope::Shared,
                                        fragment.shape, builder.range);
    builder.alloc(shared);
    auto &copy = builder.add<CopyStmt>();
    copy.source = wholeRegion(*function.context, fragment);
    copy.target = wholeRegion(*function.context, shared);
    return shared;
  }

  void elements(Buffer &buffer, const std::string &name, Builder &builder) {
    std::vector<Expr> indices;
    loops(buffer, name, indices, function.context->integer(DType(Scalar::Int64), 0), builder);
  }

  /// `linear` numbers the elements row by row.
  void loops(Buffer &buffer, const std::string &name, std::vector<Expr> &indices, Expr linear,
             Builder &builder) {
    std::size_t d = indices.size();
    if (d == buffer.shape.size()) {
      Expr value = builder.load(buffer.name + "_value", buffer, indices);
      auto &line = builder.add<PrintStmt>();
      line.message = name;
      line.value = value;
      line.index = linear;
      return;
    }
    Expr zero = function.context->integer(buffer.shape[d].dtype(), 0);
    builder.loop(std::string(1, "ijklmn"[std::min<std::size_t>(d, 5)]), zero, buffer.shape[d],
                 ForKind::Serial, [&](Expr i) {
                   indices.push_back(i);
                   Expr extent = function.context->cast(linear.dtype(), buffer.shape[d]);
                   loops(buffer, name, indices,
                         linear * extent + function.context->cast(linear.dtype(), i), builder);
                   indices.pop_back();
                 });
  }

  Function &function;
  Launch &launch;
  analysis::Uniformity uniformity;
  bool gpu;
};

} // namespace

void lowerPrint(Function &function, PassContext &pass) {
  for (auto &launch : function.launches)
    PrintLowering(function, *launch, pass.target.family != Family::Cpu).run();
}

} // namespace tlc::passes
