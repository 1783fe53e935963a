// Statements of the thread and named phases as C++ text, one kernel at a time.
#pragma once

#include "emit/Options.h"
#include "emit/PrintExpr.h"
#include "ir/Function.h"
#include "support/TextWriter.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace tlc::emit {

/// Facts about a kernel's body that declarations need.
struct BodyFacts {
  std::unordered_map<const ir::ExprNode *, unsigned> uses; ///< of variables
  std::vector<const ir::Buffer *> globals;                 ///< storages used, in order of first use
  /// Descriptors that calls use, each once, in order of first use.
  std::vector<const ir::TensorMap *> tensorMaps;
  std::unordered_set<const ir::Buffer *> wide; ///< local arrays accessed several elements at a time
  std::unordered_set<const ir::LoadStmt *> inlined; ///< printed where their value is used
  bool usesShared = false;
  /// Some quotient is by a value from shared memory. Warps bound by hand hand over sums so, and not
  /// always with a barrier: the branches of an ordinary division keep the writer's store in front
  /// of what takes long. (TileLang's latent attention with such roles gave NaN without them.)
  bool sharedDivisors = false;

  unsigned useCount(ir::Expr var) const {
    auto found = uses.find(var.get());
    return found == uses.end() ? 0 : found->second;
  }
};
BodyFacts factsOf(const ir::Block &body);
/// The part of factsOf that is about single loads; `facts` has the uses.
void findInlinedLoads(const ir::Block &block, BodyFacts &facts);

class StmtPrinter {
public:
  StmtPrinter(const Options &options, const Dialect &dialect, ScopedNames &names,
              RuntimeUse &runtime, TextWriter &out, const BodyFacts &facts);

  ExprPrinter exprs;
  std::string tid; ///< the text of the linear thread index
  /// The name of the warpgroup's number, known to the compiler as the same in a whole warp; ""
  /// where roles are told apart by the thread index.
  std::string warpgroup;
  std::int64_t roleCount = 0; ///< threads of the role that is being printed, or of the block
  /// Registers that a thread has when the kernel starts: its share of what the launch bounds leave.
  std::int64_t entryRegisters = 0;
  std::string arena;                       ///< the name of the pointer to the shared arena
  std::vector<std::string> tensorMapNames; ///< of facts.tensorMaps

  /// The statements of a block, in a scope of their own.
  void printBlock(const ir::Block &block);
  /// Declares a pointer to a buffer in the arena.
  void printArenaBuffer(const ir::Buffer &buffer);

private:
  void print(const ir::Stmt &stmt);
  void locate(const ir::Stmt &stmt);

  void alloc(const ir::AllocStmt &stmt);
  void view(const ir::Buffer &buffer);
  void let(const ir::LetStmt &stmt);
  void load(const ir::LoadStmt &stmt);
  void store(const ir::StoreStmt &stmt);
  std::string packedStore(const ir::Buffer &buffer, const std::string &at, ir::Expr value);
  void atomic(const ir::AtomicStmt &stmt);
  void move(const ir::MoveStmt &stmt);
  void call(const ir::CallStmt &stmt);
  void branch(const ir::IfStmt &stmt);
  void repeat(const ir::WhileStmt &stmt);
  void loop(const ir::ForStmt &stmt);
  /// Prints the role at `at` and, where they are told apart by warpgroup, those that follow it and
  /// have other threads, as one chain of branches. The index of what comes behind.
  std::size_t roles(const ir::Block &block, std::size_t at);
  void roleBody(const ir::RoleStmt &stmt);
  /// Whether a thread of the block is one of a role's, as C++.
  std::string roleCondition(std::int64_t first, std::int64_t count) const;
  /// The team of the executing thread, in the role that is being printed.
  std::string teamNumber(const ir::RoleStmt &stmt);
  void barrier(const ir::BarrierStmt &stmt);
  void mbar(const ir::MbarStmt &stmt);
  void async(const ir::AsyncStmt &stmt);
  void fence(const ir::FenceStmt &stmt);
  void message(const ir::PrintStmt &stmt);
  void verbatim(const ir::SourceStmt &stmt);

  void line(const std::string &text);
  /// `text;`, under `if (predicate)` where there is one.
  void guarded(ir::Expr predicate, const std::string &text);
  /// "const int x = " or "" if the variable is null or never used.
  std::string declaration(ir::Expr var);
  std::string index(const ir::Element &element, std::int64_t divisor = 1);
  /// An element as an lvalue, or as the address of a run that begins with it.
  std::string lvalue(const ir::Element &element);
  std::string address(const ir::Element &element);
  std::string loadText(const ir::LoadStmt &stmt);
  /// "x += y" for x + y, printed as `text`, that is stored to x.
  std::optional<std::string> updateText(ir::Expr value, const std::string &target,
                                        const std::string &text);
  std::string moveText(const ir::MoveStmt &stmt, bool &unconditional);
  std::string argument(const ir::Argument &argument);
  const std::string &tensorMapName(const ir::TensorMap &map) const;

  const Options &options;
  const Dialect &dialect;
  ScopedNames &names;
  RuntimeUse &runtime;
  TextWriter &out;
  const BodyFacts &facts;
  SourceLine last;
  std::int64_t roleFirst = 0; ///< of the role that is being printed, in the block
  ir::Expr team;              ///< variable of that role; null: it has no teams
};

} // namespace tlc::emit
