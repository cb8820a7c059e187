#include <algorithm>

#include "engine/trace/Event.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
// A check has meetings of its own, since it is numbered apart and the ranks meet in it before they
// do in the collective. The marks of a collective and its modelled link have none: callOf leads
// from them to the collective.
const Meeting* RunModel::meetingOf(const Span& span) const {
  const std::optional<run::Call> call = run::callOf(span.kind, span.detail, span.value);
  return call ? meetings_.find(*call, toTicks(span.startNs)) : nullptr;
}

std::optional<int> RunModel::lastRankOf(const Meeting& meeting) const {
  if (data_.doubt.none()) {
    return meeting.lateRank;
  }
  // The doubt is 0 between ranks of one host, and of a rank with itself.
  for (const Meetings::Arrival& arrival : meetings_.arrivalsOf(meeting)) {
    const double earlierNs =
        static_cast<double>(meeting.lastStart - arrival.startTicks) * data_.clock.nsPerTick;
    const std::int64_t doubtNs = data_.doubt.betweenNs(arrival.rank, meeting.lateRank);
    if (doubtNs > 0 && earlierNs <= static_cast<double>(doubtNs)) {
      return std::nullopt;
    }
  }
  return meeting.lateRank;
}

std::vector<Span> RunModel::spansOf(const Meeting& meeting) const {
  std::vector<Span> found;
  const auto number = static_cast<std::uint32_t>(meeting.sequence & 0xFFFFFF);
  for (const Meetings::Arrival& arrival : meetings_.arrivalsOf(meeting)) {
    const int id = laneId(arrival.rank, LaneRole::kCommunication);
    // Rows may hold several spans that start at one tick (instants), so the number decides.
    const run::SpanStore* store = rowOf(id, arrival.row);
    for (std::size_t i = store == nullptr ? 0 : store->firstStartingAt(arrival.startTicks);
         store != nullptr && i < store->size() && store->startAt(i) == arrival.startTicks; ++i) {
      const run::SpanRecord record = store->at(i);
      if (trace::groupOf(record.detail) == trace::groupOf(meeting.detail) &&
          trace::collectiveSequence(record.value) == number) {
        found.push_back(spanOf(id, arrival.row, record));
        break;
      }
    }
  }
  return found;
}

std::vector<Span> RunModel::sameCollective(const Span& span) const {
  const Meeting* meeting = meetingOf(span);
  return meeting == nullptr ? std::vector<Span>{} : spansOf(*meeting);
}

Arrivals arrivalsOf(const RunModel& model, const Span& span) {
  Arrivals arrivals;
  arrivals.byRank = model.sameCollective(span);
  if (arrivals.byRank.empty()) {
    return arrivals;
  }
  const Span& last = *std::ranges::max_element(arrivals.byRank, {}, &Span::startNs);
  const int late = last.rank();
  const auto own = std::ranges::find(arrivals.byRank, span.rank(), &Span::rank);
  const double ownNs = own == arrivals.byRank.end() ? span.startNs : own->startNs;
  arrivals.order =
      1 + static_cast<int>(std::ranges::count_if(
              arrivals.byRank, [ownNs](double ns) { return ns < ownNs; }, &Span::startNs));
  arrivals.lastArrivalNs = last.startNs;
  arrivals.waitNs = last.startNs - std::ranges::min(arrivals.byRank, {}, &Span::startNs).startNs;
  auto known = arrivals.byRank.begin();
  // Both are sorted by rank.
  for (const int member : model.membersOf(trace::groupOf(span.detail))) {
    if (known != arrivals.byRank.end() && known->rank() == member) {
      ++known;
    } else {
      arrivals.missing.push_back(member);
    }
  }
  // With one missing the last that is known need not be the last: no name is given.
  if (arrivals.byRank.size() < 2 || !arrivals.missing.empty()) {
    return arrivals;
  }
  for (const Span& other : arrivals.byRank) {
    const std::int64_t doubtNs = model.clockDoubt().betweenNs(other.rank(), late);
    if (doubtNs > 0 && arrivals.lastArrivalNs - other.startNs <= static_cast<double>(doubtNs)) {
      arrivals.closeToLast.push_back(other.rank());
      arrivals.doubtNs = std::max(arrivals.doubtNs, static_cast<double>(doubtNs));
    }
  }
  if (arrivals.closeToLast.empty()) {
    arrivals.lateRank = late;
  } else {
    arrivals.closeToLast.push_back(late);
    std::sort(arrivals.closeToLast.begin(), arrivals.closeToLast.end());
  }
  return arrivals;
}

}  // namespace lockstep::ui
