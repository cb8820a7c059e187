#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/run/Grown.h"

namespace lockstep::analysis {

// Note [Replicas]
// Data-parallel training averages gradients and takes for granted that all ranks hold the same
// parameters. Every capture.fingerprint_every steps each rank hashes each of its parameters, just
// before a forward, and the hashes are compared here: nothing is communicated for it. Where the
// hashes of a parameter differ, the ranks fall into classes. The largest is the reference; among
// equally large ones that with the lowest rank, which accuses nobody: of two ranks that differ
// either may be wrong (ReplicaCell::majority).
//
// A difference is found at the first sample after it, at most capture.fingerprint_every steps
// late: FirstDifference::lastEqualStep says since when. Hooks that average weights now and then,
// or only among some ranks, let replicas differ on purpose (RunInfo::driftingHook); then the
// distance counts, not this. Parameters that are not finite may well have equal bits on all ranks.
//
// How far replicas are apart comes from their sketches (base::CountSketch), since a difference of
// sketches is the sketch of the difference: a distance is off by sqrt(2 / counters) / 2 of
// itself, one standard deviation. Ranks whose hashes are all equal are 0 apart, exactly.

/// One parameter at one sample.
struct ReplicaCell {
  std::uint16_t present = 0;    ///< ranks whose hash is known
  std::uint16_t differing = 0;  ///< of them, those outside the reference class
  std::uint16_t notFinite = 0;  ///< of them, those with a number in it that is not finite
  bool majority = false;        ///< the reference class is more than half of those present

  /// Fewer than two ranks to compare.
  [[nodiscard]] bool unknown() const { return present < 2; }
};

/// The hash of every parameter of every rank at every sample, and whose are equal. A copy costs
/// little.
struct ReplicaMatrix {
  static constexpr std::uint8_t kAbsent = 0xFF;

  run::Grown<std::uint32_t> steps;  ///< the samples, sorted; see FingerprintMessage
  std::vector<int> ranks;           ///< sorted; "rank index" below is a place in it
  std::size_t parameters = 0;
  run::Grown<ReplicaCell> cells;     ///< sample x parameter
  run::Grown<std::uint8_t> classes;  ///< sample x parameter x rank: 0 = reference, or kAbsent
  run::Grown<std::uint64_t> hashes;  ///< likewise; 0 where absent
  run::Grown<float> norms;           ///< likewise, Euclidean; -1: unknown or not finite

  [[nodiscard]] const ReplicaCell& cell(std::size_t sample, std::size_t parameter) const {
    return cells[sample * parameters + parameter];
  }
  /// The place in classes, hashes and norms.
  [[nodiscard]] std::size_t at(std::size_t sample, std::size_t parameter,
                               std::size_t rankIndex) const {
    return (sample * parameters + parameter) * ranks.size() + rankIndex;
  }
  /// The steps of the samples in which every rank left a hash of every parameter: of others, such
  /// as the newest one of a live run, equality of all is not known.
  [[nodiscard]] std::vector<std::uint32_t> wholeSteps() const;
  /// The ranks outside the reference class of a cell.
  [[nodiscard]] std::vector<int> differingRanks(std::size_t sample, std::size_t parameter) const;
};

/// Where replicas were first seen to differ.
struct FirstDifference {
  std::size_t sample = 0;  ///< index into ReplicaMatrix::steps
  std::uint32_t step = 0;
  std::optional<std::uint32_t> lastEqualStep;  ///< none: no earlier sample
  std::size_t parameter = 0;                   ///< the first of those that differ
  std::size_t parametersDiffering = 0;         ///< at this sample
  std::vector<int> ranks;                      ///< outside the reference class
  bool majority = false;                       ///< see ReplicaCell
};

/// The first sample that holds a parameter with a number in it that is not finite.
struct LostParameter {
  std::size_t sample = 0;  ///< index into ReplicaMatrix::steps
  std::uint32_t step = 0;
  std::size_t parameter = 0;  ///< the first of those that have one
  int rank = 0;               ///< the first of those that hold it so
};

/// How far the ranks' parameters, all taken as one vector, are apart at one sample.
struct ConsensusSample {
  std::uint32_t step = 0;
  std::vector<int> ranks;  ///< whose sketches are known and finite, sorted
  /// Of each of them to their mean.
  std::vector<double> distances;
  double spread = 0;          ///< root of the mean of their squares: "consensus distance"
  std::vector<double> pairs;  ///< ranks x ranks
};

/// The Euclidean norm of each rank's own gradients in one step, all buckets together.
struct GradientNormSample {
  std::uint32_t step = 0;
  std::vector<int> ranks;     ///< whose gradients were finite, sorted
  std::vector<double> norms;  ///< of each of them
};

/// A rank whose gradients held something that is no finite number before they were averaged.
struct SanityFinding {
  std::uint32_t step = 0;
  int rank = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::optional<std::uint32_t> parameter;  ///< the first that came with it
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;

