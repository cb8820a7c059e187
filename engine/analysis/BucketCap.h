#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/buckets/Assign.h"
#include "engine/trace/Messages.h"

namespace lockstep::analysis {

/// Why a bucket ends where it does (Note [Bucket assignment]).
enum class BucketEnd : std::uint8_t {
  kNoLimit,   ///< the assignment had no limit: all parameters of its kind
  kSparse,    ///< a gradient that is expected to be sparse travels alone
  kReached,   ///< its last parameter took it to its limit or beyond
  kLeftOver,  ///< no parameters were left; its limit was not reached
};

struct BucketCap {
  BucketEnd end = BucketEnd::kNoLimit;
  std::uint64_t limitBytes = 0;       ///< 0: none
  std::uint64_t beforeLastBytes = 0;  ///< without its last parameter
  std::uint64_t overshootBytes = 0;   ///< beyond its limit
  std::optional<std::uint32_t> lastParameter;
};

/// Explains one bucket of a layout.
BucketCap bucketCap(const trace::BucketsMessage& layout, std::size_t bucket);

/// What decides the buckets of a run, as its experiment says it.
struct BucketSettings {
  buckets::BucketCaps caps;
  buckets::BucketRule rule = buckets::BucketRule::kC10d113;
  bool findUnusedParameters = false;
  bool staticGraph = false;
};

/// Returns the layouts that a run with these parameters is going to use: that of the construction
/// and, where it rebuilds, that after the first step, if gradients become ready in the reverse of
/// their registration. All are taken for dense and on one device.
std::vector<trace::BucketsMessage> previewLayouts(
    const std::vector<trace::ParametersMessage::Parameter>& parameters,
    const BucketSettings& settings);

}  // namespace lockstep::analysis
