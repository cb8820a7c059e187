#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trace/Messages.h"

namespace lockstep::ddp {

/// Adds up how large the gradients of one bucket are, and what of them is not finite.
class GradientTally {
 public:
  /// One gradient: the sum of the squares and the largest of what is finite, and how much is not.
  struct Measured {
    double squares = 0;
    double largest = 0;
    std::uint64_t nans = 0;
    std::uint64_t infinities = 0;
  };

  /// Adds the gradient of parameter `index`, whose elements lie without gaps; each stands for
  /// `scale` times itself. On a device it is only queued to be measured there: of() waits.
  void add(std::uint32_t index, const at::Tensor& gradient, double scale);

  /// Waits, once, for what devices measure.
  [[nodiscard]] trace::GradientsMessage::Bucket of(std::uint16_t bucket);

 private:
  void add(std::uint32_t index, const Measured& measured, double scale);

  struct Pending {
    std::uint32_t index = 0;
    double scale = 1;
  };
  std::vector<Pending> pending_;
  std::vector<at::Tensor> measuredThere_;  // of `pending_`: the four numbers of Measured, in double
  double squares_ = 0;
  double largest_ = 0;
  std::uint64_t nans_ = 0;
  std::uint64_t infinities_ = 0;
  std::optional<std::uint32_t> first_;
};

}  // namespace lockstep::ddp
