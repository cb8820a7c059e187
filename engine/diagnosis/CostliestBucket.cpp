#include "engine/diagnosis/CostliestBucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

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
using analysis::TailCause;

// Of a cost, what one of several reasons must have to be worth a word.
constexpr double kWorthAReason = 0.1;

/// What it cost in each step that counts (BucketCosts::counts).
std::vector<double> costsOf(const BucketCell& cell) {
  std::vector<double> costs;
  for (const BucketSample& sample : cell.samples) {
    if (sample.counts) {
      costs.push_back(sample.of(BucketMeasure::kCost).value_or(0));
    }
  }
  return costs;
}

std::optional<double> stepMsOf(const RunAnalysis& run, int rank) {
  const auto of = std::ranges::find(run.ranks, rank, &analysis::RankAnalysis::rank);
  return of == run.ranks.end() ? std::nullopt : of->stepMs;
}

/// What a cause is, as a clause; empty: it is unknown.
std::string clauseOf(const analysis::TailItem& item) {
  switch (item.cause) {
    case TailCause::kLateBucket:
      return "it is ready late";
    case TailCause::kInOrderStall:
      return fmt::format("bucket {} ahead of it is not ready", item.ahead);
    case TailCause::kMuchTransfer:
      return "more is sent than the backward can hide";
    case TailCause::kSlowLink:
      return "the link is slow";
    case TailCause::kLateRank:
      return fmt::format("rank {} is late", item.peer);
    case TailCause::kUnevenRanks:
      return item.judged && item.peer != analysis::kUnclearRank ? "ranks take turns being last"
                                                                : "it waits for other ranks";
    case TailCause::kNoCore:
      return "a thread has no core";
    case TailCause::kOutsideBuckets:
    case TailCause::kCopies:
    case TailCause::kUnknown:
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
  const std::vector<double> costs = costsOf(delays.cell(row, most->bucket));
  if (!stepMs || costs.empty()) {
    return verdict;
  }
  // Of a bucket that is not communicated in each step, a share of all steps is more of those in
  // which it is.
  const double leastMs =
      kWorthSpeakingOf * *stepMs * most->steps / static_cast<double>(costs.size());
  const double tail = cost::kAccusedByChance / static_cast<double>(cells);
  const auto interval = cost::meanInterval(costs, tail);
  if (interval && interval->low > leastMs) {
    verdict.costliest = most;
  }
  return verdict;
}

std::string reasonText(const analysis::BucketCost& cost) {
  const std::string most = clauseOf(cost.worst);
  if (cost.explained()) {
    return most.empty() ? "" : ", because " + most;
  }
  std::string reasons;
  for (const auto& [item, share] :
       {std::pair(&cost.worst, cost.share), std::pair(&cost.next, cost.nextShare)}) {
    const std::string clause = clauseOf(*item);
    if (share >= kWorthAReason && !clause.empty()) {
      reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", clause,
                             base::percentText(100 * share, 0));
    }
  }
  return reasons.empty() ? "" : ", for several reasons: " + reasons;
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
  const analysis::BucketCost& of = *verdict.costliest;
  return fmt::format("Bucket {} costs most, {}{} ms a step (mean) on {}", of.bucket,
                     of.everywhere ? "up to " : "", base::msText(of.ms),
                     of.everywhere ? "each rank" : fmt::format("rank {}", of.rank)) +
         reasonText(of) +
         (of.lateRank() ? fmt::format(", in {} of {} iterations", base::countText(of.struck),
                                      base::countText(of.steps))
                        : "");
}

}  // namespace lockstep::diagnosis
