#include "elaborate/tile/TCall.h"

#include "ir/Print.h"

namespace tlc::elaborate {

using ir::Expr;
using sema::ArgClass;
using sema::Parameter;

int TCall::slot(std::string_view parameter) const {
  int i = info.index(parameter);
  TLC_CHECK(i >= 0, name() + " has no parameter " + std::string(parameter));
  return bound.slots[static_cast<std::size_t>(i)];
}

CallArg TCall::given(int index) const {
  std::size_t i = static_cast<std::size_t>(index);
  if (i < args.positional.size())
    return args.positional[i];
  const KeywordArg &k = args.keywords[i - args.positional.size()];
  return {k.value, k.range, k.expr};
}

const Value *TCall::find(std::string_view parameter) const {
  int i = slot(parameter);
  if (i < 0)
    return nullptr;
  std::size_t n = static_cast<std::size_t>(i);
  const Value &v = n < args.positional.size() ? args.positional[n].value
                                              : args.keywords[n - args.positional.size()].value;
  return v.isNone() ? nullptr : &v;
}

Value TCall::value(std::string_view parameter) const {
  const Value *v = find(parameter);
  return v ? *v : Value::none();
}

SourceRange TCall::rangeOf(std::string_view parameter) const {
  int i = slot(parameter);
  return i < 0 ? range : given(i).range;
}

CallArg TCall::arg(std::string_view parameter) const {
  int i = slot(parameter);
  return i < 0 ? CallArg{Value::none(), range, nullptr} : given(i);
}

std::vector<CallArg> TCall::rest(bool spread) const {
  std::vector<CallArg> result;
  for (int i : bound.rest)
    result.push_back(given(i));
  if (spread && result.size() == 1) {
    CallArg only = result[0];
    if (only.value.as<TupleObject>() || only.value.as<ListObject>()) {
      result.clear();
      for (const Value &v : e.toList(only.value))
        result.push_back({v, only.range, nullptr});
    }
  }
  return result;
}

// ---- Checking against the table

void TCall::wrong(std::string_view parameter, std::string_view expected, const Value &found,
                  SourceRange where) {
  if (found.isError())
    return;
  e.report(diag::WrongArgument, where, info.name, parameter, expected, typeNameWithArticle(found))
      .note("it is `" + info.usage() + "`");
}

void TCall::wrong(std::string_view parameter, std::string_view expected) {
  wrong(parameter, expected, value(parameter), rangeOf(parameter));
}

void TCall::outOfRange(std::string_view parameter, std::string_view expected,
                       std::string_view found) {
  e.report(diag::ArgumentOutOfRange, rangeOf(parameter), info.name, parameter, expected, found);
}

namespace {

sema::ScopeSet bitOf(ir::Scope scope) {
  switch (scope) {
  case ir::Scope::Global:
    return sema::GlobalBit;
  case ir::Scope::Shared:
    return sema::SharedBit;
  case ir::Scope::Fragment:
    return sema::FragmentBit;
  case ir::Scope::Local:
    return sema::LocalBit;
  case ir::Scope::Barrier:
    return sema::BarrierBit;
  }
  return 0;
}

bool fits(sema::TypeSet types, DType t) {
  switch (types) {
  case sema::TypeSet::Any:
    return true;
  case sema::TypeSet::Float:
    return t.isFloat();
  case sema::TypeSet::Integer:
    return t.isInteger() || t.isBool();
  case sema::TypeSet::Number:
    return !t.isBool();
  }
  return true;
}

const char *typesText(sema::TypeSet types) {
  switch (types) {
  case sema::TypeSet::Float:
    return "floats";
  case sema::TypeSet::Integer:
    return "integers";
  default:
    return "numbers";
  }
}

const ir::Buffer *bufferOf(const Value &v) {
  if (v.isBuffer() || v.isCell())
    return v.asBuffer();
  if (auto *element = v.native<ElementValue>())
    return element->element.buffer;
  if (auto *region = v.native<RegionValue>())
    return region->region.buffer;
  return nullptr;
}

} // namespace

bool TCall::checkMemory(const Parameter &p, const ir::Buffer &b, SourceRange where) {
  if (!(p.scopes & bitOf(b.scope))) {
    auto report = e.report(diag::WrongScope, where, info.name, p.name,
                           sema::describeScopes(p.scopes), b.name, ir::scopeName(b.scope));
    if (b.scope == ir::Scope::Global && (p.scopes & sema::SharedBit))
      report.help("copy the tile to shared memory first: T.copy(" + b.name + "[...], tile)");
    return false;
  }
  if (!fits(p.types, b.dtype)) {
    e.report(diag::WrongElementType, where, info.name, p.name, typesText(p.types), b.name,
             b.dtype.str());
    return false;
  }
  return true;
}

bool TCall::checkArgument(const Parameter &p, const Value &v, SourceRange where) {
  if (v.isError())
    return false;
  if (v.isNone() && !p.required)
    return true;
  if (v.isPoison()) {
    e.poisonError(v, where, "is an argument of `" + name() + "`");
    return false;
  }
  const ir::Buffer *b = bufferOf(v);
  bool good = true;
  switch (p.cls) {
  case ArgClass::Any:
    return true;
  case ArgClass::Tile:
    good = b && b->scope != ir::Scope::Barrier;
    break;
  case ArgClass::Buffer:
    good = v.isBuffer();
    break;
  case ArgClass::Element:
    good = v.isCell() || v.native<ElementValue>() || (b && b->elementCount() == 1);
    break;
  case ArgClass::Value:
    good = isScalar(v) || (b && v.isBuffer() && b->rank() == 0);
    break;
  case ArgClass::Int:
    good = v.isIntegral() || (v.isExpr() && v.asExpr().constant());
    break;
  case ArgClass::Flag:
    good = v.isIntegral();
    break;
  case ArgClass::Text:
    good = v.isText();
    break;
  case ArgClass::Type:
    return e.toDType(v, where, "the `" + std::string(p.name) + "` of `" + name() + "`").has_value();
  case ArgClass::Shape:
    good = isScalar(v) || v.as<TupleObject>() || v.as<ListObject>();
    break;
  case ArgClass::Map:
    good = v.as<DictObject>() != nullptr;
    break;
  case ArgClass::Function:
    good = e.callable(v);
    break;
  case ArgClass::Barrier:
    good = b && b->scope == ir::Scope::Barrier;
    break;
  }
  if (!good) {
    wrong(p.name, sema::describe(p.cls), v, where);
    return false;
  }
  bool memory = p.cls == ArgClass::Tile || p.cls == ArgClass::Buffer || p.cls == ArgClass::Element;
  return !memory || !b || checkMemory(p, *b, where);
}

bool TCall::check() {
  sema::CallShape shape;
  shape.call = args.range;
  shape.callee = args.calleeRange;
  for (const CallArg &a : args.positional)
    shape.positional.push_back(a.range);
  for (const KeywordArg &k : args.keywords)
    shape.keywords.push_back({k.name, k.nameRange, k.range});
  if (!sema::bindArguments(info, shape, e.diagnostics, bound))
    return false;
  bool good = true;
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter &p = info.parameters[i];
    if (p.variadic) {
      for (const CallArg &a : rest(true))
        good = checkArgument(p, a.value, a.range) && good;
    } else if (bound.slots[i] >= 0) {
      CallArg a = given(bound.slots[i]);
      good = checkArgument(p, a.value, a.range) && good;
    }
  }
  return good;
}

