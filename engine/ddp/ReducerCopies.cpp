#include <ATen/ATen.h>
#include <fmt/format.h>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/Reducer.h"
#include "engine/ddp/ScaledCopy.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/hooks/HookTrace.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

// Gradients into their buckets and back: one by one, or all of a bucket at once (PyTorch's
// batched_grad_copy).

using hooks::eventBucket;

void Reducer::checkDense(std::size_t index, const at::Tensor& slice) const {
  const at::Tensor& grad = parameters_[index].tensor.grad();
  if (!grad.defined()) {
    return;
  }
  const bool dense = grad.layout() == c10::kStrided;
  const bool typeFits =
      grad.scalar_type() == slice.scalar_type() || options_.precision != nullptr;
  if (dense && typeFits && grad.device() == slice.device()) {
    return;
  }
  throw DdpError(fmt::format(
      "rank {}: the gradient of parameter {} is {}{} on {}; its bucket holds {} on {}{}",
      group_->rank(), quoted(parameters_[index].name, index), dense ? "" : "sparse ",
      dtypeName(grad.scalar_type()), grad.device().str(), dtypeName(slice.scalar_type()),
      slice.device().str(), dense ? "" : "; declare the parameter's gradient as sparse"));
}

void Reducer::copyIn(std::size_t index, Bucket& bucket, const Place& place, bool shares) {
  const std::uint64_t startTicks = base::ticks();
  if (bucket.sparse()) {
    checkSparse(index);
    tally(index, bucket, place, false);
    return;
  }
  const at::Tensor& slice = bucket.slice(place.slot);
  checkDense(index, slice);
  at::Tensor& grad = parameters_[index].tensor.mutable_grad();
  if (!grad.defined()) {
    slice.zero_();
  } else if (sameMemory(grad, slice)) {
    if (shares && (isDeferred(index) || communicates(place.bucket))) {
      slice.div_(divisor_);
    }
  } else {
    if (shares && grad.scalar_type() == slice.scalar_type()) {
      scaledCopy(slice, grad, inverse_);  // one pass: copies and divides
    } else {
      slice.copy_(grad);
      if (shares) {
        slice.mul_(inverse_);
      }
    }
    if (options_.gradientAsBucketView) {
      grad = slice;
    }
  }
  if (options_.deviceSpans == nullptr) {
    lane_.span(trace::EventKind::kCopyIn, startTicks, step_,
               isDeferred(index) ? trace::kNoBucket : eventBucket(place.bucket), index);
  }
  tally(index, bucket, place, shares);
}

void Reducer::copyInAll(std::size_t number) {
  const Moment start = now();
  Bucket& bucket = *buckets_[number];
  const bool shares = hook_->takesShares();
  std::vector<at::Tensor> slices;
  std::vector<at::Tensor> gradients;
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    const at::Tensor& slice = bucket.slice(slot);
    at::Tensor& grad = parameters_[bucket.parameters()[slot]].tensor.mutable_grad();
    if (!grad.defined()) {
      slice.zero_();
    } else if (!sameMemory(grad, slice)) {
      slices.push_back(slice);
      gradients.push_back(grad);
      if (options_.gradientAsBucketView) {
        grad = slice;
      }
    }
  }
  compat::copyAll(slices, gradients);
  if (shares && communicates(number)) {
    bucket.wire().div_(divisor_);
  }
  recordBetween(trace::EventKind::kCopyIn, start, now(), eventBucket(number), bucket.bytes(),
                trace::kWholeBucket);
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    tally(bucket.parameters()[slot], bucket,
          {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(slot)}, shares);
  }
}

void Reducer::copyOut(Bucket& bucket, const at::Tensor& result) {
  const bool inPlace = sameMemory(result, bucket.wire());
  if (!inPlace && options_.gradientAsBucketView) {
    bucket.wire().copy_(result);
  }
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> averages;
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    const std::uint32_t index = bucket.parameters()[slot];
    if (keepsGradient(index)) {
      continue;
    }
    at::Tensor& grad = parameters_[index].tensor.mutable_grad();
    if (options_.gradientAsBucketView) {
      if (!grad.defined()) {
        grad = bucket.slice(slot);
      } else if (!sameMemory(grad, bucket.slice(slot))) {
        throw DdpError(fmt::format(
            "rank {}: the gradient of parameter {} was replaced during the backward; with "
            "gradient_as_bucket_view it must stay the view that DistributedDataParallel set",
            group_->rank(), quoted(parameters_[index].name, index)));
      }
      continue;
    }
    const at::Tensor reduced = inPlace ? bucket.slice(slot) : bucket.sliceOf(result, slot);
    const at::ScalarType type = options_.precision == nullptr
                                    ? reduced.scalar_type()
                                    : options_.precision->gradientType(built_[index].first);
    if (!grad.defined() || grad.scalar_type() != type) {
      grad = reduced.to(type, /*non_blocking=*/false, /*copy=*/true);
    } else if (options_.batchedGradCopy) {
      gradients.push_back(grad);
      averages.push_back(reduced);
    } else {
      grad.copy_(reduced);
    }
  }
  compat::copyAll(gradients, averages);
}

}  // namespace lockstep::ddp
