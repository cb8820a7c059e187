#pragma once

#include <cstddef>
#include <optional>

#include "engine/ddp/Bucket.h"
#include "engine/ddp/reducer/GradientChecks.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/ddp/reducer/UsedMap.h"

namespace lockstep::ddp {

/// Gradients into their buckets and back: one by one, or all of a bucket at once (PyTorch's
/// batched_grad_copy). On the way in they are divided where the communication hook takes shares.
/// Throws DdpError for a gradient that does not fit its bucket.
class GradientCopies {
 public:
  GradientCopies(ReducerContext& context, UsedMap& used, GradientChecks& checks)
      : context_(context), used_(used), checks_(checks) {}

  // With the Reducer's mutex held.
  /// `number`: the bucket's; none for a deferred parameter. An undefined gradient becomes zeros; a
  /// sparse one stays where it is.
  void in(std::size_t index, Bucket& bucket, std::size_t slot, std::optional<std::size_t> number,
          bool shares);
  void inAll(Bucket& bucket, std::size_t number);
  /// Whether inAll() will be able to copy it.
  void check(std::size_t index, const at::Tensor& slice) const;

  /// By the thread that finalises. `result`: as the bucket's wire, or the wire itself.
  void out(Bucket& bucket, const at::Tensor& result);

 private:
  void checkSparse(std::size_t index) const;

  ReducerContext& context_;
  UsedMap& used_;
  GradientChecks& checks_;
};

}  // namespace lockstep::ddp
