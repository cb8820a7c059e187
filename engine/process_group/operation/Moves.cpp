#include "engine/process_group/operation/Moves.h"

#include <algorithm>

namespace lockstep::process_group {

using trace::Operation;
using Tensors = std::vector<at::Tensor>;

namespace {

bool sends(const Call& call, int rank) {
  return call.operation == Operation::kBroadcast && rank == call.root;
}

}  // namespace

Moves::Moves(const Call& call, const Tensors& outputs, const Tensors& inputs, int rank)
    : call_(call),
      rank_(rank),
      read_(sends(call, rank) ? outputs : inputs, Flat::Access::kRead),
      written_(sends(call, rank) ? Tensors() : outputs, Flat::Access::kWrite) {}

void Moves::show() {
  read_.show();
  written_.show();
}

std::vector<Block> Moves::to(int peer) const {
  const bool none = call_.operation == Operation::kGather && peer != call_.root;
  return none ? std::vector<Block>() : blocks(read_, call_.bytesTo, peer);
}

std::vector<Block> Moves::from(int peer) const {
  const bool none =
      (call_.operation == Operation::kScatter || call_.operation == Operation::kBroadcast) &&
      peer != call_.root;
  return none ? std::vector<Block>() : blocks(written_, call_.bytesFrom, peer);
}

// Tensors are there for all ranks alike, or one for each, or one that each has its part of.
std::vector<Block> Moves::blocks(const Staging& staged, const std::vector<std::uint64_t>& parts,
                                 int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  std::vector<Block> all;
  if (call_.operation == Operation::kAlltoall) {
    all.push_back(cut(staged.block(), parts)[index]);
  } else if (call_.operation != Operation::kBroadcast && staged.count() > 1) {
    all.push_back(staged.block(index));
  } else {
    for (std::size_t i = 0; i < staged.count(); ++i) {
      all.push_back(staged.block(i));
    }
  }
  std::erase_if(all, [](const Block& block) { return block.bytes == 0; });
  return all;
}

void Moves::keepOwn() const {
  const std::vector<Block> here = from(rank_);
  const std::vector<Block> own = to(rank_);
  for (std::size_t i = 0; i < std::min(here.size(), own.size()); ++i) {
    copy(here[i], own[i]);
  }
}

}  // namespace lockstep::process_group
