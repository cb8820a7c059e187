#include "ui/views/divergence/HeatRuns.h"

#include <algorithm>

namespace lockstep::ui {

double stepOfSample(const run::Grown<std::uint32_t>& steps, std::size_t sample) {
  if (sample < steps.size()) {
    return steps[sample];
  }
  const double width =
      steps.size() > 1 ? steps.back() - static_cast<double>(steps[steps.size() - 2]) : 1;
  return steps.back() + width;
}

std::size_t sampleAt(const run::Grown<std::uint32_t>& steps, double step) {
  const std::size_t behind =
      run::firstWhere(steps, [step](std::uint32_t sample) { return sample > step; });
  return std::max<std::size_t>(behind, 1) - 1;
}

std::int16_t HeatRow::badnessOf(std::size_t level, std::size_t block) const {
  std::int16_t worst = HeatPyramid::kUnknown;
  for (std::size_t parameter = parameters_.first; parameter < parameters_.second; ++parameter) {
    worst = std::max(worst, pyramid_.at(level, block, parameter));
  }
  return worst;
}

// Whether a sample is equal and the next one is not.
bool HeatRow::partsAt(std::size_t sample) const {
  return sample + 1 < steps_.size() && badnessOf(0, sample) == HeatPyramid::kEqual &&
         badnessOf(0, sample + 1) > HeatPyramid::kEqual;
}

std::vector<HeatRun> HeatRow::runs(std::size_t level, double fromStep, double endStep) const {
  std::vector<HeatRun> runs;
  const auto add = [&](double from, double end, std::int16_t badness) {
    if (end <= from) {
      return;
    }
    // A healthy run of any length is one a row.
    if (!runs.empty() && runs.back().badness == badness) {
      runs.back().endStep = end;
    } else {
      runs.push_back({from, end, badness});
    }
  };
  const std::size_t size = std::size_t{1} << level;
  // The sample that the left edge is in began before it.
  const std::size_t first = sampleAt(steps_, fromStep) / size;
  for (std::size_t block = first; block < pyramid_.blocks(level); ++block) {
    const double from = stepOfSample(steps_, block * size);
    if (from > endStep) {
      break;
    }
    const std::size_t next = std::min((block + 1) * size, steps_.size());
    const double end = stepOfSample(steps_, next);
    const std::int16_t badness = badnessOf(level, block);
    const double known = badness == HeatPyramid::kEqual && partsAt(next - 1)
                             ? std::min(end, stepOfSample(steps_, next - 1) + 1)
                             : end;
    add(from, known, badness);
    add(known, end, kBetweenSamples);
  }
  return runs;
}

bool HeatRow::isBetween(double step) const {
  const std::size_t sample = sampleAt(steps_, step);
  return !steps_.empty() && step >= steps_[sample] + 1.0 && partsAt(sample);
}

}  // namespace lockstep::ui
