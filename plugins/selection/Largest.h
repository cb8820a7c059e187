#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::plugin {

/// Grows with a number's magnitude; NaN stands above infinity, so that it is sent and seen.
inline std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
}

/// Of the candidates, distinct indices into `values`, the `count` with the largest magnitudes, the
/// lowest index first among equals; ascending. All when there are fewer.
inline std::vector<std::uint32_t> largest(std::span<const float> values,
                                          std::vector<std::uint32_t> candidates,
                                          std::size_t count) {
  if (count < candidates.size()) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end, candidates.end(),
                     [values](std::uint32_t a, std::uint32_t b) {
                       const std::uint32_t x = magnitude(values[a]);
                       const std::uint32_t y = magnitude(values[b]);
                       return x != y ? x > y : a < b;
                     });
    candidates.resize(count);
  }
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

}  // namespace lockstep::plugin
