#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::hooks {

/// A bucket of one step on one rank.
struct TrialPlace {
  std::uint32_t step = 0;
  std::size_t bucket = 0;
  int rank = 0;
};

/// A result's distance from the mean, as lockstep_hook_info::mean_error.
struct MeanError {
  double error = -1;
  TrialPlace at;
};

/// What one rank of a trial had. Written by that rank alone.
struct RankRecord {
  std::map<std::uint32_t, std::vector<std::uint64_t>> results;  ///< hashes, by step and bucket
  MeanError first;  ///< in the first step, where the hook has no history
  MeanError later;
  std::string state;
  std::vector<at::Tensor> saved;    ///< parameters when the state was saved
  std::vector<at::Tensor> trained;  ///< after the last step
  std::vector<at::Tensor> ended;    ///< after the end of the run
  std::vector<std::chrono::nanoseconds> stepTimes;
  std::vector<std::chrono::nanoseconds> allreduceTimes;
  std::uint64_t sentBytes = 0;  ///< in a step
  std::string optimizer;
  bool ownsUpdate = false;

  void keep(std::uint32_t step, const std::vector<at::Tensor>& tensors);
  void compare(TrialPlace at, const at::Tensor& result, const at::Tensor& mean);
};

/// What all ranks of a trial had. Differences read "rank 1: bucket 0 of step 4".
class TrialRecord {
 public:
  explicit TrialRecord(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  RankRecord& of(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] const RankRecord& of(int rank) const {
    return ranks_.at(static_cast<std::size_t>(rank));
  }

  /// The first result that is not that of rank 0.
  [[nodiscard]] std::optional<std::string> differenceBetweenRanks() const;
  /// The first parameter that is not that of rank 0: "rank 1: parameter 4".
  [[nodiscard]] std::optional<std::string> parametersBetweenRanks(
      std::vector<at::Tensor> RankRecord::*which) const;
  /// The first result, of the steps from `from` on that both have, or parameter after training,
  /// that is not the other record's.
  [[nodiscard]] std::optional<std::string> differenceFrom(const TrialRecord& other,
                                                          std::uint32_t from) const;
  [[nodiscard]] MeanError farthestFromMean(bool always) const;
  /// Of the slowest rank; 0 when there is no time.
  [[nodiscard]] double medianMs(std::vector<std::chrono::nanoseconds> RankRecord::*which) const;
  [[nodiscard]] std::uint64_t mostSent() const;

 private:
  std::vector<RankRecord> ranks_;
};

}  // namespace lockstep::hooks
