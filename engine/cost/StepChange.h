#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/cost/Replay.h"

namespace lockstep::cost {

// Note [A change to a step]
// Every what-if is a change to the recorded steps, which are then replayed (Note [The replay of a
// step]). What is not changed stays as it was measured. Changes combine:
//   buckets    Others of the same gradients, in the order of their launch.
//   link       A modelled one carries the transfers. What the backend itself takes is kept: where
//              the run's own link was modelled, what its transfers took beyond the model, and never
//              less than the backend alone was seen to take; where it was not, what was measured is
//              the backend's. A transfer is over when both are, and a latency later.
//   in flight  How many transfers travel at once on a modelled link.
//   hook       Another part of each bucket's bytes travels, and before and after that a thread of
//              each rank works on it, one bucket at a time. Beside the backward, where there are
//              cores for it (Note [Where cores are short]).
//   computing  What a rank computes up to its last gradient takes this part of the time. The
//              optimizer, data and waiting take what they took.
//   views      Gradients are views into the buckets: no result is copied out.
//   a rank     Its excess over the other ranks is taken out.

/// What a hook does with a bucket.
struct HookWork {
  /// The part of its bytes that one allreduce carries; none: its communication is no such thing.
  std::optional<double> share = 1;
  /// What its communication was seen to take by the bucket's bytes, on the link that the run has
  /// and with as many in flight; counts where no share is known.
  std::optional<TransferCost> transfer{};
  TransferCost encode{};    ///< its own time before, by the bucket's bytes; 0: none
  TransferCost decode{};    ///< and after
  double aroundStepNs = 0;  ///< its time around each step
  double offNs = 0;         ///< half of its calls worked longer or shorter than that by more
  // By as much as the replay of the run that it is of misses what was measured, and as the thirds
  // of that differ.
  double runOffStepNs = 0;
  double runOffExposedNs = 0;
};

/// Time that a rank takes longer than others.
struct RankExcess {
  enum class Where : std::uint8_t {
    kBegin,     ///< before its first gradient
    kGradient,  ///< before the gradient of `parameter`
    kEnd,       ///< after the last bucket
  };
  struct Part {
    Where where = Where::kBegin;
    std::uint32_t parameter = 0;
    std::map<std::uint32_t, double> nsByStep;  ///< below 0: it was faster
  };
  int rank = 0;
  std::vector<Part> parts;
};

struct StepChange {
  std::optional<std::vector<PlannedBucket>> buckets{};  ///< none: its own
  std::optional<KnownTransfer> link{};                  ///< of all of a bucket's bytes
  std::optional<std::size_t> inFlight{};                ///< Line::inFlight
  std::optional<HookWork> hook{};
  double bytesTimes = 1;  ///< the part of the bytes that travel which would
  double computeFactor = 1;
  bool gradientsAreViews = false;
  std::optional<RankExcess> without{};
};

/// Takes `ns` of a rank's time out of a step, those up to `untilNs`: what comes after is so much
/// earlier. Below 0: adds them there. Results of buckets and the end of the step stay as they were.
void takeOut(RankStep& rank, double untilNs, double ns);

/// Returns the step with computing and without excess, as `change` says. The communication of its
/// buckets stays as it was: that is for a replay. [any-thread]
StepRecord changedStep(const StepRecord& step, const StepChange& change);

/// Returns how ranks work with `change`, where they had `own` and the hook `ownHook`; `bytes` are
/// those of a middle bucket of the run. [any-thread]
std::vector<RankHabits> changedHabits(std::vector<RankHabits> own, const HookWork& ownHook,
                                      double bytes, const StepChange& change);

}  // namespace lockstep::cost
