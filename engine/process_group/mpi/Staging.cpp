#include "engine/process_group/mpi/Staging.h"

#include <algorithm>
#include <cstring>

namespace lockstep::process_group::mpi {

Staging::Staging(std::vector<at::Tensor> tensors, Flat::Access access, Shape shape)
    : tensors_(std::move(tensors)), access_(access), shape_(shape) {}

bool Staging::copies() const {
  return (shape_ == Shape::kJoined && tensors_.size() > 1) ||
         std::any_of(tensors_.begin(), tensors_.end(),
                     [](const at::Tensor& tensor) { return !tensor.is_contiguous(); });
}

void Staging::show() {
  if (shape_ == Shape::kJoined) {
    shown_.push_back(Flat::joined(tensors_));
    return;
  }
  for (const at::Tensor& tensor : tensors_) {
    shown_.emplace_back(std::vector<at::Tensor>{tensor}, access_);
  }
}

Block Staging::block(std::size_t index) const {
  const Flat& flat = shown_[index];
  return flat.bytes() == 0 ? Block{} : Block{flat.at(0), flat.bytes()};
}

void Staging::copyBack() {
  for (Flat& flat : shown_) {
    flat.copyBack();
  }
}

void showFirst(Schedule& schedule, const std::vector<StagingPtr>& staged) {
  const auto showAll = [staged] {
    for (const StagingPtr& one : staged) {
      one->show();
    }
  };
  // Copies of many tensors take long: on a worker. Else there is nothing to do but to take
  // addresses, here.
  if (std::any_of(staged.begin(), staged.end(), [](const auto& one) { return one->copies(); })) {
    schedule.prepare = showAll;
  } else {
    showAll();
  }
}

std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes) {
  std::vector<Block> parts;
  for (const std::uint64_t part : bytes) {
    parts.push_back(Block{block.data, part});
    block.data += part;
  }
  return parts;
}

void copy(Block to, Block from) {
  if (from.bytes != 0 && to.data != from.data) {
    std::memcpy(to.data, from.data, from.bytes);
  }
}

}  // namespace lockstep::process_group::mpi
