#include "engine/process_group/gloo/Staging.h"

#include <ATen/ATen.h>

namespace lockstep::process_group::gloo {
namespace {

Block blockOf(const at::Tensor& tensor) {
  return Block{static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

}  // namespace

Staged::Staged(at::Tensor tensor, bool read) : tensor_(std::move(tensor)) {
  if (tensor_.is_contiguous()) {
    flat_ = tensor_;
  } else {
    flat_ = read ? tensor_.contiguous() : at::empty(tensor_.sizes(), tensor_.options());
  }
}

Block Staged::block() const { return blockOf(flat_); }

void Staged::copyBack() {
  if (!flat_.is_same(tensor_)) {
    tensor_.copy_(flat_);
  }
}

StagedList::StagedList(const std::vector<at::Tensor>& tensors, bool read) {
  staged_.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    staged_.emplace_back(tensor, read);
  }
}

std::vector<Block> StagedList::blocks() const {
  std::vector<Block> blocks;
  for (const Staged& staged : staged_) {
    blocks.push_back(staged.block());
  }
  return blocks;
}

void StagedList::copyBack() {
  for (Staged& staged : staged_) {
    staged.copyBack();
  }
}

Coalesced::Coalesced(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {
  if (tensors_.size() == 1 && tensors_[0].is_contiguous()) {
    flat_ = tensors_[0];
    return;
  }
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors_) {
    elements += tensor.numel();
  }
  flat_ = at::empty({elements}, tensors_[0].options());
  copied_ = true;
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors_) {
    flat_.narrow(0, offset, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    offset += tensor.numel();
  }
}

Block Coalesced::block() const { return blockOf(flat_); }

void Coalesced::copyBack() {
  if (!copied_) {
    return;
  }
  std::int64_t offset = 0;
  for (at::Tensor& tensor : tensors_) {
    tensor.copy_(flat_.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

}  // namespace lockstep::process_group::gloo
