#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/WhatIfCap.h"

// What the communication of a bucket costs, fitted to what a run's buckets cost.
namespace lockstep::analysis {
namespace {

// Sizes nearer to each other than this say more about noise than about a time a byte.
constexpr double kSizesDiffer = 1.5;

}  // namespace

std::optional<CommunicationCost> fitCost(const std::vector<CostSample>& samples) {
  std::map<std::uint64_t, std::vector<double>> bySize;
  for (const CostSample& sample : samples) {
    bySize[sample.bytes].push_back(sample.ticks);
  }
  if (bySize.size() < 2 || static_cast<double>(bySize.rbegin()->first) <
                               kSizesDiffer * static_cast<double>(bySize.begin()->first)) {
    return std::nullopt;
  }
  // A size counts as often as it was measured.
  double weight = 0;
  double meanBytes = 0;
  double meanTicks = 0;
  std::vector<std::pair<double, double>> points;  // bytes, median
  std::vector<double> weights;
  for (const auto& [bytes, ticks] : bySize) {
    points.emplace_back(static_cast<double>(bytes), *median(ticks));
    weights.push_back(static_cast<double>(ticks.size()));
    weight += weights.back();
    meanBytes += weights.back() * points.back().first;
    meanTicks += weights.back() * points.back().second;
  }
  meanBytes /= weight;
  meanTicks /= weight;
  double together = 0;
  double squares = 0;
  double fromZero = 0;
  double fromZeroSquares = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& [bytes, ticks] = points[i];
    together += weights[i] * (bytes - meanBytes) * (ticks - meanTicks);
    squares += weights[i] * (bytes - meanBytes) * (bytes - meanBytes);
    fromZero += weights[i] * bytes * ticks;
    fromZeroSquares += weights[i] * bytes * bytes;
  }
  CommunicationCost cost;
  cost.ticksPerByte = std::max(together / squares, 0.0);
  cost.latencyTicks = meanTicks - cost.ticksPerByte * meanBytes;
  if (cost.latencyTicks < 0) {
    cost.latencyTicks = 0;
    cost.ticksPerByte = fromZero / fromZeroSquares;
  }
  std::vector<double> errors;
  for (const CostSample& sample : samples) {
    errors.push_back(100 * std::abs(sample.ticks - cost.ticks(sample.bytes)) / sample.ticks);
  }
  cost.errorPercent = median(errors).value_or(0);
  cost.samples = samples.size();
  return cost;
}

}  // namespace lockstep::analysis
