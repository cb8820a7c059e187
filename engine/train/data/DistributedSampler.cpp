#include "engine/train/data/DistributedSampler.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

namespace lockstep::train {

DistributedSampler::DistributedSampler(const Options& options) : options_(options) {
  const std::int64_t world = options.worldSize;
  perRank_ = options.dropLast ? options.samples / world : (options.samples + world - 1) / world;
}

std::vector<std::int64_t> DistributedSampler::indices(std::int64_t epoch) const {
  const std::int64_t samples = options_.samples;
  at::Tensor order;
  if (options_.shuffle) {
    auto generator =
        // torch's own generator and randperm: the order is PyTorch's, number for number.
        at::detail::createCPUGenerator(static_cast<std::uint64_t>(options_.seed + epoch));
    order = at::randperm(samples, generator, at::TensorOptions(at::kLong));
  } else {
    order = at::arange(samples, at::kLong);
  }
  const auto* at = order.data_ptr<std::int64_t>();
  std::vector<std::int64_t> mine(static_cast<std::size_t>(perRank_));
  for (std::int64_t i = 0; i < perRank_; ++i) {
    // The order repeats past its end: that is the padding.
    mine[static_cast<std::size_t>(i)] = at[(options_.rank + i * options_.worldSize) % samples];
  }
  return mine;
}

}  // namespace lockstep::train
