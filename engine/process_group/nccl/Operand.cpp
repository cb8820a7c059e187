#include "engine/process_group/nccl/Operand.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lockstep::process_group::nccl {
namespace {

bool lieInARow(const std::vector<at::Tensor>& tensors) {
  const auto* next = static_cast<const std::byte*>(tensors.front().data_ptr());
  return std::all_of(tensors.begin(), tensors.end(), [&next](const at::Tensor& tensor) {
    const bool fits = tensor.is_contiguous() && tensor.data_ptr() == next;
    next += tensor.nbytes();
    return fits;
  });
}

}  // namespace

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

Operand::Operand(std::vector<at::Tensor> tensors)
    : tensors_(std::move(tensors)), flat_(tensors_.front()), copied_(!lieInARow(tensors_)) {
  if (copied_ && tensors_.size() == 1) {
    flat_ = at::empty_like(flat_, c10::MemoryFormat::Contiguous);
  } else if (copied_) {
    flat_ = at::empty({static_cast<std::int64_t>(tensors_.size()), flat_.numel()},
                      flat_.options().requires_grad(false));
  }
}

at::Tensor Operand::part(std::size_t index) const {
  return tensors_.size() == 1
             ? flat_
             : flat_.select(0, static_cast<std::int64_t>(index)).view(tensors_[index].sizes());
}

void Operand::fill() const {
  for (std::size_t i = 0; copied_ && i < tensors_.size(); ++i) {
    part(i).copy_(tensors_[i], /*non_blocking=*/true);
  }
}

void Operand::empty() const {
  for (std::size_t i = 0; copied_ && i < tensors_.size(); ++i) {
    tensors_[i].copy_(part(i), /*non_blocking=*/true);
  }
}

std::vector<Operand> operands(const std::vector<at::Tensor>& tensors) {
  return std::vector<Operand>(tensors.begin(), tensors.end());
}

}  // namespace lockstep::process_group::nccl
