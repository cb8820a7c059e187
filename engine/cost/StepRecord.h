#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/cost/TransferFit.h"

namespace lockstep::cost {

// What a replay takes from a measured step. All times are ns on one axis for all ranks, from an
// origin of the step.

/// Not known, or never.
inline constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

/// `end` not included.
struct Stretch {
  double begin = 0;
  double end = 0;
};

/// One rank's part in one bucket.
struct BucketPart {
  double launchedNs = 0;
  double beganNs = 0;  ///< this rank came to its communication
  double endedNs = 0;
  double copyOutNs = kNoTime;    ///< began to copy the result into the gradients
  double copiedOutNs = kNoTime;  ///< ended that
  /// The backend was done; a modelled link goes on from there to endedNs.
  double backendEndedNs = kNoTime;
};

struct BucketRecord {
  std::vector<std::uint32_t> parameters;
  std::uint64_t bytes = 0;
  std::vector<BucketPart> parts;  ///< by rank
};

struct RankStep {
  int rank = 0;
  double beginNs = 0;
  double endNs = 0;
  std::vector<double> filledNs;    ///< by parameter: its gradient lies in its bucket
  double backwardBeginNs = kNoTime;
  double lastGradientNs = 0;       ///< from then on the backward has nothing left to compute
  double waitsNs = 0;              ///< from then on the step thread waits for buckets
  double wholeCopyNsPerByte = 0;   ///< of gradients that are copied a bucket at a time
  std::vector<Stretch> computing;  ///< up to the last gradient; sorted, disjoint
};

/// A step that all ranks recorded whole.
struct StepRecord {
  std::uint32_t step = 0;
  double originNs = 0;  ///< of its axis, on that of the run
  std::vector<RankStep> ranks;
  std::vector<BucketRecord> buckets;  ///< in the order of their launch
};

/// What really moves the data under a modelled link.
struct Backend {
  TransferCost cost;
  std::size_t inFlight = 1;  ///< as that of a Line
};

/// The carrier of a group's transfers, one after the other in the order of the buckets.
struct Line {
  TransferCost cost;
  /// How many travel at once, latency included; 0: no limit. What they take by their bytes they
  /// take one after the other in any case.
  std::size_t inFlight = 1;
  /// Moves the data meanwhile: a transfer's bytes have arrived when both are done with them, and
  /// then it takes its latency. None: the cost is all there is.
  std::optional<Backend> under{};
};

/// Returns what each transfer of a step took once it could begin (Note [What a transfer costs]).
/// Where several travel at once, only those that met no other one tell that.
std::vector<TransferSample> transferSamples(const StepRecord& step, std::size_t inFlight);

/// What a rank takes to do between the moments that a replay computes; medians over steps.
struct RankHabits {
  double launchDelayNs = 0;  ///< from full, and the launch before, to the launch
  double startDelayNs = 0;   ///< from the launch to the begin
  double resultDelayNs = 0;  ///< from the end to the copy-out, of who waits for it
  double copyOutNsPerByte = 0;
  /// What a hook works on a bucket before and after its communication, beyond the delays above, by
  /// the bucket's bytes; on a thread that does one thing at a time. A run has it in its delays.
  TransferCost encode{};
  TransferCost decode{};
  double aroundStepNs = 0;  ///< and around a step, beyond what the step has of it
};

/// Returns those of each rank of the steps, which all have the same ranks.
std::vector<RankHabits> rankHabits(const std::vector<StepRecord>& steps);

/// Whether ranks waited for each other between two steps, of which `step` follows `before`: they
/// agreed on something. All of them began it after the last had ended the one before, and one was
/// longer between the two than another by as much again.
bool metBetween(const StepRecord& before, const StepRecord& step);

/// When the last of these gradients lies in its bucket; kNoTime where one never does.
double fullNs(const RankStep& rank, const std::vector<std::uint32_t>& parameters);

}  // namespace lockstep::cost
