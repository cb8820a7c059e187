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

HeatPyramid::HeatPyramid(const analysis::ReplicaMatrix& replicas, HeatMeasure measure)
    : parameters_(replicas.parameters) {
  if (replicas.steps.empty() || parameters_ == 0) {
    return;
  }
  Level& base = levels_.emplace_back();
  base.blocks = replicas.steps.size();
  base.cells.resize(base.blocks * parameters_);
  for (std::size_t sample = 0; sample < base.blocks; ++sample) {
    for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
      // What is not finite is worse than any difference, and equal bits make it no better.
      base.cells[sample * parameters_ + parameter] =
          replicas.cell(sample, parameter).notFinite > 0 ? kNotFinite
          : measure == HeatMeasure::kHashes              ? hashBadness(replicas, sample, parameter)
                                                         : normBadness(replicas, sample, parameter);
    }
  }
  while (levels_.back().blocks > 1) {
    const Level& fine = levels_.back();
    Level coarse;
    coarse.blocks = (fine.blocks + 1) / 2;
    // Unknown is the least of all, so one known sample decides for its block.
    coarse.cells.assign(coarse.blocks * parameters_, kUnknown);
    for (std::size_t block = 0; block < fine.blocks; ++block) {
      for (std::size_t parameter = 0; parameter < parameters_; ++parameter) {
        std::int16_t& worst = coarse.cells[block / 2 * parameters_ + parameter];
        worst = std::max(worst, fine.cells[block * parameters_ + parameter]);
      }
    }
    levels_.push_back(std::move(coarse));
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
