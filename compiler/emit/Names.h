// Names of emitted entities: the user's where possible, unique within the scopes that see them.
#pragma once

#include "ir/Buffer.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tlc::emit {

/// Nested scopes of names of one function. A name that has gone out of scope may be used again, so
/// two loops after each other can both count with `i`.
class ScopedNames {
public:
  /// Names that no variable may have in any scope: what the text calls without a namespace.
  void reserve(std::string_view name) { taken.insert(std::string(name)); }

  void enter() { scopes.emplace_back(); }
  void leave();

  /// A name for a variable or buffer from here to the end of the current scope.
  std::string declare(ir::Expr var);
  std::string declare(const ir::Buffer &buffer);
  /// A name that stands for neither.
  std::string fresh(std::string_view wanted);
  /// Gives a variable a text instead of a name of its own.
  void alias(ir::Expr var, std::string text) { names[var.get()] = std::move(text); }
  void alias(const ir::Buffer &buffer, std::string text) { names[&buffer] = std::move(text); }

  const std::string &of(ir::Expr var) const;
  const std::string &of(const ir::Buffer &buffer) const;
  bool knows(ir::Expr var) const { return names.contains(var.get()); }
  bool knows(const ir::Buffer &buffer) const { return names.contains(&buffer); }

private:
  const std::string &find(const void *entity, std::string_view hint) const;

  std::unordered_set<std::string> taken;
  std::vector<std::vector<std::string>> scopes;
  std::unordered_map<const void *, std::string> names;
};

} // namespace tlc::emit
