#include "engine/process_group/Flat.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

namespace lockstep::process_group {

Flat::Flat(std::vector<at::Tensor> tensors, Access access) : tensors_(std::move(tensors)) {
  const at::NoGradGuard noGrad;
  for (const at::Tensor& tensor : tensors_) {
    if (tensor.is_contiguous()) {
      shown_.push_back(tensor);
    } else {
      // Of what is only written the old values need not be copied together.
      shown_.push_back(access == Access::kWrite ? at::empty(tensor.sizes(), tensor.options())
                                                : tensor.contiguous());
    }
    show(shown_.back());
  }
}

Flat Flat::joined(std::vector<at::Tensor> tensors) {
  if (tensors.size() == 1) {
    return Flat(std::move(tensors), Access::kReadWrite);
  }
  const at::NoGradGuard noGrad;
  Flat flat;
  flat.tensors_ = std::move(tensors);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : flat.tensors_) {
    parts.push_back(tensor.reshape({-1}));
  }
  flat.shown_.push_back(at::cat(parts));
  flat.show(flat.shown_.back());
  return flat;
}

void Flat::show(const at::Tensor& contiguous) {
  const std::uint64_t bytes = contiguous.nbytes();
  if (bytes == 0) {
    return;
  }
  auto* const data = static_cast<std::byte*>(contiguous.data_ptr());
  // Tensors that follow each other in memory, such as shards of one, become one block.
  if (!blocks_.empty() && blocks_.back().data + blocks_.back().bytes == data) {
    blocks_.back().bytes += bytes;
  } else {
    blocks_.push_back(Block{data, bytes_, bytes});
  }
  bytes_ += bytes;
}

std::byte* Flat::at(std::uint64_t offset) const {
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), offset,
      [](std::uint64_t wanted, const Block& block) { return wanted < block.begin; });
  // An offset is always inside of a block: callers ask for bytes that there are.
  const Block& block = *std::prev(after);
  return block.data + (offset - block.begin);
}

void Flat::read(std::uint64_t offset, std::uint64_t bytes, std::byte* to) const {
  forEachPart(offset, bytes, [&](const std::byte* data, std::uint64_t place, std::uint64_t count) {
    std::memcpy(to + place, data, count);
  });
}

void Flat::write(std::uint64_t offset, std::uint64_t bytes, const std::byte* from) {
  forEachPart(offset, bytes, [&](std::byte* data, std::uint64_t place, std::uint64_t count) {
    // The bytes may have been received in place.
    if (data != from + place) {
      std::memcpy(data, from + place, count);
    }
  });
}

void Flat::copyBack() {
  const at::NoGradGuard noGrad;
  // One copy for all (joined()): every tensor gets its part back.
  if (shown_.size() != tensors_.size()) {
    std::int64_t offset = 0;
    for (at::Tensor& tensor : tensors_) {
      tensor.copy_(shown_[0].narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
    return;
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!shown_[i].is_same(tensors_[i])) {
      tensors_[i].copy_(shown_[i]);
    }
  }
}

}  // namespace lockstep::process_group
