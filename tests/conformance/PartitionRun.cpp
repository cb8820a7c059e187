// Shares the parameters of models among ranks as ZeroRedundancyOptimizer; partition.py has
// PyTorch's side and compares.
//
// spec.json  world; models: by name, the elements of each parameter
// Writes lockstep_<rank>.json: by name, the owner of each parameter, and the bytes of Adam's state
// on this rank after one step.

#include <ATen/ATen.h>

#include <fstream>

#include "engine/ddp/ZeroRedundancyOptimizer.h"
#include "tests/conformance/Driver.h"

namespace lockstep::conformance {

void runPartition(const Run& run) {
  nlohmann::json result;
  for (const auto& [name, elements] : run.spec.at("models").items()) {
    std::vector<ddp::NamedTensor> parameters;
    for (const std::int64_t count : elements) {
      const at::Tensor parameter = at::zeros({count});
      parameter.mutable_grad() = at::ones({count});
      parameters.push_back({std::to_string(parameters.size()), parameter});
    }
    experiment::OptimizerConfig adam;
    adam.kind = "adam";
    ddp::ZeroRedundancyOptimizer optimizer(parameters, run.group, adam);
    optimizer.step();
    result[name] = {{"owners", optimizer.owners()}, {"state_bytes", optimizer.stateBytes()}};
  }
  std::ofstream(run.folder / ("lockstep_" + std::to_string(run.rank()) + ".json")) << result;
}

}  // namespace lockstep::conformance
