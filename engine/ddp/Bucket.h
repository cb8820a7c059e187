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

/// One bucket of the Reducer: the memory of its gradients and its state in this iteration.
class Bucket {
 public:
  /// Takes memory from `group`; its contents are whatever was there.
  Bucket(const buckets::BucketPlan::Bucket& plan, const std::vector<NamedTensor>& parameters,
         process_group::ProcessGroup& group);

  /// Registration indices, in the order of the memory.
  [[nodiscard]] const std::vector<std::uint32_t>& parameters() const { return indices_; }
  [[nodiscard]] std::size_t size() const { return indices_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return buffer_.nbytes(); }

  /// Flat, 1-D, contiguous.
  [[nodiscard]] const at::Tensor& buffer() const { return buffer_; }

  /// The part of the buffer of parameter `slot`, in the parameter's shape, and in its strides
  /// where it is dense and does not overlap itself (channels-last then stays channels-last).
  [[nodiscard]] const at::Tensor& slice(std::size_t slot) const { return slices_[slot]; }

  /// The same part of another tensor of the buffer's shape.
  [[nodiscard]] at::Tensor sliceOf(const at::Tensor& flat, std::size_t slot) const;

  [[nodiscard]] std::unique_ptr<hooks::GradBucket> forHook(std::size_t index, std::size_t count,
                                                           std::uint32_t step) const;

  // State of the iteration; guarded as the Reducer says.
  std::size_t pending = 0;                          ///< gradients that have not come yet
  std::unique_ptr<hooks::GradBucket> handed;        ///< in flight: what the hook works on
  std::optional<base::Future<at::Tensor>> reduced;  ///< in flight: what the hook promised

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::int64_t> offsets_;  // in elements
  std::vector<std::int64_t> lengths_;
  at::Tensor buffer_;
  std::vector<at::Tensor> slices_;
};

}  // namespace lockstep::ddp
