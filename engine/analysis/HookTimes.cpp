#include "engine/analysis/HookTimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using CallKey = std::tuple<int, std::uint32_t, std::uint16_t>;  // rank, step, bucket
using StepKey = std::pair<int, std::uint32_t>;

constexpr std::size_t index(HookPhase phase) {
  return static_cast<std::size_t>(phase);
}

/// What is known of one call before it is divided.
struct Parts {
  Intervals encode, communicate, decode;
  Intervals inFlight, waiting;
  std::vector<std::pair<Interval, std::uint64_t>> payloads;  // of each collective
};

void addCollective(Parts& parts, const trace::SpanRow& span, const Interval& interval) {
  parts.inFlight.push_back(interval);
  if (span.kind == EventKind::kCollective &&
      trace::operationOf(span.detail) != trace::Operation::kRecv) {
    parts.payloads.emplace_back(interval, trace::collectiveBytes(span.value));
  }
}

/// The calls, by key. Collectives of no call stay out: not all are the hook's.
std::map<CallKey, Parts> gatherCalls(const RunData& data, const RunAnalysis& analysis) {
  std::map<CallKey, Parts> calls;
  const auto visit = [&](run::Trait wanted, auto take) {
    data.eachSpanOf([wanted](EventKind kind) { return run::has(kind, wanted); }, 0,
                    [&](int rank, const trace::SpanRow& span) {
                      take(CallKey{rank, span.step, span.bucket}, span,
                           Interval{span.startTicks, span.startTicks + span.durationTicks});
                    });
  };
  visit(run::kHookPhase,
        [&](const CallKey& key, const trace::SpanRow& span, const Interval& interval) {
          Parts& parts = calls[key];
          (span.kind == EventKind::kHookEncode   ? parts.encode
           : span.kind == EventKind::kHookDecode ? parts.decode
                                                 : parts.communicate)
              .push_back(interval);
        });
  visit(run::kCall,
        [&](const CallKey& key, const trace::SpanRow& span, const Interval& interval) {
          if (const auto call = calls.find(key); call != calls.end()) {
            addCollective(call->second, span, interval);
          }
        });
  for (const CollectiveTimes& collective : analysis.collectives) {
    if (!collective.complete) {
      continue;
    }
    for (const Arrival& arrival : collective.arrivals) {
      const auto call = calls.find(CallKey{arrival.rank, collective.step, collective.bucket});
      if (call != calls.end()) {
        call->second.waiting.push_back({arrival.startTicks, arrival.allThereTicks});
      }
    }
  }
  return calls;
}

std::uint64_t beginOf(const Intervals& intervals) {
  return intervals.empty() ? 0 : intervals.front().begin;
}

Intervals joined(Intervals a, const Intervals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return unite(std::move(a));
}

// Note [Hook phases]
HookCall divide(const CallKey& key, Parts parts, const base::ClockCalibration& clock) {
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
  HookTimes times;
  times.warmUp = analysis.warmUp;
  std::set<StepKey> complete;
  for (const StepTimes& step : analysis.steps()) {
    if (step.step < times.warmUp.firstMeasured) {
      continue;
    }
    if (step.incomplete) {
      times.incompleteSteps += 1;
    } else {
      complete.insert({step.rank, step.step});
    }
  }
  std::set<StepKey> measured;
  for (auto& [key, parts] : gatherCalls(data, analysis)) {
    const StepKey step{std::get<0>(key), std::get<1>(key)};
    if (complete.contains(step)) {
      times.calls.push_back(divide(key, std::move(parts), data.clock));
      measured.insert(step);
    }
  }
  times.measuredSteps = static_cast<std::uint32_t>(measured.size());
  return times;
}

}  // namespace lockstep::analysis
