#include "engine/process_group/nccl/Operand.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>

namespace lockstep::process_group::nccl {

c10::ScalarType reducedType(const std::string& who, c10::ScalarType type, ReduceOp op) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("{}: {}", who, why));
  };
  if (op == ReduceOp::kBitwiseAnd || op == ReduceOp::kBitwiseOr || op == ReduceOp::kBitwiseXor) {
    refuse(fmt::format("NCCL has no {}; reduce on the CPU, over another backend", name(op)));
  }
  if (type == at::kShort) {
    refuse("NCCL has no 16-bit integers; use int32");
  }
  return type == at::kBool ? at::kByte : type;
}

Operand::Operand(const at::Tensor& tensor)
    : tensor_(tensor),
      flat_(tensor.is_contiguous() ? tensor
                                   : at::empty_like(tensor, c10::MemoryFormat::Contiguous)) {}

void Operand::fill() const {
  if (copied()) {
    flat_.copy_(tensor_, /*non_blocking=*/true);
  }
}

void Operand::empty() const {
  if (copied()) {
    tensor_.copy_(flat_, /*non_blocking=*/true);
  }
}

std::vector<Operand> operands(const std::vector<at::Tensor>& tensors) {
  std::vector<Operand> result;
  for (const at::Tensor& tensor : tensors) {
    result.emplace_back(tensor);
  }
  return result;
}

bool adjacent(const std::vector<Operand>& operands) {
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const auto* before = static_cast<const std::byte*>(operands[i - 1].data());
    if (operands[i].data() != before + operands[i - 1].bytes() || operands[i].bytes() == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::process_group::nccl
