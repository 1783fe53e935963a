#include "analysis/Addresses.h"

#include <algorithm>

namespace tlc::analysis {

using namespace ir;

Expr expandLets(Expr e, const Ranges &ranges) {
  if (!e)
    return e;
  // Definitions stand before their uses, so this ends.
  for (int depth = 0; depth < 64; ++depth) {
    std::vector<Expr> vars;
    collectVars(e, vars);
    Substitution map;
    for (Expr var : vars)
      if (Expr value = ranges.definition(var))
        map.emplace_back(var, value);
    if (map.empty())
      return e;
    e = substitute(e, map);
    if (e.kind() != ExprKind::Var && e->operands.size() == 0)
      return e;
  }
  return e;
}

namespace {

std::int64_t lanesOf(const Stmt &stmt, const BufferUse &use) {
  switch (stmt.kind) {
  case StmtKind::Load:
    return cast<LoadStmt>(stmt).var.dtype().lanes;
  case StmtKind::Store:
    return cast<StoreStmt>(stmt).value.dtype().lanes;
  case StmtKind::Move:
    return cast<MoveStmt>(stmt).count;
  case StmtKind::Atomic: {
    Expr value = cast<AtomicStmt>(stmt).value;
    return value ? value.dtype().lanes : 1;
  }
  case StmtKind::Call:
    return use.pointer ? -1 : 1; // see below
  default:
    return 1;
  }
}

/// Whether a call reaches what it uses by descriptor.
bool touches(const CallStmt *call, const BufferUse &use) {
  return call && std::any_of(call->touches.begin(), call->touches.end(),
                             [&](const Pointer &p) { return &p == use.pointer; });
}

} // namespace

std::vector<Address> addressesOf(const Stmt &stmt, const Ranges &ranges) {
  std::vector<Address> result;
  unsigned number = 0;
  const auto *call = dynCast<CallStmt>(&stmt);
  const auto *move = dynCast<MoveStmt>(&stmt);
  forEachUse(stmt, [&](const BufferUse &use) {
    Scope scope = use.buffer->storage()->scope;
    unsigned position = number++;
    if (scope != Scope::Shared && scope != Scope::Global)
      return;
    if (use.pointer && use.pointer->count && use.pointer->count.isConstant(0))
      return; // only its address
    Address address;
    address.stmt = &stmt;
    address.use = position;
    address.buffer = use.buffer;
    address.reads = static_cast<unsigned>(use.access) & 1;
    address.writes = static_cast<unsigned>(use.access) & 2;
    address.atomic = stmt.kind == StmtKind::Atomic;
    if (move && move->async && address.writes && scope == Scope::Shared)
      address.async = AsyncKind::CpAsync;
    if (touches(call, use))
      address.async = AsyncKind::Wgmma;
    address.warp = call && call->collective != Collective::Thread;
    bool known = use.element && use.element->indices.size() == 1 && !(call && call->isExtern);
    if (known) {
      address.index = expandLets(use.element->indices[0], ranges);
      Context &context = address.index.context();
      address.version =
          use.element->version ? expandLets(use.element->version, ranges) : context.int32(0);
      address.count = lanesOf(stmt, use);
      if (use.pointer) {
        Interval count =
            use.pointer->count ? ranges.interval(use.pointer->count) : Interval::point(1);
        known = count.hi != Interval::infinity;
        address.count = known ? std::max<std::int64_t>(count.hi, 1) : 0;
      }
      address.elements = ranges.interval(address.index) +
                         Interval{0, std::max<std::int64_t>(address.count, 1) - 1};
    }
    if (!known) {
      address.index = {};
      address.elements = {};
    }
    result.push_back(std::move(address));
  });
  return result;
}

namespace {

/// Bytes of the arena that a placed shared buffer takes with all its versions.
std::optional<Interval> arenaBytes(const Buffer &storage) {
  if (storage.scope != Scope::Shared || storage.sharedOffset < 0 || storage.versionBytes <= 0)
    return std::nullopt;
  return Interval{storage.sharedOffset,
                  storage.sharedOffset + storage.versions * storage.versionBytes - 1};
}

bool storagesMeet(const Buffer &a, const Buffer &b) {
  if (a.scope != b.scope)
    return false;
  if (a.scope == Scope::Global)
    return mayAlias(a, b);
  auto x = arenaBytes(a), y = arenaBytes(b);
  return !x || !y || !intersect(*x, *y).empty();
}

} // namespace

bool mayMeet(const Address &a, const Address &b, const Ranges &ranges) {
  if ((!a.writes && !b.writes) || (a.atomic && b.atomic))
    return false;
  const Buffer *x = a.buffer->storage(), *y = b.buffer->storage();
  if (x != y)
    return (x->scope == Scope::Shared || mayAlias(*x, *y)) && storagesMeet(*x, *y);
  // Views have indices of their own.
  if (a.buffer == b.buffer && intersect(a.elements, b.elements).empty())
    return false;
  return x->versions == 1 || !a.version || !b.version || !ranges.differ(a.version, b.version);
}

const std::vector<std::int64_t> *ThreadAddresses::valuesOf(Expr index, const Ranges &ranges) {
  auto found = values.find(index.get());
  if (found != values.end())
    return found->second ? &*found->second : nullptr;
  auto &entry = values[index.get()];
  // The part of a sum that depends on the thread; what else it depends on must be apart.
  Poly poly = ranges.poly(index);
  if (!poly.valid)
    return nullptr;
  auto isThread = [&](Expr var) {
    return var == launch.tid || var == launch.threadVars[0] || var == launch.threadVars[1] ||
           var == launch.threadVars[2];
  };
  Poly part;
  for (const auto &[monomial, coefficient] : poly.terms) {
    bool thread = false, other = false;
    for (Expr atom : monomial) {
      std::vector<Expr> vars;
      collectVars(atom, vars);
      for (Expr var : vars) {
        if (!isThread(var) && !uniformity.uniform(var))
          return nullptr;
        (isThread(var) ? thread : other) = true;
      }
    }
    if (thread && other)
      return nullptr;
    if (thread)
      part.terms.emplace_back(monomial, coefficient);
  }
  Context &context = index.context();
  Expr expression = toExpr(context, DType(Scalar::Int64), part);
  std::vector<std::int64_t> result;
  for (std::int64_t t = 0; t < launch.threadCount(); ++t) {
    Substitution at;
    std::int64_t rest = t;
    for (unsigned d = 0; d < 3; ++d) {
      if (launch.threadVars[d])
        at.emplace_back(launch.threadVars[d],
                        context.integer(launch.threadVars[d].dtype(), rest % launch.threads[d]));
      rest /= launch.threads[d];
    }
    if (launch.tid)
      at.emplace_back(launch.tid, context.integer(launch.tid.dtype(), t));
    auto value = substitute(expression, at).constant();
    if (!value)
      return nullptr;
    result.push_back(*value);
  }
  entry = std::move(result);
  return &*entry;
}

bool ThreadAddresses::onlyOwn(const Address &a, const Address &b, const Ranges &ranges) {
  if (a.buffer != b.buffer || a.warp || b.warp || !a.index || !b.index || !a.version ||
      !b.version || !ranges.equal(a.version, b.version))
    return false;
  Poly difference = ranges.poly(a.index) - ranges.poly(b.index);
  if (!difference.isConstant())
    return false;
  const std::vector<std::int64_t> *first = valuesOf(b.index, ranges);
  if (!first)
    return false;
  // b's threads at v .. v + count, a's at v + difference ..: sorted, neighbours decide.
  struct Run {
    std::int64_t begin, end;
    std::size_t thread;
  };
  std::vector<Run> runs;
  for (std::size_t t = 0; t < first->size(); ++t) {
    runs.push_back({(*first)[t], (*first)[t] + b.count, t});
    runs.push_back(
        {(*first)[t] + difference.constant, (*first)[t] + difference.constant + a.count, t});
  }
  std::sort(runs.begin(), runs.end(), [](const Run &x, const Run &y) { return x.begin < y.begin; });
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size() && runs[j].begin < runs[i].end; ++j)
      if (runs[i].thread != runs[j].thread)
        return false;
  return true;
}

} // namespace tlc::analysis
