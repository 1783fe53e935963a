// fuzz_kernels [FIRST COUNT [TARGET]]: random kernels through the whole pipeline; the interpreter
// says whether they still compute the same, with the planned schedule and with another. A failing
// seed prints its kernel.
// fuzz_kernels --print SEED: only the kernel, its sizes in the first line (emulated.py runs it).
#include "Generate.h"

#include "interpret/Compare.h"
#include "ir/Parse.h"
#include "ir/Print.h"
#include "ir/Verify.h"
#include "passes/PassManager.h"
#include "support/Check.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>

using namespace tlc;

namespace {

enum class Outcome { Same, Refused, Wrong };

std::string firstError(const DiagnosticEngine &diagnostics) {
  for (const Diagnostic &d : diagnostics.diagnostics())
    if (d.severity == Severity::Error)
      return std::string(info(d.id).code) + " " + d.message;
  return "";
}

/// Another schedule than the planned one, or a pipeline without one of the passes that only improve.
struct Form {
  const char *name;
  void (*change)(passes::LaunchPlan &plan);
  const char *without = nullptr; ///< name of a pass
  bool isPlanned() const { return !change && !without; }
};
template <passes::StoreWay Way> void storeSo(passes::LaunchPlan &plan) {
  for (passes::StorePlan &store : plan.stores)
    store.way = Way, store.columns = store.buffers = 0;
}
template <int Stages> void pipelineSo(passes::LaunchPlan &plan) {
  for (passes::LoopPlan &loop : plan.loops)
    loop.stages = Stages;
}
const Form forms[] = {
    {"planned", nullptr},
    {"persistent", [](passes::LaunchPlan &plan) { plan.persistent = true; }},
    {"one role", [](passes::LaunchPlan &plan) { plan.specialize = false; }},
    {"producers", [](passes::LaunchPlan &plan) { plan.specialize = true; }},
    {"staged", storeSo<passes::StoreWay::Staged>},
    {"direct", storeSo<passes::StoreWay::Direct>},
    {"one stage", pipelineSo<1>},
    {"two stages", pipelineSo<2>},
    {"four stages", pipelineSo<4>},
    {"without simplify", nullptr, "simplify"},
    {"without aligned-variants", nullptr, "aligned-variants"},
    {"without deepen-loops", nullptr, "deepen-loops"},
    {"without widen-tiles", nullptr, "widen-tiles"},
    {"without unread-tiles", nullptr, "unread-tiles"},
    {"without guard-masks", nullptr, "guard-masks"},
    {"without overlap-products", nullptr, "overlap-products"},
    {"without stage-stores", nullptr, "stage-stores"},
    {"without take-turns", nullptr, "take-turns"},
    {"without skip-scaling", nullptr, "skip-scaling"},
    {"without split-offsets", nullptr, "split-offsets"},
};

std::vector<std::string> passesBut(std::string_view name) {
  std::vector<std::string> out;
  for (const passes::Pass &pass : passes::allPasses())
    if (pass.name != name)
      out.emplace_back(pass.name);
  return out;
}

/// `schedule` is the one that was planned before, or empty. What is wrong goes to `text`.
Outcome tryTarget(const ir::Function &original, const Target &target,
                  const fuzz::RandomKernel &kernel, const Form &form, passes::Schedule &schedule,
                  std::string &text) {
  std::unique_ptr<ir::Function> function = ir::clone(original);
  DiagnosticEngine diagnostics;
  if (form.change) {
    for (passes::LaunchPlan &plan : schedule.launches)
      form.change(plan);
    passes::ScheduleError error;
    auto given = passes::parseSchedule(passes::printSchedule(schedule), error);
    if (!given) {
      text = "the schedule does not parse: " + error.message;
      return Outcome::Wrong;
    }
    schedule = std::move(*given);
    schedule.given = true;
  }
  passes::PassContext context{target, diagnostics, schedule, {}};
  std::string_view pass;
  passes::PipelineOptions options;
  options.before = [&](const passes::Pass &p) { pass = p.name; };
  if (form.without)
    options.only = passesBut(form.without);
  try {
    if (!passes::runPasses(*function, context, options).ok) {
      text = firstError(diagnostics);
      return Outcome::Refused;
    }
  } catch (const InternalError &error) {
    text = "in " + std::string(pass) + ": " + error.message();
    return Outcome::Wrong;
  } catch (const std::exception &error) {
    text = "in " + std::string(pass) + ": " + error.what();
    return Outcome::Wrong;
  }
  interpret::CompareOptions compare;
  compare.dims = kernel.dims;
  compare.tolerance = 0.02; // sums in another order, then rounding to float16 and back
  compare.after.oneThread = !target.isGpu();
  text = interpret::compare(original, *function, compare);
  return text.empty() ? Outcome::Same : Outcome::Wrong;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "--print") {
    fuzz::RandomKernel kernel = fuzz::generate(std::strtoull(argv[2], nullptr, 10));
    std::printf("# sizes:");
    for (std::size_t i = 0; i < kernel.dims.size(); ++i)
      std::printf(" %c=%lld", "MNK"[i], static_cast<long long>(kernel.dims[i]));
    std::printf("\n%s", kernel.text.c_str());
    return 0;
  }
  std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20;
  std::vector<const Target *> targets;
  for (const char *name : {"sm75", "sm80", "sm90", "cpu"})
    if (argc <= 3 || std::string(argv[3]) == name)
      targets.push_back(findTarget(name));
  std::size_t same = 0, refused = 0, wrong = 0;
  passes::Schedule planned;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    fuzz::RandomKernel kernel = fuzz::generate(seed);
    ir::Context context;
    DiagnosticEngine diagnostics;
    auto function = ir::parseFunction(context, kernel.text, diagnostics);
    if (!function || !ir::verify(*function, diagnostics)) {
      std::printf("seed %llu: not a valid kernel: %s\n%s", static_cast<unsigned long long>(seed),
                  firstError(diagnostics).c_str(), kernel.text.c_str());
      return 2;
    }
    interpret::CompareOptions options;
    options.dims = kernel.dims;
    std::string text = interpret::compare(*function, *function, options);
    if (!text.empty()) {
      std::printf("seed %llu: the kernel itself: %s%s", static_cast<unsigned long long>(seed),
                  text.c_str(), kernel.text.c_str());
      return 2;
    }
    for (std::size_t i = 0; i < 2 * targets.size(); ++i) {
      // As planned, then in a form that the seed chooses.
      const Target *target = targets[i / 2];
      const Form &form = forms[i % 2 ? 1 + (seed + i) % (std::size(forms) - 1) : 0];
      if (i % 2 == 0)
        planned = {};
      passes::Schedule schedule = form.change ? planned : passes::Schedule{};
      Outcome outcome = tryTarget(*function, *target, kernel, form, schedule, text);
      if (i % 2 == 0)
        planned = schedule;
      same += outcome == Outcome::Same;
      refused += outcome == Outcome::Refused;
      wrong += outcome == Outcome::Wrong;
      if (outcome == Outcome::Refused && form.isPlanned()) // other forms ask for what may not be
        std::printf("seed %llu, %s, %s: refused: %s\n", static_cast<unsigned long long>(seed),
                    target->name.c_str(), form.name, text.c_str());
      if (outcome == Outcome::Wrong) {
        std::printf("seed %llu, %s, %s, dims", static_cast<unsigned long long>(seed),
                    target->name.c_str(), form.name);
        for (std::int64_t d : kernel.dims)
          std::printf(" %lld", static_cast<long long>(d));
        std::printf(": %s\n%s", text.c_str(), kernel.text.c_str());
      }
      std::fflush(stdout);
    }
  }
  std::printf("%zu same, %zu refused, %zu wrong\n", same, refused, wrong);
  return wrong != 0;
}
