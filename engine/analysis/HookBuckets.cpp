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

template <typename Take>
void HookCalls::eachRank(std::optional<int> rank, const Take& take) const {
  for (const auto& [number, of] : ranks_) {
    if (!rank || number == *rank) {
      take(of);
    }
  }
}

void HookCalls::add(const HookTimes& times) {
  take(times, [](SortedValues& to, std::vector<double> values) { to.add(std::move(values)); });
}

// Of a copy that is asked once nothing is merged.
HookCalls HookCalls::with(const HookTimes& more) const {
  HookCalls all = *this;
  all.take(more,
           [](SortedValues& to, std::vector<double> values) { to.addApart(std::move(values)); });
  return all;
}

template <typename Put>
void HookCalls::take(const HookTimes& times, const Put& put) {
  struct Values {
    std::array<std::vector<double>, kHookPhases + 1> ms;
    std::vector<double> payload;
  };
  struct Sums {
    double work = 0, payload = 0;
  };
  std::map<std::pair<int, std::uint16_t>, Values> buckets;
  std::map<int, std::map<std::uint32_t, Sums>> ranks;  // by step
  warmUp_ = times.warmUp;
  size_ += times.calls.size();
  incompleteSteps_ += times.incompleteSteps;
  for (const HookCall& call : times.calls) {
    Values& values = buckets[{call.rank, call.bucket}];
    OfBucket& bucket = ranks_[call.rank].buckets[call.bucket];
    const auto payload = static_cast<double>(call.payloadBytes);
    for (std::size_t part = 0; part <= kAll; ++part) {
      const auto msOf = [part](const HookCall& of) {
        return part == kAll ? of.totalMs : of.ms[part];
      };
      values.ms[part].push_back(msOf(call));
      std::optional<HookCall>& longest = bucket.longest[part];
      longest = longest && msOf(*longest) >= msOf(call) ? longest : call;
    }
    values.payload.push_back(payload);
    Sums& sums = ranks[call.rank][call.step];
    // What a hook works while its collective is in flight is work (Note [Hook phases]).
    const double work = call.of(HookPhase::kEncode) + call.of(HookPhase::kDecode);
    sums.work += work;
    sums.payload += payload;
  }
  for (auto& [key, values] : buckets) {
    OfBucket& bucket = ranks_[key.first].buckets[key.second];
    for (std::size_t part = 0; part <= kAll; ++part) {
      put(bucket.ms[part], std::move(values.ms[part]));
    }
    put(bucket.payload, std::move(values.payload));
  }
  for (const auto& [number, steps] : ranks) {
    const auto valuesOf = [&steps](double Sums::*field) {
      std::vector<double> values;
      std::transform(steps.begin(), steps.end(), std::back_inserter(values),
                     [field](const auto& step) { return step.second.*field; });
      return values;
    };
    OfRank& rank = ranks_[number];
    put(rank.work, valuesOf(&Sums::work));
    put(rank.payload, valuesOf(&Sums::payload));
  }
}

std::vector<HookBucket> HookCalls::buckets(const std::vector<trace::BucketsMessage>& layouts,
                                           std::optional<int> rank) const {
  std::map<std::uint16_t, OfBucket> all;
  double allMs = 0;
  eachRank(rank, [&](const OfRank& of) {
    for (const auto& [number, bucket] : of.buckets) {
      OfBucket& joined = all[number];
      for (std::size_t part = 0; part <= kAll; ++part) {
        joined.ms[part].add(bucket.ms[part]);
      }
      joined.payload.add(bucket.payload);
      allMs += bucket.ms[kAll].sum();
    }
  });
  const auto sizes = sizesOf(layouts, warmUp_.firstMeasured);
  const auto shareOf = [allMs](const Durations& durations) {
    return allMs > 0 ? durations.values.sum() / allMs : 0;
  };
  std::vector<HookBucket> buckets;
  for (auto& [number, of] : all) {
    HookBucket& bucket = buckets.emplace_back();
    bucket.bucket = number;
    for (std::size_t phase = 0; phase < kHookPhases; ++phase) {
      bucket.phases[phase] = durationsIn(std::move(of.ms[phase]));
      bucket.shares[phase] = shareOf(bucket.phases[phase]);
    }
    bucket.total = durationsIn(std::move(of.ms[kAll]));
    bucket.share = shareOf(bucket.total);
    bucket.payloadBytes = of.payload.median().value_or(0);
    if (const auto size = sizes.find(number); size != sizes.end()) {
      bucket.gradientBytes = size->second;
    }
  }
  return buckets;
}

HookStep HookCalls::step(const std::vector<trace::BucketsMessage>& layouts,
                         std::optional<int> rank) const {
  SortedValues work;
  SortedValues payload;
  eachRank(rank, [&](const OfRank& of) {
    work.add(of.work);
    payload.add(of.payload);
  });
  HookStep step{work.median().value_or(0), payload.median().value_or(0), {}};
  std::uint64_t bytes = 0;
  for (const auto& [number, size] : sizesOf(layouts, warmUp_.firstMeasured)) {
    bytes += size;
  }
  if (bytes != 0) {
    step.gradientBytes = bytes;
  }
  return step;
}

const HookCall* HookCalls::longest(std::uint16_t bucket, std::optional<HookPhase> phase,
                                   std::optional<int> rank) const {
  const std::size_t part = phase ? static_cast<std::size_t>(*phase) : kAll;
  const auto lengthOf = [&](const HookCall& call) {
    return phase ? call.of(*phase) : call.totalMs;
  };
  const HookCall* longest = nullptr;
  eachRank(rank, [&](const OfRank& of) {
    const auto at = of.buckets.find(bucket);
    const HookCall* call = at == of.buckets.end() ? nullptr : &*at->second.longest[part];
    if (call != nullptr && (longest == nullptr || lengthOf(*call) > lengthOf(*longest))) {
      longest = call;
    }
  });
  return longest;
}

}  // namespace lockstep::analysis
