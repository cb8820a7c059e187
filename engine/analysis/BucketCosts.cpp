#include "engine/analysis/BucketCosts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/analysis/Lateness.h"
#include "engine/analysis/SlowLink.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {

bool BucketCosts::counts(const StepOverlap& step, std::uint32_t firstMeasured) {
  const StepTimes& times = step.times;
  return times.step >= firstMeasured && !times.incomplete && trace::isTypical(times.kept);
}

void BucketCosts::add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured) {
  for (const StepOverlap& step : steps) {
    if (!counts(step, firstMeasured)) {
      continue;
    }
    const int rank = step.times.rank;
    steps_[rank] += 1;
    for (const TailItem& item : step.tail) {
      if (item.bucket == trace::kNoBucket) {
        continue;
      }
      Sum& sum = sums_[{rank, item.bucket}];
      const int late = item.cause == TailCause::kLateRank ? item.peer : kUnclearRank;
      Part& part = sum.causes[{item.cause, late}];
      sum.ms += item.ms;
      part.ms += item.ms;
      if (item.ms > part.worst.ms) {
        part.worst = item;
      }
      if (item.ms >= kLateMs && part.lastStruck != step.times.step) {
        part.struck += 1;
        part.lastStruck = step.times.step;
      }
    }
  }
}

void BucketCosts::tellTransfer(TailCause told) {
  for (auto& [place, sum] : sums_) {
    if (auto much = sum.causes.extract(Cause{TailCause::kMuchTransfer, kUnclearRank})) {
      markTransfer(much.mapped().worst, told);
      much.key().first = told;
      sum.causes.insert(std::move(much));
    }
  }
}

void BucketCosts::add(BucketCosts other) {
  steps_.merge(other.steps_);
  sums_.merge(other.sums_);
}

std::uint32_t BucketCosts::steps(int rank) const {
  const auto of = steps_.find(rank);
  return of == steps_.end() ? 0 : of->second;
}

std::optional<double> BucketCosts::meanMs(int rank, std::uint16_t bucket) const {
  const std::uint32_t count = steps(rank);
  if (count == 0) {
    return std::nullopt;
  }
  const auto of = sums_.find({rank, bucket});
  return of == sums_.end() ? 0 : of->second.ms / count;
}

std::optional<BucketCost> BucketCosts::most() const {
  std::optional<BucketCost> most;
  for (const auto& [place, sum] : sums_) {
    const std::uint32_t steps = steps_.at(place.first);
    const double ms = sum.ms / steps;
    if (ms > (most ? most->ms : 0)) {
      std::vector<const Part*> parts;
      for (const auto& [cause, part] : sum.causes) {
        parts.push_back(&part);
      }
      std::ranges::stable_sort(parts, std::ranges::greater(), &Part::ms);
      const Part& part = *parts.front();
      most = {.rank = place.first,
              .bucket = place.second,
              .ms = ms,
              .worst = part.worst,
              .share = part.ms / sum.ms,
              .struck = part.struck,
              .steps = steps};
      if (parts.size() > 1) {
        most->next = parts[1]->worst;
        most->nextShare = parts[1]->ms / sum.ms;
      }
    }
  }
  if (most && steps_.size() > 1) {
    most->everywhere = std::ranges::all_of(steps_, [&](const auto& of) {
      return meanMs(of.first, most->bucket).value_or(0) >= kAsMuch * most->ms;
    });
  }
  return most;
}

void StepCosts::add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured) {
  for (const StepOverlap& step : steps) {
    // Of a step that is kept as sums there is nothing to tell its buckets by.
    if (step.times.incomplete || step.times.kept == trace::KeptDetail::kSums) {
      continue;
    }
    steps_.push_back({step.times.step, BucketCosts::counts(step, firstMeasured), parts_.size()});
    for (const TailItem& item : step.tail) {
      if (item.bucket != trace::kNoBucket) {
        parts_.emplace_back(item.bucket, static_cast<float>(item.ms));
      }
    }
  }
}

std::optional<StepCosts::Cost> StepCosts::of(std::uint32_t step, std::uint16_t bucket) const {
  const auto at = std::ranges::lower_bound(steps_, step, {}, &Step::step);
  if (at == steps_.end() || at->step != step) {
    return std::nullopt;
  }
  Cost cost{0, at->counts};
  const auto next = at + 1;
  const std::size_t end = next == steps_.end() ? parts_.size() : next->first;
  for (std::size_t i = at->first; i < end; ++i) {
    cost.ms += parts_[i].first == bucket ? parts_[i].second : 0;
  }
  return cost;
}

}  // namespace lockstep::analysis