  bool operator==(const SanityFinding&) const = default;
};

/// What sampling took, of the time of all steps of all ranks.
struct SamplingCost {
  double fingerprintPercent = 0;
  double gradientCheckPercent = 0;
};

/// A copy costs little.
struct Divergence {
  ReplicaMatrix replicas;
  std::optional<FirstDifference> first;  ///< none: no difference was seen
  std::optional<LostParameter> lost;     ///< none: all that were sampled are finite
  run::Grown<ConsensusSample> consensus;
  double consensusRelativeError = 0;  ///< one standard deviation of a distance; 0: no sketches
  run::Grown<GradientNormSample> gradientNorms;
  run::Grown<SanityFinding> findings;  ///< by step, rank, bucket
  /// The first loss that was not finite: rank and step.
  std::optional<SanityFinding> firstBadLoss;
  std::optional<SamplingCost> cost;  ///< none: nothing was sampled

  /// Whether there is anything that could have differed.
  [[nodiscard]] bool compared() const;

  /// The consensus distance at the last sample; none: nothing was sampled, or not all ranks'
  /// sketches are known and finite there.
  [[nodiscard]] std::optional<double> lastSpread() const;

  /// The last sample since the first difference in which all ranks' sketches are known and finite;
  /// nullptr: there is none.
  [[nodiscard]] const ConsensusSample* lastOfAll() const;
};

/// Compares what the ranks of a run recorded of themselves. No result is NaN.
Divergence divergence(const RunData& data);

/// Of what a look at a run that grows returned, how much is closed, so that the next will return it
/// as it is.
struct DivergenceParts {
  std::size_t samples = 0;  ///< of ReplicaMatrix::steps
  std::size_t consensus = 0;
  std::size_t gradientNorms = 0;
  std::size_t findings = 0;
  bool operator==(const DivergenceParts&) const = default;
};

/// The same of a run that grows: Note [Figures of closed steps]. One thread at a time.
class GrowingDivergence : private GrowingFigure {
 public:
  /// `data` and `run` go on with those of the last call.
  Divergence refresh(const RunData& data, const RunAnalysis& run);
  /// What of the last call's was closed before it, and what is now.
  [[nodiscard]] const DivergenceParts& closedBefore() const { return before_; }
  [[nodiscard]] DivergenceParts closed() const;

 private:
  /// What is known of the first samples, so many.
  struct Seen {
    std::size_t samples = 0;
    std::optional<FirstDifference> first;
    std::optional<std::uint32_t> lastEqual;
    std::optional<LostParameter> lost;

    void goOn(const ReplicaMatrix& matrix);
  };
  struct Taken {
    std::uint64_t steps = 0;  // ticks of all ranks, here and below
    std::uint64_t fingerprints = 0;
    std::uint64_t checks = 0;
  };

  /// What has come of steps that are open.
  struct Open {
    std::vector<trace::FingerprintRow> fingerprints;
    std::vector<trace::SketchRow> sketches;
    std::vector<trace::GradientRow> gradients;

    /// Takes out what is of steps below `next`.
    Open takeBelow(std::uint32_t next);
  };
  /// How many rows were looked at.
  struct Rows {
    std::size_t fingerprints = 0;
    std::size_t sketches = 0;
    std::size_t gradients = 0;
    std::size_t losses = 0;
  };

  bool take(const RunData& data, const RunAnalysis& run);
  bool takeRanks();
  void takeLosses(const RunData& data);
  /// Adds rows of steps of which none is there.
  static void add(const Open& rows, Divergence& to);
  [[nodiscard]] std::optional<SamplingCost> cost() const;

  Rows rows_;
  Open open_;
  Divergence closed_;
  Seen seen_;  // of these
  Taken taken_;
  DivergenceParts before_;
};

}  // namespace lockstep::analysis
