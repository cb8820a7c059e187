#include "engine/trace/ReplicaWatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"

namespace lockstep::trace {
namespace {

// A rank that lags behind, or died, must not make the others' samples pile up.
constexpr std::size_t kMostWaiting = 16;

/// The ranks that do not hold what the most hold; among equally many, what the lowest rank holds.
std::vector<int> outsiders(const std::map<int, std::vector<std::uint64_t>>& samples,
                           std::size_t parameter) {
  std::map<std::uint64_t, std::vector<int>> classes;
  for (const auto& [rank, hashes] : samples) {
    classes[hashes[parameter]].push_back(rank);
  }
  const auto largest =
      std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
        return a.second.size() != b.second.size() ? a.second.size() < b.second.size()
                                                  : a.second.front() > b.second.front();
      });
  std::vector<int> outside;
  for (const auto& [rank, hashes] : samples) {
    if (hashes[parameter] != largest->first) {
      outside.push_back(rank);
    }
  }
  return outside;
}

}  // namespace

void ReplicaWatch::setNames(const ParametersMessage& parameters) {
  names_.clear();
  for (const auto& parameter : parameters.parameters) {
    names_.push_back(parameter.name);
  }
}

std::optional<ReplicaWatch::Difference> ReplicaWatch::add(int rank,
                                                          const FingerprintMessage& sample) {
  if (differed_ || ranks_ < 2) {
    return std::nullopt;
  }
  Samples& samples = waiting_[sample.step];
  samples[rank] = sample.hashes;
  // A rank that died never completes a step: the oldest is given up, so that memory has a bound.
  if (samples.size() < ranks_) {
    if (waiting_.size() > kMostWaiting) {
      waiting_.erase(waiting_.begin());
    }
    return std::nullopt;
  }
  auto difference = compare(sample.step, samples);
  // Ranks send their samples in order: an older step that is not whole now never will be.
  waiting_.erase(waiting_.begin(), waiting_.upper_bound(sample.step));
  differed_ = difference.has_value();
  lastEqual_ = sample.step;
  return difference;
}

std::optional<ReplicaWatch::Difference> ReplicaWatch::compare(std::uint32_t step,
                                                              const Samples& samples) const {
  std::size_t count = samples.begin()->second.size();
  for (const auto& [rank, hashes] : samples) {
    count = std::min(count, hashes.size());
  }
  std::size_t differing = 0;
  std::size_t first = 0;
  std::vector<int> ranks;
  for (std::size_t parameter = 0; parameter < count; ++parameter) {
    auto outside = outsiders(samples, parameter);
    if (!outside.empty() && differing++ == 0) {
      first = parameter;
      ranks = std::move(outside);
    }
  }
  if (differing == 0) {
    return std::nullopt;
  }
  std::string text = fmt::format("the replicas differ at step {}: {} of {}", step, nameOf(first),
                                 base::ranksText(ranks));
  text += 2 * ranks.size() < ranks_ ? " is not what the other ranks hold"
          : ranks_ == 2             ? " is not what rank 0 holds; either may be wrong"
                                    : " is not what the others hold, with no majority to tell who "
                                      "is right";
  if (differing > 1) {
    text += fmt::format("; {} of {} parameters differ", differing, count);
  }
  if (lastEqual_) {
    text += fmt::format("; at step {} all were equal", *lastEqual_);
  }
  // All parameters at once look more like a hook's design than like a fault.
  if (differing == count && count > 1 && !plugin_.empty()) {
    text += fmt::format(
        ". If hook '{}' lets them drift by design, it has to say so (lockstep.replicas/1)",
        plugin_);
  }
  return Difference{step, ranks.front(), first, std::move(text)};
}

std::string ReplicaWatch::nameOf(std::size_t parameter) const {
  return parameter < names_.size() ? names_[parameter] : fmt::format("parameter {}", parameter);
}

}  // namespace lockstep::trace
