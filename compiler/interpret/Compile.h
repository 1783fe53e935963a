// From statements to nodes; for Compile.cpp and CompileTile.cpp only.
#pragma once

#include "interpret/TileNodes.h"

namespace tlc::interpret {

class Compiler {
public:
  Compiler(Machine &machine, Program &program, SlotTable &slots)
      : machine(machine), program(program), slots(&slots) {}

  NodeList block(const ir::Block &block);

private:
  /// Compiles a block whose variables stay bound.
  NodeList open(const ir::Block &block);

  /// What one of a role's teams runs.
  const ir::Block &bodyOf(const ir::RoleStmt &role, std::int64_t team);

  /// A variable's slots, before the statement's temporaries.
  Refs newVar(ir::Expr var) {
    Refs refs = slots->newRefs(var.dtype(), false);
    slots->bind(var, refs);
    return refs;
  }

  std::unique_ptr<Node> statement(const ir::Stmt &s);
  std::unique_ptr<Node> let(const ir::LetStmt &s);
  std::unique_ptr<Node> alloc(const ir::AllocStmt &s);
  std::unique_ptr<Node> load(const ir::LoadStmt &s);
  std::unique_ptr<Node> store(const ir::StoreStmt &s);
  std::unique_ptr<Node> atomic(const ir::AtomicStmt &s);
  std::unique_ptr<Node> move(const ir::MoveStmt &s);
  std::unique_ptr<Node> call(const ir::CallStmt &s);
  std::unique_ptr<Node> print(const ir::PrintStmt &s);
  std::unique_ptr<Node> branch(const ir::IfStmt &s);
  std::unique_ptr<Node> whileLoop(const ir::WhileStmt &s);
  std::unique_ptr<Node> loop(const ir::ForStmt &s);
  std::unique_ptr<Node> barrier(const ir::BarrierStmt &s);
  std::unique_ptr<Node> mbar(const ir::MbarStmt &s);
  std::unique_ptr<Node> map(const ir::MapStmt &s);
  std::unique_ptr<Node> copy(const ir::CopyStmt &s);
  std::unique_ptr<Node> gemm(const ir::GemmStmt &s);
  std::unique_ptr<Node> reducer(const ir::ReducerStmt &s);
  std::unique_ptr<Node> tileOp(const ir::Stmt &s);

  /// Compiles the expressions of one statement into a node's code, and gives their temporaries
  /// back.
  class Expressions {
  public:
    Expressions(Compiler &owner, Node &node)
        : owner(owner), mark(owner.slots->mark()), compiler(*owner.slots, node.code) {}
    ~Expressions() { owner.slots->release(mark); }
    Expressions(const Expressions &) = delete;

    Ref scalar(ir::Expr e) { return compiler.scalar(e); }
    Ref optional(ir::Expr e) { return compiler.optional(e); }
    Refs all(ir::Expr e) { return e ? compiler.compile(e) : Refs{}; }
    void into(ir::Expr e, const Refs &to) { compiler.into(e, to); }
    ElementRef element(const ir::Element &e);
    RegionRef region(const ir::Region &r, bool isLocal);

  private:
    std::vector<std::pair<Ref, unsigned>> bases(const ir::Buffer &b);
    Compiler &owner;
    std::uint32_t mark;
    ExprCompiler compiler;
  };

  /// What the map around the statement says.
  struct MapScope {
    std::set<const ir::Buffer *> own, written; ///< local buffers of its points; storage it writes
  };

  void noteStore(const ir::Buffer *b) {
    if (b)
      program.stored.insert(b->storage());
  }
  static bool isLocal(const ir::Region &r) {
    return r.buffer && r.buffer->scope == ir::Scope::Local;
  }

  Machine &machine;
  Program &program;
  SlotTable *slots;
  MapScope *scope = nullptr;
};

} // namespace tlc::interpret
