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
  join(take(times, [](SortedValues& to, std::vector<double> values, std::vector<double>& added) {
    added.insert(added.end(), values.begin(), values.end());
    to.add(std::move(values));
  }));
}

// Of a copy that is asked once nothing is merged, and nothing joined.
HookCalls HookCalls::with(const HookTimes& more) const {
  HookCalls all = *this;
  all.take(more, [](SortedValues& to, std::vector<double> values, std::vector<double>&) {
    to.addApart(std::move(values));
  });
  return all;
}

template <typename Put>
HookCalls::Added HookCalls::take(const HookTimes& times, const Put& put) {
  struct Sums {
    double work = 0, payload = 0;
  };
  std::map<std::pair<int, std::uint16_t>, Added::Bucket> buckets;
  std::map<int, std::map<std::uint32_t, Sums>> ranks;  // by step
  warmUp_ = times.warmUp;
  size_ += times.calls.size();
  incompleteSteps_ += times.incompleteSteps;
  for (const HookCall& call : times.calls) {
    Added::Bucket& values = buckets[{call.rank, call.bucket}];
    OfBucket& bucket = ranks_[call.rank].buckets[call.bucket];
    const auto payload = static_cast<double>(call.payloadBytes);
    for (std::size_t part = 0; part <= kAll; ++part) {
      const auto msOf = [part](const HookCall& of) {
        return part == kAll ? of.totalMs : of.ms[part];
      };
      values[part].push_back(msOf(call));
      std::optional<HookCall>& longest = bucket.longest[part];
      longest = longest && msOf(*longest) >= msOf(call) ? longest : call;
    }
    values[kPayload].push_back(payload);
    Sums& sums = ranks[call.rank][call.step];
    // What a hook works while its collective is in flight is work (Note [Hook phases]).
    const double work = call.of(HookPhase::kEncode) + call.of(HookPhase::kDecode);
    sums.work += work;
    sums.payload += payload;
  }
  Added added;
  for (auto& [key, values] : buckets) {
    OfBucket& bucket = ranks_[key.first].buckets[key.second];
    Added::Bucket& all = added.buckets[key.second];
    for (std::size_t figure = 0; figure <= kPayload; ++figure) {
      put(bucket.figures[figure], std::move(values[figure]), all[figure]);
    }
  }
  for (const auto& [number, steps] : ranks) {
    const auto valuesOf = [&steps](double Sums::*field) {
      std::vector<double> values;
      std::transform(steps.begin(), steps.end(), std::back_inserter(values),
                     [field](const auto& step) { return step.second.*field; });
      return values;
    };
    OfRank& rank = ranks_[number];
    put(rank.work, valuesOf(&Sums::work), added.work);
    put(rank.payload, valuesOf(&Sums::payload), added.payload);
  }
  return added;
}

SortedValues::Lists HookCalls::listsOf(const std::vector<const Values*>& ranks,
                                       std::size_t figure) {
  SortedValues::Lists lists;
  lists.reserve(ranks.size());
  for (const Values* rank : ranks) {
    lists.push_back(&rank->figures[figure]);
  }
  return lists;
}

HookCalls::OfRanks HookCalls::bucketsOf(std::optional<int> rank) const {
  OfRanks buckets;
  eachRank(rank, [&](const OfRank& of) {
    for (const auto& [number, bucket] : of.buckets) {
      buckets[number].push_back(&bucket);
    }
  });
  return buckets;
}

SortedValues::Lists HookCalls::stepsOf(std::optional<int> rank,
                                       SortedValues OfRank::*figure) const {
  SortedValues::Lists lists;
  eachRank(rank, [&](const OfRank& of) { lists.push_back(&(of.*figure)); });
  return lists;
}

void HookCalls::join(Added added) {
  if (ranks_.size() < 2) {
    return;  // of one rank alone its own values are asked
  }
  for (const auto& [number, ranks] : bucketsOf(std::nullopt)) {
    Values& all = all_.buckets[number];
    Added::Bucket& of = added.buckets[number];
    for (std::size_t figure = 0; figure <= kPayload; ++figure) {
      all.figures[figure].join(listsOf(ranks, figure), std::move(of[figure]));
    }
  }
  all_.work.join(stepsOf(std::nullopt, &OfRank::work), std::move(added.work));
  all_.payload.join(stepsOf(std::nullopt, &OfRank::payload), std::move(added.payload));
}

std::vector<HookBucket> HookCalls::buckets(const std::vector<trace::BucketsMessage>& layouts,
                                           std::optional<int> rank) const {
  static const Values kNone;  // joined, before any closed
  double allMs = 0;
  eachRank(rank, [&](const OfRank& of) {
    for (const auto& [number, bucket] : of.buckets) {
      allMs += bucket.figures[kAll].sum();
    }
  });
  const auto sizes = sizesOf(layouts, warmUp_.firstMeasured);
  const auto shareOf = [allMs](const Durations& durations) {
    return allMs > 0 ? durations.values.sum() / allMs : 0;
  };
  std::vector<HookBucket> buckets;
  for (const auto& [number, ranks] : bucketsOf(rank)) {
    const auto joined = all_.buckets.find(number);
    const Values& all = joined == all_.buckets.end() ? kNone : joined->second;
    const auto joinedOf = [&](std::size_t figure) {
      return all.figures[figure].joined(listsOf(ranks, figure));
    };
    HookBucket& bucket = buckets.emplace_back();
    bucket.bucket = number;
    for (std::size_t phase = 0; phase < kHookPhases; ++phase) {
      bucket.phases[phase] = durationsIn(joinedOf(phase));
      bucket.shares[phase] = shareOf(bucket.phases[phase]);
    }
    bucket.total = durationsIn(joinedOf(kAll));
    bucket.share = shareOf(bucket.total);
    bucket.payloadBytes = joinedOf(kPayload).median().value_or(0);
    if (const auto size = sizes.find(number); size != sizes.end()) {
      bucket.gradientBytes = size->second;
    }
  }
  return buckets;
}

HookStep HookCalls::step(const std::vector<trace::BucketsMessage>& layouts,
                         std::optional<int> rank) const {
  const SortedValues work = all_.work.joined(stepsOf(rank, &OfRank::work));
  const SortedValues payload = all_.payload.joined(stepsOf(rank, &OfRank::payload));
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