// ---- Conversions

std::optional<std::int64_t> TCall::integer(std::string_view parameter, std::int64_t otherwise) {
  const Value *v = find(parameter);
  if (!v)
    return otherwise;
  if (v->isExpr() && v->asExpr().constant())
    return v->asExpr().constant();
  return e.toInt(*v, rangeOf(parameter),
                 "the `" + std::string(parameter) + "` of `" + name() + "`");
}

bool TCall::flag(std::string_view parameter, bool otherwise) {
  const Value *v = find(parameter);
  return v && v->isIntegral() ? v->asInt() != 0 : otherwise;
}

std::optional<std::string> TCall::text(std::string_view parameter, std::string_view otherwise) {
  const Value *v = find(parameter);
  if (!v)
    return std::string(otherwise);
  return v->asText();
}

std::optional<DType> TCall::dtype(std::string_view parameter) {
  const Value *v = find(parameter);
  if (!v) {
    std::string_view word = info.parameter(parameter)->defaultText;
    if (word.size() > 2 && word.front() == '\'')
      return DType::parse(word.substr(1, word.size() - 2));
    return std::nullopt;
  }
  return e.toDType(*v, rangeOf(parameter),
                   "the `" + std::string(parameter) + "` of `" + name() + "`");
}

Expr TCall::scalar(std::string_view parameter) {
  const Value *v = find(parameter);
  return v ? toExpr(e, *v, rangeOf(parameter)) : Expr();
}

