#include "ir/VerifyState.h"

#include "ir/Print.h"

namespace tlc::ir {

void VerifyState::fail(const std::string &message) {
  std::string text = message;
  if (current) {
    std::string stmt = print(*current);
    text += ": " + stmt.substr(0, stmt.find('\n'));
  }
  found.push_back({range, std::move(text)});
}

void VerifyState::leave() {
  for (; varOrder.size() > marks.back().vars; varOrder.pop_back())
    vars.erase(varOrder.back());
  for (; bufferOrder.size() > marks.back().buffers; bufferOrder.pop_back())
    buffers.erase(bufferOrder.back());
  marks.pop_back();
}

void VerifyState::bind(Expr var) {
  if (!need(static_cast<bool>(var), "a variable to bind is missing") ||
      !need(var.isVar(), [&] { return "what is bound is no variable, but " + print(var); }))
    return;
  if (need(everBound.insert(var.get()).second,
           [&] { return "%" + var->name + " is bound twice"; })) {
    vars.insert(var.get());
    varOrder.push_back(var.get());
  }
}

void VerifyState::introduce(const Buffer *b) {
  if (buffers.insert(b).second)
    bufferOrder.push_back(b);
}

bool VerifyState::expr(Expr e, const char *what) {
  if (!need(static_cast<bool>(e), [&] { return std::string(what) + " is missing"; }))
    return false;
  for (Expr var : variablesOf(e))
    if (!vars.count(var.get()))
      return need(false, [&] { return "%" + var->name + " in " + what + " is not bound here"; });
  return true;
}

void VerifyState::optional(Expr e, const char *what) {
  if (e)
    expr(e, what);
}

void VerifyState::condition(Expr e, const char *what, bool mayBeNull) {
  if (!e && mayBeNull)
    return;
  if (expr(e, what))
    need(e.dtype() == DType(Scalar::Bool), [&] { return std::string(what) + " is no bool"; });
}

void VerifyState::integer(Expr e, const char *what) {
  if (expr(e, what))
    need(e.dtype().isInteger() && !e.dtype().isVector(),
         [&] { return std::string(what) + " is no integer"; });
}

bool VerifyState::buffer(const Buffer *b, const char *what) {
  if (!need(b != nullptr, [&] { return std::string(what) + " has no buffer"; }))
    return false;
  const std::string name = "%" + b->name;
  bool isKnown = knows(b);
  // Lowered views of parameters need no alloc: the base tells where they are.
  for (const Buffer *base = b->base; base && isThread(); base = base->base)
    isKnown |= knows(base);
  if (!need(isKnown, [&] { return name + " in " + what + " is not allocated here"; }))
    return false;
  return need(!isThread() || b->scope != Scope::Fragment,
              [&] { return name + " is still a fragment"; });
}

void VerifyState::version(const Buffer &b, Expr v) {
  if (!v)
    return;
  integer(v, "a version");
  need(b.versions > 1 || b.storage()->versions > 1 || v.isConstant(0),
       [&] { return "%" + b.name + " has one version only"; });
}

bool VerifyState::element(const Element &e, const char *what) {
  if (!buffer(e.buffer, what))
    return false;
  const Buffer &b = *e.buffer;
  for (Expr index : e.indices)
    integer(index, what);
  version(b, e.version);
  if (isThread())
    return need(e.indices.size() == 1 || (e.indices.empty() && b.rank() == 0),
                [&] { return "an element of %" + b.name + " has more than one offset"; });
  return need(!e.physical,
              [&] { return "an element of %" + b.name + " is lowered before the thread phase"; }) &&
         need(e.indices.size() == b.rank(), [&] {
           return "an element of %" + b.name + " has " + std::to_string(e.indices.size()) +
                  " indices instead of " + std::to_string(b.rank());
         });
}

bool VerifyState::region(const Region &r, const char *what) {
  if (!buffer(r.buffer, what))
    return false;
  const Buffer &b = *r.buffer;
  version(b, r.version);
  if (!need(r.offsets.size() == b.rank() && r.extents.size() == b.rank(),
            [&] { return "a region of %" + b.name + " has another rank than it"; }))
    return false;
  for (unsigned d = 0; d < b.rank(); ++d) {
    integer(r.offsets[d], what);
    integer(r.extents[d], what);
    need(!r.isDropped(d) || !r.extents[d] || r.extents[d].isConstant(1),
         [&] { return "a dropped dim of %" + b.name + " has an extent other than 1"; });
  }
  return need(b.rank() >= 64 || r.dropped >> b.rank() == 0,
              [&] { return "a region of %" + b.name + " drops dims that it does not have"; });
}

void VerifyState::result(Expr var) {
  if (var)
    bind(var);
}

void VerifyState::buffer(const Buffer &b) {
  const std::string name = "%" + b.name;
  for (Expr extent : b.shape) {
    integer(extent, "a shape");
    if (b.scope != Scope::Global && extent)
      need(extent.constant().value_or(0) > 0,
           [&] { return name + " has a shape that is not constant"; });
  }
  for (Expr stride : b.strides)
    integer(stride, "a stride");
  need(b.strides.empty() || (b.scope == Scope::Global && b.strides.size() == b.shape.size()),
       [&] { return name + " has strides that do not fit it"; });
  need(b.versions >= 1, [&] { return name + " has no version"; });
  need(b.scope != Scope::Barrier || b.rank() == 1,
       [&] { return name + " is no list of barriers"; });
  optional(b.safeValue, "a safe value");
  if (b.safeValue)
    need(b.safeValue.dtype() == b.dtype,
         [&] { return "the safe value of " + name + " has another dtype"; });
  if (b.base) {
    need(b.base->scope == b.scope, [&] { return name + " is a view into another scope"; });
    optional(b.baseOffset, "a view's offset");
  }
  if (b.unfold)
    need(b.scope == Scope::Global && b.rank() == 2 && b.base && b.base->rank() == 4,
         [&] { return name + " is unfolded, but no image"; });
  if (!b.layout || isThread())
    return;
  const Layout &l = *b.layout;
  auto shape = b.constantShape();
  if (!shape)
    return;
  // Coordinates are called d0, d1 …, and may run beyond the shape.
  auto covers = [&](const Sizes &sizes) {
    if (sizes.size() != shape->size())
      return false;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d].first != "d" + std::to_string(d) || sizes[d].second < (*shape)[d])
        return false;
    return true;
  };
  if (b.scope == Scope::Fragment)
    need(l.inputs.size() == 2 && l.hasInput("reg") && l.hasInput("thread") &&
             covers(l.outputSizes()),
         [&] {
           return "the layout of " + name +
                  " is no (reg, thread) -> (d0, …) that covers it: " + l.str();
         });
  if (b.scope == Scope::Shared)
    need(l.outputs.size() == 1 && covers(l.inputSizes()), [&] {
      return "the layout of " + name + " is no (d0, …) -> offset that covers it: " + l.str();
    });
}

} // namespace tlc::ir
