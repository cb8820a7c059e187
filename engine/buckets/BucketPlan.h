#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lockstep::buckets {

/// What the assignment knows of a parameter's gradient.
struct TensorSpec {
  std::uint64_t bytes = 0;     ///< numel * element size
  std::string dtype;           ///< "float32"; with the device it keys the open buckets
  std::string device = "cpu";  ///< "cpu", "cuda:0"
  bool sparse = false;         ///< a sparse gradient is expected: a bucket of its own
};

/// A limit that no bucket reaches.
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Which parameters share a bucket, in the order in which buckets are launched. The studio
/// previews with it what the Reducer will do.
struct BucketPlan {
  struct Bucket {
    std::vector<std::uint32_t> parameters;  ///< registration indices, in the bucket's order
    std::uint64_t bytes = 0;                ///< of all parameters together
    std::uint64_t limitBytes = kUnlimited;  ///< in force when the bucket closed; sparse: 0
    std::string dtype;
    std::string device;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets;

  /// Returns only the indices, one list a bucket.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> indices() const;

  bool operator==(const BucketPlan&) const = default;
};

}  // namespace lockstep::buckets
