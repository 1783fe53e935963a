#include "passes/pipeline/PipelineNodes.h"

#include "ir/Print.h"
#include "passes/Rewrite.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;
using analysis::MemoryAccess;

namespace {

bool loadsTile(const Stmt &stmt) {
  const auto *copy = dynCast<CopyStmt>(&stmt);
  return copy && copy->source.buffer->storage()->scope == Scope::Global &&
         copy->target.buffer->storage()->scope != Scope::Global;
}

/// Whether a branch has a copy inside that might be moved, not counting those in inner loops.
bool containsLoad(const Block &block) {
  bool found = false;
  walk(block, [&](const Stmt &stmt) {
    found |= loadsTile(stmt);
    return stmt.kind == StmtKind::If;
  });
  return found;
}

bool isBranchToNext(const Block &block) {
  return !block.empty() && block.back()->kind == StmtKind::Continue;
}

void addUses(Expr e, Effects &effects) {
  std::vector<Expr> vars;
  collectVars(e, vars);
  for (Expr var : vars)
    effects.uses.insert(var.get());
}

bool isPrefix(const std::vector<Expr> &prefix, const std::vector<Expr> &path) {
  return prefix.size() <= path.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

} // namespace

PipelineBody::PipelineBody(Function &function, Launch &launch, ForStmt &loop)
    : function(function), launch(launch), loop(loop) {
  Block body = std::move(loop.body);
  loop.body.clear();
  flatten(body, {}, 0);
  for (PipelineNode &node : nodes)
    breaks |= node.effects.breaks;
  findScalars();
  findNeeds();
}

void PipelineBody::add(StmtPtr stmt, const std::vector<Expr> &guards, unsigned statement) {
  PipelineNode node;
  node.effects = analysis::effectsOf(*stmt);
  for (Expr guard : guards)
    addUses(guard, node.effects);
  forEachDefinition(std::as_const(*stmt), [&](Expr var) { binders[var.get()] = nodes.size(); });
  node.stmt = std::move(stmt);
  node.guards = guards;
  node.statement = statement;
  nodes.push_back(std::move(node));
}

void PipelineBody::flatten(Block &block, std::vector<Expr> guards, unsigned depth) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    StmtPtr &stmt = block[i];
    bool counts = stmt->kind != StmtKind::Alloc && stmt->kind != StmtKind::Let &&
                  stmt->kind != StmtKind::Load;
    unsigned statement = depth == 0 && counts ? statements++ : (statements ? statements - 1 : 0);
    if (auto *alloc = dynCast<AllocStmt>(stmt.get())) {
      // Contents start undefined in each round, so one allocation before the loop serves; an
      // initial value is stored where it stood.
      if (alloc->init) {
        auto store = std::make_unique<StoreStmt>(alloc->range);
        store->target.buffer = alloc->buffer;
        store->value = std::exchange(alloc->init, {});
        add(std::move(store), guards, statement);
      }
      hoisted.push_back(std::move(stmt));
      continue;
    }
    auto *branch = dynCast<IfStmt>(stmt.get());
    bool loads = branch && (containsLoad(branch->then) || containsLoad(branch->otherwise));
    if (loads && !leavesLoop(branch->then) && !leavesLoop(branch->otherwise)) {
      for (bool side : {true, false}) {
        std::vector<Expr> inner = guards;
        inner.push_back(side ? branch->condition : logicalNot(branch->condition));
        flatten(side ? branch->then : branch->otherwise, inner, depth + 1);
      }
      continue;
    }
    // `if c { …; continue }` guards everything behind it.
    if (branch && branch->otherwise.empty() && isBranchToNext(branch->then)) {
      Expr condition = branch->condition;
      branch->then.pop_back();
      if (!leavesLoop(branch->then)) {
        if (!branch->then.empty())
          add(std::move(stmt), guards, statement);
        guards.push_back(logicalNot(condition));
        continue;
      }
      branch->then.push_back(std::make_unique<ContinueStmt>(branch->range));
    }
    add(std::move(stmt), guards, statement);
  }
}

void PipelineBody::findScalars() {
  auto written = [&](const Buffer &buffer) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const PipelineNode &node) {
      return std::any_of(node.effects.memory.begin(), node.effects.memory.end(),
                         [&](const MemoryAccess &access) {
                           return access.writes() && analysis::mayAlias(*access.use.buffer, buffer);
                         });
    });
  };
  for (PipelineNode &node : nodes) {
    if (node.stmt->kind == StmtKind::Let)
      node.scalar = true;
    if (auto *load = dynCast<LoadStmt>(node.stmt.get()))
      node.scalar = !written(*load->source.buffer);
  }
  // What uses a value that cannot be repeated cannot be repeated either.
  for (bool changed = true; std::exchange(changed, false);)
    for (PipelineNode &node : nodes) {
      if (!node.scalar)
        continue;
      for (const ExprNode *var : node.effects.uses)
        if (auto from = binder(var); from && !nodes[*from].scalar) {
          node.scalar = false;
          changed = true;
          break;
        }
    }
}

