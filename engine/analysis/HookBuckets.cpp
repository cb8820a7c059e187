#include "engine/analysis/HookBuckets.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace lockstep::analysis {
namespace {

std::map<std::uint16_t, std::uint64_t> sizesOf(const std::vector<trace::BucketsMessage>& layouts,
                                               std::uint32_t step) {
  // Layouts come in the order of their steps: the last one that began by then.
  const trace::BucketsMessage* inForce = nullptr;
  for (const trace::BucketsMessage& layout : layouts) {
    if (layout.step <= step) {
      inForce = &layout;
    }
  }
  // kNoBucket stands for what is around the step: no bucket of a layout may have that number.
  std::map<std::uint16_t, std::uint64_t> sizes;
  if (inForce != nullptr) {
    for (std::size_t i = 0; i < inForce->buckets.size() && i < trace::kNoBucket; ++i) {
      sizes[static_cast<std::uint16_t>(i)] = inForce->buckets[i].bytes;
    }
  }
  return sizes;
}

}  // namespace

std::optional<double> HookBucket::ratio() const {
  if (!gradientBytes.has_value() || *gradientBytes == 0 || payloadBytes <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*gradientBytes) / payloadBytes;
}

bool HookBucket::lacks(HookPhase phase) const {
  return phases[static_cast<std::size_t>(phase)].max <= 0;
}

std::vector<HookBucket> hookBuckets(const HookTimes& times,
                                    const std::vector<trace::BucketsMessage>& layouts,
                                    std::optional<int> rank) {
  struct Samples {
    std::array<std::vector<double>, kHookPhases> phases;
    std::vector<double> total, payload;
  };
  std::map<std::uint16_t, Samples> samples;  // kNoBucket is the greatest
  double allMs = 0;
  for (const HookCall& call : times.calls) {
    if (rank.has_value() && call.rank != *rank) {
      continue;
    }
    Samples& of = samples[call.bucket];
    for (std::size_t phase = 0; phase < kHookPhases; ++phase) {
      of.phases[phase].push_back(call.ms[phase]);
    }
    of.total.push_back(call.totalMs);
    of.payload.push_back(static_cast<double>(call.payloadBytes));
    allMs += call.totalMs;
  }
  const auto sizes = sizesOf(layouts, times.warmUp.firstMeasured);
  const auto shareOf = [allMs](const Durations& durations) {
    return allMs > 0 ? durations.mean * static_cast<double>(durations.count()) / allMs : 0;
  };
  std::vector<HookBucket> buckets;
  for (auto& [number, of] : samples) {
    HookBucket& bucket = buckets.emplace_back();
    bucket.bucket = number;
    for (std::size_t phase = 0; phase < kHookPhases; ++phase) {
      bucket.phases[phase] = durationsOf(std::move(of.phases[phase]));
      bucket.shares[phase] = shareOf(bucket.phases[phase]);
    }
    bucket.total = durationsOf(std::move(of.total));
    bucket.share = shareOf(bucket.total);
    bucket.payloadBytes = median(std::move(of.payload)).value_or(0);
    if (const auto size = sizes.find(number); size != sizes.end()) {
      bucket.gradientBytes = size->second;
    }
  }
  return buckets;
}

HookStep hookStep(const HookTimes& times, const std::vector<trace::BucketsMessage>& layouts,
                  std::optional<int> rank) {
  struct Sums {
    double work = 0, communicate = 0, payload = 0;
  };
  std::map<std::pair<int, std::uint32_t>, Sums> steps;  // by rank and step
  for (const HookCall& call : times.calls) {
    if (!rank.has_value() || call.rank == *rank) {
      Sums& sums = steps[{call.rank, call.step}];
      // What a hook works while its collective is in flight is work (Note [Hook phases]).
      const double work = call.of(HookPhase::kEncode) + call.of(HookPhase::kDecode);
      sums.work += work;
      sums.communicate += call.of(HookPhase::kWaiting) + call.of(HookPhase::kTransfer) +
                          call.of(HookPhase::kQueued);
      sums.payload += static_cast<double>(call.payloadBytes);
    }
  }
  const auto medianOf = [&steps](double Sums::*field) {
    std::vector<double> values;
    std::transform(steps.begin(), steps.end(), std::back_inserter(values),
                   [field](const auto& step) { return step.second.*field; });
    return median(std::move(values)).value_or(0);
  };
  HookStep step{medianOf(&Sums::work), medianOf(&Sums::communicate), medianOf(&Sums::payload), {}};
  std::uint64_t bytes = 0;
  for (const auto& [number, size] : sizesOf(layouts, times.warmUp.firstMeasured)) {
    bytes += size;
  }
  if (bytes != 0) {
    step.gradientBytes = bytes;
  }
  return step;
}

const HookCall* longestCall(const HookTimes& times, std::uint16_t bucket,
                            std::optional<HookPhase> phase, std::optional<int> rank) {
  const HookCall* longest = nullptr;
  const auto lengthOf = [&](const HookCall& call) {
    return phase.has_value() ? call.of(*phase) : call.totalMs;
  };
  for (const HookCall& call : times.calls) {
    if (call.bucket == bucket && (!rank.has_value() || call.rank == *rank) &&
        (longest == nullptr || lengthOf(call) > lengthOf(*longest))) {
      longest = &call;
    }
  }
  return longest;
}

}  // namespace lockstep::analysis
