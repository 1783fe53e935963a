// tlc: parses the command line, runs one verb, and turns whatever happens into a message and an
// exit status.
#include "driver/Session.h"
#include "driver/Version.h"
#include "support/Check.h"

#include <exception>
#include <iostream>
#include <new>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tlc {
namespace {

constexpr int internalErrorStatus = 70;

// What a crash handler may read: set once, before any work.
Session *crashed = nullptr;

void put(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0)
    return; // nobody is left to be told
}

// A crash is a fault of tlc and is reported like any other, as far as a signal handler can.
extern "C" void onCrash(int signal) {
  put("error[TL9001]: internal error: ");
  put(signal == SIGSEGV || signal == SIGBUS ? "bad memory access or out of stack"
      : signal == SIGABRT                   ? "aborted"
                                            : "bad instruction or arithmetic");
  if (crashed && !crashed->step.empty()) {
    put(", in ");
    put(crashed->step);
  }
  if (crashed && !crashed->kernel.empty()) {
    put(", kernel ");
    put(crashed->kernel);
  }
  put("\n");
  ::_exit(internalErrorStatus);
}

// For this thread, with a stack of its own: the usual one may be what ran out.
void reportCrashes(Session &session) {
  crashed = &session;
  static char stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::sigaction(signal, &action, nullptr);
}

int runVerb(Session &session) {
  switch (session.options.verb) {
  case Verb::Build:
    return runBuild(session);
  case Verb::Check:
    return runCheck(session);
  case Verb::Run:
    return runRun(session);
  case Verb::Opt:
    return runOpt(session);
  case Verb::Report:
    return runReport(session);
  case Verb::Targets:
    return runTargets(session);
  case Verb::Explain:
    return runExplain(session);
  }
  TLC_UNREACHABLE("a verb without an action");
}

int internalFailure(Session &session, const std::string &what) {
  std::string message = what;
  if (!session.step.empty())
    message += ", in " + session.step;
  if (!session.kernel.empty())
    message += ", kernel " + session.kernel;
  session.diagnostics.report(diag::InternalError, {}, message);
  session.printDiagnostics();
  return internalErrorStatus;
}

int run(std::vector<std::string> arguments) {
  DiagnosticEngine early;
  ParsedCommandLine parsed = parseCommandLine(std::move(arguments), early);
  Session session(std::move(parsed.options));
  if (parsed.exit) {
    std::swap(session.diagnostics, early);
    session.printDiagnostics();
    return *parsed.exit;
  }
#if !defined(__SANITIZE_ADDRESS__) // which reports crashes better
  reportCrashes(session);
#endif
  try {
    session.configurePaths();
    session.configureDiagnostics();
    int status = session.diagnostics.hasErrors() ? session.exitStatus() : runVerb(session);
    session.printDiagnostics();
    std::cout.flush();
    if (!std::cout)
      status = status ? status : 3;
    return status;
  } catch (const InternalError &error) {
    return internalFailure(session, error.what());
  } catch (const std::bad_alloc &) {
    return internalFailure(session, "out of memory");
  } catch (const std::exception &error) {
    return internalFailure(session, error.what());
  }
}

struct Invocation {
  std::vector<std::string> arguments;
  int status = internalErrorStatus;
};

// The rooms recurse over expressions and statements; deep but legal input must not end in a
// segmentation fault. The pages are only taken when they are touched.
constexpr size_t stackBytes = size_t{1} << 30;

// Only one thread works. glibc would give it an arena that grows by single pages, each a system
// call; the first arena grows in steps of our choice.
void takeMemoryInLargeSteps() {
#if defined(__GLIBC__)
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TOP_PAD, 4 << 20);
#endif
}

void *runOnThread(void *data) {
  auto *invocation = static_cast<Invocation *>(data);
  invocation->status = run(std::move(invocation->arguments));
  return nullptr;
}

/// Ends the program; what it still holds, tables of the parser above all, goes with it.
[[noreturn]] void leave(int status) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
#if defined(__SANITIZE_ADDRESS__)
  std::exit(status); // looks for leaks
#else
  std::_Exit(status);
#endif
}

} // namespace
} // namespace tlc

int main(int argc, char **argv) {
  tlc::takeMemoryInLargeSteps();
  tlc::Invocation invocation{{argv + 1, argv + argc}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  if (pthread_attr_setstacksize(&attributes, tlc::stackBytes) == 0 &&
      pthread_create(&thread, &attributes, tlc::runOnThread, &invocation) == 0)
    pthread_join(thread, nullptr);
  else
    tlc::runOnThread(&invocation);
  pthread_attr_destroy(&attributes);
  tlc::leave(invocation.status);
}
