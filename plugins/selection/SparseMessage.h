#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugins/exchange/Gather.h"

namespace lockstep::plugin {

/// Some gradients of a bucket, as every rank sends its own: `count` indices, then the bits of as
/// many values. Fewer are filled up with zeros for index 0.
class SparseMessage {
 public:
  /// Takes the chosen gradients out of the bucket, in which zeros take their place.
  SparseMessage(const Run& run, const Bucket& bucket, const std::vector<std::uint32_t>& chosen,
                std::size_t count)
      : own_(run.scratch<std::int32_t>(2 * count)) {
    const auto flat = bucket.flat();
    std::fill(own_.begin(), own_.end(), 0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      own_[i] = static_cast<std::int32_t>(chosen[i]);
      own_[i + count] = std::bit_cast<std::int32_t>(std::exchange(flat[chosen[i]], 0.0F));
    }
  }

  /// Sends it to all ranks; the mean of what all sent stands in the bucket when the run completes.
  void exchange(const Run& run, const Bucket& bucket) const {
    gatherAndAdd(run, bucket, own_,
                 [divisor = static_cast<float>(bucket.divisor())](
                     auto flat, auto message, auto rank) { add(flat, message, divisor, rank); });
  }

 private:
  static void add(std::span<float> flat, std::span<const std::int32_t> message, float divisor,
                  std::size_t rank) {
    const std::size_t count = message.size() / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(message[i]);
      if (index >= flat.size()) {
        throw Error(LOCKSTEP_E_COMM, "rank " + std::to_string(rank) + " sent index " +
                                         std::to_string(message[i]) + " of " +
                                         std::to_string(flat.size()));
      }
      flat[index] += std::bit_cast<float>(message[i + count]) / divisor;
    }
  }

  std::span<std::int32_t> own_;
};

}  // namespace lockstep::plugin
