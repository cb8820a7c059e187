#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui::test {

/// Builds updates with times in ns: one tick a nanosecond from tick 1000. Rank r has track
/// 2 * r + 1 for its step thread and 2 * r + 2 for its communication.
class Feed {
 public:
  explicit Feed(int ranks = 2) {
    update.clock = base::ClockCalibration{1000, 0, 1.0};
    update.tracks.emplace();
    for (int rank = 0; rank < ranks; ++rank) {
      update.tracks->push_back({2 * rank + 1, rank, "step"});
      update.tracks->push_back({2 * rank + 2, rank, "gloo 0"});
    }
  }

  Feed& span(int track, trace::EventKind kind, std::uint64_t start, std::uint64_t end,
             std::uint32_t step = 0, std::uint64_t value = 0, std::uint16_t detail = 0) {
    trace::SpanRow row;
    row.id = nextId++;
    row.track = track;
    row.kind = kind;
    row.startTicks = 1000 + start;
    row.durationTicks = end - start;
    row.step = step;
    row.value = value;
    row.detail = detail;
    update.spans.push_back(row);
    return *this;
  }

  /// Puts rank 0 on the host that records and all others on one whose clock is that well known.
  Feed& onTwoHosts(std::int64_t uncertaintyNs) {
    update.ranks.emplace();
    for (const trace::TrackInfo& track : *update.tracks) {
      if (track.name == "step") {
        update.ranks->push_back({});
        update.ranks->back().rank = track.rank;
        update.ranks->back().host = track.rank == 0 ? 0 : 1;
      }
    }
    update.hosts = std::vector<trace::HostState>{
        {{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
        {{1, "beta", "10.0.0.2", "tsc"}, trace::ClockOffset{5'012'000, uncertaintyNs}}};
    return *this;
  }

  trace::RunUpdate take() { return std::exchange(update, {}); }

  trace::RunUpdate update;
  std::int64_t nextId = 1;
};

/// The value of a collective's event.
inline std::uint64_t sequence(std::uint32_t number, std::uint64_t bytes = 64) {
  return trace::packCollective(number, bytes);
}
inline const std::uint16_t kAllreduce = trace::packOperation(trace::Operation::kAllreduce);

}  // namespace lockstep::ui::test
