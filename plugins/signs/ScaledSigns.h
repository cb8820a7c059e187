#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/kernels/Kernels.h"

namespace lockstep::plugin {

// Messages of a scale, and then the signs of some numbers, a bit each.

inline std::size_t signMessageBytes(std::size_t numbers) {
  return sizeof(float) + (numbers + 7) / 8;
}

/// Writes one of `values`, of which the rest is left: values -= scale * sign.
inline void encodeSigns(std::uint8_t* message, std::span<float> values, float scale) {
  std::memcpy(message, &scale, sizeof scale);
  kernels::kernels().packSigns(values.data(), message + sizeof scale, values.size());
  kernels::kernels().addSigns(message + sizeof scale, values.data(), values.size(), -scale);
}

inline float scaleOf(const std::uint8_t* message) {
  float scale = 0;
  std::memcpy(&scale, message, sizeof scale);
  return scale;
}

/// values += scale * sign, the scale being whatever the message's own comes to.
inline void addSigns(const std::uint8_t* message, std::span<float> values, float scale) {
  kernels::kernels().addSigns(message + sizeof scale, values.data(), values.size(), scale);
}

}  // namespace lockstep::plugin
