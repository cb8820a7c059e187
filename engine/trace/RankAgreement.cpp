#include "engine/trace/RankAgreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/NumberText.h"

namespace lockstep::trace {
namespace {

std::string describe(const ParametersMessage::Parameter& parameter) {
  return fmt::format("{} [{}] {}", parameter.name, fmt::join(parameter.shape, ", "),
                     parameter.dtype);
}

std::string describe(const BucketsMessage::Bucket& bucket) {
  return fmt::format("parameters [{}], {} bytes, {}", fmt::join(bucket.parameters, ", "),
                     bucket.bytes, bucket.dtype);
}

/// Returns the first difference of two lists; one that ends early differs at its end.
template <typename Item>
std::optional<std::string> compare(int rank, const char* what, const std::vector<Item>& ofRank0,
                                   const std::vector<Item>& ofRank) {
  for (std::size_t i = 0; i < std::max(ofRank0.size(), ofRank.size()); ++i) {
    if (i >= ofRank0.size() || i >= ofRank.size()) {
      return fmt::format("rank {} has {}, rank 0 has {}", rank,
                         base::countedText(ofRank.size(), what), ofRank0.size());
    }
    if (!(ofRank0[i] == ofRank[i])) {
      return fmt::format("{} {} is {} on rank {}, but {} on rank 0", what, i, describe(ofRank[i]),
                         rank, describe(ofRank0[i]));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> firstDifference(int rank, const ParametersMessage& ofRank0,
                                           const ParametersMessage& ofRank) {
  return compare(rank, "parameter", ofRank0.parameters, ofRank.parameters);
}

std::optional<std::string> firstDifference(int rank, const BucketsMessage& ofRank0,
                                           const BucketsMessage& ofRank) {
  // Compared first: buckets that match but are used from different steps on would mix gradients of
  // different parameters.
  if (ofRank0.step != ofRank.step) {
    return fmt::format("layout {} begins at step {} on rank {}, but at step {} on rank 0",
                       ofRank.layout, ofRank.step, rank, ofRank0.step);
  }
  auto difference = compare(rank, "bucket", ofRank0.buckets, ofRank.buckets);
  if (difference.has_value()) {
    difference = fmt::format("layout {}: {}", ofRank.layout, *difference);
  }
  return difference;
}

}  // namespace lockstep::trace
