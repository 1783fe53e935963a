// The two sides of split consumers, made from the program that both come from. See SplitConsumers.h
// and specialize-warps.
#pragma once

#include "passes/roles/Rings.h"
#include "passes/roles/SplitConsumers.h"

namespace tlc::passes {

class ConsumerSides {
public:
  /// Makes the rings of the channels and of what goes from the front to the back. The launch's body
  /// must still be the program when `build` is called.
  ConsumerSides(ir::Function &function, ir::Launch &launch, const Target &target, Rings &rings,
                const ChannelPlan &plan, const ConsumerSplit &split);

  /// What the threads of a side execute: its own tile ops between waits for tiles and releases.
  ir::Block build(bool back);

private:
  /// What the back reads of the front, and the ring it goes through.
  struct Passage {
    const Handover *handover = nullptr;
    Ring *ring = nullptr;
    ir::Buffer *registers = nullptr; ///< of the back, for a value that is a shared tile
  };
  /// Where a side reads the tiles of a channel: statements of the channel's block.
  struct Reading {
    const ir::Stmt *first = nullptr, *last = nullptr;
  };
  using Open = std::unordered_map<const Ring *, Position>;

  const std::unordered_set<const ir::Stmt *> &own(bool back) const {
    return back ? split.back : split.front;
  }
  bool hasPart(const ir::Stmt &stmt, bool back) const;
  bool usesStorage(const ir::Buffer &storage, bool back) const;
  Reading readingOf(const Channel &channel, bool back) const;
  std::int64_t partsOf(const Channel &channel) const;
  Passage makePassage(const Handover &handover);
  void block(const ir::Block &source, ir::Builder &b);
  ir::StmtPtr sideOf(const ir::Stmt &stmt, ir::Builder &b);
  bool inParts(const ir::Stmt &stmt, ir::Builder &b, Open &open);
  void before(const ir::Stmt &stmt, ir::Builder &b, Open &open);
  void behind(const ir::Stmt &stmt, ir::Builder &b, Open &open);
  void adapt(ir::Stmt &stmt);
  ir::CopyStmt &copy(ir::Builder &b, const Passage &passage, Position at, bool toTile);

  ir::Function &function;
  ir::Context &context;
  ir::Launch &launch;
  const Target &target;
  Rings &rings;
  const ChannelPlan &plan;
  const ConsumerSplit &split;
  std::deque<Channel> channels; ///< of the passages
  std::vector<Passage> passages;
  bool back = false; ///< the side being built
};

} // namespace tlc::passes
