#include "engine/diagnosis/MostExposedBucket.h"

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

// Of the exposed time, what a reason must explain for it to be named.
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

/// One value a measured step of a cell.
struct CellSteps {
  std::vector<double> exposed;
  std::vector<double> waited;                    // at least
  std::vector<double> transferred;               // at least
  std::map<int, std::vector<double>> waitedFor;  // by who came last; 0 in the steps of others
  std::map<int, std::uint32_t> lateSteps;
};

CellSteps stepsOf(const BucketDelays& delays, const RunAnalysis& run, std::size_t row, int bucket) {
  const auto last = lastRanks(run, bucket);
  CellSteps of;
  for (const BucketSample& sample : delays.cell(row, bucket).samples) {
    if (sample.step < run.warmUp.firstMeasured) {
      continue;
    }
    const double exposed = sample.of(BucketMeasure::kExposed).value_or(0);
    const auto waiting = sample.of(BucketMeasure::kWaiting);
    const auto transfer = sample.of(BucketMeasure::kTransfer);
    const double waited = transfer ? std::max(0.0, exposed - *transfer) : 0;
    const std::size_t place = of.exposed.size();
    of.exposed.push_back(exposed);
    of.waited.push_back(waited);
    of.transferred.push_back(waiting ? std::max(0.0, exposed - *waiting) : 0);
    const auto at = last.find(sample.step);
    if (waited > 0 && at != last.end() && at->second && *at->second != delays.ranks[row]) {
      std::vector<double>& values = of.waitedFor[*at->second];
      values.resize(place);
      values.push_back(waited);
      of.lateSteps[*at->second] += *waiting >= analysis::kLateMs ? 1 : 0;
    }
  }
  for (auto& [rank, values] : of.waitedFor) {
    values.resize(of.exposed.size());
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

void explain(MostExposedBucket& most, const CellSteps& steps, const BucketCell& cell,
             const RunAnalysis& run, double leastMs, double tail) {
  const double half = kMostOf * sumOf(steps.exposed);
  if (const auto late = mostWaitedFor(steps, run)) {
    const std::vector<double>& values = steps.waitedFor.at(*late);
    const auto interval = cost::meanInterval(values, tail);
    if (sumOf(values) >= half && interval && interval->low > leastMs) {
      most.why = MostExposedBucket::Why::kLateRank;
      most.late = *late;
      most.lateSteps = steps.lateSteps.at(*late);
      return;
    }
  }
  if (sumOf(steps.waited) >= half) {
    most.why = MostExposedBucket::Why::kOtherRanks;
    most.judged = !run.lateness.empty() && !run.lateRank;
  } else if (sumOf(steps.transferred) >= half) {
    most.why = MostExposedBucket::Why::kTransfer;
    most.transferMs = meanOf(cell, BucketMeasure::kTransfer, run.warmUp.firstMeasured);
  }
}

std::string whyText(const MostExposedBucket& of) {
  switch (of.why) {
    case MostExposedBucket::Why::kLateRank:
      return fmt::format(": it waits for rank {}, which is late in {} of {} iterations", of.late,
                         base::countText(of.lateSteps), base::countText(of.steps));
    case MostExposedBucket::Why::kOtherRanks:
      return of.judged ? ": it waits for other ranks, none of which is late beyond chance"
                       : ": it waits for other ranks";
    case MostExposedBucket::Why::kTransfer:
      return fmt::format(": most of that is its transfer, which takes {} ms",
                         base::msText(of.transferMs));
    case MostExposedBucket::Why::kUnclear:
      break;
  }
  return "";
}

}  // namespace

BucketVerdict bucketVerdict(const BucketDelays& delays, const RunAnalysis& run) {
  BucketVerdict verdict;
  MostExposedBucket most;
  std::size_t row = 0;
  std::size_t cells = 0;
  for (std::size_t at = 0; at < delays.ranks.size(); ++at) {
    for (int bucket = 0; bucket < delays.buckets; ++bucket) {
      const BucketCell& cell = delays.cell(at, bucket);
      verdict.steps = std::max(verdict.steps, cell.measuredSteps);
      cells += cell.measuredSteps > 0 ? 1 : 0;
      const double ms = meanOf(cell, BucketMeasure::kExposed, run.warmUp.firstMeasured);
      if (ms > most.ms) {
        most.rank = delays.ranks[at];
        most.bucket = bucket;
        most.ms = ms;
        most.steps = cell.measuredSteps;
        row = at;
      }
    }
  }
  verdict.canTell = verdict.steps >= cost::kFewestForBootstrap;
  const auto stepMs = stepMsOf(run, most.rank);
  if (!verdict.canTell || most.ms <= 0 || !stepMs) {
    return verdict;
  }
  const CellSteps steps = stepsOf(delays, run, row, most.bucket);
  const double leastMs = kWorthSpeakingOf * *stepMs;
  const double tail = cost::kAccusedByChance / static_cast<double>(cells);
  const auto interval = cost::meanInterval(steps.exposed, tail);
  if (interval && interval->low > leastMs) {
    explain(most, steps, delays.cell(row, most.bucket), run, leastMs, tail);
    verdict.mostExposed = most;
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
  if (!verdict.mostExposed) {
    return fmt::format(
        "No bucket stands out: none is exposed for more than {} of a step beyond chance",
        base::percentText(100 * kWorthSpeakingOf, 0));
  }
  const MostExposedBucket& of = *verdict.mostExposed;
  return fmt::format("Bucket {} is exposed most, {} ms a step on rank {}", of.bucket,
                     base::msText(of.ms), of.rank) +
         whyText(of);
}

}  // namespace lockstep::diagnosis
