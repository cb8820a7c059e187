#include "engine/analysis/TuneBuckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/analysis/RunAnalysis.h"
#include "engine/base/Try.h"

namespace lockstep::analysis {
namespace {

base::Error cannotTune(const char* why) {
  return {base::ExitCode::kBadInput, why, ""};
}

base::Status isOfOneKind(const trace::BucketsMessage& layout, std::size_t parameters) {
  if (layout.layout == 0) {
    return cannotTune(
        "its buckets were never rebuilt in the ready order: it ended too early, or "
        "ddp.find_unused_parameters keeps them as they are");
  }
  std::vector<bool> seen(parameters, false);
  for (const auto& bucket : layout.buckets) {
    // A sparse gradient's bucket has no limit recorded.
    if (bucket.dtype != layout.buckets.front().dtype || bucket.limitBytes == 0) {
      return cannotTune("its gradients are not all dense and of one dtype");
    }
    for (const std::uint32_t parameter : bucket.parameters) {
      if (parameter >= parameters || seen[parameter]) {
        return cannotTune("its buckets name parameters that the run does not");
      }
      seen[parameter] = true;
    }
  }
  return {};
}

/// By parameter: when the last rank had the gradient in its bucket, since the first of any rank.
std::vector<double> readyOnAll(const cost::StepRecord& step, std::size_t parameters) {
  double origin = std::numeric_limits<double>::infinity();
  // The latest of each starts at minus infinity, the origin at plus infinity. A gradient that a
  // rank never had is NaN: std::max(ready, NaN) keeps the first.
  std::vector<double> ready(parameters, -origin);
  for (const cost::RankStep& rank : step.ranks) {
    for (std::size_t p = 0; p < rank.filledNs.size() && p < parameters; ++p) {
      origin = std::isnan(rank.filledNs[p]) ? origin : std::min(origin, rank.filledNs[p]);
      ready[p] = std::max(ready[p], rank.filledNs[p]);
    }
  }
  for (double& at : ready) {
    at -= origin;
  }
  return ready;
}

/// Bytes of the gradients before each, and of all.
std::vector<std::uint64_t> sums(const std::vector<TimedGradient>& gradients) {
  std::vector<std::uint64_t> before{0};
  for (const TimedGradient& gradient : gradients) {
    before.push_back(before.back() + gradient.bytes);
  }
  return before;
}

}  // namespace

base::Result<std::vector<TimedGradient>> timedGradients(const RecordedSteps& recorded) {
  const std::size_t parameters = recorded.parameters.size();
  LOCKSTEP_TRY(isOfOneKind(recorded.layout, parameters));
  if (recorded.steps.empty()) {
    return cannotTune(
        "no step was recorded whole by all ranks: every gradient, and the communication of every "
        "bucket among two ranks or more");
  }
  std::vector<std::vector<double>> ready(parameters);
  for (const RecordedStep& step : recorded.steps) {
    const auto moments = readyOnAll(step.record, parameters);
    for (std::size_t p = 0; p < parameters; ++p) {
      ready[p].push_back(moments[p]);
    }
  }
  std::vector<TimedGradient> gradients;
  double latest = 0;
  for (const auto& bucket : recorded.layout.buckets) {
    for (const std::uint32_t parameter : bucket.parameters) {
      // Medians of two gradients may lie the other way round than in the steps; the model wants
      // them in the order of the buckets, each no earlier than the one before.
      latest = std::max(latest, *median(std::move(ready[parameter])));
      gradients.push_back(
          {parameter, static_cast<std::uint64_t>(recorded.parameters[parameter].bytes), latest});
    }
  }
  return gradients;
}

BucketCut ownCut(const trace::BucketsMessage& layout) {
  BucketCut cut;
  for (const auto& bucket : layout.buckets) {
    cut.push_back(bucket.parameters.size());
  }
  return cut;
}

BucketCut exactCut(const std::vector<TimedGradient>& gradients, const cost::TransferCost& cost,
                   std::optional<std::uint64_t> mostBytes) {
  const std::vector<std::uint64_t> before = sums(gradients);
  const std::size_t count = gradients.size();
  std::vector<double> end(count + 1, 0);  // end[n]: earliest end of the first n gradients
  const auto endWith = [&](std::size_t i, std::size_t j) {  // where i to j are the last bucket
    if (j - i > 1 && mostBytes && before[j] - before[i] > *mostBytes) {
      return std::numeric_limits<double>::infinity();
    }
    return std::max(end[i], gradients[j - 1].readyNs) + cost.ns(before[j] - before[i]);
  };
  for (std::size_t j = 1; j <= count; ++j) {
    end[j] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < j; ++i) {
      end[j] = std::min(end[j], endWith(i, j));
    }
  }
  // Backwards, each bucket as large as what follows allows.
  BucketCut cut;
  double deadline = end[count];
  for (std::size_t j = count; j > 0;) {
    std::size_t i = 0;
    // From the first gradient on: the smallest `i` that keeps the deadline makes the largest
    // bucket.
    while (i + 1 < j && endWith(i, j) > deadline) {
      ++i;
    }
    cut.push_back(j - i);
    // The part before may end so late; rounding must not make that earlier than it can.
    deadline = std::max(end[i], deadline - cost.ns(before[j] - before[i]));
    j = i;
  }
  std::reverse(cut.begin(), cut.end());
  return cut;
}

BucketCut mgWfbpCut(const std::vector<TimedGradient>& gradients, const cost::TransferCost& cost) {
  BucketCut cut;
  double before = 0;  // end of the communication of the buckets closed so far
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    bytes += gradients[i].bytes;
    ++count;
    const double start = std::max(before, gradients[i].readyNs);
    const double end = start + cost.ns(bytes);
    if (i + 1 < gradients.size()) {
      const double next = gradients[i + 1].readyNs;
      // The rule's two cases: this bucket waits for the line past the next gradient anyway, or the
      // next comes within a latency, which merging saves.
      if (next < end && (start > next || next - start < cost.latencyNs)) {
        continue;
      }
    }
    cut.push_back(count);
    before = end;
    bytes = 0;
    count = 0;
  }
  return cut;
}

std::vector<cost::PlannedBucket> planOf(const std::vector<TimedGradient>& gradients,
                                        const BucketCut& cut) {
  std::vector<cost::PlannedBucket> plan;
  std::size_t next = 0;
  for (const std::size_t count : cut) {
    cost::PlannedBucket& bucket = plan.emplace_back();
    for (std::size_t i = 0; i < count; ++i, ++next) {
      bucket.parameters.push_back(gradients[next].parameter);
      bucket.bytes += gradients[next].bytes;
    }
  }
  return plan;
}

}  // namespace lockstep::analysis
