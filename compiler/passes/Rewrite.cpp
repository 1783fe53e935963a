#include "passes/Rewrite.h"

#include "ir/Visit.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

/// Points uses of buffers that were allocated inside a copied block to their copies.
struct BufferRenamer : FieldVisitor<BufferRenamer> {
  const std::unordered_map<const Buffer *, Buffer *> &map;
  explicit BufferRenamer(const std::unordered_map<const Buffer *, Buffer *> &map) : map(map) {}
  void replace(Buffer *&buffer) {
    if (auto found = map.find(buffer); found != map.end())
      buffer = found->second;
  }
  void element(Element &e, Access) { replace(e.buffer); }
  void region(Region &r, Access) { replace(r.buffer); }
  void whole(Buffer *&b, Access) { replace(b); }
  void allocates(Buffer *&b) { replace(b); }
  void mentions(Buffer *&b) { replace(b); }
};

void renameBuffers(Function &function, Block &block) {
  std::unordered_map<const Buffer *, Buffer *> map;
  walk(block, [&](Stmt &stmt) {
    if (auto *alloc = dynCast<AllocStmt>(&stmt)) {
      auto copy = std::make_unique<Buffer>(*alloc->buffer);
      map.emplace(alloc->buffer, copy.get());
      function.buffers.push_back(std::move(copy));
    }
    return true;
  });
  if (map.empty())
    return;
  for (auto &[from, to] : map)
    if (auto found = map.find(to->base); found != map.end())
      to->base = found->second;
  BufferRenamer renamer(map);
  walk(block, [&](Stmt &stmt) {
    visitFields(stmt, renamer);
    return true;
  });
}

} // namespace

Block freshCopy(Function &function, const Block &block, Substitution &map) {
  Block copy = cloneBlock(block);
  renameBuffers(function, copy);
  walk(copy, [&](Stmt &stmt) {
    forEachDefinition(stmt, [&](Expr &var) {
      Expr renamed = function.context->var(var->name, var.dtype());
      map.emplace_back(var, renamed);
      var = renamed;
    });
    return true;
  });
  substitute(copy, map);
  return copy;
}

StmtPtr freshCopy(Function &function, const Stmt &stmt, Substitution &map) {
  Block one;
  one.push_back(cloneStmt(stmt));
  Block copy = freshCopy(function, one, map);
  return std::move(copy.front());
}

std::unique_ptr<Launch> freshCopy(Function &function, const Launch &launch, Substitution &map) {
  auto copy = std::make_unique<Launch>(launch);
  auto fresh = [&](Expr &var) {
    if (!var)
      return;
    Expr mine = function.context->var(var->name, var.dtype());
    map.emplace_back(var, mine);
    var = mine;
  };
  for (Expr &var : copy->blockVars)
    fresh(var);
  for (Expr &var : copy->threadVars)
    fresh(var);
  fresh(copy->tid);
  copy->body = freshCopy(function, launch.body, map);
  return copy;
}

StmtPtr refilled(const Stmt &stmt, Builder &b, const std::function<void(const Block &)> &fill) {
  StmtPtr copy = cloneStmt(stmt);
  std::vector<const Block *> sources;
  forEachBlock(stmt, [&](const Block &inner) { sources.push_back(&inner); });
  std::size_t next = 0;
  forEachBlock(*copy, [&](Block &inner) {
    inner.clear();
    b.in(inner, [&] { fill(*sources[next++]); });
  });
  return copy;
}

void makeSerial(ForStmt &loop) {
  if (loop.kind != ForKind::Pipelined)
    return;
  loop.kind = ForKind::Serial;
  loop.stages = 0;
  loop.order.clear();
  loop.stage.clear();
  loop.group.clear();
}

bool leavesLoop(const Block &block) {
  return std::any_of(block.begin(), block.end(), [](const StmtPtr &stmt) {
    if (stmt->kind == StmtKind::Break || stmt->kind == StmtKind::Continue)
      return true;
    if (stmt->kind == StmtKind::For || stmt->kind == StmtKind::While)
      return false;
    bool found = false;
    forEachBlock(std::as_const(*stmt), [&](const Block &inner) { found |= leavesLoop(inner); });
    return found;
  });
}

