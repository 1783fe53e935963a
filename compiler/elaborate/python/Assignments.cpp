// Assigning: to names, attributes and elements, in place, with annotations.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

namespace tlc::elaborate {

static void augAssignName(Elaborator &e, const ast::AugAssign &stmt, const ast::Name &name) {
  Slot *slot = e.frame().scope->find(name.id);
  Value old = e.lookup(name.id, name.range);
  Value right = e.eval(*stmt.value);
  if (stmt.op == ast::BinaryOperator::Add && old.is(ValueKind::List) && !right.isError()) {
    if (auto more = e.items(right, stmt.value->range)) {
      auto &items = old.as<ListObject>()->items;
      items.insert(items.end(), more->begin(), more->end());
    }
    return;
  }
  if (stmt.op == ast::BinaryOperator::BitOr && old.is(ValueKind::Set) && right.is(ValueKind::Set)) {
    right.as<SetObject>()->table.forEach([&](const Value &key, const Value &) {
      old.as<SetObject>()->table.set(key, Value::none());
    });
    return;
  }
  if (stmt.op == ast::BinaryOperator::BitOr && old.is(ValueKind::Dict) &&
      right.is(ValueKind::Dict)) {
    right.as<DictObject>()->table.forEach(
        [&](const Value &key, const Value &value) { old.as<DictObject>()->table.set(key, value); });
    return;
  }
  Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
  if (slot && slot->bound && slot->value.isCell()) {
    if (!result.isError())
      storeCell(e, *slot->value.asBuffer(), result, stmt.range);
    return;
  }
  e.bindName(name.id, pin(e, result, name.id, stmt.range), name.range);
}

void execAssign(Elaborator &e, const ast::Assign &stmt) {
  std::string hint;
  if (auto *name = stmt.targets[0]->as<ast::Name>())
    hint = name->id;
  Value value = e.evalPinned(*stmt.value, hint);
  for (const ast::Expr *target : stmt.targets)
    e.assign(*target, value, stmt.value->range);
}

void execAugAssign(Elaborator &e, const ast::AugAssign &stmt) {
  if (auto *name = stmt.target->as<ast::Name>())
    return augAssignName(e, stmt, *name);
  if (auto *attr = stmt.target->as<ast::Attribute>()) {
    Value base = e.eval(*attr->value);
    Value old = e.attribute(base, attr->attr.id, attr->attr.range, attr->range);
    Value right = e.eval(*stmt.value);
    if (old.isError() || right.isError())
      return;
    Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
    e.setAttribute(base, attr->attr.id, pin(e, result, attr->attr.id, stmt.range),
                   stmt.target->range);
    return;
  }
  auto *sub = stmt.target->as<ast::Subscript>();
  if (!sub)
    return;
  Value base = e.eval(*sub->value);
  Value index = e.eval(*sub->slice);
  Value old = e.subscript(base, index, *sub);
  Value right = e.eval(*stmt.value);
  if (old.isError() || right.isError())
    return;
  Value result = e.binary(stmt.op, old, right, stmt.target->range, stmt.value->range, stmt.range);
  if (!result.isError())
    e.setSubscript(base, index, result, *sub, stmt.range);
}

void execAnnAssign(Elaborator &e, const ast::AnnAssign &stmt) {
  auto *name = stmt.target->as<ast::Name>();
  bool inKernel = e.inKernel();
  if (!name || !stmt.simple || !inKernel) {
    // Outside kernels annotations say nothing.
    if (stmt.value)
      e.assign(*stmt.target, e.evalPinned(*stmt.value, name ? name->id : ""), stmt.value->range);
    return;
  }
  Value value;
  if (stmt.value)
    value = e.eval(*stmt.value);
  if (!annotationRootedInT(e, *stmt.annotation)) {
    if (stmt.value)
      e.assign(*stmt.target, pin(e, value, name->id, stmt.value->range), stmt.value->range);
    return;
  }
  Value annotation = e.eval(*stmt.annotation);
  if (annotation.isError()) {
    e.bindName(name->id, Value::error(), name->range);
    return;
  }
  Slot *slot = e.frame().scope->find(name->id);
  if (stmt.value && slot && slot->bound && slot->value.isCell())
    return e.assign(*name, value, stmt.value->range);
  Value bound = annotateName(e, name->id, annotation, stmt.value ? &value : nullptr, name->range,
                             stmt.annotation->range);
  e.bindName(name->id, bound, name->range);
}

// ---- Assigning

static void assignSequence(Elaborator &e, const ast::ExprList &targets, const Value &value,
                           SourceRange valueRange, SourceRange targetRange) {
  std::size_t star = targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i]->is<ast::Starred>())
      star = i;
  auto assignAll = [&](const Value &v) {
    for (const ast::Expr *t : targets)
      e.assign(t->is<ast::Starred>() ? *t->as<ast::Starred>()->value : *t, v, valueRange);
  };
  if (value.isError())
    return assignAll(Value::error());
  if (auto *poison = value.as<PoisonObject>()) {
    for (const ast::Expr *t : targets)
      e.assign(t->is<ast::Starred>() ? *t->as<ast::Starred>()->value : *t,
               e.makePoison(poison->origin, poison->range, poison->reason), valueRange);
    return;
  }
  auto items = e.items(value, valueRange);
  if (!items)
    return assignAll(Value::error());
  bool fits = star == targets.size() ? items->size() == targets.size()
                                     : items->size() + 1 >= targets.size();
  if (!fits) {
    e.report(diag::UnpackCount, targetRange, items->size(), targets.size())
        .label(valueRange, "these are " + std::to_string(items->size()));
    return assignAll(Value::error());
  }
  if (star == targets.size()) {
    for (std::size_t i = 0; i < targets.size(); ++i)
      e.assign(*targets[i], (*items)[i], valueRange);
    return;
  }
  std::size_t tail = targets.size() - star - 1;
  for (std::size_t i = 0; i < star; ++i)
    e.assign(*targets[i], (*items)[i], valueRange);
  e.assign(*targets[star]->as<ast::Starred>()->value,
           e.heap.list({items->begin() + static_cast<std::ptrdiff_t>(star),
                        items->end() - static_cast<std::ptrdiff_t>(tail)}),
           valueRange);
  for (std::size_t i = 0; i < tail; ++i)
    e.assign(*targets[star + 1 + i], (*items)[items->size() - tail + i], valueRange);
}

