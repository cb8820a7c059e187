#pragma once

#include <cstdint>

#include "engine/capture/HeldSteps.h"

namespace lockstep::capture {

// Note [Samples that are kept]
// Samples of parameters and gradients take as much as some steps do, so with capture.detail =
// outliers not all are kept: the first, every kEvery-th after it, those of steps that are unlike
// the rest and that which comes after the last step, each of all ranks. And all that tell
// something: a norm or a gradient that is not finite, hashes that differ although nothing lets
// them.

/// Decides which samples are kept.
class KeptSamples {
 public:
  static constexpr std::uint64_t kEvery = 50;

  /// Hashes of ranks may differ: a hook lets them, or not all parameters are averaged.
  void allowDifferent() { mayDiffer_ = true; }
  /// Whether the samples of a step are kept; `unlike`: the step is, on some rank.
  bool keeps(const HeldStep& step, bool unlike);

 private:
  [[nodiscard]] bool tells(const HeldStep& step) const;

  bool mayDiffer_ = false;
  std::uint64_t steps_ = 0;  // with samples
};

}  // namespace lockstep::capture
