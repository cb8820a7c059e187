#include "engine/capture/HeldSteps.h"

#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"

namespace lockstep::capture {
namespace {

constexpr std::size_t kMostEvents = 1'000'000;
constexpr double kSilentNs = 2e9;
constexpr double kSilentSteps = 3;
constexpr double kFade = 0.9;  // of the longest step, with each one that is shorter

}  // namespace

void HeldSteps::add(int rank, std::int32_t track, const trace::Event& event, std::int64_t nowNs) {
  steps_[event.step].events.push_back({rank, track, event});
  ++events_;
  noteHighest(event.step);
  OfRank& of = ranks_[rank];
  of.heardNs = nowNs;
  if (static_cast<trace::EventKind>(event.kind) == trace::EventKind::kStep) {
    of.next = std::max(of.next, event.step + 1);
  }
}

void HeldSteps::add(const trace::MetricRow& metric) {
  steps_[metric.step].metrics.push_back(metric);
}

void HeldSteps::add(int rank, const trace::FingerprintMessage& fingerprint) {
  steps_[fingerprint.step].fingerprints.emplace_back(rank, fingerprint);
}

void HeldSteps::add(int rank, const trace::GradientsMessage& gradients) {
  steps_[gradients.step].gradients.emplace_back(rank, gradients);
}

std::optional<std::uint32_t> HeldSteps::first() const {
  return steps_.empty() ? std::nullopt : std::optional(steps_.begin()->first);
}

std::optional<std::uint32_t> HeldSteps::ready(std::int64_t nowNs) const {
  const std::optional<std::uint32_t> step = first();
  if (!step || events_ > kMostEvents) {
    return step;
  }
  const double patienceNs = std::max(kSilentNs, kSilentSteps * longestNs_);
  const bool complete = std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& rank) {
    const OfRank& of = rank.second;
    return of.next > *step + 1 || static_cast<double>(nowNs - of.heardNs) > patienceNs;
  });
  return complete ? step : std::nullopt;
}

HeldStep HeldSteps::take(std::int64_t longestNs) {
  const auto first = steps_.begin();
  HeldStep step = std::move(first->second);
  next_ = std::max(next_, first->first + 1);
  events_ -= step.events.size();
  steps_.erase(first);
  longestNs_ = std::max(kFade * longestNs_, static_cast<double>(longestNs));
  return step;
}

void HeldSteps::noteHighest(std::uint32_t step) {
  highest_ = std::max(highest_, step);
}

}  // namespace lockstep::capture
