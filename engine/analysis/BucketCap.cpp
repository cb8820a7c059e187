#include "engine/analysis/BucketCap.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::analysis {
namespace {

/// Without a limit, one bucket takes all parameters of its kind: so one that shares its kind with
/// another bucket and has no limit holds a sparse gradient.
bool standsAlone(const trace::BucketsMessage& layout, std::size_t bucket) {
  const auto& own = layout.buckets[bucket];
  const auto sameKind = std::count_if(layout.buckets.begin(), layout.buckets.end(),
                                      [&](const auto& one) { return one.dtype == own.dtype; });
  return own.limitBytes == 0 && own.parameters.size() == 1 && sameKind > 1;
}

trace::BucketsMessage messageOf(const buckets::BucketPlan& plan,
                                const std::vector<buckets::TensorSpec>& tensors) {
  trace::BucketsMessage message;
  for (const buckets::BucketPlan::Bucket& bucket : plan.buckets) {
    auto& out = message.buckets.emplace_back();
    out.parameters = bucket.parameters;
    for (const std::uint32_t parameter : bucket.parameters) {
      out.offsets.push_back(out.bytes);
      out.bytes += tensors[parameter].bytes;
    }
    out.limitBytes = bucket.limitBytes == buckets::kUnlimited ? 0 : bucket.limitBytes;
    out.dtype = bucket.dtype;
  }
  return message;
}

}  // namespace

BucketCap bucketCap(const trace::BucketsMessage& layout, std::size_t bucket) {
  const trace::BucketsMessage::Bucket& of = layout.buckets[bucket];
  BucketCap cap;
  cap.limitBytes = of.limitBytes;
  if (!of.parameters.empty()) {
    cap.lastParameter = of.parameters.back();
  }
  if (!of.offsets.empty()) {
    cap.beforeLastBytes = of.offsets.back();
  }
  // The file has limit 0 for a sparse gradient, too: what shares its kind tells the two apart.
  if (of.limitBytes == 0) {
    cap.end = standsAlone(layout, bucket) ? BucketEnd::kSparse : BucketEnd::kNoLimit;
  } else if (of.bytes >= of.limitBytes) {
    cap.end = BucketEnd::kReached;
    cap.overshootBytes = of.bytes - of.limitBytes;
  } else {
    cap.end = BucketEnd::kLeftOver;
  }
  return cap;
}

std::vector<trace::BucketsMessage> previewLayouts(
    const std::vector<trace::ParametersMessage::Parameter>& parameters,
    const BucketSettings& settings) {
  std::vector<buckets::TensorSpec> tensors;
  for (const auto& parameter : parameters) {
    tensors.push_back({static_cast<std::uint64_t>(parameter.bytes), parameter.dtype});
  }
  // Where unused parameters are searched, c10d never rebuilds: the buckets of the construction are
  // those of the whole run, and so they have limits from the start, as those of PyTorch 1.9.
  const bool searches = settings.findUnusedParameters && !settings.staticGraph;
  std::vector<trace::BucketsMessage> layouts;
  layouts.push_back(messageOf(
      buckets::planConstruction(tensors, searches ? buckets::BucketRule::kC10d19 : settings.rule,
                                settings.caps),
      tensors));
  layouts.back().reason = "construction";
  if (!searches && !tensors.empty()) {
    std::vector<std::uint32_t> reversed(tensors.size());
    std::iota(reversed.rbegin(), reversed.rend(), 0u);
    layouts.push_back(messageOf(buckets::planRebuild(tensors, reversed, settings.caps), tensors));
    layouts.back().layout = 1;
    // The first iteration of a static graph counts how often each gradient comes, and the second
    // records the order.
    layouts.back().step = settings.staticGraph ? 2 : 1;
    layouts.back().reason = "rebuild";
  }
  return layouts;
}

}  // namespace lockstep::analysis
