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
  std::optional<StepKey> last;
  for (auto& [key, parts] : gather(analysis)) {
    const StepKey step{std::get<0>(key), std::get<1>(key)};
    if (complete.contains(step)) {
      HookTimes& part = partOf(step.second);
      part.calls.push_back(divide(key, std::move(parts), clock));
      part.measuredSteps += last != step ? 1 : 0;
      last = step;
    }
  }
  next_ = analysis.closed.next;
  std::erase_if(calls_, [this](const auto& call) { return std::get<1>(call.first) < next_; });
  std::erase_if(inFlight_, [this](const InFlight& of) { return std::get<1>(of.key) < next_; });
  return news;
}

bool GrowingHookTimes::add(int rank, const trace::SpanRow& span) {
  const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
  const CallKey key{rank, span.step, span.bucket};
  if (run::has(span.kind, run::kHookPhase)) {
    Parts& parts = calls_[key];
    (span.kind == EventKind::kHookEncode   ? parts.encode
     : span.kind == EventKind::kHookDecode ? parts.decode
                                           : parts.communicate)
        .push_back(interval);
    return span.step >= next_;
  }
  if (run::has(span.kind, run::kCall)) {
    const bool sends = span.kind == EventKind::kCollective &&
                       trace::operationOf(span.detail) != trace::Operation::kRecv;
    inFlight_.push_back(
        {key, interval, sends ? std::optional(trace::collectiveBytes(span.value)) : std::nullopt});
    return span.step >= next_;
  }
  return true;
}

/// The calls that are open, by key, with the collectives that are theirs.
std::map<GrowingHookTimes::CallKey, GrowingHookTimes::Parts> GrowingHookTimes::gather(
    const RunAnalysis& analysis) const {
  std::map<CallKey, Parts> calls = calls_;
  for (const InFlight& of : inFlight_) {
    if (const auto call = calls.find(of.key); call != calls.end()) {
      call->second.inFlight.push_back(of.interval);
      if (of.payload) {
        call->second.payloads.emplace_back(of.interval, *of.payload);
      }
    }
  }
  for (const auto& [group, collectives] : analysis.collectives.lists()) {
    for (std::size_t i = firstOfStep(collectives, next_); i < collectives.size(); ++i) {
      const CollectiveTimes& collective = collectives[i];
      for (std::size_t j = 0; collective.complete && j < collective.arrivals.size(); ++j) {
        const Arrival& arrival = collective.arrivals[j];
        const auto call = calls.find(CallKey{arrival.rank, collective.step, collective.bucket});
        if (call != calls.end()) {
          call->second.waiting.push_back({arrival.startTicks, arrival.allThereTicks});
        }
      }
    }
  }
  return calls;
}

// Note [Hook phases]
HookCall GrowingHookTimes::divide(const CallKey& key, Parts parts,
                                  const base::ClockCalibration& clock) {
  HookCall call;
  std::tie(call.rank, call.step, call.bucket) = key;
  const Intervals encode = unite(std::move(parts.encode));
  const Intervals decode = unite(std::move(parts.decode));
  const Intervals communicate = unite(std::move(parts.communicate));
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
  const Intervals flying =
      intersect(unite(std::move(parts.inFlight)), aroundStep ? communicate : whole);
  // Communication while the hook itself does nothing; waiting is a part of it, and the rest of it
  // is transfer. From here on each set lies within the one before, so that lengths may be
  // subtracted.
  const Intervals idle = intersect(rest, flying);
  const Intervals waiting = intersect(idle, unite(std::move(parts.waiting)));

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
  for (const auto& [interval, bytes] : parts.payloads) {
    if (!aroundStep || !intersect({interval}, communicate).empty()) {
      call.payloadBytes += bytes;
    }
  }
  return call;
}

}  // namespace lockstep::analysis
