#include "engine/capture/UnlikeSteps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/cost/Sample.h"

namespace lockstep::capture {
namespace {

constexpr double kLeastScore = 8;
constexpr double kKeptShare = 0.01;
constexpr double kTurn = 0.1;
constexpr double kNormal = 1.4826;     // MAD to standard deviation
constexpr double kLeastOfStep = 0.02;  // what a figure may be off by without being noticed
constexpr std::size_t kKnown = 10;     // steps, before anything is said

// Of what is never empty.
double medianOf(std::vector<double> values) {
  return *cost::median(std::move(values));
}

}  // namespace

UnlikeSteps::Distance UnlikeSteps::OfRank::distance(const Values& values) const {
  Distance distance;
  if (steps < kKnown) {
    return distance;
  }
  const double step = medianOf(latest[0]);
  for (std::size_t figure = 0; figure < kFigures; ++figure) {
    const double median = medianOf(latest[figure]);
    std::vector<double> deviations = latest[figure];
    for (double& value : deviations) {
      value = std::abs(value - median);
    }
    distance.off[figure] = values[figure] - median;
    distance.usual[figure] =
        std::max(kNormal * medianOf(std::move(deviations)), kLeastOfStep * step);
  }
  return distance;
}

void UnlikeSteps::OfRank::add(const Values& values) {
  for (std::size_t figure = 0; figure < kFigures; ++figure) {
    if (steps < kWindow) {
      latest[figure].push_back(values[figure]);
    } else {
      latest[figure][steps % kWindow] = values[figure];
    }
  }
  ++steps;
}

std::set<int> UnlikeSteps::judge(const std::vector<StepFigures>& ranks) {
  threshold_ = std::max(threshold_, kLeastScore);
  std::vector<Distance> distances;
  for (const StepFigures& rank : ranks) {
    const Values values{rank.duration, rank.computing, rank.exposed};
    distances.push_back(ranks_[rank.rank].distance(values));
    ranks_[rank.rank].add(values);
  }
  std::set<int> unlike;
  bool allUnlike = false;
  for (std::size_t figure = 0; figure < kFigures; ++figure) {
    std::vector<double> off;
    std::vector<double> usual;
    for (const Distance& distance : distances) {
      if (distance.usual[figure] > 0) {
        off.push_back(distance.off[figure]);
        usual.push_back(distance.usual[figure]);
      }
    }
    if (off.empty()) {
      continue;
    }
    const double common = medianOf(std::move(off));
    allUnlike = allUnlike || std::abs(common) > threshold_ * medianOf(std::move(usual));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Distance& distance = distances[i];
      if (distance.usual[figure] > 0 &&
          std::abs(distance.off[figure] - common) > threshold_ * distance.usual[figure]) {
        unlike.insert(ranks[i].rank);
      }
    }
  }
  // Where one stands apart, what the others have in common is that they waited for it.
  if (unlike.empty() && allUnlike) {
    for (const StepFigures& rank : ranks) {
      unlike.insert(rank.rank);
    }
  }
  threshold_ *= std::exp(kTurn * (unlike.empty() ? -kKeptShare : 1 - kKeptShare));
  return unlike;
}

}  // namespace lockstep::capture
