#include "engine/ddp/GradientTally.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace lockstep::ddp {
namespace {

using Measured = GradientTally::Measured;

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
  // Eight sums side by side, for the compiler to put into vector registers: one sum would have to
  // be added up in order. Squares of floats cannot overflow a double. A NaN makes the sum of
  // squares NaN, and an infinity makes it infinite; so one look at the end tells that all is well.
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

/// Returns the four numbers of Measured, where the gradient is.
at::Tensor measureThere(const at::Tensor& reals) {
  // No number is brought to the host: that would stop the backward until the device is there.
  const at::Tensor finite = at::where(reals.isfinite(), reals, at::zeros({}, reals.options()));
  return at::stack({at::linalg_vector_norm(finite, 2, at::nullopt, false, at::kDouble).square(),
                    finite.abs().max().to(at::kDouble), reals.isnan().sum().to(at::kDouble),
                    reals.isinf().sum().to(at::kDouble)});
}

}  // namespace

void GradientTally::add(std::uint32_t index, const at::Tensor& gradient, double scale) {
  const at::Tensor reals = gradient.is_complex() ? at::view_as_real(gradient) : gradient;
  const auto count = static_cast<std::size_t>(reals.numel());
  if (count == 0) {
    return;
  }
  if (reals.is_cpu() && reals.scalar_type() == at::kDouble) {
    add(index, measure(reals.data_ptr<double>(), count), scale);
  } else if (reals.is_cpu() && reals.scalar_type() == at::kFloat) {
    add(index, measure(reals.data_ptr<float>(), count), scale);
  } else {
    const at::NoGradGuard noGrad;
    pending_.push_back({index, scale});
    measuredThere_.push_back(measureThere(reals));
  }
}

void GradientTally::add(std::uint32_t index, const Measured& measured, double scale) {
  squares_ += measured.squares * scale * scale;
  largest_ = std::max(largest_, measured.largest * scale);
  nans_ += measured.nans;
  infinities_ += measured.infinities;
  if (!first_ && measured.nans + measured.infinities > 0) {
    first_ = index;
  }
}

trace::GradientsMessage::Bucket GradientTally::of(std::uint16_t bucket) {
  if (!pending_.empty()) {
    const at::Tensor all = at::stack(measuredThere_).to(at::kCPU);
    const auto rows = all.accessor<double, 2>();
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const auto row = rows[static_cast<std::int64_t>(i)];
      add(pending_[i].index,
          Measured{row[0], row[1], static_cast<std::uint64_t>(row[2]),
                   static_cast<std::uint64_t>(row[3])},
          pending_[i].scale);
    }
    pending_.clear();
    measuredThere_.clear();
  }
  return {bucket, std::sqrt(squares_), largest_, nans_, infinities_, first_};
}

}  // namespace lockstep::ddp
