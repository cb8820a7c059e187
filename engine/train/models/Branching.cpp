#include "engine/train/models/Branching.h"

namespace lockstep::train {

Branching::Branching(const std::vector<std::int64_t>& layers)
    : trunk_(std::make_shared<Mlp>(layers)), branch_(layers.front(), layers.back()) {
  register_module("trunk", trunk_);
  register_module("branch", branch_);
}

at::Tensor Branching::forward(at::Tensor input) {
  const at::Tensor output = trunk_->forward(input);
  const bool takesPart = !is_training() || forwards_++ % 2 == 0;
  return takesPart ? output + branch_(input.flatten(1)) : output;
}

}  // namespace lockstep::train
