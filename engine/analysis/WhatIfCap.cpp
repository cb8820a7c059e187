#include "engine/analysis/WhatIfCap.h"

#include <algorithm>
#include <utility>

namespace lockstep::analysis {
namespace {

base::Error noOtherCap(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

/// The order in which the rebuild saw the gradients: that of the buckets it made.
std::vector<std::uint32_t> rebuildOrder(const trace::BucketsMessage& layout) {
  std::vector<std::uint32_t> order;
  for (const auto& bucket : layout.buckets) {
    order.insert(order.end(), bucket.parameters.begin(), bucket.parameters.end());
  }
  return order;
}

/// Whether the order is one of all parameters, each once.
bool takesEach(const std::vector<std::uint32_t>& order, std::size_t parameters) {
  std::vector<bool> seen(parameters, false);
  for (const std::uint32_t parameter : order) {
    if (parameter >= parameters || seen[parameter]) {
      return false;
    }
    seen[parameter] = true;
  }
  return order.size() == parameters;
}

bool isLayout(const buckets::BucketPlan& plan, const trace::BucketsMessage& layout) {
  return std::equal(
      plan.buckets.begin(), plan.buckets.end(), layout.buckets.begin(), layout.buckets.end(),
      [](const auto& planned, const auto& made) { return planned.parameters == made.parameters; });
}

}  // namespace

base::Result<std::vector<cost::PlannedBucket>> planWithCaps(
    const std::vector<trace::ParametersMessage::Parameter>& parameters,
    const trace::BucketsMessage& layout, const buckets::BucketCaps& caps,
    const buckets::BucketCaps& others) {
  if (layout.layout == 0) {
    return noOtherCap(
        "its buckets were never rebuilt in the ready order: it ended too early, or "
        "ddp.find_unused_parameters keeps them as they are");
  }
  if (!caps.list.empty() && others.list.empty()) {
    return noOtherCap("it gives a list of caps: there is no one cap to change");
  }
  std::vector<buckets::TensorSpec> tensors;
  for (const auto& parameter : parameters) {
    tensors.push_back({static_cast<std::uint64_t>(parameter.bytes), parameter.dtype});
  }
  const std::vector<std::uint32_t> order = rebuildOrder(layout);
  // The proof that the run's buckets follow from its caps: the same rule with the same caps must
  // make them again. Sparse gradients, several dtypes or a hand-made layout would not come out.
  if (!takesEach(order, tensors.size()) ||
      !isLayout(buckets::planRebuild(tensors, order, caps), layout)) {
    return noOtherCap(
        "its buckets are not what its caps alone make of one kind of dense gradients, so that "
        "those of another cap are not known");
  }
  std::vector<cost::PlannedBucket> plan;
  for (buckets::BucketPlan::Bucket& bucket : buckets::planRebuild(tensors, order, others).buckets) {
    plan.push_back({std::move(bucket.parameters), bucket.bytes});
  }
  return plan;
}

}  // namespace lockstep::analysis
