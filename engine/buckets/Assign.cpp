#include "engine/buckets/Assign.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace lockstep::buckets {

namespace {

/// The bucket of one (dtype, device) that still takes tensors.
struct OpenBucket {
  BucketPlan::Bucket bucket;
  std::size_t limit = 0;  // index into the limits
  std::size_t firstSeen = 0;
};

BucketPlan::Bucket emptyBucket(const TensorSpec& tensor) {
  BucketPlan::Bucket bucket;
  bucket.dtype = tensor.dtype;
  bucket.device = tensor.device;
  return bucket;
}

std::uint32_t smallest(const BucketPlan::Bucket& bucket) {
  return *std::min_element(bucket.parameters.begin(), bucket.parameters.end());
}

}  // namespace

std::vector<std::vector<std::uint32_t>> BucketPlan::indices() const {
  std::vector<std::vector<std::uint32_t>> lists;
  lists.reserve(buckets.size());
  for (const Bucket& bucket : buckets) {
    lists.push_back(bucket.parameters);
  }
  return lists;
}

BucketPlan assignBuckets(const std::vector<TensorSpec>& tensors,
                         const std::vector<std::uint64_t>& limits,
                         const std::optional<std::vector<std::uint32_t>>& order) {
  LOCKSTEP_CHECK(!limits.empty(), "a bucket assignment needs at least one limit");
  LOCKSTEP_CHECK(!order || order->size() == tensors.size(), "{} indices for {} tensors",
                 order ? order->size() : 0, tensors.size());
  BucketPlan plan;
  std::map<std::pair<std::string, std::string>, OpenBucket> open;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& tensor = tensors[i];
    const std::uint32_t index = order ? (*order)[i] : static_cast<std::uint32_t>(i);
    if (tensor.sparse) {
      BucketPlan::Bucket& bucket = plan.buckets.emplace_back(emptyBucket(tensor));
      bucket.parameters.push_back(index);
      bucket.bytes = tensor.bytes;
      bucket.limitBytes = 0;
      continue;
    }
    const auto [entry, isNew] = open.try_emplace({tensor.dtype, tensor.device});
    OpenBucket& current = entry->second;
    if (isNew) {
      current.bucket = emptyBucket(tensor);
      current.firstSeen = i;
    }
    current.bucket.parameters.push_back(index);
    current.bucket.bytes += tensor.bytes;
    // Compared after the tensor has been added: a bucket closes when it has reached its limit.
    current.bucket.limitBytes = limits[current.limit];
    if (current.bucket.bytes >= current.bucket.limitBytes) {
      plan.buckets.push_back(std::exchange(current.bucket, emptyBucket(tensor)));
      current.limit = std::min(current.limit + 1, limits.size() - 1);
    }
  }

  std::vector<OpenBucket> leftOver;
  for (auto& [key, bucket] : open) {
    if (!bucket.bucket.parameters.empty()) {
      leftOver.push_back(std::move(bucket));
    }
  }
  // c10d takes them out of a hash map, which has the kind that came last first.
  std::sort(leftOver.begin(), leftOver.end(),
            [](const OpenBucket& a, const OpenBucket& b) { return a.firstSeen > b.firstSeen; });
  for (OpenBucket& bucket : leftOver) {
    plan.buckets.push_back(std::move(bucket.bucket));
  }
  // By c10d: without an order of readiness, registration order is the guess, which
  // planConstruction() turns round.
  if (!order) {
    std::sort(plan.buckets.begin(), plan.buckets.end(),
              [](const auto& a, const auto& b) { return smallest(a) < smallest(b); });
  }
  return plan;
}

std::string_view name(BucketRule rule) {
  return rule == BucketRule::kC10d113 ? "c10d-1.13" : "c10d-1.9";
}

base::Result<BucketRule> bucketRule(std::string_view text) {
  for (const BucketRule rule : {BucketRule::kC10d113, BucketRule::kC10d19}) {
    if (text == name(rule)) {
      return rule;
    }
  }
  return base::Error{base::ExitCode::kBadInput,
                     fmt::format("unknown bucket rule '{}'; use c10d-1.13 or c10d-1.9", text),
                     "ddp.bucket_rule"};
}

base::Result<std::uint64_t> capBytes(double mebibytes) {
  constexpr double kLargest = 8796093022208.0;  // 2^43 MiB = 2^63 bytes
  if (!std::isfinite(mebibytes) || mebibytes < 0 || mebibytes >= kLargest) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("a bucket cap of {} MiB is not possible; use a number of "
                                   "MiB from 0 up, as 25",
                                   mebibytes),
                       ""};
  }
  return static_cast<std::uint64_t>(mebibytes * 1048576.0);
}

BucketPlan planConstruction(const std::vector<TensorSpec>& parameters, BucketRule rule,
                            const BucketCaps& caps) {
  // c10d 1.13 and later make one bucket of everything at first: the order of the first backward is
  // not known, and a rebuild follows. Where none will, c10d 1.9's limits are better (Reducer).
  const std::vector<std::uint64_t> limits = rule == BucketRule::kC10d113 && caps.list.empty()
                                                ? std::vector<std::uint64_t>{kUnlimited}
                                                : caps.limits();
  BucketPlan plan = assignBuckets(parameters, limits);
  std::reverse(plan.buckets.begin(), plan.buckets.end());
  return plan;
}

BucketPlan planRebuild(const std::vector<TensorSpec>& parameters,
                       const std::vector<std::uint32_t>& readyOrder, const BucketCaps& caps) {
  std::vector<TensorSpec> inOrder;
  inOrder.reserve(readyOrder.size());
  for (const std::uint32_t index : readyOrder) {
    LOCKSTEP_CHECK(index < parameters.size(), "index {} of {} parameters", index,
                   parameters.size());
    inOrder.push_back(parameters[index]);
  }
  return assignBuckets(inOrder, caps.limits(), readyOrder);
}

}  // namespace lockstep::buckets
