#include "engine/diagnosis/CostliestBucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "engine/analysis/Lateness.h"
#include "engine/base/NumberText.h"
#include "engine/cost/BlockBootstrap.h"
#include "engine/diagnosis/Finding.h"

namespace lockstep::diagnosis {
namespace {

using analysis::BucketCell;
using analysis::BucketDelays;
using analysis::BucketMeasure;
using analysis::BucketSample;
using analysis::RunAnalysis;

// Of the cost, what a reason must explain for it to be named.
constexpr double kMostOf = 0.5;

/// Of the measured steps in which it is known; 0 without one.
double meanOf(const BucketCell& cell, BucketMeasure measure, std::uint32_t firstMeasured) {
  double sum = 0;
  std::size_t count = 0;
  for (const BucketSample& sample : cell.samples) {
    if (const auto ms = sample.of(measure); ms && sample.step >= firstMeasured) {
      sum += *ms;
      count += 1;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double sumOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// By step, who came last to a bucket: to its first collective, since later ones follow an exchange
/// of all ranks.
std::map<std::uint32_t, std::optional<int>> lastRanks(const RunAnalysis& run, int bucket) {
  std::map<std::uint32_t, std::optional<int>> last;
  for (const analysis::CollectiveTimes& collective : run.collectives) {
    if (collective.bucket == bucket && collective.step >= run.warmUp.firstMeasured) {
      last.try_emplace(collective.step, collective.complete ? collective.lastRank : std::nullopt);
    }
  }
  return last;
}

/// One value for each step of a cell that counts (BucketCosts::counts).
struct CellSteps {
  std::vector<double> cost;
  std::vector<double> waited;                    // of it, at least
  std::vector<double> transferred;               // of it, at least
  std::map<int, std::vector<double>> waitedFor;  // by who came last; 0 in the steps of others
  std::map<int, std::uint32_t> lateSteps;
};

CellSteps stepsOf(const BucketDelays& delays, const RunAnalysis& run, std::size_t row, int bucket) {
  const auto last = lastRanks(run, bucket);
  CellSteps of;
  for (const BucketSample& sample : delays.cell(row, bucket).samples) {
    if (!sample.counts) {
      continue;
    }
    const double cost = sample.of(BucketMeasure::kCost).value_or(0);
    const auto waiting = sample.of(BucketMeasure::kWaiting);
    const auto transfer = sample.of(BucketMeasure::kTransfer);
    const double waited = transfer ? std::max(0.0, cost - *transfer) : 0;
    const std::size_t place = of.cost.size();
    of.cost.push_back(cost);
    of.waited.push_back(waited);
    of.transferred.push_back(waiting ? std::max(0.0, cost - *waiting) : 0);
    const auto at = last.find(sample.step);
    if (waited > 0 && at != last.end() && at->second && *at->second != delays.ranks[row]) {
      std::vector<double>& values = of.waitedFor[*at->second];
      values.resize(place);
      values.push_back(waited);
      of.lateSteps[*at->second] += *waiting >= analysis::kLateMs ? 1 : 0;
    }
  }
  for (auto& [rank, values] : of.waitedFor) {
    values.resize(of.cost.size());
  }
  return of;
}

std::optional<double> stepMsOf(const RunAnalysis& run, int rank) {
  const auto of = std::ranges::find(run.ranks, rank, &analysis::RankAnalysis::rank);
  return of == run.ranks.end() ? std::nullopt : of->stepMs;
}

/// The late rank that is waited for most; none: no late one is.
std::optional<int> mostWaitedFor(const CellSteps& steps, const RunAnalysis& run) {
  std::optional<int> most;
  double mostMs = 0;
  for (const auto& [rank, values] : steps.waitedFor) {
    if (const double ms = sumOf(values); run.isLate(rank) && ms > mostMs) {
      most = rank;
      mostMs = ms;
    }
  }
  return most;
}

void explain(CostliestBucket& most, const CellSteps& steps, const BucketCell& cell,
             const RunAnalysis& run, double leastMs, double tail) {
  const double half = kMostOf * sumOf(steps.cost);
  if (const auto late = mostWaitedFor(steps, run)) {
    const std::vector<double>& values = steps.waitedFor.at(*late);
    const auto interval = cost::meanInterval(values, tail);
    if (sumOf(values) >= half && interval && interval->low > leastMs) {
      most.why = CostliestBucket::Why::kLateRank;
      most.late = *late;
      most.lateSteps = steps.lateSteps.at(*late);
      return;
    }
  }
  if (sumOf(steps.waited) >= half) {
    most.why = CostliestBucket::Why::kOtherRanks;
    most.judged = !run.lateness.empty() && !run.lateRank;
  } else if (sumOf(steps.transferred) >= half) {
    most.why = CostliestBucket::Why::kTransfer;
    most.transferMs = meanOf(cell, BucketMeasure::kTransfer, run.warmUp.firstMeasured);
  }
}

std::string whyText(const CostliestBucket& of) {
  switch (of.why) {
    case CostliestBucket::Why::kLateRank:
      return fmt::format(": it waits for rank {}, which is late in {} of {} iterations", of.late,
                         base::countText(of.lateSteps), base::countText(of.steps));
    case CostliestBucket::Why::kOtherRanks:
      return of.judged ? ": it waits for other ranks, none of which is late beyond chance"
                       : ": it waits for other ranks";
    case CostliestBucket::Why::kTransfer:
      return fmt::format(": most of that is its transfer, which takes {} ms",
                         base::msText(of.transferMs));
    case CostliestBucket::Why::kUnclear:
      break;
  }
  return "";
}

}  // namespace

BucketVerdict bucketVerdict(const BucketDelays& delays, const RunAnalysis& run) {
  BucketVerdict verdict;
  std::size_t cells = 0;
  for (const BucketCell& cell : delays.cells) {
    verdict.steps = std::max(verdict.steps, cell.measuredSteps);
    cells += cell.measuredSteps > 0 ? 1 : 0;
  }
  verdict.canTell = verdict.steps >= cost::kFewestForBootstrap;
  const auto most = delays.costs.most();
  const auto rank = most ? std::ranges::find(delays.ranks, most->rank) : delays.ranks.end();
  if (!verdict.canTell || rank == delays.ranks.end() || most->bucket >= delays.buckets) {
    return verdict;
  }
  const auto row = static_cast<std::size_t>(rank - delays.ranks.begin());
  const auto stepMs = stepMsOf(run, most->rank);
  const CellSteps steps = stepsOf(delays, run, row, most->bucket);
  if (!stepMs || steps.cost.empty()) {
    return verdict;
  }
  CostliestBucket costliest;
  costliest.rank = most->rank;
  costliest.bucket = most->bucket;
  costliest.ms = most->ms;
  costliest.steps = static_cast<std::uint32_t>(steps.cost.size());
  // Of a bucket that is not communicated in each step, a share of all steps is more of those in
  // which it is.
  const double leastMs = kWorthSpeakingOf * *stepMs * delays.costs.steps(most->rank) /
                         static_cast<double>(steps.cost.size());
  const double tail = cost::kAccusedByChance / static_cast<double>(cells);
  const auto interval = cost::meanInterval(steps.cost, tail);
  if (interval && interval->low > leastMs) {
    explain(costliest, steps, delays.cell(row, most->bucket), run, leastMs, tail);
    verdict.costliest = costliest;
  }
  return verdict;
}

std::string textOf(const BucketVerdict& verdict) {
  if (!verdict.canTell) {
    return fmt::format(
        "Which bucket costs most this run cannot tell: {} of a bucket are measured, and {} are "
        "needed to tell a cost from chance",
        base::countedText(verdict.steps, "iteration"), cost::kFewestForBootstrap);
  }
  if (!verdict.costliest) {
    return fmt::format("No bucket stands out: none costs more than {} of a step beyond chance",
                       base::percentText(100 * kWorthSpeakingOf, 0));
  }
  const CostliestBucket& of = *verdict.costliest;
  return fmt::format("Bucket {} costs most, {} ms a step on rank {}", of.bucket,
                     base::msText(of.ms), of.rank) +
         whyText(of);
}

}  // namespace lockstep::diagnosis
