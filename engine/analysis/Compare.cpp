#include "engine/analysis/Compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/analysis/CompareSamples.h"
#include "engine/analysis/RunMeans.h"
#include "engine/base/NumberText.h"
#include "engine/cost/BlockBootstrap.h"

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

// Metric lists last what has one value a run: from kWire on.
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
    const std::vector<RankStepValue> values = rankStepValues(*run.data, *run.analysis, metric);
    double sum = 0;
    for (const RankStepValue& value : values) {
      sum += value.value;
    }
    if (!values.empty()) {
      // The mean over all steps of all ranks, not over the iterations' means: the table must add up
      // with the reasons (Note [Causes]), which are means a step and rank.
      sampled.value = finite(sum / static_cast<double>(values.size()));
    }
  }
  sampled.samples = iterationSamples(*run.data, *run.analysis, metric);
  return sampled;
}

/// The runs of a comparison and how they group.
struct Repeats {
  std::vector<std::size_t> group;  ///< by run: the first run of its experiment

  explicit Repeats(const std::vector<Settings>& runs) {
    for (std::size_t run = 0; run < runs.size(); ++run) {
      std::size_t first = 0;
      // Stops at the run itself where none before it is alike.
      while (first < run && !isRepeat(runs[first], runs[run])) {
        ++first;
      }
      group.push_back(first);
    }
  }

  static bool isRepeat(const Settings& a, const Settings& b) {
    return a.observed == b.observed && differingKeys({a, b}).empty();
  }

  /// The values of all runs of an experiment that have one.
  [[nodiscard]] std::vector<double> valuesOf(std::size_t of,
                                             const std::vector<Sampled>& runs) const {
    std::vector<double> values;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (group[run] == group[of] && runs[run].value) {
        values.push_back(*runs[run].value);
      }
    }
    return values;
  }
};

bool leavesOutZero(const cost::MeanInterval& interval) {
  return interval.low > 0 || interval.high < 0;
}

/// With repeats of both experiments.
void judgeExperiments(Delta& delta, const cost::MeanInterval& between, std::size_t countA,
                      std::size_t count, Better better, const std::string& letter) {
  delta.low = between.low;
  delta.high = between.high;
  const std::string runs =
      fmt::format("Means of {} runs like A and {} like {} (Welch's t, {})", countA, count, letter,
                  base::percentText(100 * (1 - kSignificant), 0));
  if (leavesOutZero(between)) {
    delta.verdict = sideOf(between.mean, better);
    delta.reason = runs + " differ.";
  } else {
    delta.verdict = Verdict::kNoDifference;
    delta.reason = runs + " do not differ by more than repeats do.";
  }
}

/// The sides that have one run alone: of A, of the other one, or of both.
struct Lone {
  bool a = false;
  bool other = false;
  std::string letter;  ///< the other one's

  [[nodiscard]] std::string opening() const {
    return a && other ? "One run each" : "One run like " + (a ? "A" : letter);
  }
  /// Which runs to repeat.
  [[nodiscard]] std::string which() const { return a && other ? "both" : a ? "A" : letter; }
};

/// Whether both have the same value in each measured iteration: nothing is left to chance. Of one
/// that is the same in all iterations it does not matter how many there are.
bool areTheSame(const Sampled& a, const Sampled& b) {
  const auto isTheSame = [&](double value) { return value == a.samples.front(); };
  return !a.samples.empty() &&
         (a.samples == b.samples ||
          (std::ranges::all_of(a.samples, isTheSame) && std::ranges::all_of(b.samples, isTheSame)));
}

/// With one run on a side.
void judgeRuns(Delta& delta, const Sampled& a, const Sampled& b, const Lone& lone) {
  const std::string& letter = lone.letter;
  if (a.samples.empty() && b.samples.empty() && *a.value == *b.value) {
    delta.verdict = Verdict::kEqual;
    delta.reason = "The same in both runs.";
    return;
  }
  const auto between = cost::differenceInterval(a.samples, b.samples, kSignificant / 2);
  if (!between) {
    delta.verdict = Verdict::kUntested;
    delta.reason =
        a.samples.empty() && b.samples.empty()
            ? fmt::format(
                  "Not tested: a run has one value of it. Repeat {} to tell chance from effect.",
                  lone.which())
            : fmt::format(
                  "Not tested: A has {} measured iterations of it and {} has {}; {} of "
                  "each are needed.",
                  a.samples.size(), letter, b.samples.size(), cost::kFewestForBootstrap);
    return;
  }
  delta.low = between->low;
  delta.high = between->high;
  if (areTheSame(a, b)) {
    delta.verdict = Verdict::kEqual;
    delta.reason = "The same in every measured iteration of both.";
  } else if (leavesOutZero(*between)) {
    delta.verdict = Verdict::kTooFewRuns;
    delta.reason = fmt::format(
        "{}: {}'s iterations are {} than A's beyond chance, but two runs of one experiment may be "
        "as far apart. Repeat {} to tell.",
        lone.opening(), letter, between->mean > 0 ? "greater" : "smaller", lone.which());
  } else {
    delta.verdict = Verdict::kNoDifference;
    delta.reason = "Not significant: iterations of one run differ as much (block bootstrap).";
  }
}

