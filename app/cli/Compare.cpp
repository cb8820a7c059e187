#include <fmt/format.h>

#include <cmath>

#include "app/cli/AddCommand.h"
#include "app/cli/ComparedRun.h"
#include "app/cli/Complaint.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kReasonsShown = 8;

// Four figures: two runs of one experiment seldom agree in more. Large numbers, such as bytes, are
// whole.
std::string numberText(const std::optional<double>& value, const char* unknown = "-") {
  if (!value) {
    return unknown;
  }
  return std::abs(*value) >= 10'000 ? fmt::format("{:.0f}", *value) : fmt::format("{:.4g}", *value);
}

std::string signedText(const std::optional<double>& value) {
  return value && *value > 0 ? "+" + numberText(value) : numberText(value);
}

std::string signedMsText(double ms) {
  return fmt::format("{}{}", ms > 0 ? "+" : "", base::msText(ms));
}

/// From ten times on as a factor: nobody reads thousands of per cent.
std::string changeText(const std::optional<double>& percent) {
  if (!percent) {
    return "-";
  }
  return *percent < 900     ? fmt::format("{:+.1f}", *percent)
         : *percent < 9'900 ? fmt::format("x{:.1f}", 1 + *percent / 100)
                            : fmt::format("x{:.0f}", 1 + *percent / 100);
}

std::string keyTable(const analysis::Comparison& comparison) {
  std::vector<std::string> headings{"key"};
  for (std::size_t run = 0; run < comparison.runs.size(); ++run) {
    headings.push_back(analysis::letterOf(run));
  }
  TextTable table(headings);
  for (const analysis::DifferingKey& key : comparison.keys) {
    std::vector<std::string> cells{key.key};
    for (const auto& value : key.values) {
      cells.push_back(value.value_or("-"));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string metricTable(const analysis::Comparison& comparison, std::size_t other) {
  const std::string letter = analysis::letterOf(other);
  TextTable table({"metric", "A", letter, "delta", "delta %", "99 %", "verdict"});
  for (const analysis::MetricRow& row : comparison.metrics) {
    const analysis::MetricFacts& about = analysis::facts(row.metric);
    const analysis::Delta& delta = row.deltas[other - 1];
    table.add({about.unit.empty() ? about.name : fmt::format("{} [{}]", about.name, about.unit),
               numberText(row.values[0]), numberText(row.values[other]),
               signedText(delta.difference), changeText(delta.percent),
               delta.low && delta.high
                   ? fmt::format("{} .. {}", signedText(delta.low), signedText(delta.high))
                   : "-",
               analysis::name(delta.verdict)});
  }
  return table.text();
}

struct Compared {
  std::vector<std::string> paths;
  bool json = false;
};

base::Result<int> compare(const Compared& arguments) {
  std::vector<ComparedRun> runs;
  for (const std::string& path : arguments.paths) {
    auto run = LOCKSTEP_TRY(readComparedRun(path));
    runs.push_back(std::move(run));
  }
  std::vector<analysis::RunToCompare> compared;
  for (const ComparedRun& run : runs) {
    // By pointers: the recorded events of two runs may be hundreds of megabytes.
    compared.push_back({run.info.name, run.settings, &run.data, &run.analysis, run.outcome});
  }
  const analysis::Comparison comparison = analysis::compare(compared);
  printPlain(arguments.json ? toJson(comparison, runs) + "\n" : comparisonText(comparison, runs));
  return 0;
}

}  // namespace

std::string comparisonText(const analysis::Comparison& comparison,
                           const std::vector<ComparedRun>& runs) {
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += fmt::format("{}  {} ({}, {}): {}\n", analysis::letterOf(i), runs[i].path.string(),
                        comparison.runs[i].name, trace::name(runs[i].info.state),
                        comparison.runs[i].counts);
  }
  text += !comparison.keys.empty()      ? "\nkeys that differ\n" + keyTable(comparison)
          : comparison.keysNote.empty() ? "\nthe experiments are the same\n"
                                        : "\nno setting that all these runs tell differs\n";
  text += comparison.keysNote.empty() ? "" : comparison.keysNote + "\n";
  for (std::size_t other = 1; other < runs.size(); ++other) {
    const analysis::Why& why = comparison.why[other - 1];
    text += fmt::format("\n{} against A (means over ranks and iterations)\n{}",
                        analysis::letterOf(other), metricTable(comparison, other));
    text += fmt::format("\nwhy (means a step and rank, which add up)\n  {}\n", why.summary);
    for (std::size_t i = 0; i < why.reasons.size() && i < kReasonsShown; ++i) {
      text += fmt::format("  {:>9} ms  {}\n", signedMsText(why.reasons[i].deltaMs),
                          why.reasons[i].sentence);
    }
    if (why.reasons.size() > kReasonsShown) {
      text += fmt::format("  {} more with less effect: see --json\n",
                          why.reasons.size() - kReasonsShown);
    }
  }
  return text;
}

void addCompare(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "compare",
      "Say how runs differ from the first: keys, figures with significance, and why", compare);
  command
      ->add_option("RUN", arguments->paths, "2 to 26 run files; the first is the one compared with")
      ->required()
      ->expected(2, 26);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Means are over ranks and iterations, the warm-up left out; reasons add up to the "
      "difference\n"
      "of the step time. Runs of one experiment are repeats: name several of each to learn "
      "whether\n"
      "the experiments differ (Welch's t over their means, 99 %). With one run on a side, a block\n"
      "bootstrap over the iterations says whether the two runs do, which is less.");
}

}  // namespace lockstep::cli