void Elaborator::assign(const ast::Expr &target, Value value, SourceRange valueRange) {
  switch (target.kind) {
  case ast::ExprKind::Name: {
    auto &name = *target.as<ast::Name>();
    Slot *slot = frame().scope->find(name.id);
    // An alloc_var is a place: its name stays bound to it.
    if (slot && slot->bound && slot->value.isCell() && !value.isCell() && kernel) {
      if (!value.isError())
        storeCell(*this, *slot->value.asBuffer(), value, valueRange);
      return;
    }
    if (!frame().function && frame().scope->module &&
        frame().scope->module->globals == frame().scope)
      value = overrideGlobal(name.id, value);
    bindName(name.id, value, name.range);
    return;
  }
  case ast::ExprKind::Tuple:
    return assignSequence(*this, target.as<ast::Tuple>()->elements, value, valueRange,
                          target.range);
  case ast::ExprKind::List:
    return assignSequence(*this, target.as<ast::List>()->elements, value, valueRange, target.range);
  case ast::ExprKind::Starred:
    return assign(*target.as<ast::Starred>()->value, value, valueRange);
  case ast::ExprKind::Attribute: {
    auto &attr = *target.as<ast::Attribute>();
    return setAttribute(eval(*attr.value), attr.attr.id, pin(*this, value, "", valueRange),
                        target.range);
  }
  case ast::ExprKind::Subscript: {
    auto &sub = *target.as<ast::Subscript>();
    Value base = eval(*sub.value), index = eval(*sub.slice);
    if (!base.isError() && !index.isError() && !value.isError())
      setSubscript(base, index, value, sub, valueRange);
    return;
  }
  default:
    report(diag::BadAssignmentTarget, target.range, std::string(ast::describe(target.kind)));
  }
}

} // namespace tlc::elaborate
