#include "engine/analysis/StepOverlap.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "engine/analysis/SpansByRank.h"
#include "engine/analysis/StepDivision.h"
#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using Moments = std::map<int, RankMoments>;

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

/// The pieces and moments of all ranks that have ended a step.
struct AllPieces {
  std::vector<int> ranks;              // by number
  std::vector<std::size_t> first;      // StepOverlap of each, and after all
  std::vector<RankPieces> pieces;      // of each; their buckets are in the moments
  std::vector<RankActivity> activity;  // of each
  Moments moments;
};

/// `known`: rankActivity() of the data, where it is.
AllPieces piecesOfAll(const RunData& data, const RunAnalysis& run,
                      std::optional<std::vector<RankActivity>> known) {
  const SpansByRank spans(data);
  AllPieces all;
  std::vector<RankPieces> pieces(spans.size());
  std::vector<RankActivity> activity(spans.size());
  std::vector<RankMoments> moments(spans.size());
  const auto& steps = run.stepRows.lists();
  base::inHalves(spans.size(), kWorthTwoRanks, [&](std::size_t from, std::size_t to) {
    for (std::size_t place = from; place < to; ++place) {
      const int rank = spans.rank(place);
      RankPieces& of = pieces[place];
      if (known) {
        spans.eachOf(place, RankPieces::wants, 0,
                     [&](const trace::SpanRow& span) { of.add(span); });
      } else {
        ActivityPieces own;
        spans.eachOf(
            place, [](trace::EventKind) { return true; }, 0,
            [&](const trace::SpanRow& span) {
              own.add(span, data.clock.nsPerTick);
              if (RankPieces::wants(span.kind)) {
                of.add(span);
              }
            });
        activity[place] = own.activity(rank);
      }
      const auto ended = steps.find(rank);
      moments[place] = RankMoments(of.buckets, ended == steps.end() ? nullptr : &ended->second, 0,
                                   data.clock.nsPerTick);
      of.buckets.clear();
    }
  });
  std::map<int, RankActivity*> activityOf;
  for (RankActivity& of : known ? *known : activity) {
    activityOf[of.rank] = &of;
  }
  for (std::size_t place = 0; place < spans.size(); ++place) {
    all.moments.emplace(spans.rank(place), std::move(moments[place]));
  }
  std::size_t place = 0;
  std::size_t first = 0;
  for (const auto& [rank, rows] : steps) {
    while (place < spans.size() && spans.rank(place) < rank) {
      ++place;
    }
    all.ranks.push_back(rank);
    all.first.push_back(first);
    const bool isThere = place < spans.size() && spans.rank(place) == rank;
    all.pieces.push_back(isThere ? std::move(pieces[place]) : RankPieces());
    const auto of = activityOf.find(rank);
    all.activity.push_back(of == activityOf.end() ? RankActivity() : std::move(*of->second));
    all.moments.try_emplace(rank, RankMoments::Buckets(), &rows, 0, data.clock.nsPerTick);
    first += rows.size();
  }
  all.first.push_back(first);
  return all;
}

bool isShaped(trace::EventKind kind) {
  return kind == trace::EventKind::kShaped;
}

// Ranks on several hosts have clocks in doubt; a shaped link leaves spans of its own.
bool crossesLink(const RunData& data, bool shaped) {
  return shaped || !data.doubt.none();
}

bool anyShaped(const RunData& data) {
  bool any = false;
  data.spans.eachOf(isShaped, 0, [&](const trace::SpanRow&, run::Spans::Index) { any = true; });
  return any;
}

// Divides the steps of all ranks. `rowsOf(place, first, count)` says where those of a rank are to
// stand, by its place among the ranks and that of its first step among all; `done(place)` is called
// once they are divided.
//
// Of all at once, activity that is known spares most spans a look, and a rank's flights need not be
// there longer than it takes to divide its steps: hence not by GrowingOverlaps.
template <typename RowsOf, typename Done>
void divideRanks(const RunData& data, const RunAnalysis& run,
                 std::optional<std::vector<RankActivity>> activity, const RowsOf& rowsOf,
                 const Done& done) {
  AllPieces pieces = piecesOfAll(data, run, std::move(activity));
  base::inHalves(pieces.ranks.size(), kWorthTwoRanks, [&](std::size_t from, std::size_t to) {
    FlightsByRank flights(run);
    for (std::size_t rank = from; rank < to; ++rank) {
      const int number = pieces.ranks[rank];
      const std::size_t first = pieces.first[rank];
      const run::Grown<StepTicks>& steps = run.stepRows.lists().at(number);
      const std::span<StepOverlap> rows = rowsOf(rank, first, steps.size());
      const RankFlights own =
          std::exchange(pieces.pieces[rank], {})
              .flights(std::exchange(pieces.activity[rank], {}), flights.of(number));
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const StepTimes times = timesOf(steps[i], run.nsPerTick, run.stolenShare);
        rows[i] = dividedStep(pieces.moments, own, run, times, data.clock);
      }
      done(rank);
    }
  });
}

/// The rows of each rank in a list of its own.
auto rowsIn(std::vector<std::vector<StepOverlap>>& ranks) {
  return [&ranks](std::size_t rank, std::size_t /*first*/, std::size_t count) {
    ranks[rank].resize(count);
    return std::span(ranks[rank]);
  };
}

constexpr auto kNothingMore = [](std::size_t /*place*/) {};

std::vector<StepOverlap> stepsOfAll(const RunData& data, const RunAnalysis& run,
                                    std::optional<std::vector<RankActivity>> activity) {
  std::vector<StepOverlap> all(run.stepRows.size());
  divideRanks(
      data, run, std::move(activity),
      [&all](std::size_t, std::size_t first, std::size_t count) {
        return std::span(all).subspan(first, count);
      },
      kNothingMore);
  TransferSamples transfers;
  transfers.add(all, run.warmUp.firstMeasured);
  if (transfers.telling()) {
    markTransfers(all, crossesLink(data, anyShaped(data)));
  }
  return all;
}

}  // namespace

std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run) {
  return stepsOfAll(data, run, std::nullopt);
}

std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run,
                                      std::vector<RankActivity> activity) {
  return stepsOfAll(data, run, std::move(activity));
}

std::vector<std::vector<StepOverlap>> rankStepOverlaps(const RunData& data,
                                                       const RunAnalysis& run) {
  std::vector<std::vector<StepOverlap>> ranks(run.stepRows.lists().size());
  divideRanks(data, run, std::nullopt, rowsIn(ranks), kNothingMore);
  std::vector<const StepOverlap*> all;
  all.reserve(run.stepRows.size());
  for (const std::vector<StepOverlap>& steps : ranks) {
    for (const StepOverlap& step : steps) {
      all.push_back(&step);
    }
  }
  TransferSamples transfers;
  transfers.add(all, run.warmUp.firstMeasured);
  if (transfers.telling()) {
    const bool crosses = crossesLink(data, anyShaped(data));
    for (std::vector<StepOverlap>& steps : ranks) {
      markTransfers(steps, crosses);
    }
  }
  return ranks;
}

void eachRanksOverlaps(const RunData& data, const RunAnalysis& run,
                       const std::function<void(std::span<const StepOverlap>)>& take) {
  std::vector<std::vector<StepOverlap>> ranks(run.stepRows.lists().size());
  divideRanks(data, run, std::nullopt, rowsIn(ranks),
              [&](std::size_t rank) { take(std::exchange(ranks[rank], {})); });
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
    markTransfers(news.closed, crossesLink(data, shaped_));
    markTransfers(news.open, crossesLink(data, shaped_));
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
