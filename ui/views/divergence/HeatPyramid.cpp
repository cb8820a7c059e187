#include "ui/views/divergence/HeatPyramid.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

std::int16_t hashBadness(const analysis::ReplicaMatrix& replicas, std::size_t sample,
                         std::size_t parameter) {
  const analysis::ReplicaCell& cell = replicas.cell(sample, parameter);
  if (cell.unknown()) {
    return HeatPyramid::kUnknown;
  }
  if (cell.differing == 0) {
    return HeatPyramid::kEqual;
  }
  // Of ranks present, all but one may be outside the reference class.
  const double share = static_cast<double>(cell.differing) / (cell.present - 1);
  return static_cast<std::int16_t>(std::clamp(share * HeatPyramid::kMost, 1.0, 255.0));
}

// From a millionth, where bits differ and norms hardly do, to as large as the norm itself.
std::int16_t normBadness(const analysis::ReplicaMatrix& replicas, std::size_t sample,
                         std::size_t parameter) {
  constexpr double kDecades = 6;
  const double difference = normDifference(replicas, sample, parameter);
  if (difference < 0) {
    return HeatPyramid::kUnknown;
  }
  if (difference == 0) {
    return HeatPyramid::kEqual;
  }
  // A difference of 1e-6 is 1, one of 1 is 255, and each decade between takes a sixth of the way.
  const double badness = 1 + (std::log10(difference) + kDecades) / kDecades * 254;
  return static_cast<std::int16_t>(std::clamp(badness, 1.0, 255.0));
}

}  // namespace

double normDifference(const analysis::ReplicaMatrix& replicas, std::size_t sample,
                      std::size_t parameter) {
  if (replicas.ranks.size() < 2) {
    return -1;
  }
  const double first = replicas.norms[replicas.at(sample, parameter, 0)];
  double largest = -1;
  // The first rank's norm is what the others are compared with; without it nothing is known.
  for (std::size_t rank = 1; first >= 0 && rank < replicas.ranks.size(); ++rank) {
    const double norm = replicas.norms[replicas.at(sample, parameter, rank)];
    if (norm >= 0) {
      const double difference = std::abs(norm - first);
      // Of a norm of 0 there is no part: any difference counts as all of it.
      largest = std::max(largest, first > 0 ? difference / first : difference > 0 ? 1.0 : 0.0);
    }
  }
  return largest;
}

void HeatPyramid::add(const analysis::ReplicaMatrix& replicas, std::size_t end) {
  addSamples(replicas, end);
  addCoarser(false);
}

HeatPyramid HeatPyramid::with(const analysis::ReplicaMatrix& replicas) const {
  HeatPyramid all = *this;
  all.addSamples(replicas, replicas.steps.size());
  all.addCoarser(true);
  return all;
}

void HeatPyramid::addSamples(const analysis::ReplicaMatrix& replicas, std::size_t end) {
  if (samples() >= end || replicas.parameters == 0) {
    return;
  }
  parameters_ = replicas.parameters;
  levels_.resize(std::max<std::size_t>(levels_.size(), 1));
  for (std::size_t sample = samples(); sample < end; ++sample) {
    for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
      // What is not finite is worse than any difference, and equal bits make it no better.
      levels_[0].push_back(replicas.cell(sample, parameter).notFinite > 0 ? kNotFinite
                           : measure_ == HeatMeasure::kHashes
                               ? hashBadness(replicas, sample, parameter)
                               : normBadness(replicas, sample, parameter));
    }
  }
}

/// Makes of two blocks of a level one of the next; with `halves` of a last one alone, too.
void HeatPyramid::addCoarser(bool halves) {
  for (std::size_t level = 0; blocks(level) > 1; ++level) {
    levels_.resize(std::max(levels_.size(), level + 2));
    const std::size_t fine = blocks(level);
    const std::size_t end = (fine + (halves ? 1 : 0)) / 2;
    for (std::size_t block = blocks(level + 1); block < end; ++block) {
      for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
        // Unknown is the least of all, so one known sample decides for its block.
        const std::int16_t second =
            2 * block + 1 < fine ? at(level, 2 * block + 1, parameter) : kUnknown;
        levels_[level + 1].push_back(std::max(at(level, 2 * block, parameter), second));
      }
    }
  }
}

std::size_t HeatPyramid::levelFor(double samples) const {
  std::size_t level = 0;
  while (level + 1 < levels_.size() && static_cast<double>(std::size_t{1} << level) < samples) {
    ++level;
  }
  return level;
}

}  // namespace lockstep::ui
