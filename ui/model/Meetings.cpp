#include "ui/model/Meetings.h"

#include <algorithm>

#include "engine/cost/Sample.h"
#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

std::size_t tableIndex(std::uint8_t group, bool checks) {
  // Checks have numbers of their own, so a group has two tables.
  return group + (checks ? 256u : 0u);
}

std::uint64_t between(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

std::optional<std::size_t> MeetingTable::indexOf(std::uint64_t sequence) const {
  if (meetings_.empty() || sequence > meetings_.back().sequence) {
    return std::nullopt;
  }
  // Numbers follow each other, but for what was lost: where none was, the place is known by
  // counting back from the last.
  const std::uint64_t behind = meetings_.back().sequence - sequence;
  if (behind < meetings_.size() && meetings_[meetings_.size() - 1 - behind].sequence == sequence) {
    return meetings_.size() - 1 - behind;
  }
  const auto at = std::ranges::lower_bound(meetings_, sequence, {}, &Meeting::sequence);
  return at != meetings_.end() && at->sequence == sequence
             ? std::optional(static_cast<std::size_t>(at - meetings_.begin()))
             : std::nullopt;
}

// Numbers of a rank ascend but for few: of a run of many ranks it would cost much to look through
// all that came to a meeting for each that comes.
bool MeetingTable::mayHaveCome(int rank, std::uint64_t sequence) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < reached_.size() && sequence < reached_[at];
}

void MeetingTable::noteArrival(int rank, std::uint64_t sequence) {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= reached_.size()) {
    reached_.resize(at + 1);
  }
  reached_[at] = std::max(reached_[at], sequence + 1);
}

// Ends are nearly sorted, but a meeting that began later may end first. So the search is followed
// by a look at as many before it as can be out of order.
std::size_t MeetingTable::firstEndingAfter(std::uint64_t ticks) const {
  const auto at = std::ranges::upper_bound(meetings_, ticks, {}, &Meeting::lastEnd);
  std::size_t first = static_cast<std::size_t>(at - meetings_.begin());
  const std::size_t least = first > kReorderedAtMost ? first - kReorderedAtMost : 0;
  for (std::size_t i = first; i-- > least;) {
    if (meetings_[i].lastEnd > ticks) {
      first = i;
    }
  }
  return first;
}

// Each goes to the first row whose last meeting is over when it begins. A row is kept once the
// meeting is complete, or once it is so old that nothing more will come.
void MeetingTable::settle(std::size_t members) {
  // Rows are given anew from the first that is not settled, after what those before it take.
  std::array<std::uint64_t, kRows> ends{};
  for (std::size_t i = placed_ > kReorderedAtMost ? placed_ - kReorderedAtMost : 0; i < placed_;
       ++i) {
    ends[meetings_[i].row] = std::max(ends[meetings_[i].row], meetings_[i].lastEnd);
  }
  bool whole = true;
  for (std::size_t i = placed_; i < meetings_.size(); ++i) {
    Meeting& meeting = meetings_[i];
    auto row = std::find_if(ends.begin(), ends.end(),
                            [&](std::uint64_t end) { return end <= meeting.firstStart; });
    if (row == ends.end()) {
      // More are in flight at once than there are rows: two then cover each other, in the row that
      // is free first.
      row = std::min_element(ends.begin(), ends.end());
    }
    *row = std::max(*row, meeting.lastEnd);
    meeting.row = static_cast<std::uint8_t>(row - ends.begin());
    rows_ = std::max(rows_, static_cast<int>(meeting.row) + 1);
    whole = whole && (meeting.count >= members || meetings_.size() - i > kReorderedAtMost);
    // Those after an unsettled one are not settled either, even where they are complete: its span
    // may yet grow and push them to another row.
    if (whole) {
      placed_ = i + 1;
    }
  }
}

