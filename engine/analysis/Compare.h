#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/StepCauses.h"

namespace lockstep::analysis {

// Note [Comparing runs]
// Each run is set against the first, A. Warm-up steps (RunAnalysis::warmUp) and steps in which
// events were dropped are left out of both. A time of the table is the mean over ranks and
// iterations, since means add up: the difference between two runs' mean step is the sum of the
// differences of its causes (Note [Causes]).
//
// Two runs of one experiment differ, by what else the machine does and by where threads and memory
// came to lie, and however many iterations a run has, they share that. So
//   - runs whose experiments are the same in all but name are repeats of each other. Where both
//     sides have at least two, their means are set against each other by Welch's t (1947): that is
//     a difference of what was changed, if it is significant;
//   - with one run on a side, the iterations alone say whether the two runs differ, by block
//     bootstrap (BlockBootstrap.h) of one number an iteration, the mean over its ranks, since the
//     ranks of an iteration wait for each other. That is a difference of the runs: "too few runs";
//   - repeats of one experiment are not set against each other.

/// The share of cases in which an interval misses the true difference. A difference whose interval
/// leaves 0 out is significant.
inline constexpr double kSignificant = 0.01;

/// What training came to; what the run does not know is absent.
struct Outcome {
  std::optional<double> finalLoss;  ///< of the last step, mean over ranks
  std::optional<double> testLoss;
  std::optional<double> testAccuracy;      ///< 0..1
  std::optional<double> wireBytesPerStep;  ///< of a rank; over the whole run, its start included
};

/// The latest value of each metric on each rank.
using LastMetrics = std::map<std::string, std::map<int, double>>;

/// Returns what training came to; `run` tells over how many steps bytes are spread.
Outcome outcomeOf(const LastMetrics& metrics, const std::vector<trace::RankInfo>& ranks,
                  const RunAnalysis& run);

/// What a run was set to.
struct Settings {
  std::map<std::string, std::string> keys;  ///< of an experiment; the value as TOML
  /// Of a job of PyTorch (trace::RunKind::kObserved): `keys` are what it tells, under the names
  /// that the same has in an experiment, and "command" and "torch". The rest is not known.
  bool observed = false;
  /// Whether it is known when a rank was ready and had no core (FORMAT.md, core_waits): where it is
  /// not, that time counts as computing.
  bool coreWaits = true;
};
/// Of a run of the engine, by its resolved experiment.
Settings settingsOf(const std::string& experimentToml);
/// Of either kind of run.
Settings settingsOf(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks);

/// A run as it enters a comparison; `data` and `analysis` outlive the call.
struct RunToCompare {
  std::string name;
  Settings settings;
  const RunData* data = nullptr;
  const RunAnalysis* analysis = nullptr;
  Outcome outcome;
};

/// What is compared; each a row of the table.
enum class Metric : std::uint8_t {
  kStep,
  kStepsPerSecond,
  kForward,
  kBackward,
  kOptimizer,
  kExposed,
  kOverlap,
  kWaiting,
  kTransfer,
  kEncode,
  kDecode,
  kPayload,
  kWire,
  kFinalLoss,
  kTestLoss,
  kTestAccuracy,
};
inline constexpr int kMetrics = 16;

enum class Better : std::uint8_t { kLower, kHigher };

struct MetricFacts {
  std::string key;      ///< in JSON: "step_ms"
  std::string name;     ///< "step time"
  std::string unit;     ///< "ms", "%", "B", "1/s", ""
  std::string meaning;  ///< a sentence
  Better better = Better::kLower;
};
const MetricFacts& facts(Metric metric);

/// Returns one number for each measured iteration, in order: the mean over its ranks. Empty for
/// what has one value a run.
std::vector<double> iterationSamples(const RunData& data, const RunAnalysis& run, Metric metric);

enum class Verdict : std::uint8_t {
  kBetter,
  kWorse,
  kNoDifference,    ///< one that chance explains
  kEqual,           ///< no iteration differs
  kTooFewRuns,      ///< the two runs differ; that says nothing of what was changed
  kSameExperiment,  ///< they are repeats of each other
  kUntested,        ///< one value a run, or too few iterations
  kUnknown,         ///< one of the runs has no value
};
/// As people read it: "not significant".
const char* name(Verdict verdict);
/// Returns kBetter or kWorse: which of them a difference from A, other than 0, is.
Verdict sideOf(double difference, Better better);

/// A run's value of a metric against that of A.
struct Delta {
  std::optional<double> difference;
  std::optional<double> percent;  ///< of A's; none: that is 0, or the metric is a percentage
  std::optional<double> low;  ///< between what the difference lies (kSignificant): of the runs, or,
  std::optional<double> high;  ///< where there are repeats, of the experiments
  Verdict verdict = Verdict::kUnknown;
  std::string reason;  ///< a sentence: the test and its outcome, or why there is none
};

struct MetricRow {
  Metric metric{};
  std::vector<std::optional<double>> values;  ///< by run
  std::vector<Delta> deltas;                  ///< of each run but the first
};

/// A key of the experiments that is not the same in all.
struct DifferingKey {
  std::string key;    ///< "ddp.bucket_cap_mb"
  std::string label;  ///< "Bucket cap", or empty
  std::string unit;
  std::vector<std::optional<std::string>> values;  ///< TOML by run; none: it has no such key
};

/// Buckets of two runs that hold the same parameters, taken together.
struct BucketGroup {
  std::vector<std::uint16_t> inA;
  std::vector<std::uint16_t> inB;
};

/// Note [Aligned buckets]
/// Buckets are set against each other by the parameters in them: those that share a parameter are
/// of one group, so that a group holds the same parameters in both runs. Parameters are the same
/// where they have the same number and as many elements, whatever they are called.
struct BucketAlignment {
  bool same = true;                 ///< the layouts are equal, or none is known
  std::vector<BucketGroup> groups;  ///< by their first bucket in A; fewer than two: all are one
  std::size_t countA = 0;           ///< buckets
  std::size_t countB = 0;
  std::string sentence;  ///< what is done where they differ; empty where they do not
};

/// One cause of a run's mean step being longer or shorter than A's.
struct Reason {
  CauseKey key;  ///< its bucket is that of both runs, or none where several are taken together
  BucketGroup buckets;  ///< those that are taken together, where the buckets differ
  double msA = 0;       ///< mean a step and rank
  double ms = 0;
  double deltaMs = 0;
  std::string sentence;
  /// A step and rank where it costs about its mean; none: in no measured step.
  struct Place {
    int rank = 0;
    std::uint32_t step = 0;
  };
  std::optional<Place> placeInA;
  std::optional<Place> place;
};

/// Why one run's step is longer or shorter than A's.
struct Why {
  double stepDeltaMs = 0;       ///< of the means; the sum of all reasons
  double exposedDeltaMs = 0;    ///< the part that is exposed communication
  bool perBucket = true;        ///< false: the buckets differ, and are in groups (BucketAlignment)
  std::string summary;          ///< a sentence
  std::vector<Reason> reasons;  ///< the greatest difference first
};

struct ComparedRun {
  std::string name;
  std::uint32_t measuredIterations = 0;
  std::uint32_t warmUpIterations = 0;
  std::uint32_t incompleteIterations = 0;  ///< left out because events were dropped in them
  std::string counts;                      ///< a sentence with the three
};

struct Comparison {
  std::vector<ComparedRun> runs;
  std::vector<DifferingKey> keys;
  std::string keysNote;            ///< a sentence where jobs of PyTorch are among the runs
  std::vector<MetricRow> metrics;  ///< those that any run has a value of
  std::vector<Why> why;            ///< of each run but the first
};

/// Compares two runs or more with the first. No number is NaN.
Comparison compare(const std::vector<RunToCompare>& runs);

/// Returns "A", "B", ... for the place of a run in a comparison.
std::string letterOf(std::size_t run);

/// Returns the keys that differ, in the order of the schema, without the name of the experiment
/// and its description. What an observed run does not tell differs from nothing.
std::vector<DifferingKey> differingKeys(const std::vector<Settings>& runs);

/// Returns which buckets of the measured iterations hold the same parameters.
BucketAlignment alignBuckets(const RunToCompare& a, const RunToCompare& b,
                             const std::string& letter);

/// Returns why B's step is longer or shorter than A's, causes below 1 µs left out.
Why whyDifferent(const RunToCompare& a, const RunToCompare& b, const std::string& letter);

}  // namespace lockstep::analysis
