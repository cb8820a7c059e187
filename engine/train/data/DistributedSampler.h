#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::train {

/// Deals the samples of a set to the ranks, as torch.utils.data.DistributedSampler does, sample
/// for sample: one order for all ranks (torch.randperm of a generator seeded seed + epoch, or
/// 0, 1, ...), made divisible by the number of ranks by repeating its beginning or, with
/// `dropLast`, by leaving off its end; rank r takes every worldSize-th from the r-th on.
class DistributedSampler {
 public:
  struct Options {
    std::int64_t samples = 0;
    int rank = 0;
    int worldSize = 1;
    bool shuffle = true;
    bool dropLast = false;
    std::int64_t seed = 0;
  };
  explicit DistributedSampler(const Options& options);

  /// Returns how many samples a rank gets in an epoch.
  [[nodiscard]] std::int64_t size() const { return perRank_; }

  /// Returns this rank's samples of an epoch, in order.
  [[nodiscard]] std::vector<std::int64_t> indices(std::int64_t epoch) const;

 private:
  Options options_;
  std::int64_t perRank_;
};

}  // namespace lockstep::train
