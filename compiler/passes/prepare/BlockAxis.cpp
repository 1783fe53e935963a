// Which dims and variables belong to a dimension of the grid. See BlockAxis.h.
//
// The block's number may only occur where a tensor's box or element begins, times the extent of
// what runs along it there. From there on tiles and loops are joined as statements use them
// together; whatever tells one row of a tile from another, or ends up in the same place for several
// of them, spoils it.
#include "passes/prepare/BlockAxis.h"

#include "ir/Walk.h"
#include "passes/TileDims.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

using Node = TileDims::Node;

class BlockAxisFinder {
public:
  BlockAxisFinder(const Launch &launch, Expr block) : launch(launch), block(block) {}

  BlockAxis run() {
    BlockAxis axis;
    visit(launch.body);
    for (const Buffer *tensor : written)
      if (read.count(tensor))
        refuse();
    if (seeds.empty())
      refuse();
    if (!refused)
      collect(axis);
    if (refused)
      axis.extent = 0;
    return axis;
  }

private:
  void refuse() { refused = true; }

  // ---- Statements

  void visit(const Block &inner) {
    for (const StmtPtr &stmt : inner)
      if (!refused)
        visit(*stmt);
  }

  void visit(const Stmt &stmt) {
    forEachExpr(stmt, [&](Expr e) {
      if (e && usesThread(launch, e))
        refuse();
    });
    switch (stmt.kind) {
    case StmtKind::Alloc:
      return visitAlloc(*cast<AllocStmt>(stmt).buffer);
    case StmtKind::Assume:
      return useElsewhere(cast<AssumeStmt>(stmt).condition);
    case StmtKind::Let:
      return lets.emplace_back(cast<LetStmt>(stmt).var, resolved(cast<LetStmt>(stmt).value)),
             void();
    case StmtKind::Load: {
      const auto &load = cast<LoadStmt>(stmt);
      useElsewhere(load.predicate);
      useElsewhere(load.otherwise);
      return visitElement(load.source, false);
    }
    case StmtKind::Store: {
      const auto &store = cast<StoreStmt>(stmt);
      useElsewhere(store.predicate);
      useElsewhere(store.value);
      return visitElement(store.target, true);
    }
    case StmtKind::Map:
      return visitMap(cast<MapStmt>(stmt));
    case StmtKind::Copy:
      return visitCopy(cast<CopyStmt>(stmt));
    case StmtKind::Fill:
      useElsewhere(cast<FillStmt>(stmt).value);
      return visitTile(cast<FillStmt>(stmt).target);
    case StmtKind::Gemm:
      return visitGemm(cast<GemmStmt>(stmt));
    case StmtKind::Reduce:
      return visitReduce(cast<ReduceStmt>(stmt));
    case StmtKind::For:
    case StmtKind::If:
      forEachExpr(stmt, [&](Expr e) { useElsewhere(e); });
      return forEachBlock(stmt, [&](const Block &inner) { visit(inner); });
    default:
      return refuse();
    }
  }

  void visitAlloc(const Buffer &buffer) {
    if (buffer.base || buffer.layout || buffer.versions > 1 ||
        (buffer.scope != Scope::Fragment && buffer.scope != Scope::Shared))
      return refuse();
    for (unsigned d = 0; d < buffer.rank(); ++d)
      dims.addDim(buffer, d);
  }

  void visitMap(const MapStmt &map) {
    if (map.layout || map.coalescedWidth)
      return refuse();
    for (std::size_t i = 0; i < map.vars.size(); ++i)
      dims.add(TileDims::variable(map.vars[i]), map.extents[i]);
    const std::size_t outer = running.size();
    running.insert(running.end(), map.vars.begin(), map.vars.end());
    visit(map.body);
    running.resize(outer);
  }

  void visitCopy(const CopyStmt &copy) {
    if (copy.copyKind != CopyKind::Auto || copy.async || copy.barrier.buffer || copy.multicast ||
        copy.layout || copy.coalescedWidth)
      return refuse();
    if (copy.source.tileRank() != copy.target.tileRank())
      return refuse();
    if (isTensor(copy.source) && isTensor(copy.target))
      return refuse();
    visitRegion(copy.source, copy.target, false);
    visitRegion(copy.target, copy.source, true);
    if (isTensor(copy.source) || isTensor(copy.target))
      return;
    for (unsigned k = 0; k < copy.source.tileRank(); ++k)
      dims.unite(node(copy.source, k), node(copy.target, k));
  }

