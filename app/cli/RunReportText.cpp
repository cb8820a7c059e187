#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/RunReport.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"

namespace lockstep::cli {
namespace {

std::string figures(const RunReport& report) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  add(report.info.plannedSteps == 0 || report.info.plannedSteps == report.steps
          ? base::countedText(report.steps, "step")
          : fmt::format("{} of {} steps", report.steps, report.info.plannedSteps));
  if (report.loss) {
    add(fmt::format("loss {:.4f}", *report.loss));
  }
  if (report.testAccuracy) {
    add(fmt::format("test accuracy {:.2f} %", *report.testAccuracy * 100));
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
  std::string text = fmt::format("overlap {}, {} exposed per step", overlap,
                                 spread(report, &RankAnalysis::exposedMs, "ms", 2));
  const bool unsure =
      std::any_of(report.figures.begin(), report.figures.end(), [](const RankAnalysis& rank) {
        // Bounds come in pairs.
        return rank.overlapMostPercent &&
               *rank.overlapMostPercent - *rank.overlapLeastPercent > kKnownToPoints;
      });
  if (unsure) {
    text += fmt::format(
        "; overlap is known only in bounds, since threads waited for cores: at least {}, at most "
        "{}",
        spread(report, &RankAnalysis::overlapLeastPercent, "%", 1),
        spread(report, &RankAnalysis::overlapMostPercent, "%", 1));
  }
  return text;
}

/// Ranks that are late beyond chance.
std::string ranksText(const RunReport& report) {
  std::string text;
  for (const analysis::RankLateness& rank : report.lateness) {
    if (rank.late) {
      text +=
          fmt::format("{}rank {} comes {:.2f} ms a step later than the others ({:.2f} to {:.2f})",
                      text.empty() ? "" : "; ", rank.rank, rank.meanMs, rank.interval->low,
                      rank.interval->high);
    }
  }
  return text;
}

/// The first findings, a line each.
std::string findingsText(const RunReport& report) {
  constexpr std::size_t kMost = 3;
  const auto& findings = report.diagnosis.findings;
  if (findings.empty()) {
    return report.diagnosis.nothing;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kMost); ++i) {
    text += fmt::format("{}{}. {}", i == 0 ? "" : fmt::format("\n{:15}", ""), i + 1,
                        diagnosis::headlineOf(findings[i]));
  }
  return text + fmt::format("\n{:15}what to do: lockstep diagnose", "");
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
      "rank {} was ready to run and had no core for {:.2f} ms a step ({:.0f} %): more "
      "threads want to run than there are cores for them, and what they cost each other is the "
      "fault of no rank and no link",
      worst->rank, worst->coreWaitMs, 100 * share(*worst));
}

std::string stolenText(const RunReport& report) {
  constexpr double kWorthNaming = 2;  // percent
  if (!report.stolenPercent || *report.stolenPercent < kWorthNaming) {
    return "";
  }
  return fmt::format(
      "a hypervisor took {:.0f} % of the core that lost most: a rank counts as late, and a link as "
      "slow, only beyond that",
      *report.stolenPercent);
}

std::string checksText(const RunReport& report) {
  if (!report.checks) {
    return "";
  }
  return fmt::format(
      "{} compared first: {:.2f} % of the step time, and {:.2f} % waiting for "
      "their last rank",
      base::countedText(report.checks->calls, "call"), report.checks->ownPercent,
      report.checks->waitingPercent);
}

/// What the recorder says that the run file does not hold.
std::string leftOutText(const RunReport& report) {
  const auto text = report.info.environment.find(trace::kLeftOut);
  return text == report.info.environment.end() ? "" : text->second;
}

std::string eventsText(const RunReport& report) {
  return fmt::format("{} recorded, {} dropped", base::countText(report.events),
                     base::countText(report.eventsDropped));
}

std::string differentHashes(const RunReport& report) {
  if (!report.info.driftingHook.empty()) {
    return fmt::format("each rank's own: hook {} lets the replicas drift",
                       report.info.driftingHook);
  }
  return report.ranks.front().environment.contains(trace::kIgnoredParameters)
             ? "not compared: ddp.ignore leaves some of them to each rank"
             : "DIFFERENT on the ranks, see lockstep info";
}

// Bit for bit, as DDP keeps the replicas: the same start, the same averaged gradients, the same
// arithmetic. Of a run of which some rank never came to its end nothing is said.
std::string hashText(const RunReport& report) {
  std::string hash;
  for (const auto& rank : report.ranks) {
    if (rank.parameterHash.empty()) {
      return "";
    }
    if (!hash.empty() && rank.parameterHash != hash) {
      return differentHashes(report);
    }
    hash = rank.parameterHash;
  }
  return hash.empty() ? "" : hash + " on every rank";
}

