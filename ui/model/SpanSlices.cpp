#include "ui/model/SpanSlices.h"

#include <algorithm>
#include <limits>

namespace lockstep::ui {
namespace {

// The spans of a row that touch a stretch of time: from the first number up to the second.
std::pair<std::size_t, std::size_t> touching(const RunModel& model, const run::SpanStore& row,
                                             const std::optional<TimeRange>& within) {
  if (!within) {
    return {0, row.size()};
  }
  const std::size_t from = row.firstEndingAfter(model.toTicks(within->startNs));
  // Up to and with those that start at the last tick.
  const std::size_t end = row.firstStartingAt(model.toTicks(within->endNs) + 1);
  return {from, std::max(from, end)};
}

std::uint64_t countOf(const RunModel& model, const std::optional<TimeRange>& within) {
  std::uint64_t count = 0;
  for (const Lane& lane : model.lanes()) {
    for (const run::SpanStore& row : lane.rows) {
      const auto [from, end] = touching(model, row, within);
      count += end - from;
    }
  }
  return count;
}

}  // namespace

SpanSlices::SpanSlices(const RunModel& model, const std::optional<TimeRange>& within) {
  for (const Lane& lane : model.lanes()) {
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      const auto [from, end] = touching(model, lane.rows[row], within);
      add(model, lane.id, row, from, end);
    }
  }
}

SpanSlices SpanSlices::around(const RunModel& model, TimeRange within) {
  TimeRange whole = within;
  for (const Lane& lane : model.lanes()) {
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      const auto [from, end] = touching(model, lane.rows[row], within);
      if (from < end) {
        // Spans of a row never overlap: no other of them reaches further.
        const int at = static_cast<int>(row);
        whole.startNs = std::min(whole.startNs, model.spanAt(lane.id, at, from).startNs);
        whole.endNs = std::max(whole.endNs, model.spanAt(lane.id, at, end - 1).endNs());
      }
    }
  }
  SpanSlices slices;
  for (const Lane& lane : model.lanes()) {
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      const auto [from, end] = touching(model, lane.rows[row], within);
      const auto [first, last] = touching(model, lane.rows[row], whole);
      slices.add(model, lane.id, row, std::min(first, from), from);
      slices.add(model, lane.id, row, end, std::max(last, end));
    }
  }
  return slices;
}

void SpanSlices::add(const RunModel& model, int lane, std::size_t row, std::size_t from,
                     std::size_t end) {
  // Numbers have 32 bits, since tables keep one for each row; further spans are left out.
  const std::size_t left = std::numeric_limits<std::uint32_t>::max() - count_;
  const auto count = static_cast<std::uint32_t>(std::min(end - from, left));
  if (count > 0) {
    const int at = static_cast<int>(row);
    // A span that comes late into the slice moves its last one: its id tells (stand()).
    const std::int64_t lastId = model.spanAt(lane, at, from + count - 1).id;
    slices_.push_back({lane, at, from, count_, count, lastId});
    count_ += count;
  }
}

bool SpanSlices::stand(const RunModel& model) const {
  return std::all_of(slices_.begin(), slices_.end(), [&](const Slice& slice) {
    const auto last = spanAt(model, slice.first + slice.count - 1);
    return last && last->id == slice.lastId;
  });
}

const SpanSlices::Slice& SpanSlices::sliceOf(std::uint32_t number) const {
  const auto after = std::ranges::upper_bound(slices_, number, {}, &Slice::first);
  return *(after - 1);
}

std::optional<Span> SpanSlices::spanAt(const RunModel& model, std::uint32_t number) const {
  if (number >= count_) {
    return std::nullopt;
  }
  const Slice& slice = sliceOf(number);
  const std::size_t index = slice.from + (number - slice.first);
  const Lane* lane = model.lane(slice.lane);
  const auto row = static_cast<std::size_t>(slice.row);
  if (lane == nullptr || row >= lane->rows.size() || index >= lane->rows[row].size()) {
    return std::nullopt;
  }
  return model.spanAt(slice.lane, slice.row, index);
}

std::optional<std::uint32_t> SpanSlices::numberOf(const RunModel& model, const Span& span) const {
  const auto index = model.indexOf(span);
  if (!index) {
    return std::nullopt;
  }
  for (const Slice& slice : slices_) {
    if (slice.lane == span.lane && slice.row == span.row && *index >= slice.from &&
        *index - slice.from < slice.count) {
      return slice.first + static_cast<std::uint32_t>(*index - slice.from);
    }
  }
  return std::nullopt;
}

std::uint32_t SpanSlices::copy(const RunModel& model, std::uint32_t next, std::size_t most,
                               std::vector<Span>& to) const {
  while (next < count_ && most > 0) {
    const Slice& slice = sliceOf(next);
    const std::uint32_t offset = next - slice.first;
    const auto count =
        static_cast<std::uint32_t>(std::min<std::size_t>(slice.count - offset, most));
    for (std::uint32_t i = 0; i < count; ++i) {
      to.push_back(model.spanAt(slice.lane, slice.row, slice.from + offset + i));
    }
    next += count;
    most -= count;
  }
  return next;
}

// By halving, since the count of a stretch is two binary searches a row and no span is looked at.
std::optional<TimeRange> latestPart(const RunModel& model, const std::optional<TimeRange>& within,
                                    std::uint32_t most) {
  if (countOf(model, within) <= most) {
    return std::nullopt;
  }
  const TimeRange whole = within.value_or(model.extent());
  // Bounds of the start that is looked for: from `tooEarly` on there are too many spans, from
  // `fits` on there are not.
  double tooEarly = whole.startNs;
  double fits = whole.endNs;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings && fits - tooEarly > 1; ++i) {
    const double middle = (tooEarly + fits) / 2;
    // The middle takes the place of the bound on its side.
    (countOf(model, TimeRange{middle, whole.endNs}) <= most ? fits : tooEarly) = middle;
  }
  return TimeRange{fits, whole.endNs};
}

}  // namespace lockstep::ui
