#include "engine/analysis/StepOverlap.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "engine/analysis/RankDivision.h"
#include "engine/analysis/StepDivision.h"
#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

constexpr std::size_t kWorthTwoThreads = 2000;  // steps
constexpr std::size_t kWorthTwoRanks = 2;

/// Fills in steps of which the times are there. Each is divided by itself, and of a long run that
/// takes as long as the rest.
void divideAll(const FlightPieces::Gathered& of, const RunAnalysis& run,
               const base::ClockCalibration& clock, std::vector<StepOverlap>& steps) {
  base::inHalves(steps.size(), kWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t step = from; step < to; ++step) {
      const StepTimes& times = steps[step].times;
      steps[step] = dividedStep(of.moments, of.ranks.at(times.rank), run, times, clock);
    }
  });
}

/// Calls `take` with the place of each rank and what it is divided into, on two threads.
template <typename Take>
void divideAll(const RankDivision& division, const Take& take) {
  base::inHalves(division.ranks().size(), kWorthTwoRanks, [&](std::size_t from, std::size_t to) {
    RankDivision::Walk walk(division);
    for (std::size_t place = from; place < to; ++place) {
      take(place, walk.at(place));
    }
  });
}

bool isShaped(trace::EventKind kind) {
  return kind == trace::EventKind::kShaped;
}

// Ranks on several hosts have clocks in doubt; a shaped link leaves spans of its own.
TailCause carriedBy(const RunData& data, bool shaped) {
  return shaped || !data.doubt.none() ? TailCause::kSlowLink : TailCause::kMuchTransfer;
}

bool anyShaped(const RunData& data) {
  bool any = false;
  data.spans.eachOf(isShaped, 0, [&](const trace::SpanRow&) { any = true; });
  return any;
}

/// `parts`: of all steps of a run, by rank.
void tellTransfers(const std::vector<std::span<StepOverlap>>& parts, const RunData& data,
                   const RunAnalysis& run) {
  std::vector<TransferOfStep> all;
  all.reserve(run.stepRows.size());
  for (const std::span<StepOverlap> steps : parts) {
    appendTransfers(steps, all);
  }
  if (const auto told = toldTransfer(all, data, run)) {
    for (const std::span<StepOverlap> steps : parts) {
      markTransfers(steps, *told);
    }
  }
}

}  // namespace

std::optional<TailCause> toldTransfer(std::span<const TransferOfStep> steps, const RunData& data,
                                      const RunAnalysis& run) {
  TransferSamples transfers;
  transfers.add(steps, run.warmUp.firstMeasured);
  return transfers.telling() ? std::optional(carriedBy(data, anyShaped(data))) : std::nullopt;
}

std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run) {
  const RankDivision division(data, run);
  const std::vector<std::size_t> first = division.firstSteps();
  std::vector<StepOverlap> all(first.back());
  divideAll(division, [&](std::size_t place, DividedRank rank) {
    std::ranges::move(rank.steps, all.begin() + static_cast<std::ptrdiff_t>(first[place]));
  });
  tellTransfers({all}, data, run);
  return all;
}

std::vector<std::vector<StepOverlap>> rankStepOverlaps(const RunData& data,
                                                       const RunAnalysis& run) {
  const RankDivision division(data, run);
  std::vector<std::vector<StepOverlap>> ranks(division.ranks().size());
  divideAll(division,
            [&](std::size_t place, DividedRank rank) { ranks[place] = std::move(rank.steps); });
  tellTransfers({ranks.begin(), ranks.end()}, data, run);
  return ranks;
}

OverlapNews GrowingOverlaps::refresh(const RunData& data, const RunAnalysis& run) {
  if (!run.closed.more) {
    // All is made anew once it has ended (Note [Figures of closed steps]), and nothing is kept.
    *this = GrowingOverlaps();
    OverlapNews all{true, {}, stepOverlaps(data, run)};
    if (run.closed.next > 0) {
      const auto open = std::stable_partition(
          all.open.begin(), all.open.end(),
          [&](const StepOverlap& step) { return step.times.step < run.closed.next; });
      all.closed.assign(std::move_iterator(all.open.begin()), std::move_iterator(open));
      all.open.erase(all.open.begin(), open);
    }
    return all;
  }
  std::optional<OverlapNews> news = look(data, run);
  if (!news) {
    *this = GrowingOverlaps();
    news = look(data, run);
  }
  return *std::move(news);
}

/// Nothing where what was said of closed steps is not right any more.
std::optional<OverlapNews> GrowingOverlaps::look(const RunData& data, const RunAnalysis& run) {
  const bool goesOn = goOn(data, run, [&](int rank, const trace::SpanRow& span) {
    shaped_ = shaped_ || isShaped(span.kind);
    const bool activity = activity_[rank].add(span, basis_.nsPerTick());
    return pieces_.add(rank, span) && activity;
  });
  if (!goesOn) {
    return std::nullopt;
  }
  OverlapNews news;
  news.anew = next_ == 0;
  base::ClockCalibration clock = data.clock;
  clock.nsPerTick = basis_.nsPerTick();
  std::vector<RankActivity> activity;
  for (const auto& [rank, pieces] : activity_) {
    activity.push_back(pieces.activity(rank));
  }
  const FlightPieces::Gathered flights = pieces_.gather(run, clock.nsPerTick, std::move(activity));
  for (const auto& [rank, steps] : run.stepRows.lists()) {
    std::size_t& closed = closed_[rank];
    for (std::size_t i = closed; i < steps.size(); ++i) {
      const bool over = steps[i].step < run.closed.next;
      StepOverlap& step = (over ? news.closed : news.open).emplace_back();
      step.times = timesOf(steps[i], clock.nsPerTick, basis_.stolenShare());
      closed += over ? 1 : 0;
    }
  }
  divideAll(flights, run, clock, news.closed);
  divideAll(flights, run, clock, news.open);
  transfers_.add(news.closed, run.warmUp.firstMeasured);
  TransferSamples all = transfers_;
  all.add(news.open, run.warmUp.firstMeasured);
  const bool telling = all.telling();
  if (!news.anew && telling != telling_) {
    return std::nullopt;
  }
  telling_ = telling;
  if (telling) {
    markTransfers(news.closed, carriedBy(data, shaped_));
    markTransfers(news.open, carriedBy(data, shaped_));
  }
  if (run.closed.next > next_) {
    next_ = run.closed.next;
    for (const auto& [rank, steps] : run.stepRows.lists()) {
      activity_[rank].forget(endOfStepsBelow(steps, next_));
    }
    pieces_.forget(next_, run, flights.ranks);
  }
  return news;
}

}  // namespace lockstep::analysis