  void visitGemm(const GemmStmt &gemm) {
    if (gemm.async || gemm.barrier.buffer)
      return refuse();
    useElsewhere(gemm.clear);
    for (const Region *region : {&gemm.a, &gemm.b, &gemm.c})
      visitTile(*region);
    if (refused)
      return;
    dims.unite(node(gemm.a, gemm.transposeA ? 1 : 0), node(gemm.c, 0));
    dims.unite(node(gemm.b, gemm.transposeB ? 0 : 1), node(gemm.c, 1));
    for (Node summed :
         {node(gemm.a, gemm.transposeA ? 0 : 1), node(gemm.b, gemm.transposeB ? 1 : 0)})
      dims.spoil(summed);
  }

  void visitReduce(const ReduceStmt &reduce) {
    visitTile(reduce.source);
    visitTile(reduce.target);
    if (refused)
      return;
    const Buffer &source = *reduce.source.buffer, &target = *reduce.target.buffer;
    const bool keeps = target.rank() == source.rank();
    dims.spoil(TileDims::dim(source, reduce.axis));
    for (unsigned d = 0; d < source.rank(); ++d)
      if (unsigned to = keeps || d < reduce.axis ? d : d - 1;
          d != reduce.axis && to < target.rank())
        dims.unite(TileDims::dim(source, d), TileDims::dim(target, to));
  }

  // ---- Tiles and tensors

  static bool isTensor(const Region &region) { return region.buffer->scope == Scope::Global; }
  static Node node(const Region &region, unsigned axis) {
    return TileDims::dim(*region.buffer, bufferDim(region, axis));
  }

  /// A tile as an operand: the whole of it, or dims that are cut are of no use.
  void visitTile(const Region &region) {
    const Buffer &buffer = *region.buffer;
    if (isTensor(region) || buffer.base)
      return refuse();
    useElsewhere(region.version);
    for (unsigned d = 0; d < buffer.rank(); ++d) {
      useElsewhere(region.offsets[d]);
      if (!region.offsets[d].isConstant(0) || region.extents[d] != buffer.shape[d])
        dims.spoil(TileDims::dim(buffer, d));
    }
  }

  /// One side of a copy whose other one is `tile`.
  void visitRegion(const Region &region, const Region &tile, bool writes) {
    if (!isTensor(region))
      return visitTile(region);
    if (!note(*region.buffer, writes))
      return;
    unsigned axis = 0;
    for (unsigned d = 0; d < region.buffer->rank(); ++d) {
      const Expr offset = resolved(region.offsets[d]);
      if (region.isDropped(d)) {
        useElsewhere(offset);
        continue;
      }
      const Node other = node(tile, axis++);
      if (!dims.knows(other))
        return refuse();
      if (dims.extent(other) != region.extents[d].constant())
        dims.spoil(other);
      meets(other, offset, *region.buffer, d, writes);
    }
  }

  /// Notes accesses of tensors; false if they are too indirect.
  bool note(const Buffer &tensor, bool writes) {
    if (tensor.base)
      refuse();
    (writes ? written : read).insert(&tensor);
    return !tensor.base;
  }

  /// `other` begins at `offset` along dim `d` of a tensor.
  void meets(Node other, Expr offset, const Buffer &tensor, unsigned d, bool writes) {
    if (!uses(offset, block)) {
      others.push_back(other);
      for (Expr var : variablesOf(offset))
        elsewhere.push_back(var);
      return;
    }
    Linear rest = linear(offset);
    std::int64_t times = 0;
    std::erase_if(rest.terms, [&](const auto &term) {
      if (term.first == block)
        times = term.second;
      return term.first == block;
    });
    for (const auto &[term, coefficient] : rest.terms)
      useElsewhere(term);
    seeds.push_back({other, times});
    if (writes)
      ends.push_back(rest.terms.empty() && rest.constant >= 0 ? tensor.shape[d] : Expr());
  }

