#include "passes/prepare/PackedRows.h"

#include "analysis/Copies.h"
#include "ir/Builder.h"
#include "ir/GridDependency.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Rewrite.h"
#include "passes/plan/PlanSharing.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Of the workspace, between its parts.
constexpr std::int64_t partBytes = 256;
/// What a block copies, by so many threads.
constexpr std::int64_t blockRows = 4, blockColumns = 512, blockThreads = 256;
/// Of a grid's second and third extent.
constexpr std::int64_t mostBlocks = 65535;
/// How often tiles have to load an element for a copy to pay, where threads load single elements
/// and where they load halves of vectors: a copy takes 1.2 ps an element, a load 0.6 or 0.2 ps less
/// than before (tools/bench/gpu/LOG.md).
constexpr std::int64_t leastLoads = 3, leastLoadsHalf = 8;

const DType wide(Scalar::Int64);

Expr widened(Expr e) { return e.context().cast(wide, e); }

Expr product(Context &context, const std::vector<Expr> &factors) {
  Expr all = context.integer(wide, 1);
  for (Expr factor : factors)
    all = all * widened(factor);
  return all;
}

class Packer {
public:
  Packer(Function &function, const Launch &launch)
      : function(function), context(*function.context), launch(launch) {}

  PackedRows run(const std::vector<Buffer *> &unaligned, Expr aligned, Expr half) {
    PackedRows packed;
    // Two parts of workspace that callers see differently would need two numbers of bytes.
    if (!function.workspace.empty() || launch.cooperative || waitsForGrid(launch))
      return packed;
    for (Buffer *tensor : unaligned)
      if (canPack(*tensor))
        packed.tensors.emplace_back(tensor, nullptr);
    Expr loaded = loadedElements(packed.tensors);
    if (!loaded)
      return {};
    Expr elements = context.integer(wide, 0), fits;
    for (auto &[tensor, rows] : packed.tensors) {
      elements = elements + product(context, tensor->shape);
      fits = logicalAnd(fits, fitsGrid(*tensor));
    }
    Expr least = context.integer(wide, leastLoads);
    if (half)
      least = context.select(half, context.integer(wide, leastLoadsHalf), least);
    Expr wanted = logicalAnd(fits, lessEqual(elements * least, loaded));
    if (aligned)
      wanted = logicalAnd(logicalNot(aligned), wanted);
    if (wanted.isFalse())
      return {};
    wanted = launchConstant(function, "wants_rows", wanted);
    Expr bytes = context.integer(wide, 0);
    for (auto &[tensor, rows] : packed.tensors) {
      rows = &rowsFor(*tensor, wanted);
      bytes = ceilDiv(bytes, partBytes) * partBytes +
              product(context, rows->shape) * (tensor->dtype.bits() / 8);
    }
    packed.condition = launchConstant(
        function, "packed", logicalAnd(wanted, lessEqual(bytes, workspaceBytes(function))));
    for (auto &[tensor, rows] : packed.tensors)
      packed.copies.push_back(copyLaunch(*tensor, *rows, packed.condition));
    return packed;
  }

private:
  /// Whether nothing but copies of tiles to shared memory reads the tensor, which nobody writes, by
  /// another name either.
  bool canPack(Buffer &tensor) const {
    if (tensor.writable || tensor.noRestrict || tensor.rank() < 2 || tensor.rank() > 4 ||
        tensor.unfold || tensor.safeValue || tensor.dtype.lanes != 1 || tensor.dtype.bits() % 8 ||
        (!tensor.strides.empty() && !tensor.strides.back().isConstant(1)))
      return false;
    bool only = true;
    walk(launch.body, [&](const Stmt &stmt) {
      const bool loads =
          analysis::isSharedLoad(stmt) && cast<CopyStmt>(stmt).source.buffer == &tensor;
      forEachUse(stmt, [&](const BufferUse &use) {
        only &= use.buffer->storage() != &tensor || (loads && !cast<CopyStmt>(stmt).async);
      });
      return only;
    });
    return only;
  }

  /// How many elements of the tensors all blocks load, counted as in the middle of the grid; null
  /// if the launcher cannot know.
  Expr loadedElements(const std::vector<std::pair<Buffer *, Buffer *>> &tensors) const {
    Substitution middle;
    for (std::size_t d = 0; d < launch.grid.size(); ++d)
      middle.emplace_back(launch.blockVars[d], floorDiv(launch.grid[d], 2));
    Expr sum;
    bool known = true;
    std::function<void(const Block &, Expr)> visit = [&](const Block &block, Expr times) {
      for (const StmtPtr &stmt : block) {
        Expr inside = times;
        if (const auto *loop = dynCast<ForStmt>(stmt.get()))
          inside = times * widened(substitute(tripCount(*loop), middle));
        forEachBlock(*stmt, [&](const Block &inner) { visit(inner, inside); });
        const auto *copy = dynCast<CopyStmt>(stmt.get());
        auto elements = copy ? copy->target.elementCount() : std::nullopt;
        if (!elements || std::none_of(tensors.begin(), tensors.end(), [&](const auto &packed) {
              return packed.first == copy->source.buffer;
            }))
          continue;
        known &= isOfLauncher(times);
        sum = sum ? sum + times * *elements : times * *elements;
      }
    };
    visit(launch.body, product(context, launch.grid));
    return known ? sum : Expr();
  }

