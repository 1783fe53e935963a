// Which dims and variables belong together. See SpreadAxis.h.
//
// Dims of tiles and variables of parallel loops are nodes; an index that is a variable, a copy and
// a reduction join two of them, and any other index spoils those that it touches. What is left is a
// candidate if some reduction runs over it and no loop would compute a part only of what all blocks
// need.
#include "passes/plan/SpreadAxis.h"

#include "ir/Walk.h"
#include "passes/TileDims.h"

#include <algorithm>
#include <vector>

namespace tlc::passes {

using namespace ir;

bool SpreadAxis::has(const Buffer &buffer) const {
  for (unsigned d = 0; d < buffer.rank(); ++d)
    if (has(&buffer, d))
      return true;
  return false;
}

int SpreadAxis::variableOf(const MapStmt &map) const {
  for (std::size_t i = 0; i < map.vars.size(); ++i)
    if (vars.count(map.vars[i].get()))
      return static_cast<int>(i);
  return -1;
}

bool SpreadAxis::isReducedBy(const ReduceStmt &reduce) const {
  return has(reduce.source.buffer, reduce.axis);
}

Expr narrowedIndex(Expr index, Expr old, Expr axis, std::int64_t place, std::int64_t extent,
                   std::int64_t blocks) {
  Linear all = linear(index);
  std::int64_t unit = place * extent;
  Linear result;
  std::int64_t above = all.constant / unit * unit;
  result.constant = above / blocks + (all.constant - above);
  for (auto [term, coefficient] : all.terms)
    if (term == old)
      result.terms.emplace_back(axis, coefficient);
    else
      result.terms.emplace_back(term, coefficient % unit ? coefficient : coefficient / blocks);
  return fromLinear(index.context(), index.dtype(), result);
}

namespace {

using Node = TileDims::Node;

class AxisFinder {
public:
  explicit AxisFinder(const Launch &launch) : launch(launch) {}

  SpreadAxis run() {
    SpreadAxis best;
    if (launch.threads[1] != 1 || launch.threads[2] != 1 || launch.raster.panel ||
        launch.cluster != std::array<std::int64_t, 3>{1, 1, 1} || launch.cooperative)
      fault = "its blocks are arranged otherwise";
    else
      visit(launch.body);
    for (const Buffer *tensor : written)
      if (read.count(tensor) && fault.empty())
        fault = "`" + tensor->name + "` is read and written";
    if (!fault.empty()) {
      best.fault = fault;
      return best;
    }
    best.fault = "no reduction runs over a dim that could be cut";
    for (const auto &[reduce, node] : reductions) {
      joinDigits(node);
      SpreadAxis axis = candidate(classes.find(node));
      if (axis && std::pair(axis.elements, axis.extent) > std::pair(best.elements, best.extent))
        best = std::move(axis);
      else if (!best && !axis.fault.empty())
        best.fault = axis.fault;
    }
    return best;
  }

private:
  // ---- Statements

  void visit(const Block &block) {
    for (const StmtPtr &stmt : block) {
      if (!fault.empty())
        return;
      visit(*stmt);
    }
  }

  void visit(const Stmt &stmt) {
    forEachExpr(stmt, [&](Expr e) {
      if (e && usesThread(launch, e))
        fault = "the program asks for its thread";
    });
    switch (stmt.kind) {
    case StmtKind::Alloc:
      return visitAlloc(cast<AllocStmt>(stmt));
    case StmtKind::Let:
      return lets.emplace_back(cast<LetStmt>(stmt).var, resolved(cast<LetStmt>(stmt).value)),
             void();
    case StmtKind::Load:
      return visitElement(cast<LoadStmt>(stmt).source, false);
    case StmtKind::Store:
      return visitElement(cast<StoreStmt>(stmt).target, true);
    case StmtKind::Map:
      return visitMap(cast<MapStmt>(stmt));
    case StmtKind::Copy:
      return visitCopy(cast<CopyStmt>(stmt));
    case StmtKind::Fill:
      return visitRegion(cast<FillStmt>(stmt).target, true);
    case StmtKind::Reduce:
      return visitReduce(cast<ReduceStmt>(stmt));
    case StmtKind::For:
      if (cast<ForStmt>(stmt).kind == ForKind::Pipelined && cast<ForStmt>(stmt).stages > 1)
        fault = "it has a pipelined loop";
      [[fallthrough]];
    case StmtKind::While:
    case StmtKind::If:
      return forEachBlock(stmt, [&](const Block &inner) { visit(inner); });
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Assume:
      return;
    default:
      fault = std::string("it does more than copies, reductions and parallel loops (") +
              stmtName(stmt.kind) + ")";
    }
  }

  void visitAlloc(const AllocStmt &alloc) {
    const Buffer &buffer = *alloc.buffer;
    if (buffer.base || buffer.layout || buffer.scope == Scope::Barrier || buffer.versions > 1)
      fault = "`" + buffer.name + "` is laid out by the program";
  }

