#include "engine/ddp/reducer/BucketSet.h"

#include <ATen/ATen.h>

#include <utility>

#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

std::unique_ptr<Bucket> BucketSet::make(const buckets::BucketPlan::Bucket& planned) const {
  const std::uint32_t first = planned.parameters.front();
  const at::ScalarType own = context_.parameters.tensor(first).scalar_type();
  const auto& precision = context_.options.precision;
  return std::make_unique<Bucket>(planned, context_.parameters.all(), *context_.group,
                                  precision == nullptr ? own : precision->reduceType(own),
                                  context_.parameters.specs()[first].sparse);
}

void BucketSet::use(buckets::BucketPlan plan, bool views) {
  at::NoGradGuard noGrad;
  buckets_.clear();  // before the new memory is taken
  plan_ = std::move(plan);
  hooked_ = 0;
  places_.resize(context_.parameters.size());
  for (const auto& planned : plan_.buckets) {
    Bucket& bucket = *buckets_.emplace_back(make(planned));
    // GradBucket::isLast() must be true of the last bucket that the hook sees; sparse ones it does
    // not see.
    hooked_ = bucket.sparse() ? hooked_ : buckets_.size();
    for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
      const std::uint32_t index = bucket.parameters()[slot];
      places_[index] = {static_cast<std::uint32_t>(buckets_.size() - 1),
                        static_cast<std::uint32_t>(slot)};
      at::Tensor& grad = context_.parameters.tensor(index).mutable_grad();
      if (views && grad.defined() && !bucket.sparse()) {
        bucket.slice(slot).copy_(grad);
        grad = bucket.slice(slot);
      }
    }
  }
}

void BucketSet::empty() {
  for (auto& bucket : buckets_) {
    bucket->pending = bucket->size();
  }
}

trace::BucketsMessage BucketSet::message(std::uint32_t layout, const std::string& reason) const {
  trace::BucketsMessage message;
  message.layout = layout;
  message.step = context_.lane.step();
  message.reason = reason;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto& planned = plan_.buckets[i];
    const Bucket& bucket = *buckets_[i];
    trace::BucketsMessage::Bucket& out = message.buckets.emplace_back();
    out.parameters = planned.parameters;
    out.bytes = bucket.bytes();
    out.limitBytes = planned.limitBytes == buckets::kUnlimited ? 0 : planned.limitBytes;
    out.dtype = context_.options.precision == nullptr ? planned.dtype
                                                      : dtypeName(bucket.wire().scalar_type());
    // In the dtype that travels: mixed precision scales all parameters of a bucket alike.
    std::uint64_t offset = 0;
    for (const std::uint32_t index : planned.parameters) {
      out.offsets.push_back(offset);
      offset += planned.bytes == 0
                    ? 0
                    : context_.parameters.specs()[index].bytes * bucket.bytes() / planned.bytes;
    }
  }
  return message;
}

}  // namespace lockstep::ddp
