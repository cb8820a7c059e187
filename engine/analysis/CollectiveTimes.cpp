#include "engine/analysis/CollectiveTimes.h"

#include <algorithm>
#include <deque>
#include <memory_resource>
#include <tuple>
#include <utility>

#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

constexpr std::size_t kWorthTwoThreads = 200;  // calls

/// `mostNs`: no two ranks' clocks are in doubt by more.
void measure(CollectiveTimes& collective, std::size_t ranks, const trace::ClockDoubt& doubt,
             double mostNs, double nsPerTick) {
  std::sort(collective.arrivals.begin(), collective.arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.rank < b.rank; });
  const auto byStart = [](const Arrival& a, const Arrival& b) {
    return a.startTicks < b.startTicks;
  };
  const auto [first, last] =
      std::minmax_element(collective.arrivals.begin(), collective.arrivals.end(), byStart);
  const std::uint64_t lastTicks = last->startTicks;
  collective.skewTicks = lastTicks - first->startTicks;
  if (collective.arrivals.size() < ranks) {
    return;
  }
  collective.complete = true;
  collective.lastRank = last->rank;
  for (Arrival& arrival : collective.arrivals) {
    // What is between two ranks is a search or four: of many ranks most came too early to ask.
    const double earlierNs = static_cast<double>(lastTicks - arrival.startTicks) * nsPerTick;
    const std::int64_t doubtNs =
        earlierNs <= mostNs ? doubt.betweenNs(arrival.rank, last->rank) : 0;
    const bool unclear = doubtNs > 0 && earlierNs <= static_cast<double>(doubtNs);
    if (unclear) {
      collective.lastRank.reset();
    }
    // A rank may be done before the last arrives, as the root of a broadcast is.
    arrival.allThereTicks = unclear ? arrival.startTicks : std::min(lastTicks, arrival.endTicks);
    arrival.allCame = true;
  }
}

}  // namespace

void PeersByStep::add(const CollectiveTimes& collective) {
  auto& ranks = steps_[collective.step];
  std::size_t at = 0;  // arrivals are by rank, too
  for (const Arrival& arrival : collective.arrivals) {
    while (at < ranks.size() && ranks[at].first < arrival.rank) {
      ++at;
    }
    if (at == ranks.size() || ranks[at].first != arrival.rank) {
      ranks.emplace(ranks.begin() + static_cast<std::ptrdiff_t>(at), arrival.rank, PeerTicks());
    }
    PeerTicks& sum = ranks[at].second;
    sum.waiting += arrival.waitingTicks();
    sum.transfer += arrival.transferTicks();
    sum.known = sum.known && collective.complete;
  }
}

const PeerTicks* PeersByStep::of(int rank, std::uint32_t step) const {
  const auto ranks = steps_.find(step);
  if (ranks == steps_.end()) {
    return nullptr;
  }
  const auto at =
      std::ranges::lower_bound(ranks->second, rank, {}, &std::pair<int, PeerTicks>::first);
  return at == ranks->second.end() || at->first != rank ? nullptr : &at->second;
}

bool CollectiveSpans::add(int rank, const SpanRow& span) {
  const bool call = span.kind == calls_;
  const bool part = calls_ == EventKind::kCollective &&
                    (span.kind == EventKind::kShaped || span.kind == EventKind::kChecked);
  if ((!call && !part) || !run::isOfAll(span.detail)) {
    return true;
  }
  parts_.push_back({span, rank, span.step});
  const std::uint8_t group = trace::groupOf(span.detail);
  const bool isNewRank = call && ranksOf_[group].insert(rank).second;
  return span.step >= next_ && !(isNewRank && forgotten_.contains(group));
}

bool CollectiveSpans::before(const Part& a, const Part& b) {
  return std::tie(a.span.startTicks, a.span.id) < std::tie(b.span.startTicks, b.span.id);
}

void CollectiveSpans::sort() {
  if (!std::is_sorted(parts_.begin(), parts_.end(), before)) {
    std::sort(parts_.begin(), parts_.end(), before);
  }
}

