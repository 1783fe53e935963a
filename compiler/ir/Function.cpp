#include "ir/Function.h"

#include <algorithm>

namespace tlc::ir {

const char *stmtName(StmtKind kind) {
  constexpr const char *names[] = {
#define TLC_STMT(NAME, TEXT, PHASES) TEXT,
#include "ir/Nodes.def"
  };
  return names[static_cast<unsigned>(kind)];
}

const char *phaseName(Phase phase) {
  constexpr const char *names[] = {"tile", "scheduled", "thread", "named"};
  return names[static_cast<unsigned>(phase)];
}

Buffer &Function::addBuffer(std::string name, DType dtype, Scope scope, std::vector<Expr> shape,
                            SourceRange range) {
  auto buffer = std::make_unique<Buffer>();
  buffer->name = std::move(name);
  buffer->dtype = dtype;
  buffer->scope = scope;
  buffer->shape = std::move(shape);
  buffer->range = range;
  buffers.push_back(std::move(buffer));
  return *buffers.back();
}

void Launch::note(const std::string &text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end())
    notes.push_back(text);
}

bool usesThread(const Launch &launch, Expr e) {
  return uses(e, launch.tid) || std::any_of(launch.threadVars.begin(), launch.threadVars.end(),
                                            [&](Expr var) { return var && uses(e, var); });
}

} // namespace tlc::ir
