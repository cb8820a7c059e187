#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "engine/trace/Messages.h"

namespace lockstep::ddp {

/// Adds up how large the gradients of one bucket are, and what of them is not finite.
class GradientTally {
 public:
  /// Adds the gradient of parameter `index`, whose elements lie without gaps; each stands for
  /// `scale` times itself.
  void add(std::uint32_t index, const at::Tensor& gradient, double scale);

  [[nodiscard]] trace::GradientsMessage::Bucket of(std::uint16_t bucket) const;

 private:
  double squares_ = 0;
  double largest_ = 0;
  std::uint64_t nans_ = 0;
  std::uint64_t infinities_ = 0;
  std::optional<std::uint32_t> first_;
};

}  // namespace lockstep::ddp
