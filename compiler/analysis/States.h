// Numbers for what is known at a point.
//
// Knowledge grows by operations (bind this loop, assume that condition) and is taken back to where
// a scope began. Operations are functions of what is known and of their operands, so the same
// operation at the same number leads to the same number again: equal numbers mean equal knowledge,
// for ever. What was found out under a number needs no other key and never becomes stale, also when
// its scope is left and entered anew.
#pragma once

#include "ir/Expr.h"

#include <llvm/ADT/DenseMap.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tlc::analysis {

class States {
public:
  using Id = std::uint32_t;

  /// An operation and everything that its effect depends on, beside what is known.
  struct Operation {
    enum class Kind : std::uint8_t { Loop, Map, Role, Team, Variable, Assume } kind;
    std::array<const ir::ExprNode *, 4> operands{};
    std::array<std::int64_t, 2> numbers{};
    bool operator==(const Operation &) const = default;
  };

  /// While it lives, changes belong to `operation`; those of operations inside are part of it.
  class Change {
  public:
    Change(States &states, const Operation &operation);
    ~Change();
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

  private:
    States &states;
    bool outermost;
  };

  Id current() const { return state; }
  /// Back to what was known under `id`.
  void restore(Id id) { state = id; }
  /// Something was added, by the operation that goes on or, outside of any, by what never happens
  /// twice.
  void changed();

private:
  struct Step {
    Id from;
    Operation operation;
    bool operator==(const Step &) const = default;
  };
  struct StepHash {
    std::size_t operator()(const Step &step) const;
  };

  Id fresh();

  Id state = 0;
  std::vector<Id> next{
      0}; ///< by id: where the same operation goes with its next change; 0: unknown
  std::unordered_map<Step, Id, StepHash> steps;
  std::optional<Operation> running;
  bool begun = false; ///< the running operation has changed something
};

/// What was found out about expressions, each answer under the state that it holds in.
template <typename Value> class Memo {
public:
  /// The answer in this state, null if there is none.
  const Value *find(const ir::ExprNode *e, States::Id state) const {
    auto found = places.find(e);
    if (found == places.end() || entries[found->second].first != state)
      return nullptr;
    return &entries[found->second].second;
  }
  /// Stays where it is until the same expression is set again.
  const Value &set(const ir::ExprNode *e, States::Id state, Value value) {
    auto [place, isNew] = places.try_emplace(e, static_cast<unsigned>(entries.size()));
    if (isNew)
      return entries.emplace_back(state, std::move(value)).second;
    auto &entry = entries[place->second];
    entry = {state, std::move(value)};
    return entry.second;
  }

private:
  llvm::DenseMap<const ir::ExprNode *, unsigned> places;
  std::deque<std::pair<States::Id, Value>> entries;
};

} // namespace tlc::analysis
