#include "app/cli/RunReportText.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"

namespace lockstep::cli {
namespace {

using report::Line;
using report::RunReport;

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
  return listed(lines, report::kHandful, lists);
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

std::string lineText(const std::string& label, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<15}{}\n", label, text);
}

std::string linesText(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text += lineText(line.label, line.text);
  }
  return text;
}

}  // namespace

std::string summaryText(const RunReport& report, const std::filesystem::path& runFile) {
  return fmt::format("{}: {}\n", trace::name(report.info.state), report::trainingText(report)) +
         lineText("left out", report::leftOutText(report)) +
         lineText("findings", findingsText(report)) + linesText(report::timeLines(report)) +
         lineText("parameters", hashText(report)) + lineText("events", report::eventsText(report)) +
         lineText("run file", runFile.string());
}

std::string infoText(const RunReport& report, Lists lists) {
  std::string text = linesText(report::runLines(report)) +
                     lineText("findings", findingsText(report)) +
                     linesText(report::timeLines(report)) + linesText(report::recordLines(report));
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
