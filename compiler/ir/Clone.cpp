#include "ir/Function.h"
#include "ir/Visit.h"
#include "support/Check.h"

#include <unordered_map>

namespace tlc::ir {
namespace {

/// Statements with blocks cannot be copied by their copy constructor: blocks own.
StmtPtr copyNested(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::If: {
    const auto &from = cast<IfStmt>(stmt);
    auto to = std::make_unique<IfStmt>(stmt.range);
    to->condition = from.condition;
    to->then = cloneBlock(from.then);
    to->otherwise = cloneBlock(from.otherwise);
    return to;
  }
  case StmtKind::While: {
    const auto &from = cast<WhileStmt>(stmt);
    auto to = std::make_unique<WhileStmt>(stmt.range);
    to->conditionBlock = cloneBlock(from.conditionBlock);
    to->condition = from.condition;
    to->body = cloneBlock(from.body);
    return to;
  }
  case StmtKind::For: {
    const auto &from = cast<ForStmt>(stmt);
    auto to = std::make_unique<ForStmt>(stmt.range);
    to->var = from.var;
    to->lo = from.lo;
    to->hi = from.hi;
    to->step = from.step;
    to->kind = from.kind;
    to->expand = from.expand;
    to->unrollFactor = from.unrollFactor;
    to->stages = from.stages;
    to->order = from.order;
    to->stage = from.stage;
    to->group = from.group;
    to->body = cloneBlock(from.body);
    return to;
  }
  case StmtKind::Role: {
    const auto &from = cast<RoleStmt>(stmt);
    auto to = std::make_unique<RoleStmt>(stmt.range);
    to->first = from.first;
    to->count = from.count;
    to->registers = from.registers;
    to->body = cloneBlock(from.body);
    return to;
  }
  case StmtKind::Map: {
    const auto &from = cast<MapStmt>(stmt);
    auto to = std::make_unique<MapStmt>(stmt.range);
    to->vars = from.vars;
    to->extents = from.extents;
    to->body = cloneBlock(from.body);
    to->layout = from.layout;
    to->origin = from.origin;
    to->coalescedWidth = from.coalescedWidth;
    return to;
  }
  default:
    return nullptr;
  }
}

struct BufferMapper : FieldVisitor<BufferMapper> {
  const std::unordered_map<const Buffer *, Buffer *> &map;
  explicit BufferMapper(const std::unordered_map<const Buffer *, Buffer *> &map) : map(map) {}
  void replace(Buffer *&b) {
    if (auto found = map.find(b); found != map.end())
      b = found->second;
  }
  void element(Element &e, Access) { replace(e.buffer); }
  void region(Region &r, Access) { replace(r.buffer); }
  void whole(Buffer *&b, Access) { replace(b); }
  void allocates(Buffer *&b) { replace(b); }
  void block(Block &b) {
    for (StmtPtr &stmt : b)
      visitFields(*stmt, *this);
  }
};

} // namespace

StmtPtr cloneStmt(const Stmt &stmt) {
  if (StmtPtr nested = copyNested(stmt))
    return nested;
  switch (stmt.kind) {
#define TLC_STMT(NAME, ...)                                                                        \
  case StmtKind::NAME:                                                                             \
    if constexpr (std::is_copy_constructible_v<NAME##Stmt>)                                        \
      return std::make_unique<NAME##Stmt>(cast<NAME##Stmt>(stmt));                                 \
    break;
#include "ir/Nodes.def"
  }
  TLC_UNREACHABLE("statement kind that cannot be copied");
}

Block cloneBlock(const Block &block) {
  Block result;
  result.reserve(block.size());
  for (const StmtPtr &stmt : block)
    result.push_back(cloneStmt(*stmt));
  return result;
}

std::unique_ptr<Function> clone(const Function &from) {
  auto to = std::make_unique<Function>(*from.context);
  to->name = from.name;
  to->phase = from.phase;
  to->params = from.params;
  to->dims = from.dims;
  to->constraints = from.constraints;
  to->workspace = from.workspace;
  to->launchConstants = from.launchConstants;
  to->sources = from.sources;
  to->options = from.options;
  to->range = from.range;
  std::unordered_map<const Buffer *, Buffer *> map;
  for (const auto &buffer : from.buffers) {
    to->buffers.push_back(std::make_unique<Buffer>(*buffer));
    map.emplace(buffer.get(), to->buffers.back().get());
  }
  BufferMapper mapper(map);
  for (auto &buffer : to->buffers)
    mapper.replace(buffer->base);
  for (Param &param : to->params)
    mapper.replace(param.buffer);
  for (Buffer *&buffer : to->workspace)
    mapper.replace(buffer);
  for (const auto &launch : from.launches) {
    auto copy = std::make_unique<Launch>();
    copy->name = launch->name;
    copy->grid = launch->grid;
    copy->threads = launch->threads;
    copy->extraThreads = launch->extraThreads;
    copy->blockVars = launch->blockVars;
    copy->threadVars = launch->threadVars;
    copy->tid = launch->tid;
    copy->cluster = launch->cluster;
    copy->cooperative = launch->cooperative;
    copy->raster = launch->raster;
    copy->minBlocksPerSm = launch->minBlocksPerSm;
    copy->prelude = launch->prelude;
    copy->sharedBytes = launch->sharedBytes;
    copy->body = cloneBlock(launch->body);
    copy->range = launch->range;
    mapper.block(copy->body);
    to->launches.push_back(std::move(copy));
  }
  return to;
}

} // namespace tlc::ir