void CollectiveSpans::add(CollectiveSpans other) {
  std::vector<Part> all(parts_.size() + other.parts_.size());
  std::ranges::merge(parts_, other.parts_, all.begin(), before);
  parts_ = std::move(all);
  for (const auto& [group, ranks] : other.ranksOf_) {
    ranksOf_[group].insert(ranks.begin(), ranks.end());
  }
}

std::vector<CollectiveTimes> CollectiveSpans::gather(const trace::ClockDoubt& doubt,
                                                     double nsPerTick) {
  sort();
  run::CallNumbers numbers = numbers_;
  // What is sorted here goes at once when it is done with. Given back call by call, it would be
  // spread among the arrivals that stay, and what a live run asks for next would be found in the
  // holes, ever farther apart.
  std::pmr::monotonic_buffer_resource room;
  std::pmr::map<run::Call, CollectiveTimes> calls(&room);
  // A check has the numbers of its own wrapper, so it is known by what its collective is about,
  // and by their order.
  using CheckKey = std::tuple<int, Operation, std::uint32_t, std::uint16_t, std::uint64_t>;
  std::map<CheckKey, std::deque<Part*>> checks;
  run::Call latest;  // that of the part before: the next is likely of it too
  CollectiveTimes* ofLatest = nullptr;
  for (Part& part : parts_) {
    const SpanRow& span = part.span;
    const CheckKey about{part.rank, trace::operationOf(span.detail), span.step, span.bucket,
                         trace::collectiveBytes(span.value)};
    if (span.kind != calls_ && span.kind == EventKind::kChecked) {
      checks[about].push_back(&part);
      continue;
    }
    const run::Call key = numbers(*run::callOf(span.kind, span.detail, span.value));
    if (ofLatest == nullptr || key != latest) {
      latest = key;
      ofLatest = &calls[key];
    }
    CollectiveTimes& call = *ofLatest;
    const std::uint64_t endTicks = span.startTicks + span.durationTicks;
    if (span.kind == EventKind::kShaped) {  // the modelled link goes on where the backend was done
      for (Arrival& arrival : call.arrivals) {
        if (arrival.rank == part.rank) {
          arrival.endTicks = std::max(arrival.endTicks, endTicks);
        }
      }
      part.step = call.arrivals.empty() ? span.step : call.step;
      continue;
    }
    if (call.arrivals.empty()) {
      call.group = key.group;
      call.sequence = key.number;
      call.operation = trace::operationOf(span.detail);
      call.step = span.step;
      call.bucket = span.bucket;
      call.bytes = trace::collectiveBytes(span.value);
      call.arrivals.reserve(ranksOf_[key.group].size());
    }
    part.step = call.step;
    std::uint64_t arrivalTicks = span.startTicks;
    const auto check = checks.find(about);
    if (check != checks.end() && !check->second.empty() &&
        check->second.front()->span.startTicks + check->second.front()->span.durationTicks <=
            span.startTicks) {
      arrivalTicks = check->second.front()->span.startTicks;
      check->second.front()->step = call.step;
      check->second.pop_front();
    }
    call.arrivals.push_back({.rank = part.rank, .startTicks = arrivalTicks, .endTicks = endTicks});
  }
  const auto mostNs = static_cast<double>(doubt.mostNs());
  std::vector<CollectiveTimes> all;
  all.reserve(calls.size());
  for (auto& [key, call] : calls) {
    const auto forgotten = forgotten_.find(key.group);
    stale_ = stale_ || (forgotten != forgotten_.end() && key.number <= forgotten->second);
    if (!call.arrivals.empty()) {
      all.push_back(std::move(call));
    }
  }
  base::inHalves(all.size(), kWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      measure(all[i], ranksOf_.at(all[i].group).size(), doubt, mostNs, nsPerTick);
    }
  });
  return all;
}

void CollectiveSpans::forget(std::uint32_t next) {
  next_ = next;
  for (const Part& part : parts_) {
    if (part.step < next && part.span.kind == calls_) {
      const run::Call call =
          numbers_(*run::callOf(part.span.kind, part.span.detail, part.span.value));
      std::uint64_t& last = forgotten_[call.group];
      last = std::max(last, call.number);
    }
  }
  std::erase_if(parts_, [next](const Part& part) { return part.step < next; });
}

}  // namespace lockstep::analysis