Expr tripCount(const ForStmt &loop) {
  Context &context = loop.lo.context();
  DType dtype = loop.var.dtype();
  Expr distance = loop.hi - loop.lo;
  Expr trips = loop.step ? ceilDiv(distance, loop.step) : distance;
  return maximum(trips, context.zero(dtype));
}

std::unordered_map<const ExprNode *, unsigned> countUses(const Block &block) {
  std::unordered_map<const ExprNode *, unsigned> uses;
  walk(block, [&](const Stmt &stmt) {
    forEachExpr(stmt, [&](Expr e) {
      for (Expr var : variablesOf(e))
        ++uses[var.get()];
    });
    return true;
  });
  return uses;
}

namespace {

class DeadCode {
public:
  explicit DeadCode(Function &function) : function(function) {}

  void run() {
    // A let removed may free the one it used; they stand in order, so few rounds do.
    for (int round = 0; round < 8; ++round) {
      changed = false;
      for (auto &launch : function.launches) {
        uses = countUses(launch->body);
        accessed.clear();
        readBuffers.clear();
        walk(launch->body, [&](Stmt &stmt) {
          forEachUse(stmt, [&](const BufferUse &use) {
            for (const Buffer *b = use.buffer; b; b = b->base)
              accessed.insert(b);
            if (use.access != Access::Write || use.pointer)
              readBuffers.insert(use.buffer->storage());
          });
          return true;
        });
        clean(launch->body);
      }
      if (!changed)
        return;
    }
  }

private:
  bool used(Expr var) const {
    auto found = uses.find(var.get());
    return found != uses.end() && found->second;
  }
  void release(const Stmt &stmt) {
    forEachExpr(stmt, [&](Expr e) {
      for (Expr var : variablesOf(e))
        --uses[var.get()];
    });
  }

  /// Whether what is written there is of no use to anybody.
  bool unread(const Element &target) const {
    const Buffer *storage = target.buffer->storage();
    return storage->scope == Scope::Local && !readBuffers.count(storage);
  }

  bool dead(Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Store:
      return unread(cast<StoreStmt>(stmt).target);
    case StmtKind::Move:
      return unread(cast<MoveStmt>(stmt).target);
    case StmtKind::Let:
      return !used(cast<LetStmt>(stmt).var);
    case StmtKind::Load:
      return !used(cast<LoadStmt>(stmt).var);
    case StmtKind::Alloc: {
      auto &alloc = cast<AllocStmt>(stmt);
      return !accessed.count(alloc.buffer);
    }
    case StmtKind::If: {
      auto &branch = cast<IfStmt>(stmt);
      return branch.then.empty() && branch.otherwise.empty();
    }
    case StmtKind::For:
      return cast<ForStmt>(stmt).body.empty();
    case StmtKind::Map:
      return cast<MapStmt>(stmt).body.empty();
    case StmtKind::Role:
      return cast<RoleStmt>(stmt).body.empty() && cast<RoleStmt>(stmt).registers == 0;
    case StmtKind::Atomic: {
      auto &atomic = cast<AtomicStmt>(stmt);
      if (atomic.result && !used(atomic.result) && atomic.op != AtomicOp::Load)
        atomic.result = {};
      return false;
    }
    default:
      return false;
    }
  }

  /// Backwards, so that a use goes before its definition is looked at.
  void clean(Block &block) {
    for (std::size_t i = block.size(); i-- > 0;) {
      forEachBlock(*block[i], [&](Block &inner) { clean(inner); });
      if (!dead(*block[i]))
        continue;
      release(*block[i]);
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    }
  }

  Function &function;
  std::unordered_map<const ExprNode *, unsigned> uses;
  std::unordered_set<const Buffer *> accessed, readBuffers; ///< the latter: by storage
  bool changed = false;
};

} // namespace

void removeDeadCode(Function &function) { DeadCode(function).run(); }

} // namespace tlc::passes
