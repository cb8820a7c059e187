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

Row::Row(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
  // Copied only where they do not follow each other: shards of one buffer do.
  if (!lieInARow(tensors_)) {
    copy_ = at::empty({static_cast<std::int64_t>(tensors_.size()), tensors_.front().numel()},
                      tensors_.front().options().requires_grad(false));
  }
}

at::Tensor Row::part(std::size_t index) const {
  return copy_.select(0, static_cast<std::int64_t>(index)).view(tensors_[index].sizes());
}

void Row::fill() const {
  for (std::size_t i = 0; copy_.defined() && i < tensors_.size(); ++i) {
    part(i).copy_(tensors_[i], /*non_blocking=*/true);
  }
}

void Row::empty() const {
  for (std::size_t i = 0; copy_.defined() && i < tensors_.size(); ++i) {
    tensors_[i].copy_(part(i), /*non_blocking=*/true);
  }
}

void* Row::data() const {
  return copy_.defined() ? copy_.data_ptr() : tensors_.front().data_ptr();
}

}  // namespace lockstep::process_group::nccl
