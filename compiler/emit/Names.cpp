#include "emit/Names.h"

#include "support/Check.h"
#include "support/Names.h"

namespace tlc::emit {

void ScopedNames::leave() {
  for (const std::string &name : scopes.back())
    taken.erase(name);
  scopes.pop_back();
}

std::string ScopedNames::fresh(std::string_view wanted) {
  std::string name = freeName(wanted, [&](const std::string &n) { return taken.contains(n); });
  taken.insert(name);
  if (!scopes.empty())
    scopes.back().push_back(name);
  return name;
}

std::string ScopedNames::declare(ir::Expr var) { return names[var.get()] = fresh(var->name); }
std::string ScopedNames::declare(const ir::Buffer &buffer) {
  return names[&buffer] = fresh(buffer.name);
}

const std::string &ScopedNames::find(const void *entity, std::string_view hint) const {
  auto found = names.find(entity);
  TLC_CHECK(found != names.end(), "`" + std::string(hint) + "` is used where it is not declared");
  return found->second;
}
const std::string &ScopedNames::of(ir::Expr var) const { return find(var.get(), var->name); }
const std::string &ScopedNames::of(const ir::Buffer &buffer) const {
  return find(&buffer, buffer.name);
}

} // namespace tlc::emit
