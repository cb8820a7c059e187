#include "engine/run/SpanBlock.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lockstep::run {

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
  return static_cast<std::size_t>(std::lower_bound(startTicks_, startTicks_ + count_, ticks) -
                                  startTicks_);
}

std::size_t SpanBlock::firstStartingAfter(std::uint64_t ticks) const {
  return static_cast<std::size_t>(std::upper_bound(startTicks_, startTicks_ + count_, ticks) -
                                  startTicks_);
}

/// Makes room for twice as many, and for so many at least.
void SpanBlock::grow(std::size_t atLeast) {
  std::size_t capacity = std::max(kFewest, capacity_);
  while (capacity < atLeast) {
    capacity *= 2;
  }
  moveTo(std::max(atLeast, std::min(capacity, kSpans)));
}

void SpanBlock::fit() {
  constexpr std::size_t kWorthAMove = 8;  // a part of them
  if (capacity_ - count_ > count_ / kWorthAMove) {
    moveTo(count_);
    valueHigh_.fit();
    durationHigh_.fit();
    stepHigh_.fit();
  }
}

/// Moves the spans to room for so many.
void SpanBlock::moveTo(std::size_t capacity) {
  auto room = std::make_unique_for_overwrite<std::byte[]>(capacity * kSpanBytes);
  std::byte* next = room.get();
  // The widest first, so that each is aligned.
  const auto move = [&]<typename T>(T*& column) {
    auto* const to = reinterpret_cast<T*>(next);
    std::copy_n(column, count_, to);
    column = to;
    next += capacity * sizeof(T);
  };
  move(startTicks_);
  move(valueLow_);
  move(durationLow_);
  move(id_);
  move(stepLow_);
  move(sort_);
  room_ = std::move(room);
  capacity_ = capacity;
}

void SpanBlock::put(std::size_t offset, const SpanRecord& span) {
  startTicks_[offset] = span.startTicks;
  valueLow_[offset] = static_cast<std::uint32_t>(span.value);
  valueHigh_.put(offset, span.value >> 32);
  durationLow_[offset] = static_cast<std::uint32_t>(span.durationTicks);
  durationHigh_.put(offset, span.durationTicks >> 32);
  id_[offset] = span.id;
  latestId_ = std::max(latestId_, span.id);
  stepLow_[offset] = static_cast<std::uint16_t>(span.step);
  stepHigh_.put(offset, span.step >> 16);
  latestStep_ = std::max(latestStep_, span.step);
  sort_[offset] = indexOf({span.bucket, span.detail, span.track, span.kind});
}

void SpanBlock::insert(std::size_t offset, const SpanRecord& span) {
  // At most 2048 spans move, whatever the length of the row.
  if (count_ == capacity_) {
    grow(count_ + 1);
  }
  const auto makeRoom = [&](auto* column) {
    std::move_backward(column + offset, column + count_, column + count_ + 1);
  };
  makeRoom(startTicks_);
  makeRoom(valueLow_);
  makeRoom(durationLow_);
  makeRoom(id_);
  makeRoom(stepLow_);
  makeRoom(sort_);
  valueHigh_.makeRoom(offset);
  durationHigh_.makeRoom(offset);
  stepHigh_.makeRoom(offset);
  put(offset, span);
  ++count_;
}

void SpanBlock::append(const SpanBlock& other, std::size_t first) {
  if (const std::size_t count = count_ + other.count_ - first; count > capacity_) {
    grow(count);
  }
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
  const std::size_t after = lastSort_ + std::size_t{1};
  const std::size_t next = after < sorts_.size() ? after : 0;
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
