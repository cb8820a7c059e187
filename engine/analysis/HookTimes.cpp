#include "engine/analysis/HookTimes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/analysis/RankFlights.h"
#include "engine/analysis/SpansByRank.h"
#include "engine/base/InHalves.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
constexpr std::size_t index(HookPhase phase) {
  return static_cast<std::size_t>(phase);
}

std::uint64_t beginOf(const Intervals& intervals) {
  return intervals.empty() ? 0 : intervals.front().begin;
}

HookTimes& partOf(std::uint32_t step, const RunAnalysis& analysis, HookNews& news) {
  return step < analysis.closed.next ? news.closed : news.open;
}

/// Calls `take` with the steps of a rank that are measured, from `next` on.
template <typename Take>
void countSteps(const run::Grown<StepTicks>& steps, std::uint32_t next, const RunAnalysis& analysis,
                HookNews& news, const Take& take) {
  for (std::size_t i = firstOfStep(steps, next); i < steps.size(); ++i) {
    const StepTicks& step = steps[i];
    if (step.step >= analysis.warmUp.firstMeasured && step.incomplete) {
      partOf(step.step, analysis, news).incompleteSteps += 1;
    } else if (step.step >= analysis.warmUp.firstMeasured) {
      take(step.step);
    }
  }
}

void append(HookTimes from, HookTimes& to) {
  to.calls.insert(to.calls.end(), from.calls.begin(), from.calls.end());
  to.measuredSteps += from.measuredSteps;
  to.incompleteSteps += from.incompleteSteps;
}

Intervals joined(Intervals a, const Intervals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return unite(std::move(a));
}

}  // namespace

std::string_view name(HookPhase phase) {
  switch (phase) {
    case HookPhase::kEncode:
      return "encode";
    case HookPhase::kQueued:
      return "queued";
    case HookPhase::kWaiting:
      return "waiting";
    case HookPhase::kTransfer:
      return "transfer";
    case HookPhase::kDecode:
      return "decode";
  }
  return "";
}

HookTimes hookTimes(const RunData& data, const RunAnalysis& analysis) {
  HookNews news = GrowingHookTimes().refresh(data, analysis);
  HookTimes times = std::move(news.closed);
  append(std::move(news.open), times);
  std::stable_sort(times.calls.begin(), times.calls.end(),
                   [](const HookCall& a, const HookCall& b) { return a.rank < b.rank; });
  return times;
}

HookNews GrowingHookTimes::refresh(const RunData& data, const RunAnalysis& analysis) {
  if (!analysis.closed.more) {
    // All is made anew once it has ended (Note [Figures of closed steps]), and nothing is kept.
    *this = GrowingHookTimes();
    return ofAll(data, analysis);
  }
  const auto goesOn = [&] {
    return goOn(data, analysis, [this](int rank, const trace::SpanRow& span) {
      add(rank, span, pieces_);
      return !wants(span.kind) || span.step >= next_;
    });
  };
  if (!goesOn()) {
    *this = GrowingHookTimes();
    goesOn();
  }
  HookNews news;
  news.anew = next_ == 0;
  news.closed.warmUp = news.open.warmUp = analysis.warmUp;
  std::set<StepKey> complete;
  for (const auto& [rank, steps] : analysis.stepRows.lists()) {
    countSteps(steps, next_, analysis, news, [&, rank = rank](std::uint32_t step) {
      complete.insert({rank, step});
    });
  }
  base::ClockCalibration clock = data.clock;
  clock.nsPerTick = basis_.nsPerTick();
  addWaiting(analysis);
  divideAll(pieces_, complete, analysis, clock, news);
  next_ = analysis.closed.next;
  std::erase_if(pieces_, [this](const Piece& piece) {
    return piece.step() < next_ || piece.part == Part::kWaiting;
  });
  return news;
}

/// The same of all spans, of which none is kept: of one rank after the other on each of two
/// threads, so that what its calls are made of is there of no more than two ranks at a time.
HookNews GrowingHookTimes::ofAll(const RunData& data, const RunAnalysis& analysis) {
  const SpansByRank ranks(data);
  std::vector<HookNews> all(ranks.size());
  base::inHalves(ranks.size(), 2, [&](std::size_t from, std::size_t to) {
    FlightsByRank flights(analysis);
    std::vector<Piece> pieces;
    for (std::size_t place = from; place < to; ++place) {
      const int rank = ranks.rank(place);
      pieces.clear();
      ranks.eachOf(place, wants, 0, [&](const trace::SpanRow& span) { add(rank, span, pieces); });
      std::set<StepKey> complete;
      if (const auto steps = analysis.stepRows.lists().find(rank);
          steps != analysis.stepRows.lists().end()) {
        countSteps(steps->second, 0, analysis, all[place], [&](std::uint32_t step) {
          complete.insert({rank, step});
        });
      }
      if (std::ranges::any_of(pieces, isPhase, &Piece::part)) {
        for (const Flight& flight : flights.of(rank)) {
          pieces.push_back({{rank, flight.collective->step, flight.collective->bucket},
                            Part::kWaiting,
                            {flight.arrivedTicks, flight.allThereTicks}});
        }
        divideAll(pieces, complete, analysis, data.clock, all[place]);
      }
    }
  });
  HookNews news;
  news.closed.warmUp = news.open.warmUp = analysis.warmUp;
  for (HookNews& of : all) {
    append(std::move(of.closed), news.closed);
    append(std::move(of.open), news.open);
  }
  return news;
}