Delta deltaOf(Metric metric, const std::vector<Sampled>& runs, std::size_t other,
              const Repeats& repeats, bool observed) {
  const Sampled& a = runs[0];
  const Sampled& b = runs[other];
  const std::string letter = letterOf(other);
  Delta delta;
  if (!a.value || !b.value) {
    delta.reason = fmt::format("Unknown in run {}.", a.value ? letter : "A");
    return delta;
  }
  const MetricFacts& about = facts(metric);
  delta.difference = *b.value - *a.value;
  // A percentage of a percentage would be read as a difference of points.
  if (*a.value != 0 && about.unit != "%") {
    delta.percent = 100 * *delta.difference / std::abs(*a.value);
  }
  if (repeats.group[other] == repeats.group[0]) {
    delta.verdict = Verdict::kSameExperiment;
    delta.reason =
        observed ? fmt::format(
                       "A and {} ran the same command with the same settings of DDP: unless the "
                       "script was changed, two runs of it are this far apart here.",
                       letter)
                 : fmt::format(
                       "A and {} ran the same experiment: two runs of it are this far apart here.",
                       letter);
    return delta;
  }
  // All repeats count, also those that are not A or B themselves: with A, A', B, B' in the table,
  // B's row and that of B' have the same verdict.
  const std::vector<double> likeA = repeats.valuesOf(0, runs);
  const std::vector<double> likeB = repeats.valuesOf(other, runs);
  if (const auto between = runMeansInterval(likeA, likeB, kSignificant / 2)) {
    judgeExperiments(delta, *between, likeA.size(), likeB.size(), about.better, letter);
  } else {
    judgeRuns(delta, a, b, {likeA.size() == 1, likeB.size() == 1, letter});
  }
  return delta;
}

ComparedRun describe(const RunToCompare& run) {
  const Iterations iterations = countIterations(*run.analysis);
  ComparedRun described;
  described.name = run.name;
  described.measuredIterations = static_cast<std::uint32_t>(iterations.measured.size());
  described.warmUpIterations = iterations.warmUp;
  described.incompleteIterations = iterations.incomplete;
  described.counts =
      fmt::format("{} measured, {} of warm-up left out",
                  base::countedText(described.measuredIterations, "iteration"), iterations.warmUp);
  if (iterations.incomplete > 0) {
    described.counts += fmt::format(", {} with lost events left out", iterations.incomplete);
  }
  return described;
}

std::string noteOn(const std::vector<RunToCompare>& runs) {
  std::string jobs;
  std::size_t count = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].settings.observed) {
      jobs += (count == 0 ? "" : ", ") + letterOf(run);
      ++count;
    }
  }
  if (count == 0) {
    return {};
  }
  return fmt::format(
      "{} {} of PyTorch: what the script sets without telling DDP (model, data, "
      "optimizer) is not known, and not compared.",
      jobs, count == 1 ? "is a job" : "are jobs");
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
  if (!outcome.finalLoss) {  // of a job of PyTorch, or of a run that did not come to its end
    outcome.finalLoss = meanOver(metrics, "loss");
  }
  outcome.testLoss = meanOver(metrics, "test_loss");
  outcome.testAccuracy = meanOver(metrics, "test_accuracy");
  std::uint64_t bytes = 0;
  for (const trace::RankInfo& rank : ranks) {
    bytes += rank.wireBytes;
  }
  if (bytes > 0 && !run.stepRows.empty()) {
    outcome.wireBytesPerStep =
        static_cast<double>(bytes) / static_cast<double>(run.stepRows.size());
  }
  return outcome;
}

Verdict sideOf(double difference, Better better) {
  return (difference > 0) == (better == Better::kHigher) ? Verdict::kBetter : Verdict::kWorse;
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNoDifference:
      return "not significant";
    case Verdict::kEqual:
      return "equal";
    case Verdict::kTooFewRuns:
      return "too few runs";
    case Verdict::kSameExperiment:
      return "same experiment";
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
  std::vector<Settings> settings;
  for (const RunToCompare& run : runs) {
    comparison.runs.push_back(describe(run));
    settings.push_back(run.settings);
  }
  comparison.keys = differingKeys(settings);
  comparison.keysNote = noteOn(runs);
  const Repeats repeats(settings);
  for (int number = 0; number < kMetrics; ++number) {
    MetricRow row;
    row.metric = static_cast<Metric>(number);
    std::vector<Sampled> sampled;
    for (const RunToCompare& run : runs) {
      sampled.push_back(sample(run, row.metric));
      row.values.push_back(sampled.back().value);
    }
    for (std::size_t other = 1; other < runs.size(); ++other) {
      row.deltas.push_back(deltaOf(row.metric, sampled, other, repeats, settings[0].observed));
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
