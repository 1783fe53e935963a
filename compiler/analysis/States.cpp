#include "analysis/States.h"

namespace tlc::analysis {

States::Change::Change(States &states, const Operation &operation)
    : states(states), outermost(!states.running) {
  if (outermost) {
    states.running = operation;
    states.begun = false;
  }
}

States::Change::~Change() {
  if (outermost)
    states.running.reset();
}

std::size_t States::StepHash::operator()(const Step &step) const {
  std::uint64_t hash = step.from;
  auto mix = [&](std::uint64_t value) {
    hash ^= value * 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  };
  mix(static_cast<std::uint64_t>(step.operation.kind));
  for (const ir::ExprNode *operand : step.operation.operands)
    mix(operand ? operand->id + 1 : 0);
  for (std::int64_t number : step.operation.numbers)
    mix(static_cast<std::uint64_t>(number));
  return hash;
}

States::Id States::fresh() {
  next.push_back(0);
  return static_cast<Id>(next.size() - 1);
}

void States::changed() {
  if (!running) {
    state = fresh();
    return;
  }
  // The first change is found by the operation, those behind it follow by themselves.
  if (!begun) {
    begun = true;
    auto [step, isNew] = steps.try_emplace({state, *running}, 0);
    if (isNew)
      step->second = fresh();
    state = step->second;
    return;
  }
  if (next[state] == 0)
    next[state] = fresh();
  state = next[state];
}

} // namespace tlc::analysis
