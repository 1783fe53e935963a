// One call of a name of T: its arguments by parameter, converted and checked against the table.
#pragma once

#include "elaborate/runtime/RuntimeOps.h"
#include "sema/Resolve.h"
#include "support/Check.h"

namespace tlc::elaborate {

/// An argument that stands for a tile: a region, or the corner of one whose extents the other side
/// gives.
struct Tile {
  ir::Region region;
  bool corner = false; ///< `A[i, j]`: extents are all 1 so far
  SourceRange range;
  std::string name; ///< of the parameter
};

class TCall {
public:
  TCall(Elaborator &e, const sema::BuiltinInfo &info, CallArgs &args)
      : e(e), info(info), args(args), range(args.range) {}

  Elaborator &e;
  const sema::BuiltinInfo &info;
  CallArgs &args;
  SourceRange range; ///< the whole call
  sema::BoundArguments bound;

  ir::Context &context() { return e.context; }
  ir::Builder &builder() { return e.builder(); }

  /// Binds and checks all arguments against the table; false after a report.
  bool check();

  /// Null if it was not given, or given as None.
  const Value *find(std::string_view parameter) const;
  /// The argument, or None.
  Value value(std::string_view parameter) const;
  /// Where the argument stands; the whole call if it was not given.
  SourceRange rangeOf(std::string_view parameter) const;
  CallArg arg(std::string_view parameter) const;
  /// What a variadic parameter took. One tuple or list is spread where `spread`.
  std::vector<CallArg> rest(bool spread = false) const;

  std::optional<std::int64_t> integer(std::string_view parameter, std::int64_t otherwise = 0);
  bool flag(std::string_view parameter, bool otherwise = false);
  std::optional<std::string> text(std::string_view parameter, std::string_view otherwise = {});
  std::optional<DType> dtype(std::string_view parameter);
  /// A run-time or compile-time scalar as an expression; null after a report, or if not given.
  ir::Expr scalar(std::string_view parameter);
  ir::Expr index(std::string_view parameter);
  std::optional<Tile> tile(std::string_view parameter);
  std::optional<ir::Element> element(std::string_view parameter);
  std::optional<ir::Element> barrier(std::string_view parameter);
  ir::Buffer *buffer(std::string_view parameter);
  /// Extents: an int or expression, or a sequence of them.
  std::optional<std::vector<ir::Expr>> shape(std::string_view parameter);

  /// One of a list of words, or a report; nullopt then. Gives the index.
  std::optional<std::size_t> choice(std::string_view parameter,
                                    std::initializer_list<std::string_view> words,
                                    std::string_view otherwise);

  /// Reports TL1506.
  void wrong(std::string_view parameter, std::string_view expected);
  void wrong(std::string_view parameter, std::string_view expected, const Value &found,
             SourceRange where);
  void outOfRange(std::string_view parameter, std::string_view expected, std::string_view found);
  /// Statements are made in a kernel only, never where evaluation is lazy, tile ops never in
  /// T.Parallel. False after a report.
  bool statement();
  bool tileOp();

  /// "T.copy"
  std::string name() const { return "T." + std::string(info.name); }

private:
  bool checkArgument(const sema::Parameter &p, const Value &v, SourceRange where);
  bool checkMemory(const sema::Parameter &p, const ir::Buffer &b, SourceRange where);
  int slot(std::string_view parameter) const;
  CallArg given(int index) const;
};

/// A value as a tile; nullopt without a report if it is none.
std::optional<Tile> asTile(Elaborator &, const Value &, SourceRange range);

using Handler = Value (*)(TCall &);
/// What the files of this room add their handlers to.
using Handlers = std::vector<Handler>;
inline void handle(Handlers &table, sema::Builtin id, Handler handler) {
  table[static_cast<std::size_t>(id)] = handler;
}

void addLaunch(Handlers &);
void addParams(Handlers &);
void addAlloc(Handlers &);
void addCopies(Handlers &);
void addGemms(Handlers &);
void addLoops(Handlers &);
void addReductions(Handlers &);
void addMath(Handlers &);
void addVectors(Handlers &);
void addAtomics(Handlers &);
void addSync(Handlers &);
void addWarp(Handlers &);
void addAnnotations(Handlers &);
void addLayouts(Handlers &);
void addDebug(Handlers &);
void addExtern(Handlers &);
void addMemoryOps(Handlers &);
void addScheduler(Handlers &);

/// Calls the handler of a builtin.
Value callBuiltin(Elaborator &, const sema::BuiltinInfo &, CallArgs &);

} // namespace tlc::elaborate
