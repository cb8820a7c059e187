#include "engine/run/SpanBlock.h"

#include <algorithm>
#include <utility>

namespace lockstep::run {
namespace {

constexpr std::ptrdiff_t at(std::size_t offset) {
  return static_cast<std::ptrdiff_t>(offset);
}

}  // namespace

SpanRecord recordOf(const trace::SpanRow& row, std::uint16_t track) {
  SpanRecord record;
  record.startTicks = row.startTicks;
  record.durationTicks = row.durationTicks;
  record.value = row.value;
  record.id = static_cast<std::uint32_t>(row.id);
  record.step = row.step;
  record.bucket = row.bucket;
  record.detail = row.detail;
  record.track = track;
  record.kind = static_cast<std::uint8_t>(row.kind);
  return record;
}

std::size_t SpanBlock::firstStartingAt(std::uint64_t ticks) const {
  const auto begin = startTicks_.begin();
  return static_cast<std::size_t>(std::lower_bound(begin, begin + run::at(count_), ticks) - begin);
}

std::size_t SpanBlock::firstStartingAfter(std::uint64_t ticks) const {
  const auto begin = startTicks_.begin();
  return static_cast<std::size_t>(std::upper_bound(begin, begin + run::at(count_), ticks) - begin);
}

void SpanBlock::put(std::size_t offset, const SpanRecord& span) {
  startTicks_[offset] = span.startTicks;
  value_[offset] = span.value;
  durationLow_[offset] = static_cast<std::uint32_t>(span.durationTicks);
  durationHigh_[offset] = static_cast<std::uint16_t>(span.durationTicks >> 32);
  id_[offset] = span.id;
  latestId_ = std::max(latestId_, span.id);
  step_[offset] = span.step;
  latestStep_ = std::max(latestStep_, span.step);
  sort_[offset] = indexOf({span.bucket, span.detail, span.track, span.kind});
}

void SpanBlock::insert(std::size_t offset, const SpanRecord& span) {
  // At most 2048 spans move, whatever the length of the row.
  const auto makeRoom = [&](auto& column) {
    const auto begin = column.begin();
    std::move_backward(begin + run::at(offset), begin + run::at(count_),
                       begin + run::at(count_ + 1));
  };
  makeRoom(startTicks_);
  makeRoom(value_);
  makeRoom(durationLow_);
  makeRoom(durationHigh_);
  makeRoom(id_);
  makeRoom(step_);
  makeRoom(sort_);
  put(offset, span);
  ++count_;
}

void SpanBlock::append(const SpanBlock& other, std::size_t first) {
  for (std::size_t i = first; i < other.count_; ++i) {
    push_back(other.at(i));
  }
}

void SpanBlock::cut(std::size_t first) {
  count_ = first;
  tidySorts();
}

// Of 2048 spans of one row most are of a few sorts: an index of two bytes stands for seven. And
// they come in turns (copy in, launch, copy in, launch): what followed the last sort the last time
// is tried first, so that a search is rare.
std::uint16_t SpanBlock::indexOf(const Sort& wanted) {
  // Spans take turns: the one after the last, then its like, then whatever is known.
  const std::size_t next = sorts_.empty() ? 0 : (lastSort_ + std::size_t{1}) % sorts_.size();
  std::size_t found = next;
  if (sorts_.empty() || sorts_[next] != wanted) {
    found = !sorts_.empty() && sorts_[lastSort_] == wanted
                ? lastSort_
                : static_cast<std::size_t>(std::find(sorts_.begin(), sorts_.end(), wanted) -
                                           sorts_.begin());
  }
  if (found == sorts_.size()) {
    sorts_.push_back(wanted);
  }
  lastSort_ = static_cast<std::uint16_t>(found);
  return lastSort_;
}

// Forgets sorts that only spans had which are gone.
void SpanBlock::tidySorts() {
  const std::vector<Sort> before = std::exchange(sorts_, {});
  lastSort_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    sort_[i] = indexOf(before[sort_[i]]);
  }
}

}  // namespace lockstep::run
