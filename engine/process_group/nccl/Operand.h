#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group::nccl {

/// Returns the dtype that the library is given for elements that it reduces: bool is bytes. Throws
/// std::invalid_argument, opened by `who`, for what NCCL cannot reduce.
[[nodiscard]] c10::ScalarType reducedType(const std::string& who, c10::ScalarType type,
                                          ReduceOp op);

/// A tensor of a call as flat memory: its own where it is contiguous, else that of a copy. fill()
/// and empty() queue the copying on the current stream.
class Operand {
 public:
  explicit Operand(const at::Tensor& tensor);

  /// Brings the tensor's elements into the memory.
  void fill() const;
  /// Brings them back.
  void empty() const;

  [[nodiscard]] void* data() const { return flat_.data_ptr(); }
  [[nodiscard]] std::size_t bytes() const { return flat_.nbytes(); }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(flat_.numel()); }
  [[nodiscard]] const at::Tensor& flat() const { return flat_; }
  [[nodiscard]] bool copied() const { return !flat_.is_same(tensor_); }

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

[[nodiscard]] std::vector<Operand> operands(const std::vector<at::Tensor>& tensors);

/// Whether the operands lie one behind the other, without gaps.
[[nodiscard]] bool adjacent(const std::vector<Operand>& operands);

}  // namespace lockstep::process_group::nccl