void GrowingHookTimes::divideAll(std::vector<Piece>& pieces, const std::set<StepKey>& complete,
                                 const RunAnalysis& analysis, const base::ClockCalibration& clock,
                                 HookNews& news) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.key < b.key; });
  std::optional<StepKey> last;
  for (auto begin = pieces.begin(); begin != pieces.end();) {
    const auto end = std::find_if(begin, pieces.end(),
                                  [&](const Piece& piece) { return piece.key != begin->key; });
    const Pieces call(begin, end);
    const StepKey step{std::get<0>(begin->key), begin->step()};
    if (complete.contains(step) && std::ranges::any_of(call, isPhase, &Piece::part)) {
      HookTimes& part = partOf(step.second, analysis, news);
      part.calls.push_back(divide(call, clock));
      part.measuredSteps += last != step ? 1 : 0;
      last = step;
    }
    begin = end;
  }
}

bool GrowingHookTimes::wants(EventKind kind) {
  return run::has(kind, run::kHookPhase) || run::has(kind, run::kCall);
}

void GrowingHookTimes::add(int rank, const trace::SpanRow& span, std::vector<Piece>& to) {
  if (!wants(span.kind)) {
    return;
  }
  const bool sends = span.kind == EventKind::kCollective &&
                     trace::operationOf(span.detail) != trace::Operation::kRecv;
  const Part part = !run::has(span.kind, run::kHookPhase) ? Part::kInFlight
                    : span.kind == EventKind::kHookEncode ? Part::kEncode
                    : span.kind == EventKind::kHookDecode ? Part::kDecode
                                                          : Part::kCommunicate;
  to.push_back({{rank, span.step, span.bucket},
                part,
                {span.startTicks, span.startTicks + span.durationTicks},
                sends ? trace::collectiveBytes(span.value) : 0});
}

/// What is known of waiting by now, of the calls that are open.
void GrowingHookTimes::addWaiting(const RunAnalysis& analysis) {
  for (const auto& [group, collectives] : analysis.collectives.lists()) {
    for (std::size_t i = firstOfStep(collectives, next_); i < collectives.size(); ++i) {
      const CollectiveTimes& collective = collectives[i];
      for (std::size_t j = 0; collective.complete && j < collective.arrivals.size(); ++j) {
        const Arrival& arrival = collective.arrivals[j];
        pieces_.push_back({{arrival.rank, collective.step, collective.bucket},
                           Part::kWaiting,
                           {arrival.startTicks, arrival.allThereTicks}});
      }
    }
  }
}

// Note [Hook phases]
HookCall GrowingHookTimes::divide(Pieces pieces, const base::ClockCalibration& clock) {
  const auto partOf = [pieces](Part part) {
    Intervals intervals;
    for (const Piece& piece : pieces) {
      if (piece.part == part) {
        intervals.push_back(piece.interval);
      }
    }
    return unite(std::move(intervals));
  };
  HookCall call;
  std::tie(call.rank, call.step, call.bucket) = pieces.front().key;
  const Intervals encode = partOf(Part::kEncode);
  const Intervals decode = partOf(Part::kDecode);
  const Intervals communicate = partOf(Part::kCommunicate);
  const Intervals work = joined(encode, decode);
  const Intervals all = joined(work, communicate);
  call.startTicks = beginOf(all);
  call.encodeTicks = beginOf(encode);
  call.communicateTicks = beginOf(communicate);
  call.decodeTicks = beginOf(decode);

  const bool aroundStep = call.bucket == trace::kNoBucket;
  // A bucket's call is all from the first begin to the last end, with gaps that are "queued".
  // Around a step the training lies in the gaps, so that only the phases themselves count.
  const Intervals whole =
      aroundStep || all.empty() ? all : Intervals{{all.front().begin, all.back().end}};
  const Intervals rest = subtract(whole, work);
  // Not all collectives without a bucket are the hook's.
  const Intervals flying = intersect(partOf(Part::kInFlight), aroundStep ? communicate : whole);
  // Communication while the hook itself does nothing; waiting is a part of it, and the rest of it
  // is transfer. From here on each set lies within the one before, so that lengths may be
  // subtracted.
  const Intervals idle = intersect(rest, flying);
  const Intervals waiting = intersect(idle, partOf(Part::kWaiting));

  const auto set = [&](HookPhase phase, std::uint64_t ticks) {
    call.ms[index(phase)] = clock.durationNs(ticks) / 1e6;
  };
  set(HookPhase::kEncode, length(encode));
  // What was both, by hooks inside hooks, is encode.
  set(HookPhase::kDecode, length(work) - length(encode));
  set(HookPhase::kWaiting, length(waiting));
  set(HookPhase::kTransfer, length(idle) - length(waiting));
  set(HookPhase::kQueued, length(rest) - length(idle));
  call.totalMs = clock.durationNs(length(whole)) / 1e6;
  for (const Piece& piece : pieces) {
    if (piece.part == Part::kInFlight &&
        (!aroundStep || !intersect({piece.interval}, communicate).empty())) {
      call.payloadBytes += piece.payload;
    }
  }
  return call;
}

}  // namespace lockstep::analysis
