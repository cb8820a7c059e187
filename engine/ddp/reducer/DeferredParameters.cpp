#include "engine/ddp/reducer/DeferredParameters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <utility>

#include "engine/buckets/Assign.h"
#include "engine/ddp/DdpError.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

DeferredParameters::DeferredParameters(ReducerContext& context, GradientCopies& copies)
    : context_(context), copies_(copies), buckets_(context) {
  const auto& specs = context.parameters.specs();
  const auto first = static_cast<std::ptrdiff_t>(context.planned);
  // The first buckets of c10d-1.13: no limit, one for each dtype and device.
  auto plan = buckets::planConstruction({specs.begin() + first, specs.end()},
                                        buckets::BucketRule::kC10d113, {});
  // The plan counts these parameters from 0; among the Reducer's they stand last.
  for (auto& planned : plan.buckets) {
    for (std::uint32_t& index : planned.parameters) {
      index += static_cast<std::uint32_t>(context.planned);
    }
  }
  buckets_.use(std::move(plan), /*views=*/false);
}

void DeferredParameters::reset() {
  buckets_.empty();
  triggered_ = false;
}

void DeferredParameters::note(std::size_t index) {
  triggered_ = triggered_ || index == context_.options.deferredTrigger;
}

void DeferredParameters::take(std::size_t index) {
  const BucketSet::Place place = buckets_.placeOf(index);
  Bucket& bucket = buckets_[place.bucket];
  // Always divided: no hook sees these, so that nobody else would do it.
  copies_.in(index, bucket, place.slot, std::nullopt, /*shares=*/true);
  --bucket.pending;
}

bool DeferredParameters::launch(const ReadyGradients& ready, bool afterBuckets) {
  if (none() || !works_.empty()) {
    return true;
  }
  // Where ranks may differ in what they use, a place of its own keeps the collectives in order.
  if (!triggered_ || (context_.options.searchesUnused() && !afterBuckets)) {
    return false;
  }
  // All in one: a gradient that came later would not be in the sum, and no rank would notice.
  for (std::size_t i = context_.planned; i < context_.parameters.size(); ++i) {
    if (ready.awaits(i)) {
      throw DdpError(fmt::format(
          "rank {}: parameter {} is to be reduced when parameter {} has its gradient, and had none "
          "by then in the backward of step {}; name a parameter whose gradient comes later, or "
          "leave this one in its bucket",
          context_.group->rank(), context_.parameters.named(i),
          context_.parameters.named(context_.options.deferredTrigger), context_.lane.step()));
    }
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    works_.push_back(context_.group->allreduce({buckets_[i].wire()}, process_group::ReduceOp::kSum,
                                               context_.callOptions()));
  }
  return true;
}

void DeferredParameters::await() {
  for (std::size_t i = 0; i < works_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    const auto waiting = context_.lane.now();
    works_[i]->wait();
    const auto copying = context_.lane.now();
    copies_.out(bucket, bucket.wire());
    std::lock_guard lock(context_.mutex);
    context_.lane.between(trace::EventKind::kWait, waiting, copying, trace::kNoBucket,
                          bucket.bytes());
    context_.lane.between(trace::EventKind::kCopyOut, copying, context_.lane.now(),
                          trace::kNoBucket, bucket.bytes());
  }
  works_.clear();
}

}  // namespace lockstep::ddp
