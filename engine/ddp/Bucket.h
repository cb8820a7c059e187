#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/Future.h"
#include "engine/buckets/BucketPlan.h"
#include "engine/ddp/ModelState.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Returns whether two tensors are the same elements in the same order.
bool sameMemory(const at::Tensor& a, const at::Tensor& b);

/// One bucket of the Reducer: the memory of its gradients and its state in this iteration.
class Bucket {
 public:
  /// Takes memory from `group`; its contents are whatever was there. `type`: in which gradients
  /// are reduced; the parameters' own or, for real ones, another. `sparse`: the bucket is of one
  /// parameter whose gradient is sparse, and has no memory, wire or slices.
  Bucket(const buckets::BucketPlan::Bucket& plan, const std::vector<NamedTensor>& parameters,
         process_group::ProcessGroup& group, at::ScalarType type, bool sparse = false);

  /// Registration indices, in the order of the memory.
  [[nodiscard]] const std::vector<std::uint32_t>& parameters() const { return indices_; }
  [[nodiscard]] std::size_t size() const { return indices_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool sparse() const { return sparse_; }

  /// What is reduced: flat, 1-D, contiguous. Complex gradients stand in it as pairs of reals.
  [[nodiscard]] const at::Tensor& wire() const { return wire_; }

  /// The part of the memory of parameter `slot`, in the parameter's shape, and in its strides
  /// where it is dense and does not overlap itself (channels-last then stays channels-last).
  [[nodiscard]] const at::Tensor& slice(std::size_t slot) const { return slices_[slot]; }

  /// The same part of another contiguous tensor of the wire's shape and dtype.
  [[nodiscard]] at::Tensor sliceOf(const at::Tensor& wire, std::size_t slot) const;

  /// `wire`: this bucket's own, or another of its shape and dtype.
  [[nodiscard]] std::unique_ptr<hooks::GradBucket> forHook(std::size_t index, std::size_t count,
                                                           std::uint32_t step,
                                                           const at::Tensor& wire,
                                                           const hooks::BucketFacts& facts) const;

  // State of the iteration; guarded as the Reducer says.
  std::size_t pending = 0;                          ///< gradients that have not come yet
  std::unique_ptr<hooks::GradBucket> handed;        ///< in flight: what the hook works on
  std::optional<base::Future<at::Tensor>> reduced;  ///< in flight: what the hook promised

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::int64_t> offsets_;  // in elements
  std::vector<std::int64_t> lengths_;
  const bool sparse_;
  std::uint64_t bytes_;
  at::Tensor wire_;
  std::vector<at::Tensor> slices_;
};

}  // namespace lockstep::ddp
