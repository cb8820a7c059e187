#include "engine/hooks/verify/TrialRecord.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Xxh64.h"
#include "engine/hooks/verify/Trial.h"

namespace lockstep::hooks {

namespace {

std::uint64_t hashOf(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  base::Xxh64 hash;
  hash.update(dense.data_ptr(), dense.nbytes());
  return hash.digest();
}

std::optional<std::size_t> firstDifference(const std::vector<at::Tensor>& a,
                                           const std::vector<at::Tensor>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (hashOf(a[i]) != hashOf(b[i])) {
      return i;
    }
  }
  return std::nullopt;
}

std::string parameterText(std::size_t rank, std::size_t parameter) {
  return fmt::format("rank {}: parameter {}", rank, parameter);
}

/// The first result of `a`, from step `from` on, that `b` has, too, and otherwise.
std::optional<std::string> firstDifference(const RankRecord& a, const RankRecord& b,
                                           std::size_t rank, std::uint32_t from) {
  for (auto step = a.results.lower_bound(from); step != a.results.end(); ++step) {
    const auto other = b.results.find(step->first);
    if (other == b.results.end()) {
      continue;
    }
    const auto [own, theirs] = std::mismatch(step->second.begin(), step->second.end(),
                                             other->second.begin(), other->second.end());
    if (own != step->second.end()) {
      const auto bucket = static_cast<std::size_t>(own - step->second.begin());
      return fmt::format("rank {}: {}", rank, Trial::placeOf(bucket, step->first));
    }
  }
  return std::nullopt;
}

}  // namespace

void RankRecord::keep(std::uint32_t step, const std::vector<at::Tensor>& tensors) {
  // Hashes and not the tensors: that would be 100,000 numbers for each of 122 steps and each rank.
  auto& hashes = results[step];
  hashes.clear();
  for (const at::Tensor& tensor : tensors) {
    hashes.push_back(hashOf(tensor));
  }
}

void RankRecord::compare(TrialPlace at, const at::Tensor& result, const at::Tensor& mean) {
  const double scale = mean.square().mean().sqrt().item<double>();
  const double error = (result.to(at::kDouble) - mean).abs().max().item<double>() / scale;
  // What a hook promises (mean_error) is of a step without history: with error feedback a later
  // result also carries what earlier ones left out.
  MeanError& worst = at.step == 0 ? first : later;
  if (error > worst.error) {
    worst = {error, at};
  }
}

std::optional<std::string> TrialRecord::differenceBetweenRanks() const {
  std::optional<std::string> difference;
  for (std::size_t rank = 1; rank < ranks_.size() && !difference; ++rank) {
    difference = firstDifference(ranks_[rank], ranks_[0], rank, 0);
  }
  return difference;
}

std::optional<std::string> TrialRecord::parametersBetweenRanks(
    std::vector<at::Tensor> RankRecord::*which) const {
  for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
    if (const auto parameter = firstDifference(ranks_[rank].*which, ranks_[0].*which)) {
      return parameterText(rank, *parameter);
    }
  }
  return std::nullopt;
}

std::optional<std::string> TrialRecord::differenceFrom(const TrialRecord& other,
                                                       std::uint32_t from) const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (const auto place = firstDifference(ranks_[rank], other.ranks_[rank], rank, from)) {
      return place;
    }
    if (const auto parameter = firstDifference(ranks_[rank].trained, other.ranks_[rank].trained)) {
      return parameterText(rank, *parameter);
    }
  }
  return std::nullopt;
}

MeanError TrialRecord::farthestFromMean(bool always) const {
  MeanError worst;
  for (const RankRecord& rank : ranks_) {
    for (const MeanError& candidate : {rank.first, always ? rank.later : MeanError()}) {
      worst = candidate.error > worst.error ? candidate : worst;
    }
  }
  return worst;
}

double TrialRecord::medianMs(std::vector<std::chrono::nanoseconds> RankRecord::*which) const {
  double slowest = 0;
  for (const RankRecord& rank : ranks_) {
    auto times = rank.*which;
    if (!times.empty()) {
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
      std::nth_element(times.begin(), middle, times.end());
      slowest = std::max(slowest, std::chrono::duration<double, std::milli>(*middle).count());
    }
  }
  return slowest;
}

std::uint64_t TrialRecord::mostSent() const {
  std::uint64_t most = 0;
  for (const RankRecord& rank : ranks_) {
    most = std::max(most, rank.sentBytes);
  }
  return most;
}

}  // namespace lockstep::hooks
