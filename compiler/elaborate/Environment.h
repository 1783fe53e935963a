// Names: scopes, and the rule about names that are bound again inside run-time loops and branches.
#pragma once

#include "elaborate/Value.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tlc::elaborate {

/// Why a name that was bound cannot be used any more.
enum class Staleness : std::uint8_t {
  Fresh,
  BoundInside, ///< only bound inside a run-time loop or branch that has ended
  Rebound,     ///< bound again there
};

struct Slot {
  Value value;
  bool bound = false;
  Staleness staleness = Staleness::Fresh;
  SourceRange range; ///< of the latest binding
};

/// Names are found in `names`, else in `parent`. Slots are stable.
struct Scope {
  Scope *parent = nullptr;
  bool isClass = false; ///< not seen from functions inside
  ModuleObject *module = nullptr;
  /// Names that are local to the function although perhaps not bound yet; null: none.
  const std::unordered_set<std::string> *locals = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Slot>> names;
  /// Names declared `global` and `nonlocal` here: their slots are elsewhere.
  std::unordered_map<std::string, Slot *> elsewhere;
  std::vector<std::string> order; ///< of first binding

  Slot *find(std::string_view name); ///< here only; null if there is no slot
  Slot &slot(const std::string &name);
};

/// Names that the statements of a function bind (parameters included), as Python decides what is
/// local; `global` and `nonlocal` names are not among them.
std::unordered_set<std::string> localNames(const ast::FunctionDef &function);
std::unordered_set<std::string> localNames(const ast::Lambda &lambda);
/// Names bound by statements of a block, nested blocks included, nested functions not.
void collectBoundNames(const ast::Block &block, std::unordered_set<std::string> &names);
void collectTargetNames(const ast::Expr &target, std::unordered_set<std::string> &names);
/// Names that are read somewhere in a function, in nested functions too.
std::unordered_set<std::string> readNames(const ast::FunctionDef &function);

/// One run-time loop body or branch being elaborated.
struct Region {
  bool isLoop = false;
  struct Saved {
    Slot *slot;
    std::string name;
    Value value;
    bool wasBound;
    SourceRange rebound;
  };
  std::vector<Saved> saved;                            ///< names bound inside, once each
  std::unordered_map<const Slot *, SourceRange> reads; ///< loops: of names bound outside
};

} // namespace tlc::elaborate
