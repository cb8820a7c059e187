#include "engine/ddp/reducer/GradientCopies.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "engine/base/Clock.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/ScaledCopy.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/hooks/HookTrace.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

using hooks::eventBucket;

void GradientCopies::check(std::size_t index, const at::Tensor& slice) const {
  const at::Tensor& grad = context_.parameters.tensor(index).grad();
  if (!grad.defined()) {
    return;
  }
  const bool dense = grad.layout() == c10::kStrided;
  // With mixed precision gradients and buckets differ on purpose: the copy converts.
  const bool typeFits =
      grad.scalar_type() == slice.scalar_type() || context_.options.precision != nullptr;
  if (dense && typeFits && grad.device() == slice.device()) {
    return;
  }
  throw DdpError(fmt::format(
      "rank {}: the gradient of parameter {} is {}{} on {}; its bucket holds {} on {}{}",
      context_.group->rank(), context_.parameters.named(index), dense ? "" : "sparse ",
      dtypeName(grad.scalar_type()), grad.device().str(), dtypeName(slice.scalar_type()),
      slice.device().str(), dense ? "" : "; declare the parameter's gradient as sparse"));
}

void GradientCopies::checkSparse(std::size_t index) const {
  const at::Tensor& grad = context_.parameters.tensor(index).grad();
  if (!grad.defined()) {
    return;
  }
  if (grad.layout() != c10::kSparse || grad.sparse_dim() != 1) {
    throw DdpError(fmt::format(
        "rank {}: the gradient of parameter {} was declared sparse (rows) and is {}; build the "
        "module without sparse gradients, or do not declare them",
        context_.group->rank(), context_.parameters.named(index),
        grad.layout() == c10::kSparse ? "sparse in several dimensions" : "dense"));
  }
}

void GradientCopies::in(std::size_t index, Bucket& bucket, std::size_t slot,
                        std::optional<std::size_t> number, bool shares) {
  const std::uint64_t startTicks = base::ticks();
  if (bucket.sparse()) {
    checkSparse(index);
    checks_.measure(index, bucket, slot, number, false);
    return;
  }
  const at::Tensor& slice = bucket.slice(slot);
  check(index, slice);
  at::Tensor& grad = context_.parameters.tensor(index).mutable_grad();
  // Where the gradient is the bucket's memory, or becomes it, a bucket that no rank sends must keep
  // it undivided: nothing will be added to make the average of it. A bucket is sent, and need not
  // be asked for, where this rank used the parameter.
  const bool mayBeUnsent =
      number && grad.defined() && context_.options.gradientAsBucketView && !used_.isUsedHere(index);
  const bool divides = shares && (!mayBeUnsent || used_.communicates(*number));
  // The parameter was not used here; zeros leave the sum to the ranks that used it.
  if (!grad.defined()) {
    slice.zero_();
  } else if (sameMemory(grad, slice)) {
    if (divides) {
      slice.div_(context_.divisor);
    }
  } else {
    if (divides && grad.scalar_type() == slice.scalar_type()) {
      scaledCopy(slice, grad, context_.inverse);  // one pass: copies and divides
    } else {
      slice.copy_(grad);
      if (divides) {
        slice.mul_(context_.inverse);
      }
    }
    if (context_.options.gradientAsBucketView) {
      grad = slice;
    }
  }
  // On a device the copy is only queued here: the host's time would say nothing.
  if (!context_.lane.byDevice()) {
    context_.lane.hostSpan(trace::EventKind::kCopyIn, startTicks,
                           number ? eventBucket(*number) : trace::kNoBucket, index);
  }
  checks_.measure(index, bucket, slot, number, divides);
}

void GradientCopies::inAll(Bucket& bucket, std::size_t number) {
  const auto start = context_.lane.now();
  const bool divides = context_.hook->takesShares() && used_.communicates(number);
  std::vector<at::Tensor> slices;
  std::vector<at::Tensor> gradients;
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    const at::Tensor& slice = bucket.slice(slot);
    at::Tensor& grad = context_.parameters.tensor(bucket.parameters()[slot]).mutable_grad();
    if (!grad.defined()) {
      slice.zero_();
    } else if (!sameMemory(grad, slice)) {
      slices.push_back(slice);
      gradients.push_back(grad);
      if (context_.options.gradientAsBucketView) {
        grad = slice;
      }
    }
  }
  compat::copyAll(slices, gradients);
  if (divides) {
    bucket.wire().div_(context_.divisor);
  }
  context_.lane.between(trace::EventKind::kCopyIn, start, context_.lane.now(), eventBucket(number),
                        bucket.bytes(), trace::kWholeBucket);
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    checks_.measure(bucket.parameters()[slot], bucket, slot, number, divides);
  }
}

void GradientCopies::out(Bucket& bucket, const at::Tensor& result) {
  const ReducerOptions& options = context_.options;
  const bool inPlace = sameMemory(result, bucket.wire());
  // A hook may return other memory; the views must show the result.
  if (!inPlace && options.gradientAsBucketView) {
    bucket.wire().copy_(result);
  }
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> averages;
  for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
    const std::uint32_t index = bucket.parameters()[slot];
    // No rank used it: it stays as it is, undefined if it was, so that an optimizer with momentum
    // or weight decay does not move a parameter that took no part (as c10d).
    if (used_.keepsGradient(index)) {
      continue;
    }
    at::Tensor& grad = context_.parameters.tensor(index).mutable_grad();
    if (options.gradientAsBucketView) {
      if (!grad.defined()) {
        grad = bucket.slice(slot);
      } else if (!sameMemory(grad, bucket.slice(slot))) {
        throw DdpError(fmt::format(
            "rank {}: the gradient of parameter {} was replaced during the backward; with "
            "gradient_as_bucket_view it must stay the view that DistributedDataParallel set",
            context_.group->rank(), context_.parameters.named(index)));
      }
      continue;
    }
    const at::Tensor reduced = inPlace ? bucket.slice(slot) : bucket.sliceOf(result, slot);
    const at::ScalarType type =
        options.precision == nullptr
            ? reduced.scalar_type()
            : options.precision->gradientType(context_.parameters.builtType(index));
    // A copy, never a part of the bucket: the next backward writes into that.
    if (!grad.defined() || grad.scalar_type() != type) {
      grad = reduced.to(type, /*non_blocking=*/false, /*copy=*/true);
    } else if (options.batchedGradCopy) {
      gradients.push_back(grad);
      averages.push_back(reduced);
    } else {
      grad.copy_(reduced);
    }
  }
  compat::copyAll(gradients, averages);
}

}  // namespace lockstep::ddp