void Meetings::add(int rank, std::size_t row, const run::SpanRecord& span) {
  const auto kind = static_cast<trace::EventKind>(span.kind);
  const run::Call call = *run::callOf(kind, span.detail, span.value);
  MeetingTable& table = tables_[tableIndex(call.group, call.check)];
  if (table.meetings_.empty() && !call.check) {
    groups_.insert(std::lower_bound(groups_.begin(), groups_.end(), call.group), call.group);
  }
  std::uint64_t sequence = table.numbers_(call.number);
  auto index = table.indexOf(sequence);
  if (index && table.mayHaveCome(rank, sequence)) {
    for (std::uint32_t at = table.meetings_[*index].arrivals; at != kNone;
         at = arrivals_[at].next) {
      if (arrivals_[at].rank == rank) {
        // The rank counts from the start again, as a group made anew does.
        sequence += run::SequenceNumbers::kWrap;
        table.numbers_.set(sequence);
        index = table.indexOf(sequence);
        break;
      }
    }
  }
  if (!index) {
    const auto place = std::ranges::upper_bound(table.meetings_, sequence, {}, &Meeting::sequence);
    index = static_cast<std::size_t>(place - table.meetings_.begin());
    Meeting meeting;
    meeting.sequence = sequence;
    meeting.firstStart = meeting.lastStart = span.startTicks;
    meeting.arrivals = kNone;
    meeting.step = span.step;
    meeting.bucket = span.bucket;
    meeting.detail = span.detail;
    meeting.lateRank = static_cast<std::uint16_t>(rank);
    table.meetings_.insert(place, meeting);
  }
  // A meeting that was inserted before settled ones takes their rows into question.
  table.placed_ = std::min(table.placed_, *index);
  Meeting& meeting = table.meetings_[*index];
  // Arrivals of all meetings stand in one vector, as chains: long runs have millions of them, and a
  // vector of its own in each meeting would cost more than what it holds.
  arrivals_.push_back({span.startTicks, meeting.arrivals, static_cast<std::uint16_t>(rank),
                       static_cast<std::uint16_t>(row)});
  meeting.arrivals = static_cast<std::uint32_t>(arrivals_.size() - 1);
  table.noteArrival(rank, sequence);
  meeting.firstStart = std::min(meeting.firstStart, span.startTicks);
  meeting.lastEnd = std::max(meeting.lastEnd, span.endTicks());
  if (span.startTicks > meeting.lastStart) {
    meeting.lastStart = span.startTicks;
    meeting.lateRank = static_cast<std::uint16_t>(rank);
  }
  ++meeting.count;
}

void Meetings::settle(const std::array<std::vector<int>, 256>& members) {
  for (const std::uint8_t group : groups_) {
    tables_[group].settle(members[group].size());
  }
}

const MeetingTable& Meetings::table(std::uint8_t group, bool checks) const {
  return tables_[tableIndex(group, checks)];
}

const Meeting* Meetings::find(const run::Call& call, std::uint64_t startTicks) const {
  const MeetingTable& in = table(call.group, call.check);
  if (in.meetings_.empty()) {
    return nullptr;
  }
  // A number stands for one meeting in each round of 24 bits: the nearest in time is meant.
  const Meeting* best = nullptr;
  const std::uint64_t last = run::SequenceNumbers(in.numbers_)(call.number);
  for (std::uint64_t round = last;; round -= run::SequenceNumbers::kWrap) {
    if (const auto index = in.indexOf(round)) {
      const Meeting& meeting = in.meetings_[*index];
      if (best == nullptr ||
          between(meeting.firstStart, startTicks) < between(best->firstStart, startTicks)) {
        best = &meeting;
      }
    }
    if (round < in.meetings_.front().sequence + run::SequenceNumbers::kWrap) {
      return best;
    }
  }
}

std::vector<Meetings::Arrival> Meetings::arrivalsOf(const Meeting& meeting) const {
  std::vector<Arrival> found;
  for (std::uint32_t at = meeting.arrivals; at != kNone; at = arrivals_[at].next) {
    found.push_back(arrivals_[at]);
  }
  std::ranges::sort(found, {}, &Arrival::rank);
  return found;
}

Meetings::Quartiles Meetings::quartilesOf(const Meeting& meeting) const {
  std::vector<double> after;
  after.reserve(meeting.count);
  for (std::uint32_t at = meeting.arrivals; at != kNone; at = arrivals_[at].next) {
    after.push_back(static_cast<double>(arrivals_[at].startTicks - meeting.firstStart));
  }
  std::ranges::sort(after);
  return {cost::sortedQuantile(after, 0.25), cost::sortedQuantile(after, 0.5),
          cost::sortedQuantile(after, 0.75)};
}

}  // namespace lockstep::ui