void PipelineBody::findNeeds() {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<bool> needed(nodes.size(), false);
    for (const ExprNode *var : nodes[i].effects.uses)
      if (auto from = binder(var); from && nodes[*from].scalar && *from < i) {
        needed[*from] = true;
        for (std::size_t more : nodes[*from].needs)
          needed[more] = true;
      }
    for (std::size_t j = 0; j < i; ++j)
      if (needed[j])
        nodes[i].needs.push_back(j);
  }
}

std::optional<std::size_t> PipelineBody::binder(const ExprNode *var) const {
  auto found = binders.find(var);
  return found == binders.end() ? std::nullopt : std::optional(found->second);
}

Effects PipelineBody::fullEffects(const PipelineNode &node) const {
  Effects effects = node.effects;
  for (std::size_t need : node.needs)
    analysis::addEffects(effects, nodes[need].effects);
  return effects;
}

void PipelineBody::giveBack() {
  for (PipelineNode &node : nodes) {
    Block *into = &loop.body;
    for (Expr guard : node.guards) {
      auto *last = into->empty() ? nullptr : dynCast<IfStmt>(into->back().get());
      // Lets under a guard are used under it, so neighbours with one guard stay together.
      if (!last || last->condition != guard || !last->otherwise.empty()) {
        auto branch = std::make_unique<IfStmt>(node.stmt->range);
        branch->condition = guard;
        last = branch.get();
        into->push_back(std::move(branch));
      }
      into = &last->then;
    }
    into->push_back(std::move(node.stmt));
  }
  nodes.clear();
}

bool PipelineBody::covered(const PipelineNode &reader, const MemoryAccess &read,
                           std::size_t readerIndex) const {
  const Buffer *storage = read.storage();
  for (std::size_t i = 0; i < readerIndex; ++i) {
    const PipelineNode &writer = nodes[i];
    const Region *region = nullptr;
    if (auto *copy = dynCast<CopyStmt>(writer.stmt.get()))
      region = &copy->target;
    else if (auto *fill = dynCast<FillStmt>(writer.stmt.get()))
      region = &fill->target;
    if (!region || region->buffer->storage() != storage || region->buffer->base)
      continue;
    if (!isPrefix(writer.guards, reader.guards))
      continue;
    if (region->wholeBuffer())
      return true;
    // The part that is read, if it is a part of what was written, in the same terms.
    const Region *part = read.use.region;
    if (!part || read.whole || part->buffer != region->buffer)
      continue;
    bool inside = true;
    for (unsigned d = 0; d < storage->rank() && inside; ++d) {
      auto low = constantDifference(part->offsets[d], region->offsets[d]);
      auto high = constantDifference(region->offsets[d] + region->extents[d],
                                     part->offsets[d] + part->extents[d]);
      inside = low && *low >= 0 && high && *high >= 0;
    }
    if (inside)
      return true;
  }
  return false;
}

bool PipelineBody::versionable(const Buffer *storage, std::string &reason) const {
  if (storage->scope != Scope::Shared) {
    reason = "`" + storage->name + "` is not a shared tile";
    return false;
  }
  if (breaks && exposed(storage)) {
    reason = "`" + storage->name + "` is used after the loop, which may be left early";
    return false;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const MemoryAccess &access : nodes[i].effects.memory) {
      if (access.storage() != storage)
        continue;
      if (access.reads() && !covered(nodes[i], access, i)) {
        reason = "`" + storage->name +
                 "` is read where not all of it was written in the same "
                 "iteration";
        return false;
      }
      bool versioned = (access.use.element && access.use.element->version) ||
                       (access.use.region && access.use.region->version);
      if (versioned) {
        reason = "`" + storage->name + "` is pipelined by a loop inside this one";
        return false;
      }
      if (!access.use.element && !access.use.region) {
        reason = "`" + storage->name + "` is used as a whole by a statement that has no regions";
        return false;
      }
    }
  return true;
}

bool PipelineBody::exposed(const Buffer *storage) const {
  bool found = false;
  // The body was taken out of the loop, so what is left in the launch is outside.
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      // Other pipelined loops give versions and read nothing but their own.
      bool versioned = (use.element && use.element->version) || (use.region && use.region->version);
      found |=
          use.buffer->storage() == storage && (static_cast<unsigned>(use.access) & 1) && !versioned;
    });
    // Another pipelined loop that first fills the whole tile does not see what we leave.
    if (auto *other = dynCast<ForStmt>(&stmt); other && other->kind == ForKind::Pipelined)
      for (const StmtPtr &inner : other->body) {
        auto *copy = dynCast<CopyStmt>(inner.get());
        if (copy && copy->target.buffer == storage && copy->target.wholeBuffer())
          return false;
        Effects effects = analysis::effectsOf(*inner);
        if (effects.readsStorage(storage))
          break;
      }
    return true;
  });
  return found;
}

} // namespace tlc::passes
