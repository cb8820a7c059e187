#include "engine/train/Strategy.h"

#include <optional>

namespace lockstep::train {

at::Tensor DdpStrategy::loss(const Batch& batch, bool synchronise) {
  std::optional<ddp::DistributedDataParallel::NoSync> noSync;
  if (!synchronise) {
    noSync.emplace(ddp_);
  }
  at::Tensor input = batch.input;
  ddp_.castInputs(input);
  // The loss is taken of what run() returns: it may have replaced the outputs by ones that the
  // backward has to pass through (find_unused_parameters).
  const at::Tensor output = ddp_.run([&] { return model_.forward(input); });
  return model_.loss(output, batch.target);
}

at::Tensor DataParallelStrategy::loss(const Batch& batch, bool /*synchronise*/) {
  const auto output =
      parallel_.run(batch.input, [](torch::nn::Module& replica, const data_parallel::Tree& input) {
        return data_parallel::Tree(dynamic_cast<Model&>(replica).forward(input.tensor()));
      });
  return model_.loss(output.tensor(), batch.target);
}

}  // namespace lockstep::train
