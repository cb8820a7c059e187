#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/Reduction.h"
#include "engine/process_group/operation/Staging.h"

namespace lockstep::process_group {

/// An allreduce, reduce or reduce-scatter by messages between each two ranks: each rank reduces a
/// piece of which all others send it their parts, in rank order (Note [Order of reduction]), and
/// the result goes on to who is to have it. A small allreduce exchanges whole blocks and is reduced
/// by every rank, S(n-1) bytes each; a larger one is cut into a piece for each rank, 2S(n-1)/n
/// bytes. A small reduce is reduced by the root, a larger one in pieces, which go there: S bytes
/// from each other rank. A reduce-scatter takes S(n-1) bytes, S = size of the output.
class PieceReduction {
 public:
  /// `outputs` and `inputs` are the call's.
  PieceReduction(const Call& call, std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs,
                 int rank, int size);

  /// Whether show() has anything to copy.
  [[nodiscard]] bool copies() const;
  /// Makes the blocks; before any of the following.
  void show();

  /// pieces()[r] is this rank's part in what rank r reduces.
  [[nodiscard]] const std::vector<Block>& pieces() const { return pieces_; }
  [[nodiscard]] Block mine() const { return pieces_[static_cast<std::size_t>(rank_)]; }
  /// Where mine() is reduced to.
  [[nodiscard]] Block result() const { return {result_, mine().bytes}; }
  /// Whether result() is what this rank sends to the others, too.
  [[nodiscard]] bool exchanged() const { return exchanged_; }
  /// Whether a rank gets the results of all others, each into its piece.
  [[nodiscard]] bool gathers(int rank) const { return to_ == kAll || to_ == rank; }

  /// Where a peer's part in mine() comes, in memory that has so many bytes for each other rank.
  [[nodiscard]] std::byte* incoming(std::byte* memory, std::size_t bytes, int peer) const {
    return memory + bytes * static_cast<std::size_t>(peer < rank_ ? peer : peer - 1);
  }
  /// Reduces [offset, offset + bytes) of mine(), in rank order; `theirs(rank)` says where that of
  /// another rank has come.
  template <typename Theirs>
  void combine(std::size_t offset, std::size_t bytes, Theirs theirs) const {
    std::vector<const void*> sources;
    for (int rank = 0; rank < size_; ++rank) {
      sources.push_back(rank == rank_ ? mine().data + offset : theirs(rank));
    }
    kernel_.combine(result_ + offset, sources.data(), size_, bytes / kernel_.elementSize, size_);
  }

  /// Writes what was reduced into tensors that were shown by copies.
  void copyBack();

 private:
  static constexpr int kAll = -1;
  static constexpr int kNobody = -2;

  const trace::Operation operation_;
  const int root_;
  const int rank_;
  const int size_;
  const reduction::Kernel kernel_;
  const std::vector<at::Tensor> outputs_;
  Staging inputs_;
  Flat flat_;
  std::vector<Block> pieces_;
  std::byte* result_ = nullptr;
  std::unique_ptr<std::byte[]> own_;  // of a reduce, where the tensor must stay as it was
  int to_ = kNobody;
  bool exchanged_ = false;
};

}  // namespace lockstep::process_group
