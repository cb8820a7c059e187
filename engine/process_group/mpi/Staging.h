#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/process_group/Flat.h"
#include "engine/process_group/mpi/Flight.h"
#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {

/// Tensors as blocks of memory that MPI reads and writes: their own where they are contiguous,
/// else copies.
class Staging {
 public:
  enum class Shape {
    kApart,   ///< a block each
    kJoined,  ///< one for all of them
  };

  Staging(std::vector<at::Tensor> tensors, Flat::Access access, Shape shape = Shape::kApart);

  /// Whether show() has anything to copy.
  [[nodiscard]] bool copies() const;
  /// Makes the blocks; before any of the following.
  void show();
  [[nodiscard]] Block block(std::size_t index = 0) const;
  [[nodiscard]] std::size_t count() const { return shown_.size(); }
  void copyBack();

 private:
  std::vector<at::Tensor> tensors_;
  const Flat::Access access_;
  const Shape shape_;
  std::vector<Flat> shown_;
};

using StagingPtr = std::shared_ptr<Staging>;

/// Has all of `staged` shown before the first round: on a worker if anything must be copied.
void showFirst(Schedule& schedule, const std::vector<StagingPtr>& staged);

/// The parts of a block, one behind the other.
[[nodiscard]] std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes);

/// Copies bytes, unless they are the same.
void copy(Block to, Block from);

}  // namespace lockstep::process_group::mpi
