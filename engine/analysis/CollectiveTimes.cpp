#include "engine/analysis/CollectiveTimes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace lockstep::analysis {
namespace {

using trace::Operation;
using trace::SpanRow;

constexpr std::uint64_t kWrap = 1ull << 24;

/// Continues a rank's numbers beyond their 24 bits: a number far below the one before it has
/// wrapped. Dropped events only leave numbers out.
class Unwrap {
 public:
  std::uint64_t operator()(std::uint32_t sequence) {
    if (seen_ && sequence + kWrap / 2 < last_) {
      base_ += kWrap;
    }
    seen_ = true;
    last_ = sequence;
    return base_ + sequence;
  }

 private:
  bool seen_ = false;
  std::uint64_t base_ = 0;
  std::uint64_t last_ = 0;
};

void measure(CollectiveTimes& collective, const base::ClockCalibration& clock) {
  const auto byStart = [](const Arrival& a, const Arrival& b) {
    return a.startTicks < b.startTicks;
  };
  const auto [first, last] =
      std::minmax_element(collective.arrivals.begin(), collective.arrivals.end(), byStart);
  const std::uint64_t lastTicks = last->startTicks;
  collective.lastRank = last->rank;
  collective.skewMs = clock.durationNs(lastTicks - first->startTicks) / 1e6;
  for (Arrival& arrival : collective.arrivals) {
    // A rank may be done before the last arrives, as the root of a broadcast is.
    const std::uint64_t waited = std::min(lastTicks, arrival.endTicks);
    arrival.waitingMs = clock.durationNs(waited - arrival.startTicks) / 1e6;
    arrival.transferMs = clock.durationNs(arrival.endTicks - waited) / 1e6;
  }
}

}  // namespace

std::vector<CollectiveTimes> collectiveTimes(const RunData& data) {
  std::unordered_map<std::int32_t, int> rankOf;
  for (const trace::TrackInfo& track : data.tracks) {
    rankOf[track.id] = track.rank;
  }
  std::vector<const SpanRow*> spans;
  for (const SpanRow& span : data.spans) {
    const Operation operation = trace::operationOf(span.detail);
    const bool collective =
        span.kind == trace::EventKind::kCollective || span.kind == trace::EventKind::kShaped;
    if (collective && rankOf.contains(span.track) && operation != Operation::kSend &&
        operation != Operation::kRecv) {
      spans.push_back(&span);
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const SpanRow* a, const SpanRow* b) { return a->startTicks < b->startTicks; });
  std::map<std::pair<int, std::uint8_t>, Unwrap> unwraps;
  std::map<std::pair<std::uint8_t, std::uint64_t>, CollectiveTimes> collectives;
  for (const SpanRow* span : spans) {
    const int rank = rankOf[span->track];
    const std::uint8_t group = trace::groupOf(span->detail);
    const std::uint64_t sequence = unwraps[{rank, group}](trace::collectiveSequence(span->value));
    CollectiveTimes& collective = collectives[{group, sequence}];
    const std::uint64_t endTicks = span->startTicks + span->durationTicks;
    if (span->kind == trace::EventKind::kShaped) {
      // The modelled link goes on where the backend was done.
      for (Arrival& arrival : collective.arrivals) {
        arrival.endTicks =
            arrival.rank == rank ? std::max(arrival.endTicks, endTicks) : arrival.endTicks;
      }
      continue;
    }
    if (collective.arrivals.empty()) {
      collective.group = group;
      collective.sequence = sequence;
      collective.operation = trace::operationOf(span->detail);
      collective.step = span->step;
      collective.bucket = span->bucket;
      collective.bytes = trace::collectiveBytes(span->value);
    }
    collective.arrivals.push_back(Arrival{rank, span->startTicks, endTicks, 0, 0});
  }
  std::vector<CollectiveTimes> all;
  for (auto& [key, collective] : collectives) {
    if (collective.arrivals.size() >= 2) {
      std::sort(collective.arrivals.begin(), collective.arrivals.end(),
                [](const Arrival& a, const Arrival& b) { return a.rank < b.rank; });
      measure(collective, data.clock);
      all.push_back(std::move(collective));
    }
  }
  return all;
}

}  // namespace lockstep::analysis
