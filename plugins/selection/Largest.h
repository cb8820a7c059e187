#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "engine/kernels/Kernels.h"

namespace lockstep::plugin {

/// Grows with a number's magnitude; NaN stands above infinity, so that it is sent and seen.
inline std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
}

/// The magnitudes of some of the values, of which there is at least one: of one in a hundred, or
/// of several thousand.
class MagnitudeSample {
 public:
  explicit MagnitudeSample(std::span<const float> values) : population_(values.size()) {
    const std::size_t wanted = std::min(values.size(), std::max(kLeast, values.size() / 100));
    const std::size_t stride = values.size() / wanted;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      sample_.push_back(magnitude(values[i]));
    }
  }

  /// What about `count` of the values reach; 0 for a count that the sample does not know.
  [[nodiscard]] float reachedBy(std::size_t count) {
    const std::size_t upTo = (count * sample_.size() + population_ - 1) / population_;
    if (upTo == 0 || upTo > sample_.size()) {
      return 0;
    }
    const auto at = sample_.begin() + static_cast<std::ptrdiff_t>(upTo - 1);
    std::nth_element(sample_.begin(), at, sample_.end(), std::greater<>());
    return std::bit_cast<float>(*at);
  }

 private:
  static constexpr std::size_t kLeast = 4096;

  std::size_t population_;
  std::vector<std::uint32_t> sample_;
};

/// The indices of all values whose magnitude reaches that of `threshold`, ascending; `expected`:
/// about how many.
inline std::vector<std::uint32_t> reaching(std::span<const float> values, float threshold,
                                           std::size_t expected,
                                           const kernels::Kernels& with = kernels::kernels()) {
  std::vector<std::uint32_t> indices(std::min(values.size(), expected));
  const auto collect = [&] {
    return with.indicesAtLeast(values.data(), values.size(), threshold, indices.data(),
                               indices.size());
  };
  const std::size_t found = collect();
  const bool all = found <= indices.size();
  indices.resize(found);
  if (!all) {
    collect();
  }
  return indices;
}

/// Of the candidates, ascending indices into `values`, the `count` > 0 with the largest magnitudes,
/// the lowest index first among equals; ascending. All when there are fewer.
inline std::vector<std::uint32_t> largestOf(std::span<const float> values,
                                            std::vector<std::uint32_t> candidates,
                                            std::size_t count) {
  if (count >= candidates.size()) {
    return candidates;
  }
  std::vector<std::uint32_t> magnitudes(candidates.size());
  std::transform(candidates.begin(), candidates.end(), magnitudes.begin(),
                 [values](std::uint32_t index) { return magnitude(values[index]); });
  const auto least = magnitudes.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(magnitudes.begin(), least, magnitudes.end(), std::greater<>());
  const std::uint32_t limit = *least;
  auto equal = std::count(magnitudes.begin(), least + 1, limit);  // of those at the limit itself
  std::erase_if(candidates, [&](std::uint32_t index) {
    const std::uint32_t own = magnitude(values[index]);
    return own < limit || (own == limit && equal-- <= 0);
  });
  return candidates;
}

/// The same of all values. Only those that reach what a sample suggests are sorted: what is not
/// among them is smaller than all of them, so that the result is exact when they are enough.
inline std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count,
                                          const kernels::Kernels& with = kernels::kernels()) {
  if (count >= values.size()) {
    std::vector<std::uint32_t> all(values.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  MagnitudeSample sample(values);
  std::size_t generous = count + count / 4;
  for (;;) {
    const float threshold = sample.reachedBy(generous);  // 0 lets all through
    auto candidates = reaching(values, threshold, generous + generous / 4, with);
    if (candidates.size() >= count || threshold == 0) {
      return largestOf(values, std::move(candidates), count);
    }
    generous *= 2;
  }
}

}  // namespace lockstep::plugin
