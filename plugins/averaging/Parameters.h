#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Copies all parameters of the model, one after the other, into memory of the run.
inline std::span<float> gatherParameters(const Run& run, const Step& step) {
  std::int64_t count = 0;
  for (std::uint32_t i = 0; i < step.parameters(); ++i) {
    count += step.parameter(i).value.numel;
  }
  const auto all = run.scratch<float>(count);
  auto to = all.begin();
  for (std::uint32_t i = 0; i < step.parameters(); ++i) {
    const auto value = step.value(i);
    to = std::copy(value.begin(), value.end(), to);
  }
  return all;
}

/// Copies them back.
inline void scatterParameters(std::span<const float> all, const Step& step) {
  auto from = all.begin();
  for (std::uint32_t i = 0; i < step.parameters(); ++i) {
    const auto value = step.value(i);
    std::copy_n(from, value.size(), value.begin());
    from += static_cast<std::ptrdiff_t>(value.size());
  }
}

}  // namespace lockstep::plugin
