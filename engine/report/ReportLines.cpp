#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/report/RunReport.h"

namespace lockstep::report {
namespace {

/// "12.30 ms", or, where the ranks differ, "0.03 ms (rank 1) to 26.90 ms (rank 0)".
std::string spread(const RunReport& report, std::optional<double> analysis::RankAnalysis::*figure,
                   const char* unit, int digits) {
  const analysis::RankAnalysis* least = nullptr;
  const analysis::RankAnalysis* most = nullptr;
  for (const analysis::RankAnalysis& rank : report.figures) {
    if (rank.*figure) {
      least = least == nullptr || *(rank.*figure) < *(least->*figure) ? &rank : least;
      most = most == nullptr || *(rank.*figure) > *(most->*figure) ? &rank : most;
    }
  }
  if (least == nullptr) {
    return "";
  }
  const auto text = [&](const analysis::RankAnalysis& rank) {
    return fmt::format("{:.{}f} {}", *(rank.*figure), digits, unit);
  };
  // Compared as they are shown: ranks that differ in a digit nobody sees are alike.
  return text(*least) == text(*most) ? text(*most)
                                     : fmt::format("{} (rank {}) to {} (rank {})", text(*least),
                                                   least->rank, text(*most), most->rank);
}

std::string communication(const RunReport& report) {
  using analysis::RankAnalysis;
  const std::string overlap = spread(report, &RankAnalysis::overlapPercent, "%", 1);
  if (overlap.empty()) {
    return "";
  }
  // In points of per cent. Bounds that are nearer to one another say nothing that the figure
  // between them does not say.
  constexpr double kKnownToPoints = 4;
  std::string text = fmt::format("overlap {}, {} exposed per step (medians)", overlap,
                                 spread(report, &RankAnalysis::exposedMs, "ms", 2));
  const bool unsure =
      std::any_of(report.figures.begin(), report.figures.end(), [](const RankAnalysis& rank) {
        // Bounds come in pairs.
        return rank.overlapMostPercent &&
               *rank.overlapMostPercent - *rank.overlapLeastPercent > kKnownToPoints;
      });
  if (unsure) {
    text += fmt::format(
        "; overlap is known only in bounds, since threads had no core at times: at least {}, at "
        "most {}",
        spread(report, &RankAnalysis::overlapLeastPercent, "%", 1),
        spread(report, &RankAnalysis::overlapMostPercent, "%", 1));
  }
  return text;
}

/// The bucket that costs a rank most, as the verdict names it.
std::string costText(const RunReport& report) {
  const auto remark = std::ranges::find(report.diagnosis.verdict, diagnosis::Topic::kCost,
                                        &diagnosis::Remark::topic);
  return remark == report.diagnosis.verdict.end() ? "" : remark->text;
}

/// Ranks that are late beyond chance.
std::string ranksText(const RunReport& report) {
  std::string text;
  for (const analysis::RankLateness& rank : report.lateness) {
    if (rank.late) {
      text += fmt::format("{}rank {} comes {} ms a step later than the others ({})",
                          text.empty() ? "" : "; ", rank.rank, base::msText(rank.meanMs),
                          base::msRangeText(rank.interval->low, rank.interval->high));
    }
  }
  return text;
}

std::string coresText(const RunReport& report) {
  constexpr double kWorthNaming = 0.10;
  // The part of a rank's step for which it had no core, 0 to 1.
  const auto share = [](const analysis::RankAnalysis& rank) {
    return rank.stepMs && *rank.stepMs > 0 ? rank.coreWaitMs / *rank.stepMs : 0;
  };
  const auto worst =
      std::max_element(report.figures.begin(), report.figures.end(),
                       [&](const auto& a, const auto& b) { return share(a) < share(b); });
  if (worst == report.figures.end() || share(*worst) < kWorthNaming) {
    return "";
  }
  return fmt::format(
      "rank {} was ready to run and had no core for {} ms a step ({}): more "
      "threads want to run than there are cores for them, and what they cost each other is the "
      "fault of no rank and no link",
      worst->rank, base::msText(worst->coreWaitMs), base::percentText(100 * share(*worst), 0));
}

std::string stolenText(const RunReport& report) {
  constexpr double kWorthNaming = 2;  // percent
  if (!report.stolenPercent || *report.stolenPercent < kWorthNaming) {
    return "";
  }
  return fmt::format(
      "a hypervisor took {} of the core that lost most: a rank counts as late, and a link as "
      "slow, only beyond that",
      base::percentText(*report.stolenPercent, 0));
}

std::string checksText(const RunReport& report) {
  if (!report.checks) {
    return "";
  }
  return fmt::format(
      "{} compared first: {} of the step time, and {} waiting for "
      "their last rank",
      base::countedText(report.checks->calls, "call"),
      base::percentText(report.checks->ownPercent, 2),
      base::percentText(report.checks->waitingPercent, 2));
}

/// Lines with labels; one that says nothing is left out.
class LabelledLines {
 public:
  void operator()(std::string label, std::string text) {
    if (!text.empty()) {
      lines.push_back({std::move(label), std::move(text)});
    }
  }