/// The first lines, and how many there are more.
std::string listed(const std::vector<std::string>& lines, std::size_t most, Lists lists) {
  const std::size_t shown = lists == Lists::kWhole ? lines.size() : std::min(most, lines.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += "  " + lines[i] + "\n";
  }
  return shown == lines.size()
             ? text
             : text + fmt::format("  and {} more (--all)\n", base::countText(lines.size() - shown));
}

std::string lastWords(const RunReport& report, Lists lists) {
  std::vector<std::string> lines;
  for (const auto& rank : report.ranks) {
    if (!rank.lastWords.empty()) {
      lines.push_back(rank.lastWords);
    }
  }
  return listed(lines, kHandful, lists);
}

std::string problemLines(const RunReport& report, Lists lists) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> lines;
  for (const auto& problem : report.problems) {
    lines.push_back(fmt::format("{}, step {}: {}", problem.severity, problem.step, problem.text));
  }
  return listed(lines, kMost, lists);
}

std::string bucketTable(const RunReport& report, const trace::BucketsMessage& layout) {
  TextTable table({"bucket", "size", "parameters", "names"});
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
    const auto& bucket = layout.buckets[i];
    std::string names;
    for (const auto index : bucket.parameters) {
      const std::string name =
          index < report.parameters.size() ? report.parameters[index].name : std::to_string(index);
      // At least one, however long.
      if (names.size() + name.size() > 60 && !names.empty()) {
        names += " ...";
        break;
      }
      names += (names.empty() ? "" : " ") + name;
    }
    table.add({std::to_string(i), base::bytesText(bucket.bytes),
               std::to_string(bucket.parameters.size()), names});
  }
  return table.text();
}

std::string loggingTable(const std::map<std::string, std::string>& fields) {
  constexpr std::size_t kLongest = 80;
  TextTable table({"field", "value"});
  for (const auto& [name, value] : fields) {
    table.add({name, value.size() <= kLongest ? value : value.substr(0, kLongest) + " ..."});
  }
  return table.text();
}

/// Text whose lines have labels; a line that says nothing is left out.
class LabelledLines {
 public:
  void operator()(const char* label, const std::string& value) {
    if (!value.empty()) {
      text += fmt::format("{:<15}{}\n", label, value);
    }
  }
  void addTimes(const RunReport& report) {
    (*this)("findings", findingsText(report));
    (*this)("communication", communication(report));
    // Of many ranks those that are late are among those unlike the rest.
    if (report.likeness) {
      (*this)("unlike", diagnosis::unlikeText(*report.likeness));
    } else {
      (*this)("late", ranksText(report));
    }
    (*this)("cores", coresText(report));
    (*this)("machine", stolenText(report));
  }

  std::string text;
};

}  // namespace

std::string summaryText(const RunReport& report, const std::filesystem::path& runFile) {
  LabelledLines line;
  line.text = fmt::format("{}: {}\n", trace::name(report.info.state), figures(report));
  line("left out", leftOutText(report));
  line.addTimes(report);
  line("parameters", hashText(report));
  line("events", eventsText(report));
  line("run file", runFile.string());
  return line.text;
}

std::string infoText(const RunReport& report, Lists lists) {
  const trace::RunInfo& info = report.info;
  LabelledLines line;
  std::string& text = line.text;
  line("run", fmt::format("{} ({})", info.name, info.runId));
  // "imported from" or "simulated from", and then what: of a simulated run, that it is none.
  const std::string kind(trace::name(info.kind));
  line(trace::wasRecorded(info.kind) ? "command" : (kind + " from").c_str(), info.command);
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
  line("training", figures(report));
  line("left out", leftOutText(report));
  line.addTimes(report);
  line("checks", checksText(report));
  line("replicas", replicasText(report));
  line("gradients", sanityText(report));
  line("sampling", samplingText(report));
  line("events", eventsText(report));
  if (const std::string hosts = hostTable(report, lists); !hosts.empty()) {
    text += "\nhosts\n" + hosts;
  }
  text += "\nranks\n" + rankTable(report, lists) + lastWords(report, lists);
  if (report.layouts.empty() && !report.ranks.empty()) {
    const auto& facts = report.ranks.front().environment;
    if (const auto why = facts.find(trace::kNoBuckets); why != facts.end()) {
      text += "\nbuckets\n  " + why->second + "\n";
    }
  }
  for (const auto& layout : report.layouts) {
    text += fmt::format("\nbuckets from step {} ({})\n{}", layout.step, layout.reason,
                        bucketTable(report, layout));
  }
  if (!report.ddpLogging.empty() && !report.ddpLogging.front().empty()) {
    text += "\nDDP logging data of rank 0, under PyTorch's names (times in ns)\n" +
            loggingTable(report.ddpLogging.front());
  }
  if (!report.problems.empty()) {
    text += "\nproblems\n" + problemLines(report, lists);
  }
  return text;
}

}  // namespace lockstep::cli