Expr TCall::index(std::string_view parameter) {
  const Value *v = find(parameter);
  return v ? toIndex(e, *v, rangeOf(parameter),
                     "the `" + std::string(parameter) + "` of `" + name() + "`")
           : Expr();
}

std::optional<Tile> asTile(Elaborator &e, const Value &v, SourceRange range) {
  Tile tile;
  tile.range = range;
  if (v.isBuffer()) {
    tile.region = ir::wholeRegion(e.context, *v.asBuffer());
    return tile;
  }
  if (v.isCell()) {
    tile.region.buffer = v.asBuffer();
    return tile;
  }
  if (auto *region = v.native<RegionValue>()) {
    tile.region = region->region;
    return tile;
  }
  if (auto *element = v.native<ElementValue>()) {
    tile.region.buffer = element->element.buffer;
    tile.region.offsets = element->element.indices;
    tile.region.extents.assign(tile.region.offsets.size(), e.context.int32(1));
    tile.region.dropped = (std::uint64_t(1) << tile.region.offsets.size()) - 1;
    tile.corner = true;
    return tile;
  }
  return std::nullopt;
}

std::optional<Tile> TCall::tile(std::string_view parameter) {
  const Value *v = find(parameter);
  if (!v)
    return std::nullopt;
  std::optional<Tile> tile = asTile(e, *v, rangeOf(parameter));
  if (tile)
    tile->name = parameter;
  return tile;
}

std::optional<ir::Element> TCall::element(std::string_view parameter) {
  std::optional<Tile> t = tile(parameter);
  if (!t)
    return std::nullopt;
  return ir::Element{t->region.buffer, t->region.offsets, {}};
}

std::optional<ir::Element> TCall::barrier(std::string_view parameter) {
  std::optional<Tile> t = tile(parameter);
  if (!t)
    return std::nullopt;
  if (!t->corner && t->region.buffer->elementCount() != 1) {
    wrong(parameter, "one barrier, such as `" + t->region.buffer->name + "[i]`");
    return std::nullopt;
  }
  return ir::Element{t->region.buffer, t->region.offsets, {}};
}

ir::Buffer *TCall::buffer(std::string_view parameter) {
  const Value *v = find(parameter);
  return v && v->isBuffer() ? v->asBuffer() : nullptr;
}

namespace {

constexpr Int mostElements = Int(1) << 60;

/// Elements of a tile as far as its extents are known; no more than `mostElements`.
Int elementsOf(const std::vector<Expr> &extents) {
  Int count = 1;
  for (const Expr &x : extents)
    count = std::min(count * std::max<Int>(x.constant().value_or(1), 1), mostElements);
  return count;
}

} // namespace

std::optional<std::vector<Expr>> TCall::shape(std::string_view parameter) {
  const Value *v = find(parameter);
  if (!v)
    return std::nullopt;
  std::vector<Expr> extents;
  SourceRange where = rangeOf(parameter);
  for (const Value &item : e.toList(*v)) {
    Expr x = toIndex(e, item, where, "an extent");
    if (!x)
      return std::nullopt;
    if (std::optional<std::int64_t> n = x.constant(); n && *n < 0) {
      outOfRange(parameter, "extents of 0 or more", std::to_string(*n));
      return std::nullopt;
    }
    extents.push_back(x);
  }
  if (elementsOf(extents) >= mostElements) {
    outOfRange(parameter, "extents of fewer than 2^60 elements in all", "more of them");
    return std::nullopt;
  }
  return extents;
}

std::optional<std::size_t> TCall::choice(std::string_view parameter,
                                         std::initializer_list<std::string_view> words,
                                         std::string_view otherwise) {
  std::optional<std::string> word = text(parameter, otherwise);
  std::string list;
  std::size_t i = 0;
  for (std::string_view w : words) {
    if (word == w)
      return i;
    list += (i++ ? ", `" : "`") + std::string(w) + "`";
  }
  e.report(diag::WrongChoice, rangeOf(parameter), info.name, parameter, list, "`" + *word + "`");
  return std::nullopt;
}

bool TCall::statement() {
  if (!requireLaunch(e, range, "`" + name() + "` is called"))
    return false;
  if (!state(e).lazyWord.empty()) {
    e.report(diag::LazyStatement, range, name(), state(e).lazyWord)
        .help("assign its result to a name before, or use an `if` statement");
    return false;
  }
  return true;
}

bool TCall::tileOp() {
  if (!statement())
    return false;
  if (state(e).mapDepth > 0) {
    e.report(diag::TileOpInParallel, range, name());
    return false;
  }
  return true;
}

} // namespace tlc::elaborate
