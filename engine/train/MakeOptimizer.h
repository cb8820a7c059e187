#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"

namespace torch::optim {
class Optimizer;
}

namespace lockstep::train {

/// Makes libtorch's SGD, Adam or AdamW over `parameters`.
/// Error (kBadInput): settings that do not go together (nesterov without momentum, say).
base::Result<std::unique_ptr<torch::optim::Optimizer>> makeOptimizer(
    const experiment::OptimizerConfig& config, std::vector<at::Tensor> parameters);

}  // namespace lockstep::train
