#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

constexpr std::size_t kMostInTable = 64;

std::string endOf(const trace::RankInfo& rank) {
  return rank.signal != 0 ? fmt::format("signal {}", rank.signal)
         : rank.exitCode  ? fmt::format("exit {}", *rank.exitCode)
                          : "";
}

}  // namespace

std::string rankTable(const Figures& of) {
  const RunReport& report = of.report;
  const ShownRanks shown = shownRanks(report, kMostInTable);
  const auto figuresOf = [&](int rank) {
    const auto at = std::ranges::find(report.figures, rank, &analysis::RankAnalysis::rank);
    return at == report.figures.end() ? analysis::RankAnalysis() : *at;
  };
  Table table({{"rank", true},
               {"host"},
               {"state"},
               {"step [ms]", true, "median of the measured steps, here and in what follows"},
               {"forward [ms]", true},
               {"backward [ms]", true},
               {"optimizer [ms]", true},
               {"overlap [%]", true, "of the time in flight: hidden behind computing"},
               {"exposed [ms]", true, "in flight while the rank did not compute"},
               {"waiting [ms]", true, "for ranks that had not come"},
               {"transfer [ms]", true, "of its collectives, once all had come"},
               {"late by [ms]", true, "a step, against the mean of the other ranks"},
               {"last", true, "to how many collectives it came last"},
               {"no core [ms]", true, "ready to run, and had no core"},
               {"dropped", true, "events that were lost"}});
  for (const trace::RankInfo& rank : report.ranks) {
    if (!shown.holds(rank.rank)) {
      continue;
    }
    const analysis::RankAnalysis figures = figuresOf(rank.rank);
    const auto late = std::ranges::find(report.lateness, rank.rank, &analysis::RankLateness::rank);
    const bool judged = late != report.lateness.end();
    const auto host = std::ranges::find_if(
        report.hosts, [&](const trace::HostState& one) { return one.info.host == rank.host; });
    const bool measured = figures.stepMs.has_value();
    const bool bad = endedBadly(rank);
    const std::string end = bad ? endOf(rank) : "";
    const bool accused =
        (judged && late->late) || (report.likeness && report.likeness->isUnlike(rank.rank));
    table.add({{std::to_string(rank.rank), static_cast<double>(rank.rank)},
               textCell(host == report.hosts.end() ? report.info.hostName : host->info.name),
               textCell(rank.state + (end.empty() ? "" : ", " + end)),
               msCell(figures.stepMs),
               msCell(figures.forwardMs),
               msCell(figures.backwardMs),
               msCell(figures.optimizerMs),
               numberCell(figures.overlapPercent, 1),
               msCell(figures.exposedMs),
               msCell(figures.waitingMs),
               msCell(figures.transferMs),
               judged ? msCell(late->meanMs) : Cell{},
               measured ? countCell(figures.lastArrivals) : Cell{},
               measured ? msCell(figures.coreWaitMs) : Cell{},
               countCell(rank.eventsDropped)},
              bad       ? "wrong"
              : accused ? "cost"
                        : "");
  }
  return figure("Ranks",
                "Medians of the measured steps. A row stands out where its rank ended badly, is "
                "late beyond chance or is unlike the rest. " +
                    shown.text(),
                table.html());
}

std::string causeTable(const Figures& of) {
  Table table(
      {{"cause"}, {"ms a step", true}, {"share [%]", true, "of all exposed time"}, {"why"}});
  for (const analysis::TailReason& reason : of.report.causes) {
    table.add({textCell(analysis::title(reason.mean)), msCell(reason.mean.ms),
               numberCell(100 * reason.share, 1), textCell(analysis::explanation(reason.mean))});
  }
  return figure("Where exposed time comes from",
                "Over all ranks and measured steps, the largest first.", table.html());
}

std::string problemTable(const Figures& of) {
  constexpr std::size_t kMost = 200;
  const std::vector<trace::ProblemRow>& problems = of.report.problems;
  Table table({{"severity"}, {"rank", true}, {"step", true}, {"what"}});
  for (std::size_t i = 0; i < std::min(problems.size(), kMost); ++i) {
    const trace::ProblemRow& problem = problems[i];
    table.add({textCell(problem.severity), problem.rank < 0 ? Cell{} : numberCell(problem.rank, 0),
               countCell(problem.step), textCell(problem.text)},
              problem.severity == "error" ? "wrong" : "");
  }
  return figure("Problems",
                problems.size() <= kMost
                    ? "What the recorder wrote down."
                    : fmt::format("What the recorder wrote down: the first {} of {}.", kMost,
                                  base::countText(problems.size())),
                table.html());
}

}  // namespace lockstep::report::html
