#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Future.h"

namespace lockstep::hooks {

/// What a hook knows of a bucket besides its gradients.
struct BucketFacts {
  /// The mean is the sum over ranks divided by this: as a rule the group's size.
  double divisor = 1;
  /// Changes when the buckets are rebuilt.
  std::uint32_t layout = 0;
  /// This rank has no inputs (Join): zeros go in, and the result is dropped.
  bool shadow = false;
};

/// One bucket as a communication hook sees it (c10d::GradBucket): the flat buffer holds this
/// rank's gradients, not divided by the world size unless the hook takesShares().
class GradBucket {
 public:
  GradBucket(std::size_t index, std::size_t count, std::uint32_t step, at::Tensor buffer,
             std::vector<std::int64_t> offsets, std::vector<std::int64_t> lengths,
             std::vector<std::vector<std::int64_t>> shapes, std::vector<at::Tensor> parameters,
             std::vector<std::uint32_t> parameterIndices, BucketFacts facts = {});

  [[nodiscard]] std::size_t index() const { return index_; }
  /// Whether this is the last bucket to be launched in the step.
  [[nodiscard]] bool isLast() const { return index_ + 1 == count_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  [[nodiscard]] const BucketFacts& facts() const { return facts_; }

  /// Flat, 1-D, contiguous; the hook may work in place.
  [[nodiscard]] const at::Tensor& buffer() const { return buffer_; }
  void setBuffer(at::Tensor buffer) { buffer_ = std::move(buffer); }

  /// For a hook whose future completes before a device has done its work: `order` makes the
  /// calling thread's current stream wait for it. Set in run(), before the future completes.
  void setOrder(std::function<void()> order) { order_ = std::move(order); }
  /// Call before the hook's result is used, on the thread that uses it; does nothing where the
  /// future says it all. Throws what the device's work failed with, if that is known.
  void order() const {
    if (order_) {
      order_();
    }
  }

  /// Of each parameter in buffer(), in elements.
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] const std::vector<std::int64_t>& lengths() const { return lengths_; }
  [[nodiscard]] const std::vector<std::vector<std::int64_t>>& shapes() const { return shapes_; }

  /// Views of buffer(), one a parameter, in the parameter's shape.
  [[nodiscard]] std::vector<at::Tensor> gradients() const;
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  /// Registration indices; stable over a rebuild: key state by these, not by index().
  [[nodiscard]] const std::vector<std::uint32_t>& parameterIndices() const {
    return parameterIndices_;
  }

 private:
  std::size_t index_;
  std::size_t count_;
  std::uint32_t step_;
  at::Tensor buffer_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::uint32_t> parameterIndices_;
  BucketFacts facts_;
  std::function<void()> order_;
};

/// Replaces DDP's gradient reduction (c10d::CommHookInterface). `run` is called once a bucket and
/// step, in bucket order, on the thread of the backward with gradient mode off; it starts the
/// communication and returns at once. The future's tensor has the buffer's shape and dtype; the
/// Reducer checks that and copies it into the gradients. On a device the future completes when the
/// result may be used on any stream, unless the hook sets GradBucket::setOrder().
class CommHook {
 public:
  virtual ~CommHook() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether the buffer is to hold this rank's share of the mean: gradients divided by the world
  /// size, which rides on the copy into the bucket and so costs no pass of its own.
  [[nodiscard]] virtual bool takesShares() const { return false; }
  /// Whether run() changes the parameters themselves, as an optimizer in the backward does.
  [[nodiscard]] virtual bool writesParameters() const { return false; }
  virtual base::Future<at::Tensor> run(GradBucket& bucket) = 0;
  /// The bucket or call, "bucket 3 of step 12", from which the hook's own code has not come back;
  /// empty: none. Where no result comes, this tells a hook that hangs from a network that does.
  /// [any-thread]
  [[nodiscard]] virtual std::string inside() const { return {}; }
};

}  // namespace lockstep::hooks
