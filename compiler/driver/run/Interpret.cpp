#include "driver/run/Execute.h"

#include <iostream>
#include <map>

namespace tlc::run {
namespace {

/// Statements of one line are one row.
std::vector<LineCounts> byLine(const SourceManager &sources,
                               const std::vector<interpret::StatementCounts> &statements) {
  std::map<std::string, LineCounts> lines;
  for (const interpret::StatementCounts &s : statements) {
    std::string place = s.range.valid() ? sources.displayPath(s.range.file) + ":" +
                                              std::to_string(sources.begin(s.range).line)
                                        : "?";
    LineCounts &line = lines[place];
    line.place = place;
    line[Counter::GlobalReadBytes] += s.globalRead / 8;
    line[Counter::GlobalWrittenBytes] += s.globalWritten / 8;
    line[Counter::SharedReadBytes] += s.sharedRead / 8;
    line[Counter::SharedWrittenBytes] += s.sharedWritten / 8;
    line[Counter::Products] += s.products;
    line[Counter::MultiplyAdds] += s.multiplyAdds;
    line[Counter::Barriers] += s.barriers;
  }
  std::vector<LineCounts> out;
  for (auto &[place, line] : lines)
    out.push_back(line);
  return out;
}

} // namespace

std::optional<Outcome> interpretCall(Session &session, const Call &call, Prints prints) {
  session.step = "interpreting";
  Outcome outcome;
  for (const CallArgument &a : call.arguments)
    outcome.storages.push_back(a.storage);
  std::vector<interpret::Argument> arguments;
  for (const ir::Param &p : call.function->params)
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const CallArgument &a = call.arguments[i];
      if (p.buffer && a.param.buffer == p.buffer)
        arguments.emplace_back(outcome.storages[i]);
      if (p.scalar && a.param.var && a.param.var == p.scalar)
        arguments.push_back(p.scalar.dtype().isFloat() ? interpret::Argument(a.real)
                                                       : interpret::Argument(a.integer));
    }
  interpret::Options settings;
  settings.counts = wantsCounts(session.options.run);
  interpret::Result result = interpret::run(*call.function, arguments, call.dims(), settings);
  if (prints == Prints::Shown)
    std::cout << result.printed << std::flush;
  for (const interpret::Report &report : result.reports)
    session.diagnostics.report(diag::RunFault, report.range, interpret::reportName(report.kind),
                               report.message);
  if (!result.finished)
    return std::nullopt;
  outcome.counts = byLine(session.sources, result.counts);
  return outcome;
}

} // namespace tlc::run
