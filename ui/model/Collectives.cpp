#include <algorithm>
#include <cmath>

#include "ui/model/LaneRows.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

// A rank is never this many collectives ahead of another: a collective needs everybody.
constexpr std::size_t kReach = 4096;
// Collectives in flight together may start in another order than they are numbered.
constexpr int kReorderedAtMost = 64;

// How far `to` is ahead of `from`; the numbers have 24 bits and wrap.
int sequenceDistance(std::uint32_t from, std::uint32_t to) {
  return static_cast<std::int32_t>((to - from) << 8) >> 8;
}

// What tells when a rank arrived: the collective itself, also of its marks and of its link; a
// check tells for itself, since the ranks meet in it first and its numbers are its own.
std::optional<EventKind> meetingOf(EventKind kind) {
  switch (kind) {
    case EventKind::kCollective:
    case EventKind::kCollectiveQueued:
    case EventKind::kShaped: return EventKind::kCollective;
    case EventKind::kChecked: return EventKind::kChecked;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Span> RunModel::collectiveOn(int rank, const Span& span) const {
  const int id = laneId(rank, LaneRole::kCommunication);
  const Lane* in = lane(id);
  const std::optional<EventKind> meeting = meetingOf(span.kind);
  if (in == nullptr || !meeting) {
    return std::nullopt;
  }
  const std::uint32_t sequence = trace::collectiveSequence(span.value);
  const std::uint8_t group = trace::groupOf(span.detail);
  // Row 0 holds marks.
  const int firstRow = meeting == EventKind::kChecked ? static_cast<int>(kOwnRow) : 1;
  for (int row = firstRow; row < static_cast<int>(in->rows.size()); ++row) {
    const SpanStore& store = in->rows[static_cast<std::size_t>(row)];
    const std::size_t near = store.firstStartingAt(toTicks(span.startNs));
    // Outwards from the place in time, forwards and back, until the numbers have gone past.
    for (const int direction : {1, -1}) {
      std::size_t index = direction > 0 ? near : near - 1;  // below 0 wraps far above size()
      for (std::size_t looked = 0; looked < kReach && index < store.size();
           ++looked, index += static_cast<std::size_t>(direction)) {
        const SpanRecord record = store.at(index);
        if (static_cast<EventKind>(record.kind) != *meeting ||
            trace::groupOf(record.detail) != group) {
          continue;
        }
        const int ahead = sequenceDistance(sequence, trace::collectiveSequence(record.value));
        if (ahead == 0) {
          return spanOf(id, row, record);
        }
        if (ahead * direction > kReorderedAtMost) {
          break;
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<Span> RunModel::sameCollective(const Span& span) const {
  std::vector<Span> found;
  if (meetingOf(span.kind)) {
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
  auto known = arrivals.byRank.begin();
  for (const int member : model.membersOf(trace::groupOf(span.detail))) {
    if (known != arrivals.byRank.end() && known->rank() == member) {
      ++known;
    } else {
      arrivals.missing.push_back(member);
    }
  }
  arrivals.lateRank = arrivals.byRank.size() > 1 && arrivals.missing.empty() ? late : -1;
  return arrivals;
}

}  // namespace lockstep::ui
