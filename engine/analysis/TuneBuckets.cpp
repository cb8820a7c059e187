#include "engine/analysis/TuneBuckets.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/analysis/RunAnalysis.h"

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

/// The moments at which the last rank had each gradient, from the first gradient of any rank on;
/// nothing where a rank recorded none.
std::optional<std::map<std::uint32_t, double>> readyOnAll(const std::vector<ReadyOrder>& orders) {
  std::uint64_t origin = std::numeric_limits<std::uint64_t>::max();
  for (const ReadyOrder& order : orders) {
    if (order.gradients.empty()) {
      return std::nullopt;
    }
    origin = std::min(origin, order.gradients.front().ticks);
  }
  std::map<std::uint32_t, double> ready;
  for (const ReadyOrder& order : orders) {
    for (const ReadyGradient& gradient : order.gradients) {
      double& at = ready[gradient.parameter];
      at = std::max(at, static_cast<double>(gradient.ticks - origin));
    }
  }
  return ready;
}

void addSamples(const CapOutcome& outcome, std::vector<CostSample>& samples) {
  std::uint64_t free = 0;  // when the buckets before have ended
  for (const BucketMoments& bucket : outcome.buckets) {
    const std::uint64_t began = std::max(bucket.beganTicks, free);
    if (bucket.endedTicks > began) {
      samples.push_back({bucket.bytes, static_cast<double>(bucket.endedTicks - began)});
    }
    free = std::max(free, bucket.endedTicks);
  }
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

base::Result<GradientTimeline> gradientTimeline(
    const std::map<std::uint32_t, std::vector<RankSpans>>& steps,
    const trace::BucketsMessage& layout,
    const std::vector<trace::ParametersMessage::Parameter>& parameters) {
  if (const base::Status ofOneKind = isOfOneKind(layout, parameters.size()); !ofOneKind.ok()) {
    return ofOneKind.error();
  }
  GradientTimeline timeline;
  std::map<std::uint32_t, std::vector<double>> ready;
  std::vector<double> after;
  for (const auto& [step, ranks] : steps) {
    MeasuredStep measured;
    measured.parameters = parameters;
    measured.layout = layout;
    measured.orders = readyOrders(ranks, step, &layout);
    measured.lives = bucketLives(ranks, step, layout, measured.orders);
    const auto moments = readyOnAll(measured.orders);
    const auto outcome = measuredOutcome(measured);
    if (!moments || moments->size() != parameters.size() || !outcome.ok()) {
      continue;
    }
    for (const auto& [parameter, ticks] : *moments) {
      ready[parameter].push_back(ticks);
    }
    addSamples(outcome.value(), timeline.samples);
    after.push_back(static_cast<double>(outcome.value().endTicks) -
                    static_cast<double>(outcome.value().lastGradientTicks));
    ++timeline.steps;
  }
  if (timeline.steps == 0) {
    return cannotTune(
        "no step was recorded whole by all ranks: every gradient, and the communication of every "
        "bucket among two ranks or more");
  }
  timeline.afterTicks = *median(after);
  double latest = 0;
  for (const auto& bucket : layout.buckets) {
    timeline.cut.push_back(bucket.parameters.size());
    for (const std::uint32_t parameter : bucket.parameters) {
      latest = std::max(latest, *median(ready[parameter]));
      timeline.gradients.push_back(
          {static_cast<std::uint64_t>(parameters[parameter].bytes), latest});
    }
  }
  return timeline;
}

double afterLastGradient(const std::vector<TimedGradient>& gradients, const BucketCut& cut,
                         const CommunicationCost& cost) {
  double end = 0;
  std::size_t next = 0;
  for (const std::size_t count : cut) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += gradients[next++].bytes;
    }
    end = std::max(end, gradients[next - 1].readyTicks) + cost.ticks(bytes);
  }
  return gradients.empty() ? 0 : end - gradients.back().readyTicks;
}

BucketCut exactCut(const std::vector<TimedGradient>& gradients, const CommunicationCost& cost) {
  const std::vector<std::uint64_t> before = sums(gradients);
  const std::size_t count = gradients.size();
  std::vector<double> end(count + 1, 0);  // earliest, of the first so many gradients
  const auto endWith = [&](std::size_t i, std::size_t j) {  // where i to j are the last bucket
    return std::max(end[i], gradients[j - 1].readyTicks) + cost.ticks(before[j] - before[i]);
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
    while (i + 1 < j && endWith(i, j) > deadline) {
      ++i;
    }
    cut.push_back(j - i);
    // The part before may end so late; rounding must not make that earlier than it can.
    deadline = std::max(end[i], deadline - cost.ticks(before[j] - before[i]));
    j = i;
  }
  std::reverse(cut.begin(), cut.end());
  return cut;
}

BucketCut mgWfbpCut(const std::vector<TimedGradient>& gradients, const CommunicationCost& cost) {
  BucketCut cut;
  double before = 0;  // end of the communication of the buckets closed so far
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    bytes += gradients[i].bytes;
    ++count;
    const double start = std::max(before, gradients[i].readyTicks);
    const double end = start + cost.ticks(bytes);
    if (i + 1 < gradients.size()) {
      const double next = gradients[i + 1].readyTicks;
      if (next < end && (start > next || next - start < cost.latencyTicks)) {
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

std::vector<std::uint64_t> bytesOf(const std::vector<TimedGradient>& gradients,
                                   const BucketCut& cut) {
  std::vector<std::uint64_t> bytes;
  auto next = gradients.begin();
  for (const std::size_t count : cut) {
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    bytes.push_back(std::accumulate(
        next, end, std::uint64_t{0},
        [](std::uint64_t sum, const TimedGradient& gradient) { return sum + gradient.bytes; }));
    next = end;
  }
  return bytes;
}

}  // namespace lockstep::analysis
