#include "engine/analysis/GrowingAnalysis.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/analysis/SpansByRank.h"
#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

constexpr double kSilentNs = 60e9;
constexpr double kLongestOpenNs = 60e9;

}  // namespace

GrowingAnalysis::GrowingAnalysis()
    : calls_(trace::EventKind::kCollective), checks_(trace::EventKind::kChecked) {}

RunAnalysis GrowingAnalysis::refresh(const RunData& data, bool more) {
  std::optional<RunAnalysis> run = goOn(data, more);
  if (!run) {
    GrowingAnalysis again;
    again.openNs_ = late_ ? std::min(2 * openNs_, kLongestOpenNs) : openNs_;
    again.restarts_ = restarts_ + 1;
    *this = std::move(again);
    run = goOn(data, more);
  }
  run->closed = {next_, restarts_, more};
  return *std::move(run);
}

/// Nothing where what is closed is not right any more.
std::optional<RunAnalysis> GrowingAnalysis::goOn(const RunData& data, bool more) {
  const bool allAtOnce = !more && !spans_.any();
  if (!allAtOnce && !take(data)) {
    return std::nullopt;
  }
  StepStretch open = allAtOnce ? gatherAll(data, clocksOf(data).nsPerTick) : gather(data);
  for (const StepTicks& step : open.steps) {
    firstStep_ = std::min(firstStep_.value_or(step.step), step.step);
    std::uint64_t& latest = ranks_[step.rank].latestEnd;
    latest = std::max(latest, step.endTicks);
  }
  WarmUp warm = warmUp(data.layouts, firstStep_.value_or(0));
  const bool otherWarmUp = closed_ && closed_->firstMeasured() != warm.firstMeasured;
  if (next_ > 0 && (otherWarmUp || calls_.stale() || checks_.stale())) {
    return std::nullopt;
  }
  if (next_ == 0) {
    closed_ = RunTotals(warm.firstMeasured);
  }
  if (more) {
    close(open, firstOpen(open, data.clock.nsPerTick));
  }
  RunTotals all = *closed_;
  all.add(std::move(open));
  return std::move(all).figures(std::move(warm), data.clock, stolenPercent(data).value_or(0) / 100);
}

/// On one host the clock's rate matters only where the kernel told a wait in ns.
GrowingAnalysis::Clocks GrowingAnalysis::clocksOf(const RunData& data) {
  return {data.doubt.none() ? waitRate(data.clock.nsPerTick) : data.clock.nsPerTick, data.doubt};
}

bool GrowingAnalysis::take(const RunData& data) {
  const Clocks clocks = clocksOf(data);
  if (spans_.any() && clocks != clocks_) {
    return false;
  }
  clocks_ = clocks;
  OfRank* rank = nullptr;  // of the span before: the next is likely of it too
  int of = 0;
  const bool goesOn = spans_.take(data, [&](int number, const trace::SpanRow& span) {
    if (rank == nullptr || number != of) {
      rank = &ranks_[of = number];
    }
    takeSpan(*rank, number, span);
  });
  for (; sums_ < data.sums.size(); ++sums_) {
    const trace::StepSumsRow& sums = data.sums[sums_];
    late_ = !ranks_[sums.rank].steps.add(sums) || late_;
  }
  return goesOn && !late_;
}

void GrowingAnalysis::takeSpan(OfRank& rank, int number, const trace::SpanRow& span) {
  const bool activity = rank.activity.add(span, clocks_.nsPerTick);
  const bool steps = rank.steps.add(span);
  const bool calls = calls_.add(number, span);
  const bool checks = checks_.add(number, span);
  late_ = late_ || !(activity && steps && calls && checks);
}

StepStretch GrowingAnalysis::gather(const RunData& data) {
  StepStretch open;
  for (auto& [number, rank] : ranks_) {
    const auto steps = rank.steps.measure(rank.activity.activity(number));
    open.steps.insert(open.steps.end(), steps.begin(), steps.end());
  }
  open.collectives = calls_.gather(data.doubt, data.clock.nsPerTick);
  open.checks = checks_.gather(data.doubt, data.clock.nsPerTick);
  return open;
}