  /// Whether the launcher has all that an expression is made of.
  bool isOfLauncher(Expr e) const {
    std::vector<Expr> vars;
    collectVars(e, vars);
    return std::all_of(vars.begin(), vars.end(), [&](Expr var) {
      return std::any_of(function.dims.begin(), function.dims.end(),
                         [&](const Dim &dim) { return dim.var == var; }) ||
             std::any_of(function.params.begin(), function.params.end(),
                         [&](const Param &param) { return param.scalar == var; });
    });
  }

  /// Whether a grid has room for the blocks that copy the tensor.
  Expr fitsGrid(const Buffer &tensor) const {
    Expr most = context.integer(wide, mostBlocks);
    Expr fits = lessEqual(widened(ceilDiv(tensor.shape.back(), blockColumns)), most);
    if (tensor.rank() > 2)
      fits = logicalAnd(fits, lessEqual(planes(tensor), most));
    return fits;
  }

  /// Of the last two dims, how many there are.
  Expr planes(const Buffer &tensor) const {
    return product(context, {tensor.shape.begin(), tensor.shape.end() - 2});
  }

  Buffer &rowsFor(Buffer &tensor, Expr wanted) {
    std::vector<Expr> shape = tensor.shape;
    // (At multiples of 16 bytes, products of 4097 columns take a fifth longer.)
    const std::int64_t row = cacheLine * 8 / tensor.dtype.bits();
    shape.back() = ceilDiv(shape.back(), row) * row;
    Buffer &rows =
        function.addBuffer(tensor.name + "_rows", tensor.dtype, Scope::Global, shape, tensor.range);
    rows.rowsOf = &tensor;
    rows.wanted = wanted;
    function.workspace.push_back(&rows);
    return rows;
  }

  std::unique_ptr<Launch> copyLaunch(Buffer &tensor, Buffer &rows, Expr condition) {
    auto made = std::make_unique<Launch>();
    made->name = launch.name + "_pack_" + tensor.name;
    made->range = launch.range;
    made->threads = {blockThreads, 1, 1};
    made->tid = context.var("tid", Scalar::Int32);
    const Expr height = rows.shape[rows.rank() - 2];
    Expr extent = ceilDiv(height, blockRows);
    made->grid = {context.select(condition, extent, context.integer(extent.dtype(), 0)),
                  ceilDiv(rows.shape.back(), blockColumns)};
    if (rows.rank() > 2)
      made->grid.push_back(context.cast(extent.dtype(), planes(rows)));
    for (const char *name : {"bx", "by", "bz"})
      if (made->blockVars.size() < made->grid.size())
        made->blockVars.push_back(context.var(name, extent.dtype()));
    Builder b(function, made->body);
    b.range = launch.range;
    auto &copy = b.add<CopyStmt>();
    copy.source = tileOf(tensor, *made), copy.target = tileOf(rows, *made);
    return made;
  }

  /// What a block of the launch copies.
  Region tileOf(Buffer &buffer, const Launch &copying) const {
    const std::vector<Expr> &at = copying.blockVars;
    Region region;
    region.buffer = &buffer;
    const unsigned leading = buffer.rank() - 2;
    for (unsigned d = 0; d < leading; ++d) {
      Expr plane = at[2];
      for (unsigned inner = d + 1; inner < leading; ++inner)
        plane = floorDiv(plane, buffer.shape[inner]);
      region.offsets.push_back(d ? floorMod(plane, buffer.shape[d]) : plane);
      region.extents.push_back(context.int32(1));
      region.dropped |= std::uint64_t{1} << d;
    }
    region.offsets.push_back(at[0] * blockRows);
    region.offsets.push_back(at[1] * blockColumns);
    region.extents.push_back(context.int32(blockRows));
    region.extents.push_back(context.int32(blockColumns));
    return region;
  }

  Function &function;
  Context &context;
  const Launch &launch;
};

} // namespace

PackedRows packRows(Function &function, const Launch &launch,
                    const std::vector<Buffer *> &unaligned, Expr aligned, Expr half) {
  return Packer(function, launch).run(unaligned, aligned, half);
}

std::vector<const Buffer *> packedTensors(const Launch &launch) {
  std::vector<const Buffer *> tensors;
  walk(launch.body, [&](const Stmt &stmt) {
    const auto *copy = dynCast<CopyStmt>(&stmt);
    const Buffer *tensor = copy ? copy->source.buffer->rowsOf : nullptr;
    if (tensor && std::find(tensors.begin(), tensors.end(), tensor) == tensors.end())
      tensors.push_back(tensor);
    return true;
  });
  return tensors;
}

} // namespace tlc::passes
