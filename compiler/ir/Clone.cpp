#include "ir/Function.h"
#include "ir/Visit.h"
#include "ir/Walk.h"
#include "support/Check.h"

#include <unordered_map>

namespace tlc::ir {
namespace {

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
  void mentions(Buffer *&b) { replace(b); }
  void block(Block &b) {
    for (StmtPtr &stmt : b)
      visitFields(*stmt, *this);
  }
};

} // namespace

Block::Block(const Block &other) : std::vector<StmtPtr>() {
  reserve(other.size());
  for (const StmtPtr &stmt : other)
    push_back(cloneStmt(*stmt));
}

Block &Block::operator=(const Block &other) {
  if (this != &other)
    *this = Block(other);
  return *this;
}

StmtPtr cloneStmt(const Stmt &stmt) {
  switch (stmt.kind) {
#define TLC_STMT(NAME, ...)                                                                        \
  case StmtKind::NAME:                                                                             \
    return std::make_unique<NAME##Stmt>(cast<NAME##Stmt>(stmt));
#include "ir/Nodes.def"
  }
  TLC_UNREACHABLE("unknown statement kind");
}

Block cloneBlock(const Block &block) { return block; }

void renewBuffers(Block &block, std::vector<std::unique_ptr<Buffer>> &owner) {
  std::unordered_map<const Buffer *, Buffer *> map;
  walk(block, [&](Stmt &stmt) {
    if (auto *alloc = dynCast<AllocStmt>(&stmt)) {
      owner.push_back(std::make_unique<Buffer>(*alloc->buffer));
      map.emplace(alloc->buffer, owner.back().get());
    }
    return true;
  });
  if (map.empty())
    return;
  BufferMapper mapper(map);
  for (auto &[from, to] : map)
    mapper.replace(to->base);
  mapper.block(block);
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
  to->lastOp = from.lastOp;
  to->range = from.range;
  std::unordered_map<const Buffer *, Buffer *> map;
  for (const auto &buffer : from.buffers) {
    to->buffers.push_back(std::make_unique<Buffer>(*buffer));
    map.emplace(buffer.get(), to->buffers.back().get());
  }
  BufferMapper mapper(map);
  for (auto &buffer : to->buffers)
    mapper.replace(buffer->base), mapper.replace(buffer->rowsOf);
  for (Param &param : to->params)
    mapper.replace(param.buffer);
  for (Buffer *&buffer : to->workspace)
    mapper.replace(buffer);
  for (const auto &launch : from.launches) {
    auto copy = std::make_unique<Launch>(*launch);
    mapper.block(copy->body);
    to->launches.push_back(std::move(copy));
  }
  return to;
}

} // namespace tlc::ir
