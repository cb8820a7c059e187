#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/run/Grown.h"
#include "ui/views/divergence/HeatPyramid.h"

namespace lockstep::ui {

// Note [Between two samples]
// A sample tells of its own iteration. Up to the next one replicas are taken to be as they were,
// but for the stretch from a sample that is equal to one that is not: when in it they came apart
// nobody has seen, so it is neither.
//
//   sampled   20          30          40
//             equal       equal       differs
//   drawn     equal       e┈between┈┈┈differs
//
// Where samples are folded, so is this: what counts is the last sample of a block and the first of
// the next.

/// A stretch of iterations that looks alike.
struct HeatRun {
  double fromStep = 0;
  double endStep = 0;
  std::int16_t badness = HeatPyramid::kUnknown;  ///< of HeatPyramid, or kBetweenSamples
  bool operator==(const HeatRun&) const = default;
};
inline constexpr std::int16_t kBetweenSamples = -2;

/// Which samples are where: a row is parameters from the first up to but without the second.
class HeatRow {
 public:
  /// All of them outlive it. `steps`: of the samples.
  HeatRow(const HeatPyramid& pyramid, const run::Grown<std::uint32_t>& steps,
          std::pair<std::size_t, std::size_t> parameters)
      : pyramid_(pyramid), steps_(steps), parameters_(parameters) {}

  /// Those in sight, in blocks of 2^level samples; neighbours that look alike are one.
  [[nodiscard]] std::vector<HeatRun> runs(std::size_t level, double fromStep, double endStep) const;
  /// Whether a step lies between an equal sample and one that is not.
  [[nodiscard]] bool isBetween(double step) const;

 private:
  [[nodiscard]] std::int16_t badnessOf(std::size_t level, std::size_t block) const;
  [[nodiscard]] bool partsAt(std::size_t sample) const;

  const HeatPyramid& pyramid_;
  const run::Grown<std::uint32_t>& steps_;
  std::pair<std::size_t, std::size_t> parameters_;
};

/// Where the column of a sample begins, and that of the one behind all others; the last is as wide
/// as the one before it.
double stepOfSample(const run::Grown<std::uint32_t>& steps, std::size_t sample);

/// The last sample that begins at a step or before it; the first where none does.
std::size_t sampleAt(const run::Grown<std::uint32_t>& steps, double step);

}  // namespace lockstep::ui