  void visitMap(const MapStmt &map) {
    if (map.layout)
      fault = "a loop is shared out by the program";
    for (std::size_t i = 0; i < map.vars.size(); ++i)
      classes.add(TileDims::variable(map.vars[i]), map.extents[i]);
    std::size_t outer = running.size();
    running.insert(running.end(), map.vars.begin(), map.vars.end());
    nests.push_back(running);
    bool storesTiles = false, storesTensors = false;
    walk(map.body, [&](const Stmt &inner) {
      if (const auto *store = dynCast<StoreStmt>(&inner))
        (store->target.buffer->scope == Scope::Global ? storesTensors : storesTiles) = true;
      return true;
    });
    // Only one block stores what all have, so it must not stand beside what each needs.
    if (storesTiles && storesTensors)
      mixed.push_back(running);
    visit(map.body);
    running.resize(outer);
  }

  Expr resolved(Expr e) const { return e ? substitute(e, lets) : e; }
  bool isRunning(Expr e) const {
    return e.isVar() && std::find(running.begin(), running.end(), e) != running.end();
  }

  void visitElement(const Element &element, bool writes) {
    const Buffer &buffer = *element.buffer;
    if (!isTile(buffer, writes))
      return;
    if (writes && !running.empty())
      tileStores.push_back({&buffer, running});
    for (unsigned d = 0; d < buffer.rank(); ++d) {
      Node dim = classes.addDim(buffer, d);
      Expr index = resolved(element.indices[d]);
      if (isRunning(index)) {
        classes.unite(dim, TileDims::variable(index));
        continue;
      }
      if (buffer.shape[d].isConstant(1))
        continue;
      if (buffer.scope == Scope::Shared) {
        indices.push_back({&buffer, d, index});
        continue;
      }
      classes.spoil(dim);
      for (Expr var : variablesOf(index))
        if (isRunning(var))
          classes.spoil(TileDims::variable(var));
    }
  }

  /// Whether the buffer is a tile of the block; notes accesses of tensors.
  bool isTile(const Buffer &buffer, bool writes) {
    if (buffer.scope == Scope::Global)
      (writes ? written : read).insert(buffer.storage());
    else if (buffer.base)
      fault = "`" + buffer.name + "` is a view";
    else if (buffer.scope == Scope::Local && writes && !running.empty())
      tileStores.push_back({&buffer, running});
    return buffer.scope == Scope::Fragment || buffer.scope == Scope::Shared;
  }

  void visitRegion(const Region &region, bool writes) {
    if (!isTile(*region.buffer, writes))
      return;
    for (unsigned d = 0; d < region.buffer->rank(); ++d)
      if (classes.addDim(*region.buffer, d);
          !region.offsets[d].isConstant(0) || region.extents[d] != region.buffer->shape[d])
        classes.spoil(TileDims::dim(*region.buffer, d));
  }

  void join(const Region &a, unsigned i, const Region &b, unsigned j) {
    Node x{a.buffer, bufferDim(a, i)}, y{b.buffer, bufferDim(b, j)};
    bool known = classes.knows(x), other = classes.knows(y);
    if (known && other)
      return classes.unite(x, y);
    // A tensor's side is cut where the tile is: it only has to run as far.
    const Region &tile = known ? a : b, &tensor = known ? b : a;
    unsigned t = known ? x.second : y.second, g = known ? y.second : x.second;
    if ((known || other) && tile.extents[t].constant() != tensor.extents[g].constant())
      classes.spoil(TileDims::dim(*tile.buffer, t));
  }

  void visitCopy(const CopyStmt &copy) {
    if (copy.copyKind == CopyKind::Tma || copy.async || copy.barrier.buffer || copy.multicast ||
        copy.layout)
      return fault = "tensor maps copy its tiles, or the program says how", void();
    visitRegion(copy.source, false);
    visitRegion(copy.target, true);
    if (copy.source.tileRank() != copy.target.tileRank())
      return fault = "a copy changes the rank of its tile", void();
    for (unsigned k = 0; k < copy.source.tileRank(); ++k)
      join(copy.source, k, copy.target, k);
  }

  void visitReduce(const ReduceStmt &reduce) {
    visitRegion(reduce.source, false);
    visitRegion(reduce.target, true);
    const Buffer &source = *reduce.source.buffer, &target = *reduce.target.buffer;
    if (!reduce.source.wholeBuffer() || !reduce.target.wholeBuffer() || !reduce.clear ||
        !isTile(source, false) || !isTile(target, true))
      return fault = "a reduction of a part of a tile, or onto what is there", void();
    bool keeps = target.rank() == source.rank();
    for (unsigned d = 0; d < source.rank(); ++d) {
      if (d == reduce.axis)
        continue;
      unsigned to = keeps || d < reduce.axis ? d : d - 1;
      if (to < target.rank())
        classes.unite(TileDims::dim(source, d), TileDims::dim(target, to));
    }
    reductions.emplace_back(&reduce, Node{&source, reduce.axis});
  }

  // ---- Candidates

