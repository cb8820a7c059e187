#include "engine/process_group/operation/Staging.h"

#include <algorithm>
#include <cstring>

namespace lockstep::process_group {

Block blockOf(const Flat& flat) {
  return flat.bytes() == 0 ? Block{} : Block{flat.at(0), flat.bytes()};
}

std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes) {
  std::vector<Block> parts;
  for (const std::uint64_t part : bytes) {
    parts.push_back(Block{block.data, part});
    block.data += part;
  }
  return parts;
}

std::vector<Block> cutEvenly(Block block, std::size_t elementSize, int ranks) {
  const std::size_t elements = block.bytes / elementSize;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t each = ((elements + n - 1) / n + 15) / 16 * 16;
  std::vector<Block> pieces;
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::size_t begin = std::min(rank * each, elements);
    const std::size_t end = std::min(begin + each, elements);
    pieces.push_back(Block{block.data + begin * elementSize, (end - begin) * elementSize});
  }
  return pieces;
}

bool exchangedWhole(Block block, int ranks) {
  constexpr std::size_t kMostReceived = 512 * 1024;
  return block.bytes * static_cast<std::size_t>(ranks - 1) <= kMostReceived;
}

void copy(Block to, Block from) {
  const std::size_t bytes = std::min(to.bytes, from.bytes);
  if (bytes != 0 && to.data != from.data) {
    std::memcpy(to.data, from.data, bytes);
  }
}

bool Staging::copies() const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [](const at::Tensor& tensor) { return !tensor.is_contiguous(); });
}

void Staging::show() {
  for (const at::Tensor& tensor : tensors_) {
    shown_.emplace_back(std::vector<at::Tensor>{tensor}, access_);
  }
}

void Staging::copyBack() {
  for (Flat& flat : shown_) {
    flat.copyBack();
  }
}

}  // namespace lockstep::process_group