/// The same of all spans, of which none is kept: of one rank after the other, so that what is made
/// of a rank's on the way is there of no more than two at a time.
StepStretch GrowingAnalysis::gatherAll(const RunData& data, double nsPerTick) {
  struct Calls {
    CollectiveSpans calls{trace::EventKind::kCollective};
    CollectiveSpans checks{trace::EventKind::kChecked};
  };
  const SpansByRank spans(data);
  std::map<int, std::vector<const trace::StepSumsRow*>> sumsOf;
  for (const trace::StepSumsRow& sums : data.sums) {
    sumsOf[sums.rank].push_back(&sums);
  }
  std::vector<std::vector<StepTicks>> steps(spans.size());
  std::array<Calls, 2> halves;
  const auto measure = [&](std::size_t place, Calls& calls) {
    const int number = spans.rank(place);
    OfRank rank;
    spans.eachOf(
        place, [](trace::EventKind) { return true; }, 0,
        [&](const trace::SpanRow& span) {
          rank.activity.add(span, nsPerTick);
          rank.steps.add(span);
          calls.calls.add(number, span);
          calls.checks.add(number, span);
        });
    if (const auto sums = sumsOf.find(number); sums != sumsOf.end()) {
      for (const trace::StepSumsRow* of : sums->second) {
        rank.steps.add(*of);
      }
    }
    steps[place] = rank.steps.measure(rank.activity.activity(number));
  };
  base::inHalves(spans.size(), 2, [&](std::size_t from, std::size_t to) {
    Calls& calls = halves[from == 0 ? 0 : 1];
    for (std::size_t place = from; place < to; ++place) {
      measure(place, calls);
    }
    calls.calls.sort();
    calls.checks.sort();
  });
  StepStretch all;
  for (std::vector<StepTicks>& of : steps) {
    const std::vector<StepTicks> own = std::exchange(of, {});
    all.steps.insert(all.steps.end(), own.begin(), own.end());
  }
  Calls& calls = halves.front();
  calls.calls.add(std::move(halves.back().calls));
  calls.checks.add(std::move(halves.back().checks));
  all.collectives = std::exchange(calls.calls, CollectiveSpans(trace::EventKind::kCollective))
                        .gather(data.doubt, data.clock.nsPerTick);
  all.checks = calls.checks.gather(data.doubt, data.clock.nsPerTick);
  return all;
}

/// The first step that has to stay open.
std::uint32_t GrowingAnalysis::firstOpen(const StepStretch& open, double nsPerTick) const {
  std::uint64_t latest = 0;
  for (const auto& [number, rank] : ranks_) {
    latest = std::max(latest, rank.latestEnd);
  }
  const auto before = [&](std::uint64_t ticks, double ns) {
    return ticks - std::min(ticks, static_cast<std::uint64_t>(ns / nsPerTick));
  };
  std::uint64_t until = latest;
  for (const auto& [number, rank] : ranks_) {
    if (rank.latestEnd > before(latest, kSilentNs)) {
      until = std::min(until, rank.latestEnd);
    }
  }
  until = before(until, openNs_);

  std::uint32_t next = latest == 0 ? 0 : ~std::uint32_t{0};
  for (const StepTicks& step : open.steps) {
    next = step.endTicks > until ? std::min(next, step.step) : next;
  }
  const auto look = [&](const std::vector<CollectiveTimes>& calls) {
    for (const CollectiveTimes& call : calls) {
      for (const Arrival& arrival : call.arrivals) {
        next = arrival.endTicks > until ? std::min(next, call.step) : next;
      }
    }
  };
  look(open.collectives);
  look(open.checks);
  // What is closed has to be the first of each rank and of each group.
  const auto keepOrder = [&](const auto& rows, const auto& listOf) {
    bool opened = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      opened =
          i > 0 && listOf(rows[i - 1]) == listOf(rows[i]) && (opened || rows[i - 1].step >= next);
      next = opened ? std::min(next, rows[i].step) : next;
    }
  };
  for (std::uint32_t settled = 0; settled != next;) {
    settled = next;
    keepOrder(open.steps, [](const StepTicks& step) { return step.rank; });
    keepOrder(open.collectives, [](const CollectiveTimes& call) { return call.group; });
    keepOrder(open.checks, [](const CollectiveTimes& call) { return call.group; });
  }
  return next;
}

void GrowingAnalysis::close(StepStretch& open, std::uint32_t next) {
  if (next <= next_ || open.steps.empty()) {
    return;
  }
  StepStretch done = open.takeBelow(next);
  std::map<int, std::uint64_t> ends;
  for (const StepTicks& step : done.steps) {
    ends[step.rank] = step.endTicks;
  }
  for (auto& [number, rank] : ranks_) {
    rank.activity.forget(ends[number]);
    rank.steps.forget(next, ends[number]);
  }
  calls_.forget(next);
  checks_.forget(next);
  closed_->add(std::move(done));
  closed_->settle();
  next_ = next;
}

}  // namespace lockstep::analysis
