#pragma once

#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/operation/Staging.h"

namespace lockstep::process_group {

/// The blocks of a collective that only moves data: what this rank sends to each rank, and what it
/// takes from it.
class Moves {
 public:
  /// `call`, `outputs` and `inputs` are a Request's.
  Moves(const Call& call, const std::vector<at::Tensor>& outputs,
        const std::vector<at::Tensor>& inputs, int rank);

  /// Whether show() has anything to copy.
  [[nodiscard]] bool copies() const { return read_.copies() || written_.copies(); }
  /// Makes the blocks; before any of the following.
  void show();
  /// In the order of the tensors, without empty ones.
  [[nodiscard]] std::vector<Block> to(int peer) const;
  [[nodiscard]] std::vector<Block> from(int peer) const;
  /// Copies what stays on this rank.
  void keepOwn() const;
  /// Writes what has come into tensors that were shown by copies.
  void copyBack() { written_.copyBack(); }

 private:
  [[nodiscard]] std::vector<Block> blocks(const Staging& staged,
                                          const std::vector<std::uint64_t>& parts, int peer) const;

  const Call call_;
  const int rank_;
  Staging read_;
  Staging written_;
};

/// Visits the other ranks, beginning with the next, so that not all begin with rank 0.
template <typename Function>
void forEachPeer(int rank, int size, Function function) {
  for (int step = 1; step < size; ++step) {
    function((rank + step) % size);
  }
}

}  // namespace lockstep::process_group