  std::vector<Line> lines;
};

}  // namespace

std::string trainingText(const RunReport& report) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  add(report.info.plannedSteps == 0 || report.info.plannedSteps == report.steps
          ? base::countedText(report.steps, "step")
          : fmt::format("{} of {} steps", report.steps, report.info.plannedSteps));
  if (report.loss) {
    add(fmt::format("loss {:.4f}", *report.loss));
  }
  if (report.testAccuracy) {
    add("test accuracy " + base::percentText(*report.testAccuracy * 100, 2));
  }
  if (report.stepsPerSecond) {
    add(fmt::format("{:.1f} steps/s", *report.stepsPerSecond));
    // There is always some time between steps; a second rate beside the first is worth reading only
    // where it is another.
    constexpr double kWorthNaming = 1.02;
    if (report.stepsPerSecondWithin &&
        *report.stepsPerSecondWithin > kWorthNaming * *report.stepsPerSecond) {
      text +=
          fmt::format(" ({:.1f} without evaluation, checkpoints and what else is between steps)",
                      *report.stepsPerSecondWithin);
    }
  }
  return text;
}

std::string leftOutText(const RunReport& report) {
  const auto text = report.info.environment.find(trace::kLeftOut);
  return text == report.info.environment.end() ? "" : text->second;
}

std::string eventsText(const RunReport& report) {
  return fmt::format("{} recorded, {} dropped", base::countText(report.events),
                     base::countText(report.eventsDropped));
}

std::vector<Line> runLines(const RunReport& report) {
  const trace::RunInfo& info = report.info;
  LabelledLines line;
  line("run", fmt::format("{} ({})", info.name, info.runId));
  // "imported from" or "simulated from", and then what: of a simulated run, that it is none.
  const std::string kind(trace::name(info.kind));
  line(trace::wasRecorded(info.kind) ? "command" : kind + " from", info.command);
  if (const auto what = info.environment.find(kind); what != info.environment.end()) {
    line("", what->second);
  }
  line("state",
       fmt::format("{}{}", trace::name(info.state),
                   info.finishedAt.empty() ? "" : fmt::format(", exit code {}", info.exitCode)));
  line("failure", info.state == trace::RunState::kDiverged ? "" : info.failure);
  line("diverged", info.divergence ? info.divergence->text : "");
  const std::string on = info.hostName.empty() ? "" : " on " + info.hostName;
  line("started", info.startedAt.empty() ? "" : info.startedAt + on);
  line("finished", info.finishedAt);
  line("training", trainingText(report));
  line("left out", leftOutText(report));
  return std::move(line.lines);
}

std::vector<Line> timeLines(const RunReport& report) {
  LabelledLines line;
  line("communication", communication(report));
  line("costs most", costText(report));
  // Of many ranks those that are late are among those unlike the rest.
  if (report.likeness) {
    line("unlike", diagnosis::unlikeText(*report.likeness));
  } else {
    line("late", ranksText(report));
  }
  line("cores", coresText(report));
  line("machine", stolenText(report));
  return std::move(line.lines);
}

std::vector<Line> recordLines(const RunReport& report) {
  LabelledLines line;
  line("checks", checksText(report));
  line("replicas", replicasText(report));
  line("gradients", sanityText(report));
  line("sampling", samplingText(report));
  line("events", eventsText(report));
  return std::move(line.lines);
}

}  // namespace lockstep::report
