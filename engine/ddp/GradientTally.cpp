#include "engine/ddp/GradientTally.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace lockstep::ddp {
namespace {

struct Measured {
  double squares = 0;
  double largest = 0;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
};

/// Looks at each element by itself, where the quick way found that one is not finite.
template <typename Real>
Measured measureSlowly(const Real* values, std::size_t count) {
  Measured measured;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    if (std::isnan(value)) {
      measured.nans += 1;
    } else if (std::isinf(value)) {
      measured.infinities += 1;
    } else {
      measured.squares += value * value;
      measured.largest = std::max(measured.largest, std::abs(value));
    }
  }
  return measured;
}

template <typename Real>
Measured measure(const Real* values, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> squares{};
  std::array<Real, kLanes> largest{};
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Real value = std::abs(values[at + lane]);
      squares[lane] += static_cast<double>(value) * static_cast<double>(value);
      largest[lane] = value > largest[lane] ? value : largest[lane];
    }
  }
  Measured measured = measureSlowly(values + at, count - at);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    measured.squares += squares[lane];
    measured.largest = std::max<double>(measured.largest, largest[lane]);
  }
  return std::isfinite(measured.squares) && measured.nans + measured.infinities == 0
             ? measured
             : measureSlowly(values, count);
}

Measured measure(const at::Tensor& gradient) {
  const at::Tensor reals = gradient.is_complex() ? at::view_as_real(gradient) : gradient;
  const auto count = static_cast<std::size_t>(reals.numel());
  if (reals.scalar_type() == at::kDouble && reals.is_cpu()) {
    return measure(reals.data_ptr<double>(), count);
  }
  if (reals.scalar_type() == at::kFloat && reals.is_cpu()) {
    return measure(reals.data_ptr<float>(), count);
  }
  const at::Tensor wide = reals.to(at::kCPU, at::kFloat);
  return measure(wide.data_ptr<float>(), count);
}

}  // namespace

void GradientTally::add(std::uint32_t index, const at::Tensor& gradient, double scale) {
  const Measured measured = measure(gradient);
  squares_ += measured.squares * scale * scale;
  largest_ = std::max(largest_, measured.largest * scale);
  nans_ += measured.nans;
  infinities_ += measured.infinities;
  if (!first_ && measured.nans + measured.infinities > 0) {
    first_ = index;
  }
}

trace::GradientsMessage::Bucket GradientTally::of(std::uint16_t bucket) const {
  return {bucket, std::sqrt(squares_), largest_, nans_, infinities_, first_};
}

}  // namespace lockstep::ddp
