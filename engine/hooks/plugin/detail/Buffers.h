#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/hooks/CommHook.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

/// A dtype or device that cannot cross the border, or that this build has not.
class Unsupported : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The border's number of a dtype, 0 for one that cannot cross it.
std::int32_t dtypeNumber(at::ScalarType type);
/// Throws Unsupported for a number that is none.
at::ScalarType dtypeOf(std::int32_t number);

/// Describes a dense, contiguous tensor; null data for an undefined one. `stream`: of the hook that
/// is shown it.
lockstep_buffer bufferOf(const at::Tensor& tensor, void* stream = nullptr);
/// Throws Unsupported for a device that this build has not.
at::Device deviceOf(const lockstep_buffer& buffer);
/// A flat tensor over a plugin's buffer, which it does not keep alive. Throws
/// Unsupported, and std::invalid_argument for a buffer that cannot be.
at::Tensor tensorOf(const lockstep_buffer& buffer);

/// A bucket as plugins see it, with the arrays that it points to. Does not move.
class BucketView {
 public:
  BucketView(const GradBucket& bucket, void* stream);
  /// The same bucket in another buffer of as many elements. `outer` must outlive it.
  BucketView(const BucketView& outer, const lockstep_buffer& flat) : raw_(outer.raw_) {
    raw_.flat = flat;
    raw_.flat.stream = outer.raw_.flat.stream;
  }
  BucketView(const BucketView&) = delete;
  BucketView& operator=(const BucketView&) = delete;

  [[nodiscard]] const lockstep_bucket* raw() const { return &raw_; }

 private:
  const std::vector<std::uint32_t> ids_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<const std::int64_t*> shapePointers_;
  std::vector<std::uint32_t> dims_;
  lockstep_bucket raw_{};
};

/// The model's parameters as plugins see them. Does not move.
class StepView {
 public:
  StepView(const std::vector<std::string>& names, const std::vector<at::Tensor>& parameters,
           std::uint32_t step, void* stream);
  StepView(const StepView&) = delete;
  StepView& operator=(const StepView&) = delete;

  [[nodiscard]] const lockstep_step* raw() const { return &raw_; }

 private:
  std::vector<lockstep_parameter> parameters_;
  std::vector<const lockstep_parameter*> pointers_;
  lockstep_step raw_{};
};

}  // namespace lockstep::hooks::detail
