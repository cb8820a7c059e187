#include "engine/process_group/operation/PieceReduction.h"

#include <algorithm>
#include <utility>

namespace lockstep::process_group {

using trace::Operation;

PieceReduction::PieceReduction(const Call& call, std::vector<at::Tensor> outputs,
                               std::vector<at::Tensor> inputs, int rank, int size)
    : operation_(call.operation),
      root_(call.root),
      rank_(rank),
      size_(size),
      kernel_(reduction::Kernel::of(call.dtype, call.reduce)),
      outputs_(std::move(outputs)),
      inputs_(std::move(inputs), Flat::Access::kRead) {}

bool PieceReduction::copies() const {
  return outputs_.size() > 1 || !outputs_.front().is_contiguous() || inputs_.copies();
}

void PieceReduction::show() {
  if (operation_ == Operation::kReduceScatter) {
    inputs_.show();
    for (std::size_t i = 0; i < inputs_.count(); ++i) {
      pieces_.push_back(inputs_.block(i));
    }
    flat_ = Flat(outputs_, Flat::Access::kWrite);
    result_ = blockOf(flat_).data;
    return;
  }
  flat_ = Flat::joined(outputs_);
  const Block block = blockOf(flat_);
  const bool everybody = operation_ == Operation::kAllreduce;
  if (exchangedWhole(block, size_)) {
    pieces_.resize(static_cast<std::size_t>(size_), everybody ? block : Block{});
    if (!everybody) {
      pieces_[static_cast<std::size_t>(root_)] = block;
    }
    exchanged_ = everybody;
    result_ = block.data;
    return;
  }
  pieces_ = cutEvenly(block, kernel_.elementSize, size_);
  to_ = everybody ? kAll : root_;
  result_ = mine().data;
  if (!everybody && rank_ != root_) {
    own_.reset(new std::byte[mine().bytes]);
    result_ = own_.get();
  }
}

void PieceReduction::copyBack() {
  if (operation_ != Operation::kReduce || rank_ == root_) {
    flat_.copyBack();
  }
}

}  // namespace lockstep::process_group
