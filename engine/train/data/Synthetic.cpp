#include "engine/train/data/ReadDatasets.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

namespace lockstep::train {
namespace {

/// SplitMix64: a well mixed number for each (seed, counter).
std::uint64_t mix(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// The parts both sets share. Noise is cut from one pool, so that a sample costs an addition
/// and the set costs no memory.
struct Source {
  at::Tensor means;  ///< [classes, numel]
  at::Tensor noise;  ///< flat
  std::uint64_t seed = 0;
};

class SyntheticDataset : public Dataset {
 public:
  SyntheticDataset(std::shared_ptr<const Source> source, DataShape shape, std::int64_t first,
                   std::int64_t size)
      : source_(std::move(source)), shape_(std::move(shape)), first_(first), size_(size) {}

  std::int64_t size() const override { return size_; }
  const DataShape& shape() const override { return shape_; }

  Batch batch(at::IntArrayRef indices) const override {
    const auto count = static_cast<std::int64_t>(indices.size());
    const std::int64_t numel = shape_.numel();
    Batch batch{at::empty({count, numel}, at::kFloat), at::empty({count}, at::kLong)};
    auto* input = batch.input.data_ptr<float>();
    auto* target = batch.target.data_ptr<std::int64_t>();
    const auto* means = source_->means.data_ptr<float>();
    const auto* noise = source_->noise.data_ptr<float>();
    // 2^20 samples of noise that overlap, instead of as many times numel numbers.
    const auto offsets = static_cast<std::uint64_t>(source_->noise.numel() - numel + 1);
    for (const std::int64_t index : indices) {
      // A sample is made of its number alone, so that every rank makes the same ones in any order.
      // The class comes from the upper bits, the place in the pool of noise from the remainder: far
      // enough apart to be independent.
      const std::uint64_t number = mix(source_->seed, static_cast<std::uint64_t>(first_ + index));
      *target =
          static_cast<std::int64_t>((number >> 40) % static_cast<std::uint64_t>(shape_.classes));
      const float* from = noise + number % offsets;
      input =
          std::transform(from, from + numel, means + *target * numel, input, std::plus<float>());
      ++target;
    }
    std::vector<std::int64_t> sizes{count};
    sizes.insert(sizes.end(), shape_.sample.begin(), shape_.sample.end());
    batch.input = batch.input.view(sizes);
    return batch;
  }

 private:
  std::shared_ptr<const Source> source_;
  DataShape shape_;
  std::int64_t first_;
  std::int64_t size_;
};

}  // namespace

Datasets syntheticDatasets(const DataShape& shape, std::int64_t samples, std::int64_t seed) {
  constexpr std::int64_t kPool = 1 << 20;
  // Two means are kDistance * sqrt(2) deviations apart, whatever the number of dimensions.
  constexpr double kDistance = 4;
  auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  auto source = std::make_shared<Source>();
  const std::int64_t numel = shape.numel();
  source->means = at::randn({shape.classes, numel}, generator, at::TensorOptions(at::kFloat)) *
                  (kDistance / std::sqrt(static_cast<double>(numel)));
  source->noise = at::randn({kPool + numel}, generator, at::TensorOptions(at::kFloat));
  source->seed = static_cast<std::uint64_t>(seed);
  Datasets sets;
  sets.train = std::make_shared<SyntheticDataset>(source, shape, 0, samples);
  sets.test = std::make_shared<SyntheticDataset>(source, shape, samples,
                                                 std::max<std::int64_t>(samples / 4, 1));
  return sets;
}

}  // namespace lockstep::train
