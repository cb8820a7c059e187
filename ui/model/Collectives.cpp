#include <algorithm>
#include <cmath>

#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

// A rank is never this many collectives ahead of another: a collective needs everybody.
constexpr std::size_t kReach = 4096;

bool isCollective(EventKind kind) {
  return kind == EventKind::kCollective || kind == EventKind::kCollectiveQueued;
}

}  // namespace

std::optional<Span> RunModel::collectiveOn(int rank, const Span& span) const {
  const int id = laneId(rank, LaneRole::kCommunication);
  const Lane* in = lane(id);
  if (in == nullptr) {
    return std::nullopt;
  }
  const std::uint32_t sequence = trace::collectiveSequence(span.value);
  const std::uint8_t group = trace::groupOf(span.detail);
  for (int row = 0; row < static_cast<int>(in->rows.size()); ++row) {
    const SpanStore& store = in->rows[static_cast<std::size_t>(row)];
    // Outwards from the place in time: what belongs together lies close together.
    const std::size_t near = store.firstStartingAt(toTicks(span.startNs));
    for (std::size_t away = 0; away < kReach; ++away) {
      const bool ahead = near + away < store.size();
      const bool behind = away < near;
      if (!ahead && !behind) {
        break;
      }
      for (const std::size_t index : {near + away, near - 1 - away}) {
        if (index >= store.size()) {
          continue;  // off either end; below 0 wraps far above
        }
        const SpanRecord record = store.at(index);
        if (static_cast<EventKind>(record.kind) == EventKind::kCollective &&
            trace::collectiveSequence(record.value) == sequence &&
            trace::groupOf(record.detail) == group) {
          return spanOf(id, row, record);
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<Span> RunModel::sameCollective(const Span& span) const {
  std::vector<Span> found;
  if (isCollective(span.kind)) {
    for (int rank = 0; rank < rankCount(); ++rank) {
      if (auto other = collectiveOn(rank, span)) {
        found.push_back(*other);
      }
    }
  }
  return found;
}

Arrivals arrivalsOf(const RunModel& model, const Span& span) {
  Arrivals arrivals;
  arrivals.byRank = model.sameCollective(span);
  if (arrivals.byRank.empty()) {
    return arrivals;
  }
  double firstNs = arrivals.byRank.front().startNs;
  arrivals.lastArrivalNs = firstNs;
  arrivals.order = 1;
  double ownNs = span.startNs;
  int late = arrivals.byRank.front().rank();
  for (const Span& other : arrivals.byRank) {
    if (other.rank() == span.rank()) {
      ownNs = other.startNs;
    }
    firstNs = std::min(firstNs, other.startNs);
    if (other.startNs > arrivals.lastArrivalNs) {
      arrivals.lastArrivalNs = other.startNs;
      late = other.rank();
    }
  }
  for (const Span& other : arrivals.byRank) {
    arrivals.order += other.startNs < ownNs ? 1 : 0;
  }
  arrivals.waitNs = arrivals.lastArrivalNs - firstNs;
  arrivals.lateRank = arrivals.byRank.size() > 1 ? late : -1;
  return arrivals;
}

}  // namespace lockstep::ui
