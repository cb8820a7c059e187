#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/buckets/BucketPlan.h"

namespace lockstep::buckets {

// Note [Bucket assignment]
// As c10d's compute_bucket_assignment_by_size: walk the tensors in the given order. A tensor
// with an expected sparse gradient becomes a bucket of its own at once, limit recorded as 0.
// Any other joins the open bucket of its (dtype, device); when the bucket's bytes have then
// reached the key's current limit, the bucket closes and the key moves on to its next limit
// (staying on the last). A tensor is never split, so that a bucket may overshoot its limit by
// almost its last tensor. Buckets left open are appended.
//
// With the limits 1 and 25 MiB, tensors of one dtype, in MiB:
//
//   0.5  0.7 │ 10  20 │ 3
//   1.2 ≥ 1    30 ≥ 25   left open
//
// Without `order` the result is sorted by each bucket's smallest index. With `order` (a rebuild)
// buckets keep the order in which they closed. Those left open follow, the one whose key was met
// latest first. (c10d appends these in the order of a hash map.)

/// Assigns `tensors` to buckets. `limits` in bytes, at least one. `order`, if given, names the
/// registration index of each tensor: tensors[i] is parameter (*order)[i].
/// A pure function, the same on every rank. [any-thread]
BucketPlan assignBuckets(const std::vector<TensorSpec>& tensors,
                         const std::vector<std::uint64_t>& limits,
                         const std::optional<std::vector<std::uint32_t>>& order = std::nullopt);

/// How the buckets of the first iteration are made, before any ready order is known.
enum class BucketRule {
  kC10d113,  ///< one unlimited bucket a (dtype, device), as PyTorch 1.13 and later
  kC10d19,   ///< limits [first, cap], as PyTorch up to 1.9
};

/// Names as the experiment file writes them: "c10d-1.13", "c10d-1.9".
std::string_view name(BucketRule rule);
base::Result<BucketRule> bucketRule(std::string_view name);

struct BucketCaps {
  std::uint64_t firstBytes = 1 << 20;
  std::uint64_t capBytes = 25 << 20;
  /// When not empty: the limits of successive buckets in bytes, the last repeating, from the
  /// first iteration on, in place of the two above (PyTorch's bucket_cap_mb_list).
  std::vector<std::uint64_t> list;

  /// Returns the limits that a rebuild uses.
  [[nodiscard]] std::vector<std::uint64_t> limits() const {
    return list.empty() ? std::vector<std::uint64_t>{firstBytes, capBytes} : list;
  }
};

/// Returns int(mebibytes * 2^20), as PyTorch counts a cap given in "MB". Error: negative, not
/// finite, or beyond 2^43 MiB. 0 is allowed: every gradient then has its own bucket.
base::Result<std::uint64_t> capBytes(double mebibytes);

/// Returns the plan of the first iteration: the assignment in registration order, reversed, so
/// that what the backward reaches first stands first. Inside a bucket registration order stays.
BucketPlan planConstruction(const std::vector<TensorSpec>& parameters, BucketRule rule,
                            const BucketCaps& caps);

/// Returns the plan after the first iteration: the assignment in `readyOrder`, a permutation
/// of the parameters, under `caps.limits()`.
BucketPlan planRebuild(const std::vector<TensorSpec>& parameters,
                       const std::vector<std::uint32_t>& readyOrder, const BucketCaps& caps);

}  // namespace lockstep::buckets
