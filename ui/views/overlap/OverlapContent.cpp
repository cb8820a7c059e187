#include "ui/views/overlap/OverlapContent.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>

namespace lockstep::ui {
namespace {

using analysis::RankOverlap;
using analysis::StepOverlap;

// A few long steps, such as those that load data, would make all others flat: the axis fits 95 % of
// them, and a mark tells of those that go on beyond it.
constexpr double kStepsThatFit = 0.95;
constexpr double kRoomAbove = 1.15;

std::optional<RankOverlap> find(const std::vector<RankOverlap>& ranks, int rank) {
  const auto of = std::ranges::find(ranks, rank, &RankOverlap::rank);
  return of == ranks.end() ? std::nullopt : std::optional(*of);
}

}  // namespace

// The order of OverlapPart, from the bottom up.
OverlapParts partsOf(const StepOverlap& step) {
  return {step.aloneMs,   step.times.overlapMs, step.otherMs,    step.noCoreMs,
          step.waitingMs, step.transferMs,      step.undividedMs};
}

const OverlapContent::Rank* OverlapContent::rank(int number) const {
  const auto at = std::ranges::lower_bound(ranks, number, {}, &Rank::rank);
  return at == ranks.end() || at->rank != number ? nullptr : &*at;
}

std::size_t OverlapContent::Rank::firstFrom(std::uint64_t number) const {
  return *std::ranges::partition_point(
      std::views::iota(std::size_t{0}, steps.size()),
      [&](std::size_t step) { return this->number(step) < number; });
}

const StepOverlap& OverlapContent::at(std::size_t row) const {
  const auto rank = std::prev(std::ranges::upper_bound(ranks, row, {}, &Rank::first));
  return rank->steps[row - rank->first];
}

std::optional<std::size_t> OverlapContent::rowOf(int rank, std::uint32_t number) const {
  const Rank* of = this->rank(rank);
  const std::size_t at = of == nullptr ? 0 : of->firstFrom(number);
  return of == nullptr || at == of->steps.size() || of->number(at) != number
             ? std::nullopt
             : std::optional(of->first + at);
}

const std::vector<analysis::TailReason>& OverlapContent::reasonsOf(
    std::optional<int> number) const {
  const Rank* of = number ? rank(*number) : nullptr;
  return of == nullptr ? reasons : of->reasons;
}

void GrowingOverlapContent::Parts::add(const std::vector<StepOverlap>& steps) {
  const std::uint32_t firstMeasured = content.warmUp.firstMeasured;
  std::set<std::uint32_t> incomplete;
  for (const StepOverlap& step : steps) {
    const std::uint32_t number = step.times.step;
    auto rank =
        std::ranges::lower_bound(content.ranks, step.times.rank, {}, &OverlapContent::Rank::rank);
    if (rank == content.ranks.end() || rank->rank != step.times.rank) {
      rank = content.ranks.insert(rank, OverlapContent::Rank());
      rank->rank = step.times.rank;
      rank->sums.push_back({});
    }
    // Sums before each step, so that the mean of any stretch is one difference
    // (OverlapScene::barAt): of 100,000 steps on 1000 px a bar stands for 512.
    OverlapParts sum = rank->sums.back();
    const OverlapParts parts = partsOf(step);
    for (std::size_t part = 0; part < sum.size(); ++part) {
      sum[part] += parts[part];
    }
    rank->sums.push_back(sum);
    rank->steps.push_back(step);
    content.firstStep = content.rows == 0 ? number : std::min(content.firstStep, number);
    content.lastStep = std::max(content.lastStep, number);
    content.rows += 1;
    if (number >= firstMeasured) {
      lengths.push_back(step.times.stepMs);
      if (step.times.incomplete) {
        incomplete.insert(number);
      }
    }
  }
  content.incompleteSteps += incomplete.size();
  reasons.add(steps, firstMeasured);
  for (const OverlapContent::Rank& rank : content.ranks) {
    reasonsOf[rank.rank].add(analysis::ofRank(steps, rank.rank), firstMeasured);
  }
  measured.add(steps);
  all.add(steps);
}

std::shared_ptr<const OverlapContent> GrowingOverlapContent::refresh(const AnalysedRun& run) {
  const std::lock_guard lock(mutex_);
  analysis::OverlapNews news = overlaps_.refresh(run.data, run.analysis);
  if (news.anew) {
    closed_ = Parts();
    closed_.content.warmUp = run.analysis.warmUp;
    closed_.measured = analysis::HeadroomSamples(run.analysis.warmUp.firstMeasured);
    lengths_ = {};
  }
  closed_.add(news.closed);
  closed_.measured.settle();
  closed_.all.settle();
  lengths_.add(std::exchange(closed_.lengths, {}));
  Parts parts = closed_;
  parts.add(news.open);
  OverlapContent& content = parts.content;
  std::size_t first = 0;
  for (OverlapContent::Rank& rank : content.ranks) {
    rank.first = std::exchange(first, first + rank.steps.size());
  }
  content.warmUp = run.analysis.warmUp;
  content.overlapPercent = run.analysis.overlapPercent;
  content.exposedMs = run.analysis.exposedMs;
  analysis::SortedValues lengths = lengths_.with(std::move(parts.lengths));
  if (lengths.size() == 0) {
    // Only warm-up so far: better an axis for that than none.
    std::vector<double> all;
    for (std::size_t row = 0; row < content.rows; ++row) {
      all.push_back(content.at(row).times.stepMs);
    }
    lengths.add(std::move(all));
  }
  if (lengths.size() > 0) {
    const auto at =
        static_cast<std::size_t>(kStepsThatFit * static_cast<double>(lengths.size() - 1));
    content.scaleMs = std::max(1e-6, lengths.at(at) * kRoomAbove);
  }
  content.reasons = parts.reasons.reasons();
  const auto measured = parts.measured.medians();
  // With the warm-up as well, for the card of a rank: what it would have made of the figures.
  const auto all = parts.all.medians();
  for (OverlapContent::Rank& rank : content.ranks) {
    rank.measured = find(measured, rank.rank);
    rank.all = find(all, rank.rank);
    rank.reasons = parts.reasonsOf[rank.rank].reasons();
  }
  return std::make_shared<const OverlapContent>(std::move(content));
}

std::shared_ptr<const OverlapContent> overlapContent(const AnalysedRun& run) {
  return GrowingOverlapContent().refresh(run);
}

}  // namespace lockstep::ui
