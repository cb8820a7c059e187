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
  explicit Operand(const at::Tensor& tensor) : Operand(std::vector<at::Tensor>{tensor}) {}
  /// Several, alike in dtype and size: their own memory where they lie one behind the other without
  /// gaps. Each rank asks the library for the same so, wherever its own tensors lie.
  explicit Operand(std::vector<at::Tensor> tensors);

  /// Brings the tensors' elements into the memory.
  void fill() const;
  /// Brings them back.
  void empty() const;

  [[nodiscard]] void* data() const { return flat_.data_ptr(); }
  // Of one tensor.
  [[nodiscard]] std::size_t bytes() const { return flat_.nbytes(); }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(flat_.numel()); }
  /// Holds the memory.
  [[nodiscard]] const at::Tensor& flat() const { return flat_; }

 private:
  [[nodiscard]] at::Tensor part(std::size_t index) const;

  std::vector<at::Tensor> tensors_;
  at::Tensor flat_;  // the first of them, or a copy: of several, one row for each
  bool copied_;
};

[[nodiscard]] std::vector<Operand> operands(const std::vector<at::Tensor>& tensors);

}  // namespace lockstep::process_group::nccl
