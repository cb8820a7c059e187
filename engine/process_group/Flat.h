#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::process_group {

/// Tensors as one string of bytes, one after the other. A tensor that is not contiguous is
/// shown by a copy; tensors that follow each other in memory, such as shards, are one piece of it.
class Flat {
 public:
  enum class Access {
    kRead,   ///< the tensors are read only
    kWrite,  ///< what stands in them does not matter
    kReadWrite,
  };

  Flat() = default;
  Flat(std::vector<at::Tensor> tensors, Access access);

  /// The same with all of them in one piece of memory, a copy if they are several.
  static Flat joined(std::vector<at::Tensor> tensors);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Whether it is one piece of memory.
  [[nodiscard]] bool whole() const { return blocks_.size() <= 1; }

  /// Returns the byte at `offset`; those after it follow up to the end of its tensor at least.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const;

  /// Copies from or to [offset, offset + bytes).
  void read(std::uint64_t offset, std::uint64_t bytes, std::byte* to) const;
  void write(std::uint64_t offset, std::uint64_t bytes, const std::byte* from);

  /// Calls `part(data, place, count)` for each tensor's share of [offset, offset + bytes), of
  /// which it is the `count` bytes from `place` on.
  template <typename Part>
  void forEachPart(std::uint64_t offset, std::uint64_t bytes, Part part) const {
    for (const Block& block : blocks_) {
      const std::uint64_t begin = std::max(offset, block.begin);
      const std::uint64_t end = std::min(offset + bytes, block.begin + block.bytes);
      if (begin < end) {
        part(block.data + (begin - block.begin), begin - offset, end - begin);
      }
    }
  }

  /// Writes copies back into their tensors.
  void copyBack();

 private:
  struct Block {
    std::byte* data;
    std::uint64_t begin;
    std::uint64_t bytes;
  };
  void show(const at::Tensor& contiguous);

  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> shown_;  // as tensors_, or one for all
  std::vector<Block> blocks_;      // without empty ones
  std::uint64_t bytes_ = 0;
};

}  // namespace lockstep::process_group
