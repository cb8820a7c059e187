#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "engine/analysis/CompareSamples.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

const std::array<MetricFacts, kMetrics> kFacts{{
    {"step_ms", "step time", "ms", "One iteration of a rank, from its start to its end.",
     Better::kLower},
    {"steps_per_second", "steps per second", "1/s",
     "Measured iterations of the slowest rank over the time they took.", Better::kHigher},
    {"forward_ms", "forward", "ms", "The forward passes of an iteration, the loss included.",
     Better::kLower},
    {"backward_ms", "backward", "ms",
     "The backward passes of an iteration, with what the communication adds to them.",
     Better::kLower},
    {"optimizer_ms", "optimizer", "ms", "The optimizer's step, with zero_grad.", Better::kLower},
    {"exposed_ms", "exposed communication", "ms",
     "Time in an iteration in which communication was in flight and the rank did not compute.",
     Better::kLower},
    {"overlap_percent", "overlap", "%",
     "Share of the time in flight in which the rank computed as well.", Better::kHigher},
    {"waiting_ms", "waiting for ranks", "ms",
     "Time in a rank's collectives of an iteration before their last rank arrived; collectives "
     "beside each other add up.",
     Better::kLower},
    {"transfer_ms", "transfer", "ms",
     "Time in a rank's collectives of an iteration after their last rank arrived; collectives "
     "beside each other add up.",
     Better::kLower},
    {"encode_ms", "hook encode", "ms", "What the hook does to the gradients before they are sent.",
     Better::kLower},
    {"decode_ms", "hook decode", "ms", "What the hook does to what it received.", Better::kLower},
    {"payload_bytes", "bytes a step", "B",
     "What a rank hands to its collectives and sends in an iteration.", Better::kLower},
    {"wire_bytes", "wire bytes a step", "B",
     "What a rank put on the wire, over the iterations of the whole run, its start included.",
     Better::kLower},
    {"final_loss", "final loss", "", "Training loss of the last iteration, the mean over ranks.",
     Better::kLower},
    {"test_loss", "test loss", "", "Loss of the last evaluation.", Better::kLower},
    {"test_accuracy", "test accuracy", "%", "Share of the last evaluation that was right.",
     Better::kHigher},
}};

bool isMeasured(const StepTimes& step, const RunAnalysis& run) {
  return step.step >= run.warmUp.firstMeasured && !step.incomplete;
}

// None for what StepTimes does not have, and for exposed time and overlap where nothing was in
// flight: 0 ms of communication is no measurement of how well it is hidden.
std::optional<double> ofStep(const StepTimes& step, Metric metric) {
  switch (metric) {
    case Metric::kStep:
      return step.stepMs;
    case Metric::kForward:
      return step.forwardMs;
    case Metric::kBackward:
      return step.backwardMs;
    case Metric::kOptimizer:
      return step.optimizerMs;
    case Metric::kExposed:
      return step.overlapPercent ? std::optional(step.exposedMs) : std::nullopt;
    case Metric::kOverlap:
      return step.overlapPercent;
    default:
      return std::nullopt;
  }
}

using SumByStep = std::map<std::pair<int, std::uint32_t>, std::optional<double>>;

/// Adds up what the arrivals of a rank's collectives took in each step; nothing where a rank has no
/// record of one of them.
SumByStep ofPeers(const RunAnalysis& run, Metric metric) {
  SumByStep sums;
  PeersByStep(run.collectives).each([&](int rank, std::uint32_t step, const PeerTicks& of) {
    const std::uint64_t ticks = metric == Metric::kWaiting ? of.waiting : of.transfer;
    sums[{rank, step}] =
        of.known ? std::optional(static_cast<double>(ticks) * run.nsPerTick / 1e6) : std::nullopt;
  });
  return sums;
}