  void visitElement(const Element &element, bool writes) {
    const Buffer &buffer = *element.buffer;
    const bool tensor = buffer.scope == Scope::Global;
    if (tensor && !note(buffer, writes))
      return;
    if (!tensor && (buffer.base || !dims.knows(TileDims::dim(buffer, 0))))
      return refuse();
    useElsewhere(element.version);
    std::vector<Expr> along;
    for (unsigned d = 0; d < buffer.rank(); ++d) {
      const Expr index = resolved(element.indices[d]);
      Expr runs = runningTerm(index);
      if (!runs) {
        useElsewhere(index);
        if (!tensor && !buffer.shape[d].isConstant(1))
          dims.spoil(TileDims::dim(buffer, d));
        continue;
      }
      along.push_back(runs);
      if (tensor)
        meets(TileDims::variable(runs), index - runs, buffer, d, writes);
      else if (index == runs)
        dims.unite(TileDims::dim(buffer, d), TileDims::variable(runs));
      else
        useElsewhere(index), dims.spoil(TileDims::dim(buffer, d));
    }
    if (writes)
      stores.push_back({running, std::move(along)});
  }

  /// The one variable of a parallel loop that `index` is but for what it is added to; null if there
  /// is none.
  Expr runningTerm(Expr index) const {
    Expr found;
    for (auto [term, coefficient] : linear(index).terms)
      if (coefficient == 1 && std::find(running.begin(), running.end(), term) != running.end()) {
        if (found)
          return {};
        found = term;
      }
    return found;
  }

  Expr resolved(Expr e) const { return e ? substitute(e, lets) : e; }

  /// `e` may be anything of what it uses.
  void useElsewhere(Expr e) {
    if (e)
      for (Expr var : variablesOf(resolved(e)))
        elsewhere.push_back(var);
  }

  // ---- The axis

  void collect(BlockAxis &axis) {
    const Node first = seeds.front().first;
    for (const auto &[seed, times] : seeds)
      dims.unite(seed, first);
    axis.extent = dims.extent(first);
    for (const auto &[seed, times] : seeds)
      if (times != axis.extent)
        return refuse(); // blocks do not lie one behind the other
    if (dims.isSpoilt(first))
      return refuse();
    for (Node other : others)
      if (dims.together(other, first))
        return refuse(); // all blocks have a part of it in common
    std::unordered_set<const ExprNode *> used;
    for (Expr var : elsewhere)
      used.insert(var.get());
    bool apart = used.count(block.get()) == 0;
    std::set<const void *> buffers;
    dims.forEach(first, [&](Node node) {
      if (TileDims::isVariable(node)) {
        axis.vars.insert(static_cast<const ExprNode *>(node.first));
        apart &= used.count(static_cast<const ExprNode *>(node.first)) == 0;
      } else {
        axis.dims.insert({static_cast<const Buffer *>(node.first), node.second});
        apart &= buffers.insert(node.first).second;
      }
    });
    if (!apart)
      return refuse(); // what a block does depends on which one it is
    for (const auto &[nest, along] : stores)
      if (count(axis, nest) != count(axis, along) || count(axis, nest) > 1)
        return refuse(); // several of its elements are stored in one place
    axis.ends = ends;
  }

  static std::size_t count(const BlockAxis &axis, const std::vector<Expr> &vars) {
    return static_cast<std::size_t>(std::count_if(
        vars.begin(), vars.end(), [&](Expr var) { return axis.vars.count(var.get()) != 0; }));
  }

  const Launch &launch;
  const Expr block;
  TileDims dims;
  Substitution lets;
  std::vector<Expr> running;                        ///< variables of the parallel loops around
  std::vector<std::pair<Node, std::int64_t>> seeds; ///< what begins at so many times the block
  std::vector<Node> others;                         ///< what does not
  std::vector<Expr> elsewhere;                      ///< variables that are not only such a place
  std::vector<std::pair<std::vector<Expr>, std::vector<Expr>>> stores; ///< loops, indices
  std::vector<Expr> ends;
  std::set<const Buffer *> read, written; ///< tensors
  bool refused = false;
};

} // namespace

BlockAxis findBlockAxis(const Launch &launch, std::size_t dim) {
  return BlockAxisFinder(launch, launch.blockVars[dim]).run();
}

} // namespace tlc::passes
