#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/BucketLife.h"
#include "engine/base/Result.h"
#include "engine/buckets/Assign.h"
#include "engine/trace/Messages.h"

namespace lockstep::analysis {

// Note [What if the cap were another]
// A forecast for one measured step. What is kept as it was measured: when each gradient was ready
// on each rank, and the order in which the rebuild saw them. What follows from the other cap: the
// buckets (Note [Bucket assignment]), hence when each is full. What is modelled:
//   launched = later of full and launched of the bucket before, plus a launch delay
//   began    = launched plus a start delay, once fewer than `atOnce` buckets are in flight
//   ended    = began of the last rank, plus the cost of its bytes: a latency and a time a byte
// The cost is fitted to the run's own buckets, from the last rank's begin to the last rank's end;
// the delays are medians of the step. So a forecast knows nothing of how communication slows
// computing, of copies that become larger or fewer, nor of a hook whose time is not linear in the
// bytes. Its own cap is forecast too: how far that is from what was measured says how far to trust
// the rest.

/// One bucket's communication, once all ranks had come.
struct CostSample {
  std::uint64_t bytes = 0;  ///< of the bucket, whatever its hook made of them
  double ticks = 0;
};

/// What the communication of a bucket costs.
struct CommunicationCost {
  double latencyTicks = 0;
  double ticksPerByte = 0;
  double errorPercent = 0;  ///< median of |measured - fitted| / measured
  std::size_t samples = 0;

  [[nodiscard]] double ticks(std::uint64_t bytes) const {
    return latencyTicks + ticksPerByte * static_cast<double>(bytes);
  }
};

/// One step as it was measured: bucketLives() and readyOrders() of the same.
struct MeasuredStep {
  std::vector<trace::ParametersMessage::Parameter> parameters;
  trace::BucketsMessage layout;
  buckets::BucketCaps caps;  ///< that made the layout
  std::vector<ReadyOrder> orders;
  std::vector<BucketLife> lives;
};

/// Returns a sample of each bucket whose ranks all recorded it.
std::vector<CostSample> costSamples(const MeasuredStep& step);

/// Fits a line by least squares to the medians of each size; neither latency nor time a byte is
/// below 0. Nothing where fewer than two sizes differ by half: then the two cannot be told apart.
std::optional<CommunicationCost> fitCost(const std::vector<CostSample>& samples);

/// A bucket's moments on the last rank that came to each; ticks of the host.
struct BucketMoments {
  std::vector<std::uint32_t> parameters;
  std::uint64_t bytes = 0;
  std::uint64_t fullTicks = 0;  ///< its last gradient was ready
  std::uint64_t launchedTicks = 0;
  std::uint64_t beganTicks = 0;
  std::uint64_t endedTicks = 0;
};

/// What a step's communication comes to. Exposed is what lies behind the rank's last gradient:
/// there the backward has nothing left to compute. Medians over ranks.
struct CapOutcome {
  std::vector<BucketMoments> buckets;
  std::uint64_t lastGradientTicks = 0;  ///< of the last rank
  std::uint64_t endTicks = 0;           ///< of the last bucket
  double inFlightTicks = 0;
  double exposedTicks = 0;
  std::optional<double> overlapPercent;  ///< none: nothing was in flight
};

/// What a forecast takes from the step besides the ready times.
struct LaunchHabits {
  double launchDelayTicks = 0;
  double startDelayTicks = 0;
  std::size_t atOnce = 1;  ///< most buckets in flight at once on a rank
};

/// Returns what was measured, in the terms of a forecast. Error: a record is missing, or the
/// buckets do not meet on all ranks.
base::Result<CapOutcome> measuredOutcome(const MeasuredStep& step);

LaunchHabits launchHabits(const MeasuredStep& step);

/// Returns what the step would have been with another cap; the first bucket's limit stays.
/// Errors, each a sentence: records are missing; the layout is not that of a rebuild under these
/// caps (several kinds of gradients, sparse ones, a list of caps), so that another cannot be
/// computed. [any-thread]
base::Result<CapOutcome> forecast(const MeasuredStep& step, const CommunicationCost& cost,
                                  std::uint64_t capBytes);

}  // namespace lockstep::analysis
