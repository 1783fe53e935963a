// What the checks of the verifier share; for Verify*.cpp only.
#pragma once

#include "ir/Verify.h"

#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace tlc::ir {

class VerifyState {
public:
  explicit VerifyState(const Function &function) : function(function) {}

  const Function &function;
  std::vector<Fault> found;

  // ---- Where we are
  const Stmt *current = nullptr;
  SourceRange range;
  void fail(const std::string &message);
  /// Reports `message`, a text or a function that makes one, unless `holds`; gives back `holds`.
  template <typename Message> bool need(bool holds, const Message &message) {
    if (!holds) {
      if constexpr (std::is_invocable_v<Message>)
        fail(message());
      else
        fail(message);
    }
    return holds;
  }
  bool isThread() const { return function.phase >= Phase::Thread; }
  bool isScheduled() const { return function.phase == Phase::Scheduled; }

  // ---- What is known here
  void enter() { marks.push_back({varOrder.size(), bufferOrder.size()}); }
  void leave();
  void bind(Expr var);
  void introduce(const Buffer *buffer);
  bool knows(const Buffer *buffer) const { return buffers.count(buffer) != 0; }

  // ---- Checks of parts. `what` names the part in messages.
  /// Set and made of known variables.
  bool expr(Expr e, const char *what);
  void optional(Expr e, const char *what);
  void condition(Expr e, const char *what, bool mayBeNull);
  void integer(Expr e, const char *what);
  bool buffer(const Buffer *b, const char *what);
  void version(const Buffer &b, Expr v);
  bool element(const Element &e, const char *what);
  /// False if its shape cannot be talked about.
  bool region(const Region &r, const char *what);
  /// The result variable of a statement, which it binds.
  void result(Expr var);
  void buffer(const Buffer &b);

private:
  struct Mark {
    std::size_t vars, buffers;
  };
  std::unordered_set<const ExprNode *> everBound, vars;
  std::vector<const ExprNode *> varOrder;
  std::unordered_set<const Buffer *> buffers;
  std::vector<const Buffer *> bufferOrder;
  std::vector<Mark> marks;
};

/// Checks of one statement's own fields (not of its blocks); binds nothing.
void verifyStmt(VerifyState &state, const Stmt &stmt);
void verifyTileOp(VerifyState &state, const Stmt &stmt);
bool isTileOp(StmtKind kind);

} // namespace tlc::ir
