#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/process_group/Flat.h"

namespace lockstep::process_group {

/// A block of memory.
struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The whole of what lies in one piece.
[[nodiscard]] Block blockOf(const Flat& flat);

/// The parts of a block, one behind the other.
[[nodiscard]] std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes);

/// Cuts a block into one piece a rank, at multiples of 16 elements; the last may be short.
[[nodiscard]] std::vector<Block> cutEvenly(Block block, std::size_t elementSize, int ranks);

/// Whether a block is so small that to exchange it whole, in one round, beats two rounds of pieces.
/// Two ranks over loopback: 0.11 ms against 0.13 ms at 4 KB; level at 512 KB.
[[nodiscard]] bool exchangedWhole(Block block, int ranks);

/// Copies what fits from one to the other, unless they are the same.
void copy(Block to, Block from);

/// Tensors as blocks of memory that a transport reads and writes, one for each tensor: its own
/// where that is contiguous, else a copy.
class Staging {
 public:
  Staging(std::vector<at::Tensor> tensors, Flat::Access access)
      : tensors_(std::move(tensors)), access_(access) {}

  /// Whether show() has anything to copy.
  [[nodiscard]] bool copies() const;
  /// Makes the blocks; before any of the following.
  void show();
  [[nodiscard]] Block block(std::size_t index = 0) const { return blockOf(shown_[index]); }
  [[nodiscard]] std::size_t count() const { return shown_.size(); }
  void copyBack();

 private:
  std::vector<at::Tensor> tensors_;
  Flat::Access access_;
  std::vector<Flat> shown_;
};

}  // namespace lockstep::process_group