std::optional<double> ofSpan(const SpanRow& span, Metric metric,
                             const base::ClockCalibration& clock) {
  switch (span.kind) {
    case EventKind::kHookEncode:
      return metric == Metric::kEncode ? std::optional(clock.durationNs(span.durationTicks) / 1e6)
                                       : std::nullopt;
    case EventKind::kHookDecode:
      return metric == Metric::kDecode ? std::optional(clock.durationNs(span.durationTicks) / 1e6)
                                       : std::nullopt;
    // What a rank receives was counted by the one that sent it.
    case EventKind::kCollective:
      return metric == Metric::kPayload && trace::operationOf(span.detail) != Operation::kRecv
                 ? std::optional(static_cast<double>(trace::collectiveBytes(span.value)))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Adds up spans in each step; a step without any has 0.
SumByStep ofSpans(const RunData& data, const RunAnalysis& run, Metric metric) {
  SumByStep sums;
  for (const StepTimes& step : run.steps()) {
    if (step.kept != trace::KeptDetail::kSums) {
      sums[{step.rank, step.step}] = 0.0;
    }
  }
  data.eachSpan([&](int rank, const SpanRow& span) {
    if (const auto value = ofSpan(span, metric, data.clock)) {
      if (const auto at = sums.find({rank, span.step}); at != sums.end()) {
        *at->second += *value;
      }
    }
  });
  return sums;
}

}  // namespace

const MetricFacts& facts(Metric metric) {
  return kFacts[static_cast<std::size_t>(metric)];
}

std::vector<RankStepValue> rankStepValues(const RunData& data, const RunAnalysis& run,
                                          Metric metric) {
  std::vector<RankStepValue> values;
  const auto add = [&](const StepTimes& step, const std::optional<double>& value) {
    if (value.has_value()) {
      values.push_back({step.rank, step.step, *value});
    }
  };
  SumByStep sums;
  switch (metric) {
    case Metric::kWaiting:
    case Metric::kTransfer:
      sums = ofPeers(run, metric);
      break;
    case Metric::kEncode:
    case Metric::kDecode:
    case Metric::kPayload:
      sums = ofSpans(data, run, metric);
      break;
    default:
      break;
  }
  for (const StepTimes& step : run.steps()) {
    if (isMeasured(step, run)) {
      const auto at = sums.find({step.rank, step.step});
      add(step, at != sums.end() ? at->second : ofStep(step, metric));
    }
  }
  return values;
}

Iterations countIterations(const RunAnalysis& run) {
  std::map<std::uint32_t, bool> complete;
  for (const StepTimes& step : run.steps()) {
    bool& all = complete.try_emplace(step.step, true).first->second;
    all = all && !step.incomplete;
  }
  Iterations counts;
  for (const auto& [step, all] : complete) {
    if (step < run.warmUp.firstMeasured) {
      counts.warmUp += 1;
    } else if (all) {
      counts.measured.insert(step);
    } else {
      counts.incomplete += 1;
    }
  }
  return counts;
}

std::vector<double> meansByIteration(const std::vector<RankStepValue>& values,
                                     const std::set<std::uint32_t>& iterations) {
  struct Sum {
    double sum = 0;
    int count = 0;
  };
  std::map<std::uint32_t, Sum> sums;
  for (const RankStepValue& value : values) {
    if (iterations.contains(value.step)) {
      Sum& sum = sums[value.step];
      sum.sum += value.value;
      sum.count += 1;
    }
  }
  std::vector<double> means;
  for (const auto& [step, sum] : sums) {
    means.push_back(sum.sum / sum.count);
  }
  return means;
}

std::vector<double> iterationSamples(const RunData& data, const RunAnalysis& run, Metric metric) {
  const bool rate = metric == Metric::kStepsPerSecond;
  auto samples = meansByIteration(rankStepValues(data, run, rate ? Metric::kStep : metric),
                                  countIterations(run).measured);
  if (rate) {
    // Steps shorter than a tick have no rate.
    std::erase_if(samples, [](double ms) { return ms <= 0; });
    for (double& sample : samples) {
      sample = 1e3 / sample;
    }
  }
  return samples;
}

}  // namespace lockstep::analysis
