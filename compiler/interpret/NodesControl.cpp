#include "interpret/Nodes.h"

#include <algorithm>

namespace tlc::interpret {

void IfNode::run(Group &group) {
  Lanes &lanes = group.lanes;
  std::vector<std::uint32_t> yes, no;
  if (condition.isUniform()) {
    (lanes.get(condition, 0).i ? yes : no) = lanes.active;
  } else {
    for (std::uint32_t lane : lanes.active)
      (lanes.get(condition, lane).i ? yes : no).push_back(lane);
  }
  if (forks && !yes.empty() && !no.empty())
    return runArms(group, {{std::move(yes), &then}, {std::move(no), &otherwise}});
  if (!yes.empty() && !then.empty())
    group.with(std::move(yes), [&] { group.runList(then); });
  if (!no.empty() && !otherwise.empty())
    group.with(std::move(no), [&] { group.runList(otherwise); });
}

namespace {

/// Ends one round of a loop: lanes that continued run again, those that broke do not.
std::vector<std::uint32_t> nextRound(Group &group, const std::vector<std::uint32_t> &entered) {
  std::vector<std::uint32_t> left;
  for (std::uint32_t lane : entered) {
    std::uint8_t &state = (*group.states)[lane];
    if (state == Continued)
      state = Running;
    if (state == Running)
      left.push_back(lane);
  }
  return left;
}

/// Lanes that broke out, or continued in their last round, go on behind the loop.
void endLoop(Group &group, const std::vector<std::uint32_t> &entered) {
  std::vector<std::uint32_t> left;
  for (std::uint32_t lane : entered) {
    if ((*group.states)[lane] == Broken)
      (*group.states)[lane] = Running;
    if ((*group.states)[lane] == Running)
      left.push_back(lane);
  }
  group.lanes.setActive(std::move(left));
}

} // namespace

void WhileNode::run(Group &group) {
  Lanes &lanes = group.lanes;
  const std::vector<std::uint32_t> entered = lanes.active;
  std::vector<std::uint32_t> running = entered;
  while (!running.empty()) {
    std::vector<std::uint32_t> going;
    group.with(running, [&] {
      group.runList(conditionList);
      execute(conditionCode, lanes);
      for (std::uint32_t lane : lanes.active)
        if (lanes.get(condition, lane).i)
          going.push_back(lane);
    });
    if (going.empty())
      break;
    group.with(going, [&] { group.runList(body); });
    running = nextRound(group, going);
    if (!group.isMap)
      group.machine.scheduler.yield(); // others may have to change what is tested
  }
  endLoop(group, entered);
}

void ForNode::run(Group &group) {
  Lanes &lanes = group.lanes;
  auto goesOn = [](std::int64_t i, std::int64_t end, std::int64_t by) {
    return by > 0 ? i < end : by < 0 && i > end;
  };
  if (var.isUniform() && !group.hasKilled && !stops) {
    std::int64_t i = lanes.get(lo, 0).i, end = lanes.get(hi, 0).i, by = lanes.get(step, 0).i;
    for (; goesOn(i, end, by); i += by) {
      lanes.at(var)->i = i;
      group.runList(body);
    }
    return;
  }
  const std::vector<std::uint32_t> entered = lanes.active;
  std::vector<std::uint32_t> running = entered;
  if (var.isUniform()) {
    std::uint32_t any = entered.front();
    std::int64_t end = lanes.get(hi, any).i, by = lanes.get(step, any).i;
    for (std::int64_t i = lanes.get(lo, any).i; goesOn(i, end, by) && !running.empty(); i += by) {
      lanes.at(var)->i = i;
      group.with(running, [&] { group.runList(body); });
      running = nextRound(group, running);
    }
    return endLoop(group, entered);
  }
  Value *value = lanes.at(var);
  for (std::uint32_t lane : running)
    value[lane] = lanes.get(lo, lane);
  std::vector<std::int64_t> end(lanes.width), by(lanes.width); // the body may reuse their slots
  for (std::uint32_t lane : running) {
    end[lane] = lanes.get(hi, lane).i;
    by[lane] = lanes.get(step, lane).i;
  }
  for (;;) {
    std::erase_if(running,
                  [&](std::uint32_t lane) { return !goesOn(value[lane].i, end[lane], by[lane]); });
    if (running.empty())
      break;
    group.with(running, [&] { group.runList(body); });
    running = nextRound(group, running);
    for (std::uint32_t lane : running)
      value[lane].i += by[lane];
  }
  endLoop(group, entered);
}

void runArms(Group &group, std::vector<Arm> arms) {
  std::vector<Scheduler::Task> tasks;
  bool killed = false;
  for (Arm &arm : arms)
    tasks.push_back([&group, &arm, &killed] {
      Group part(group.machine, group.block);
      part.lanes.varying = group.lanes.varying;
      part.lanes.uniform = group.lanes.uniform;
      part.lanes.width = group.lanes.width;
      part.lanes.setActive(arm.lanes);
      part.states = group.states;
      part.scope = arm.isRole ? arm.lanes : group.scope;
      part.firstThread = group.firstThread;
      part.roleFirst = arm.isRole ? arm.first : group.roleFirst;
      part.watch = group.watch;
      part.warp = group.warp;
      part.current = group.current;
      part.runList(*arm.body);
      killed |= part.hasKilled;
    });
  if (tasks.size() == 1)
    tasks[0]();
  else
    group.machine.scheduler.fork(std::move(tasks));
  group.hasKilled |= killed;
}

void RolesNode::run(Group &group) {
  std::vector<Arm> arms;
  for (const Role &role : roles) {
    Arm arm{{}, &role.body, true, group.roleFirst + role.first};
    for (std::uint32_t lane : group.lanes.active) {
      std::int64_t thread = group.threadOf(lane);
      if (thread >= arm.first && thread < arm.first + role.count)
        arm.lanes.push_back(lane);
    }
    if (!arm.lanes.empty())
      arms.push_back(std::move(arm));
  }
  if (!arms.empty())
    runArms(group, std::move(arms));
}

} // namespace tlc::interpret
