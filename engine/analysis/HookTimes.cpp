#include "engine/analysis/HookTimes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using StepKey = std::pair<int, std::uint32_t>;

constexpr std::size_t index(HookPhase phase) {
  return static_cast<std::size_t>(phase);
}

std::uint64_t beginOf(const Intervals& intervals) {
  return intervals.empty() ? 0 : intervals.front().begin;
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
  times.calls.insert(times.calls.end(), news.open.calls.begin(), news.open.calls.end());
  std::stable_sort(times.calls.begin(), times.calls.end(),
                   [](const HookCall& a, const HookCall& b) { return a.rank < b.rank; });
  times.measuredSteps += news.open.measuredSteps;
  times.incompleteSteps += news.open.incompleteSteps;
  return times;
}

HookNews GrowingHookTimes::refresh(const RunData& data, const RunAnalysis& analysis) {
  const auto goesOn = [&] {
    return goOn(data, analysis,
                [this](int rank, const trace::SpanRow& span) { return add(rank, span); });
  };
  if (!goesOn()) {
    *this = GrowingHookTimes();
    goesOn();
  }
  HookNews news;
  news.anew = next_ == 0;
  news.closed.warmUp = news.open.warmUp = analysis.warmUp;
  const auto partOf = [&](std::uint32_t step) -> HookTimes& {
    return step < analysis.closed.next ? news.closed : news.open;
  };
  std::set<StepKey> complete;
  for (const auto& [rank, steps] : analysis.stepRows.lists()) {
    for (std::size_t i = firstOfStep(steps, next_); i < steps.size(); ++i) {
      const StepTicks& step = steps[i];
      if (step.step >= analysis.warmUp.firstMeasured && step.incomplete) {
        partOf(step.step).incompleteSteps += 1;
      } else if (step.step >= analysis.warmUp.firstMeasured) {
        complete.insert({rank, step.step});
      }
    }
  }
  base::ClockCalibration clock = data.clock;
  clock.nsPerTick = basis_.nsPerTick();
  addWaiting(analysis);
  const auto isPhase = [](Part part) { return part != Part::kInFlight && part != Part::kWaiting; };
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.key < b.key; });
  std::optional<StepKey> last;
  for (auto begin = pieces_.begin(); begin != pieces_.end();) {
    const auto end = std::find_if(begin, pieces_.end(),
                                  [&](const Piece& piece) { return piece.key != begin->key; });
    const Pieces call(begin, end);
    const StepKey step{std::get<0>(begin->key), begin->step()};
    if (complete.contains(step) && std::ranges::any_of(call, isPhase, &Piece::part)) {
      HookTimes& part = partOf(step.second);
      part.calls.push_back(divide(call, clock));
      part.measuredSteps += last != step ? 1 : 0;
      last = step;
    }
    begin = end;
  }
  next_ = analysis.closed.next;
  std::erase_if(pieces_, [this](const Piece& piece) {
    return piece.step() < next_ || piece.part == Part::kWaiting;
  });
  return news;
}

bool GrowingHookTimes::add(int rank, const trace::SpanRow& span) {
  const bool isPhase = run::has(span.kind, run::kHookPhase);
  if (!isPhase && !run::has(span.kind, run::kCall)) {
    return true;
  }
  const bool sends = span.kind == EventKind::kCollective &&
                     trace::operationOf(span.detail) != trace::Operation::kRecv;
  const Part part = !isPhase                              ? Part::kInFlight
                    : span.kind == EventKind::kHookEncode ? Part::kEncode
                    : span.kind == EventKind::kHookDecode ? Part::kDecode
                                                          : Part::kCommunicate;
  pieces_.push_back({{rank, span.step, span.bucket},
                     part,
                     {span.startTicks, span.startTicks + span.durationTicks},
                     sends ? trace::collectiveBytes(span.value) : 0});
  return span.step >= next_;
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
