#include "engine/analysis/Compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/analysis/CompareSamples.h"
#include "engine/analysis/RankTest.h"

namespace lockstep::analysis {
namespace {

/// Values of one run that have no samples, or whose samples are not what is shown.
std::optional<double> ofRun(const RunToCompare& run, Metric metric) {
  const auto percent = [](std::optional<double> share) {
    return share ? std::optional(100 * *share) : std::nullopt;
  };
  switch (metric) {
    case Metric::kStepsPerSecond:
      return run.analysis->stepsPerSecond;
    case Metric::kWire:
      return run.outcome.wireBytesPerStep;
    case Metric::kFinalLoss:
      return run.outcome.finalLoss;
    case Metric::kTestLoss:
      return run.outcome.testLoss;
    case Metric::kTestAccuracy:
      return percent(run.outcome.testAccuracy);
    default:
      return std::nullopt;
  }
}

bool isOfRun(Metric metric) {
  return metric == Metric::kStepsPerSecond || metric >= Metric::kWire;
}

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// One metric of one run.
struct Sampled {
  std::optional<double> value;
  std::vector<double> samples;
};

Sampled sample(const RunToCompare& run, Metric metric) {
  Sampled sampled;
  if (isOfRun(metric)) {
    sampled.value = finite(ofRun(run, metric));
  } else {
    std::vector<double> values;
    for (const RankStepValue& value : rankStepValues(*run.data, *run.analysis, metric)) {
      values.push_back(value.value);
    }
    sampled.value = finite(median(std::move(values)));
  }
  sampled.samples = iterationSamples(*run.data, *run.analysis, metric);
  return sampled;
}

/// Chance as people read it: never 0.
std::string chanceText(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.3g}", p);
}

void judge(Delta& delta, const Sampled& a, const Sampled& b, Better better,
           const std::string& letter) {
  const auto test = rankTest(a.samples, b.samples);
  if (!test) {
    delta.verdict = Verdict::kUntested;
    delta.reason =
        a.samples.empty() && b.samples.empty()
            ? "Not tested: a run has one value of it. Repeat both runs to tell chance from effect."
            : fmt::format(
                  "Not tested: A has {} measured iterations of it and {} has {}; {} of "
                  "each are needed.",
                  a.samples.size(), letter, b.samples.size(), kFewestForRankTest);
    return;
  }
  delta.p = test->p;
  delta.shareGreater = test->shareGreater;
  const bool greater = test->shareGreater > 0.5;
  const std::string outcome = fmt::format("Mann-Whitney U over {} and {} iterations: {}.",
                                          a.samples.size(), b.samples.size(), chanceText(test->p));
  if (test->p >= kSignificant) {
    delta.verdict = Verdict::kNoDifference;
    delta.reason = "Not significant: iterations of one run differ as much. " + outcome;
    return;
  }
  delta.verdict = greater == (better == Better::kHigher) ? Verdict::kBetter : Verdict::kWorse;
  delta.reason = fmt::format("{} {}'s is {} in {:.0f} % of all pairs of iterations.", outcome,
                             letter, greater ? "greater" : "smaller",
                             100 * (greater ? test->shareGreater : 1 - test->shareGreater));
}

Delta deltaOf(Metric metric, const Sampled& a, const Sampled& b, const std::string& letter) {
  Delta delta;
  if (!a.value || !b.value) {
    delta.reason = fmt::format("Unknown in run {}.", a.value ? letter : "A");
    return delta;
  }
  const MetricFacts& about = facts(metric);
  delta.difference = *b.value - *a.value;
  if (*a.value != 0 && about.unit != "%") {
    delta.percent = 100 * *delta.difference / std::abs(*a.value);
  }
  judge(delta, a, b, about.better, letter);
  return delta;
}

ComparedRun describe(const RunToCompare& run) {
  const Iterations iterations = countIterations(*run.analysis);
  ComparedRun described;
  described.name = run.name;
  described.measuredIterations = static_cast<std::uint32_t>(iterations.measured.size());
  described.warmUpIterations = iterations.warmUp;
  described.incompleteIterations = iterations.incomplete;
  described.counts = fmt::format("{} iterations measured, {} of warm-up left out",
                                 described.measuredIterations, iterations.warmUp);
  if (iterations.incomplete > 0) {
    described.counts += fmt::format(", {} with lost events left out", iterations.incomplete);
  }
  return described;
}

/// A row that says something: a run has a value, and not all have none to speak of.
bool isWorthARow(const MetricRow& row) {
  return std::any_of(row.values.begin(), row.values.end(),
                     [](const auto& value) { return value.has_value() && *value != 0; });
}

std::optional<double> meanOver(const LastMetrics& metrics, const std::string& name) {
  const auto at = metrics.find(name);
  if (at == metrics.end() || at->second.empty()) {
    return std::nullopt;
  }
  double sum = 0;
  for (const auto& [rank, value] : at->second) {
    sum += value;
  }
  return finite(sum / static_cast<double>(at->second.size()));
}

}  // namespace

Outcome outcomeOf(const LastMetrics& metrics, const std::vector<trace::RankInfo>& ranks,
                  const RunAnalysis& run) {
  Outcome outcome;
  outcome.finalLoss = meanOver(metrics, "final_loss");
  outcome.testLoss = meanOver(metrics, "test_loss");
  outcome.testAccuracy = meanOver(metrics, "test_accuracy");
  std::uint64_t bytes = 0;
  for (const trace::RankInfo& rank : ranks) {
    bytes += rank.wireBytes;
  }
  if (bytes > 0 && !run.steps.empty()) {
    outcome.wireBytesPerStep = static_cast<double>(bytes) / static_cast<double>(run.steps.size());
  }
  return outcome;
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNoDifference:
      return "not significant";
    case Verdict::kUntested:
      return "not tested";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

std::string letterOf(std::size_t run) {
  return run < 26 ? std::string(1, static_cast<char>('A' + run)) : fmt::format("run {}", run + 1);
}

Comparison compare(const std::vector<RunToCompare>& runs) {
  Comparison comparison;
  std::vector<std::string> experiments;
  for (const RunToCompare& run : runs) {
    comparison.runs.push_back(describe(run));
    experiments.push_back(run.experimentToml);
  }
  comparison.keys = differingKeys(experiments);
  for (int number = 0; number < kMetrics; ++number) {
    MetricRow row;
    row.metric = static_cast<Metric>(number);
    std::vector<Sampled> sampled;
    for (const RunToCompare& run : runs) {
      sampled.push_back(sample(run, row.metric));
      row.values.push_back(sampled.back().value);
    }
    for (std::size_t other = 1; other < runs.size(); ++other) {
      row.deltas.push_back(deltaOf(row.metric, sampled[0], sampled[other], letterOf(other)));
    }
    if (isWorthARow(row)) {
      comparison.metrics.push_back(std::move(row));
    }
  }
  for (std::size_t other = 1; other < runs.size(); ++other) {
    comparison.why.push_back(whyDifferent(runs[0], runs[other], letterOf(other)));
  }
  return comparison;
}

}  // namespace lockstep::analysis