  /// Variables that are a digit of a tile's index where those of the axis are it elsewhere, belong
  /// to the axis.
  void joinDigits(Node axis) {
    std::map<std::pair<const Buffer *, unsigned>, std::int64_t> places;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Index &index : indices)
        for (auto [term, coefficient] : linear(index.value).terms) {
          Node node = TileDims::variable(term);
          if (!classes.knows(node))
            continue;
          if (classes.together(node, axis)) {
            places.try_emplace({index.buffer, index.dim}, coefficient);
            continue;
          }
          auto place = places.find({index.buffer, index.dim});
          if (place == places.end() || place->second != coefficient ||
              classes.extent(node) != classes.extent(axis))
            continue;
          classes.unite(node, axis);
          changed = true;
        }
    }
  }

  SpreadAxis candidate(Node root) {
    SpreadAxis axis;
    if (classes.isSpoilt(root) || classes.extent(root) < 2)
      return axis;
    axis.extent = classes.extent(root);
    classes.forEach(root, [&](Node node) {
      if (TileDims::isVariable(node))
        axis.vars.insert(static_cast<const ExprNode *>(node.first));
      else
        axis.dims.insert({static_cast<const Buffer *>(node.first), node.second});
    });
    axis.fault = faultOf(axis);
    for (const auto &[buffer, dim] : axis.dims)
      axis.elements = std::max(axis.elements, buffer->elementCount().value_or(0));
    axis.largest = axis.elements;
    for (const auto &[entry, place] : axis.digits)
      axis.largest = std::max(axis.largest, entry.first->elementCount().value_or(0));
    if (!axis.fault.empty())
      axis.extent = 0;
    return axis;
  }

  static std::size_t along(const SpreadAxis &axis, const std::vector<Expr> &vars) {
    return static_cast<std::size_t>(std::count_if(
        vars.begin(), vars.end(), [&](Expr var) { return axis.vars.count(var.get()) != 0; }));
  }

  std::string faultOf(SpreadAxis &axis) {
    for (const Index &index : indices)
      if (!placeDigit(axis, index))
        return "`" + index.buffer->name + "` has elements of several blocks in one place";
    for (const Index &index : indices)
      if (axis.digits.count({index.buffer, index.dim}) && !variableIn(axis, index.value))
        return "`" + index.buffer->name + "` is read or written by all blocks";
    for (const std::vector<Expr> &nest : nests)
      if (along(axis, nest) > 1)
        return "a loop runs over it twice";
    std::map<const Buffer *, unsigned> dims;
    for (const auto &[buffer, dim] : axis.dims)
      if (++dims[buffer] > 1 || axis.digits.count({buffer, dim}))
        return "`" + buffer->name + "` has it twice";
    for (const auto &[buffer, nest] : tileStores)
      if (along(axis, nest) && !axis.has(*buffer))
        return "`" + buffer->name + "` gets values of all blocks";
    for (const std::vector<Expr> &nest : mixed)
      if (!along(axis, nest))
        return "a loop stores to tiles and tensors what is the same in all blocks";
    for (const auto &[reduce, node] : reductions)
      if (axis.isReducedBy(*reduce) && (reduce->target.buffer->dtype.bits() < 32 ||
                                        reduce->target.buffer->scope != Scope::Fragment))
        return "`" + reduce->target.buffer->name + "` is not of 32 bits";
    return "";
  }

  Expr variableIn(const SpreadAxis &axis, Expr index) const {
    for (Expr var : variablesOf(index))
      if (axis.vars.count(var.get()))
        return var;
    return {};
  }

  struct Index {
    const Buffer *buffer;
    unsigned dim;
    Expr value;
  };

  /// Finds the digit that the axis is of an index, if it is in it at all.
  bool placeDigit(SpreadAxis &axis, const Index &index) {
    Expr var = variableIn(axis, index.value);
    if (!var)
      return true;
    Linear all = linear(index.value);
    auto own = std::find_if(all.terms.begin(), all.terms.end(),
                            [&](const auto &term) { return term.first == var; });
    if (own == all.terms.end() || own->second <= 0 || all.constant < 0)
      return false;
    const std::int64_t place = own->second, unit = place * axis.extent;
    std::int64_t lower = all.constant % unit;
    for (auto [term, coefficient] : all.terms) {
      if (term == var || coefficient % unit == 0)
        continue;
      const Node known = TileDims::variable(term);
      if (!term.isVar() || coefficient < 0 || !classes.knows(known))
        return false;
      lower += coefficient * (classes.extent(known) - 1);
    }
    auto size = index.buffer->shape[index.dim].constant();
    if (lower >= place || !size || *size % unit)
      return false;
    auto [at, isNew] = axis.digits.try_emplace({index.buffer, index.dim}, place);
    return isNew || at->second == place;
  }

  const Launch &launch;
  TileDims classes;
  Substitution lets;
  std::vector<Expr> running; ///< variables of the parallel loops around
  std::vector<std::vector<Expr>> nests, mixed;
  std::vector<std::pair<const Buffer *, std::vector<Expr>>> tileStores;
  std::vector<Index> indices; ///< of shared tiles, other than variables
  std::vector<std::pair<const ReduceStmt *, Node>> reductions;
  std::set<const Buffer *> read, written; ///< tensors
  std::string fault;
};

} // namespace

SpreadAxis findSpreadAxis(const Launch &launch) { return AxisFinder(launch).run(); }

} // namespace tlc::passes
