#include "passes/Rewrite.h"

#include "ir/Visit.h"
#include "passes/pipeline/PipelineLoops.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

Block freshCopy(Function &function, const Block &block, Substitution &map) {
  Block copy = cloneBlock(block);
  renewBuffers(copy, function.buffers);
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
  DeadCode(Function &function, bool tiles) : function(function), tiles(tiles) {}

  void run() {
    // A let removed may free the one it used; they stand in order, so few rounds do.
    for (int round = 0; round < 8; ++round) {
      changed = false;
      for (auto &launch : function.launches) {
        uses = countUses(launch->body);
        accessed.clear();
        readBuffers.clear();
        looksAtTiles = tiles;
        walk(launch->body, [&](Stmt &stmt) {
          looksAtTiles &= !isa<SourceStmt>(stmt); // which may speak of anything
          forEachUse(stmt, [&](const BufferUse &use) {
            for (const Buffer *b = use.buffer; b; b = b->base)
              accessed.insert(b);
            if (use.access != Access::Write || use.pointer)
              readBuffers.insert(use.buffer->storage());
          });
          return true;
        });
        clean(launch->body, false, *launch);
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
  bool unread(const Buffer &target) const {
    const Buffer *storage = target.storage();
    const bool tile = storage->scope == Scope::Shared || storage->scope == Scope::Fragment;
    return (storage->scope == Scope::Local || (tile && looksAtTiles)) &&
           !readBuffers.count(storage);
  }

  /// Whether a copy does nothing but to copy: nobody waits for it or counts it.
  static bool onlyCopies(const CopyStmt &copy) {
    return copy.copyKind == CopyKind::Auto && !copy.async && !copy.barrier.buffer &&
           !copy.multicast;
  }

  bool dead(Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Store:
      return unread(*cast<StoreStmt>(stmt).target.buffer);
    case StmtKind::Move:
      return unread(*cast<MoveStmt>(stmt).target.buffer);
    case StmtKind::Fill:
      return unread(*cast<FillStmt>(stmt).target.buffer);
    case StmtKind::Copy: {
      auto &copy = cast<CopyStmt>(stmt);
      return onlyCopies(copy) && unread(*copy.target.buffer);
    }
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

  static bool hasNumber(const Stmt &stmt) {
    return !isa<LetStmt>(stmt) && !isa<LoadStmt>(stmt) && !isa<AllocStmt>(stmt);
  }

  /// Backwards, so that a use goes before its definition is looked at. `arranged`: it is that of a
  /// loop whose statements have numbers.
  void clean(Block &block, bool arranged, Launch &launch) {
    for (std::size_t i = block.size(); i-- > 0;) {
      const auto *loop = dynCast<ForStmt>(block[i].get());
      const bool inner = loop && isArranged(*loop);
      forEachBlock(*block[i], [&](Block &nested) { clean(nested, inner, launch); });
      if ((arranged && hasNumber(*block[i])) || !dead(*block[i]))
        continue;
      if (const auto *alloc = dynCast<AllocStmt>(block[i].get()); alloc && tiles)
        launch.note("`" + alloc->buffer->name + "` is left out: nobody reads it");
      release(*block[i]);
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    }
  }

  Function &function;
  const bool tiles;          ///< of blocks are looked at as well
  bool looksAtTiles = false; ///< of this launch
  std::unordered_map<const ExprNode *, unsigned> uses;
  std::unordered_set<const Buffer *> accessed, readBuffers; ///< the latter: by storage
  bool changed = false;
};

} // namespace

void removeDeadCode(Function &function) { DeadCode(function, false).run(); }

void removeUnreadTiles(Function &function) { DeadCode(function, true).run(); }

} // namespace tlc::passes
