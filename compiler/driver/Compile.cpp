// `tlc build` and `tlc check`: from a source to its outputs.
#include "driver/Session.h"
#include "parse/Parser.h"

namespace tlc {
namespace {

// Null after an error, which has been reported.
std::unique_ptr<ast::Module> readModule(Session &session, const std::string &path) {
  session.step = "parse";
  std::string error;
  std::optional<std::uint32_t> file = session.sources.load(path, error);
  if (!file) {
    session.diagnostics.report(diag::CannotRead, {}, path, error);
    return nullptr;
  }
  return parse(session.sources, *file, session.diagnostics);
}

} // namespace

int runBuild(Session &session) {
  readModule(session, session.options.sources[0]);
  session.diagnostics.report(diag::BadCommandLine, {}, "this build of tlc cannot emit code yet");
  return session.exitStatus();
}

int runCheck(Session &session) {
  for (const std::string &path : session.options.sources)
    readModule(session, path);
  return session.exitStatus();
}

int runOpt(Session &session) { return runBuild(session); }

} // namespace tlc
