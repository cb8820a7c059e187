#include "engine/train/Evaluate.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <limits>
#include <vector>

#include "engine/train/ComputeDevice.h"

namespace lockstep::train {

trace::EvaluationMessage evaluate(Model& model, const Dataset& data,
                                  process_group::ProcessGroup& group, std::int64_t batchSize,
                                  std::uint32_t step) {
  at::NoGradGuard noGrad;
  model.eval();
  at::Tensor sums = at::zeros({3}, at::kDouble);  // loss, right answers, targets
  auto* sum = sums.data_ptr<double>();
  const at::Device device = deviceOf(model.parameters());
  std::vector<std::int64_t> indices;
  // Every sample once, rank by rank in turn and without padding: sums of ranks with unlike counts
  // are right where their means are not.
  for (std::int64_t next = group.rank(); next < data.size();) {
    indices.clear();
    for (; next < data.size() && static_cast<std::int64_t>(indices.size()) < batchSize;
         next += group.size()) {
      indices.push_back(next);
    }
    const Batch batch = data.batch(indices).to(device);
    const at::Tensor output = model.forward(batch.input);
    const auto targets = static_cast<double>(batch.target.numel());
    sum[0] += model.loss(output, batch.target).item<double>() * targets;
    if (model.hasClasses()) {
      sum[1] += output.argmax(-1).eq(batch.target).sum().item<double>();
    }
    sum[2] += targets;
  }
  model.train();
  process_group::CallOptions options;
  options.step = step;
  group.allreduce({sums}, process_group::ReduceOp::kSum, options)->wait();

  trace::EvaluationMessage result;
  result.step = step;
  result.loss = sum[0] / sum[2];
  result.accuracy = model.hasClasses() ? sum[1] / sum[2] : std::numeric_limits<double>::quiet_NaN();
  result.samples = static_cast<std::uint64_t>(data.size());
  return result;
}

}  // namespace lockstep::train
