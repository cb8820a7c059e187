#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"

namespace lockstep::report::html {
namespace {

using analysis::RankAnalysis;

/// A number in large type over what it is of.
std::string tile(std::string_view number, std::string_view what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", escaped(number),
                     escaped(what));
}

std::string stepsTile(const RunReport& report) {
  const std::uint32_t planned = report.info.plannedSteps;
  return tile(base::countText(report.steps),
              planned == 0 || planned == report.steps
                  ? "steps"
                  : fmt::format("steps of {}", base::countText(planned)));
}

/// The rank of which a figure is the largest, or the smallest.
const RankAnalysis* extremeOf(const RunReport& report, std::optional<double> RankAnalysis::*figure,
                              bool largest) {
  const RankAnalysis* extreme = nullptr;
  for (const RankAnalysis& rank : report.figures) {
    if (rank.*figure && (extreme == nullptr || (largest ? *(rank.*figure) > *(extreme->*figure)
                                                        : *(rank.*figure) < *(extreme->*figure)))) {
      extreme = &rank;
    }
  }
  return extreme;
}

std::string tiles(const RunReport& report) {
  std::string html = stepsTile(report);
  if (report.stepsPerSecond) {
    html += tile(fmt::format("{:.1f}", *report.stepsPerSecond), "steps a second");
  }
  if (const auto* slowest = extremeOf(report, &RankAnalysis::stepMs, true)) {
    html += tile(base::msText(*slowest->stepMs) + " ms",
                 fmt::format("a step, median of rank {}, the slowest", slowest->rank));
  }
  if (const auto* least = extremeOf(report, &RankAnalysis::overlapPercent, false)) {
    html +=
        tile(base::percentText(*least->overlapPercent),
             fmt::format("of communication hidden behind computing, median of rank {}, the least",
                         least->rank));
  }
  if (const auto* most = extremeOf(report, &RankAnalysis::exposedMs, true)) {
    html += tile(base::msText(*most->exposedMs) + " ms",
                 fmt::format("exposed a step, median of rank {}, the most", most->rank));
  }
  if (report.loss) {
    html += tile(fmt::format("{:.4f}", *report.loss), "loss of rank 0, the last");
  }
  if (report.testAccuracy) {
    html += tile(base::percentText(*report.testAccuracy * 100, 2), "test accuracy");
  }
  return "<div class=\"tiles\">\n" + html + "</div>\n";
}

std::string definitions(const std::vector<Line>& lines) {
  std::string html;
  for (const Line& line : lines) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(line.label), escaped(line.text));
  }
  return html.empty() ? "" : "<dl>\n" + html + "</dl>\n";
}

}  // namespace

Figures::Figures(const ReportedRun& run)
    : report(run.report),
      evidence(run.evidence),
      delays(run.delays),
      bucketVerdict(run.bucketVerdict),
      landscape(analysis::landscape(evidence.run, analysis::allSteps(evidence.run))),
      hook(analysis::hookTimes(evidence.data, evidence.run)) {}

std::string Figures::nameOf(int rank) const {
  const auto info = std::ranges::find(report.ranks, rank, &trace::RankInfo::rank);
  if (report.hosts.size() > 1 && info != report.ranks.end()) {
    for (const trace::HostState& host : report.hosts) {
      if (host.info.host == info->host) {
        return fmt::format("rank {} on {}", rank, host.info.name);
      }
    }
  }
  return fmt::format("rank {}", rank);
}

std::string figures(const Figures& of) {
  return tiles(of.report) + definitions(timeLines(of.report)) + definitions(runLines(of.report)) +
         definitions(recordLines(of.report));
}

}  // namespace lockstep::report::html
