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

void HeatPyramid::goOn(const analysis::ReplicaMatrix& replicas, HeatMeasure measure,
                       std::size_t first) {
  const auto levelOf = [this](std::size_t number, std::size_t blocks) -> Level& {
    levels_.resize(std::max(levels_.size(), number + 1));
    Level& level = levels_[number];
    level.blocks = blocks;
    level.cells.resize(blocks * parameters_);
    return level;
  };
  parameters_ = replicas.parameters;
  if (replicas.steps.empty() || parameters_ == 0) {
    levels_.clear();
    return;
  }
  Level& base = levelOf(0, replicas.steps.size());
  for (std::size_t sample = first; sample < base.blocks; ++sample) {
    for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
      // What is not finite is worse than any difference, and equal bits make it no better.
      base.cells[sample * parameters_ + parameter] =
          replicas.cell(sample, parameter).notFinite > 0 ? kNotFinite
          : measure == HeatMeasure::kHashes              ? hashBadness(replicas, sample, parameter)
                                                         : normBadness(replicas, sample, parameter);
    }
  }
  std::size_t number = 1;
  for (std::size_t blocks = base.blocks; blocks > 1; ++number) {
    blocks = (blocks + 1) / 2;
    first /= 2;
    Level& coarse = levelOf(number, blocks);
    const Level& fine = levels_[number - 1];
    // Unknown is the least of all, so one known sample decides for its block.
    std::fill(coarse.cells.begin() + static_cast<std::ptrdiff_t>(first * parameters_),
              coarse.cells.end(), kUnknown);
    for (std::size_t block = 2 * first; block < fine.blocks; ++block) {
      for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
        std::int16_t& worst = coarse.cells[block / 2 * parameters_ + parameter];
        worst = std::max(worst, fine.cells[block * parameters_ + parameter]);
      }
    }
  }
  levels_.resize(number);
}

std::size_t HeatPyramid::levelFor(double samples) const {
  std::size_t level = 0;
  while (level + 1 < levels_.size() && static_cast<double>(std::size_t{1} << level) < samples) {
    ++level;
  }
  return level;
}

}  // namespace lockstep::ui
