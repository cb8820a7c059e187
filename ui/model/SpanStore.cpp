#include "ui/model/SpanStore.h"

#include <algorithm>
#include <utility>

#include "engine/base/Check.h"

namespace lockstep::ui {
namespace {

// Calls `f(column of a, column of b)` for the same column of two blocks.
template <typename BlockA, typename BlockB, typename F>
void forEachColumn(BlockA& a, BlockB& b, F f) {
  f(a.startTicks, b.startTicks);
  f(a.value, b.value);
  f(a.durationLow, b.durationLow);
  f(a.id, b.id);
  f(a.step, b.step);
  f(a.durationHigh, b.durationHigh);
  f(a.sort, b.sort);
}

}  // namespace

struct SpanStore::Block {
  template <typename T>
  using Column = std::array<T, kBlockSpans>;

  std::size_t count = 0;
  Column<std::uint64_t> startTicks;
  Column<std::uint64_t> value;
  Column<std::uint32_t> durationLow;
  Column<std::uint32_t> id;
  Column<std::uint32_t> step;
  Column<std::uint16_t> durationHigh;
  Column<std::uint16_t> sort;  // index into `sorts`: at most one for each span of a block

  /// What many spans of a block have in common.
  struct Sort {
    std::uint16_t bucket = 0;
    std::uint16_t detail = 0;
    std::uint16_t track = 0;
    std::uint8_t kind = 0;
    bool operator==(const Sort&) const = default;
  };
  std::vector<Sort> sorts;
  std::uint16_t lastSort = 0;

  std::uint16_t indexOf(const Sort& wanted) {
    // Spans take turns: the one after the last, then its like, then whatever is known.
    const std::size_t next = sorts.empty() ? 0 : (lastSort + std::size_t{1}) % sorts.size();
    std::size_t at = next;
    if (sorts.empty() || sorts[next] != wanted) {
      at = !sorts.empty() && sorts[lastSort] == wanted
               ? lastSort
               : static_cast<std::size_t>(std::find(sorts.begin(), sorts.end(), wanted) -
                                          sorts.begin());
    }
    if (at == sorts.size()) {
      sorts.push_back(wanted);
    }
    lastSort = static_cast<std::uint16_t>(at);
    return lastSort;
  }

  [[nodiscard]] std::uint64_t endAt(std::size_t offset) const {
    return startTicks[offset] + (static_cast<std::uint64_t>(durationHigh[offset]) << 32 |
                                 durationLow[offset]);
  }
  [[nodiscard]] std::uint64_t lastStart() const { return startTicks[count - 1]; }
  [[nodiscard]] std::uint64_t lastEnd() const { return endAt(count - 1); }

  void put(std::size_t offset, const SpanRecord& span) {
    startTicks[offset] = span.startTicks;
    value[offset] = span.value;
    durationLow[offset] = static_cast<std::uint32_t>(span.durationTicks);
    durationHigh[offset] = static_cast<std::uint16_t>(span.durationTicks >> 32);
    id[offset] = span.id;
    step[offset] = span.step;
    sort[offset] = indexOf({span.bucket, span.detail, span.track, span.kind});
  }

  // Forgets sorts that only spans had which went to another block.
  void tidySorts() {
    const std::vector<Sort> before = std::exchange(sorts, {});
    lastSort = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sort[i] = indexOf(before[sort[i]]);
    }
  }
};

SpanStore::SpanStore() = default;
SpanStore::~SpanStore() = default;
SpanStore::SpanStore(SpanStore&&) noexcept = default;
SpanStore& SpanStore::operator=(SpanStore&&) noexcept = default;

SpanStore::Place SpanStore::place(std::size_t index) const {
  LOCKSTEP_CHECK(index < size_, "span {} of a row of {}", index, size_);
  const auto holds = [&](std::size_t block) {
    return block < heads_.size() && index >= heads_[block].first &&
           index - heads_[block].first < blocks_[block]->count;
  };
  if (!holds(lastBlock_)) {
    const auto after =
        std::upper_bound(heads_.begin(), heads_.end(), index,
                         [](std::size_t wanted, const Head& head) { return wanted < head.first; });
    lastBlock_ = static_cast<std::size_t>(after - heads_.begin()) - 1;
  }
  return {lastBlock_, index - heads_[lastBlock_].first};
}

SpanRecord SpanStore::at(std::size_t index) const {
  const Place where = place(index);
  const Block& block = *blocks_[where.block];
  const std::size_t o = where.offset;
  SpanRecord span;
  span.startTicks = block.startTicks[o];
  span.durationTicks = block.endAt(o) - block.startTicks[o];
  span.value = block.value[o];
  span.id = block.id[o];
  span.step = block.step[o];
  const Block::Sort& sort = block.sorts[block.sort[o]];
  span.bucket = sort.bucket;
  span.detail = sort.detail;
  span.track = sort.track;
  span.kind = sort.kind;
  return span;
}

std::uint64_t SpanStore::startAt(std::size_t index) const {
  const Place where = place(index);
  return blocks_[where.block]->startTicks[where.offset];
}

std::uint64_t SpanStore::endAt(std::size_t index) const {
  const Place where = place(index);
  return blocks_[where.block]->endAt(where.offset);
}

std::size_t SpanStore::firstStartingAt(std::uint64_t ticks) const {
  const auto it =
      std::partition_point(heads_.begin(), heads_.end(),
                           [&](const Head& head) { return head.lastStart < ticks; });
  if (it == heads_.end()) {
    return size_;
  }
  const Block& block = *blocks_[static_cast<std::size_t>(it - heads_.begin())];
  const auto begin = block.startTicks.begin();
  return it->first + static_cast<std::size_t>(
                         std::lower_bound(begin, begin + static_cast<std::ptrdiff_t>(block.count),
                                          ticks) -
                         begin);
}

std::size_t SpanStore::firstEndingAfter(std::uint64_t ticks) const {
  const auto it = std::partition_point(heads_.begin(), heads_.end(),
                                       [&](const Head& head) { return head.lastEnd < ticks; });
  if (it == heads_.end()) {
    return size_;
  }
  const Block& block = *blocks_[static_cast<std::size_t>(it - heads_.begin())];
  // Starts are sorted and lie close in memory: they give the place but for one span, since none
  // overlaps another.
  const auto begin = block.startTicks.begin();
  const auto after = std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(block.count),
                                      ticks);
  std::size_t low = static_cast<std::size_t>(after - begin);
  while (low > 0 && block.endAt(low - 1) >= ticks) {
    --low;
  }
  std::size_t index = it->first + low;
  // What ends exactly here is over, unless it is an instant.
  while (index < size_ && endAt(index) == ticks && startAt(index) < ticks) {
    ++index;
  }
  return index;
}

void SpanStore::note(std::size_t block) {
  heads_[block].lastStart = blocks_[block]->lastStart();
  heads_[block].lastEnd = blocks_[block]->lastEnd();
}

bool SpanStore::insert(const SpanRecord& span) {
  if (size_ == 0) {
    append(span);
    return true;
  }
  if (span.startTicks >= heads_.back().lastEnd) {
    append(span);
    return true;
  }
  std::size_t index = firstStartingAt(span.startTicks);
  // Behind the instants of the same tick, before a span that starts there.
  while (index < size_ && startAt(index) == span.startTicks && endAt(index) == span.startTicks) {
    ++index;
  }
  if (index > 0 && endAt(index - 1) > span.startTicks) {
    return false;
  }
  if (index < size_ && span.endTicks() > startAt(index)) {
    return false;
  }
  if (index < size_) {
    insertAt(place(index), span);
  } else {
    append(span);
  }
  return true;
}

// The usual case: the span stands behind all others. A full block stays full.
void SpanStore::append(const SpanRecord& span) {
  if (blocks_.empty() || blocks_.back()->count == kBlockSpans) {
    blocks_.push_back(std::unique_ptr<Block>(new Block));  // columns are filled as spans come
    heads_.push_back({size_, 0, 0});
  }
  Block& block = *blocks_.back();
  block.put(block.count, span);
  ++block.count;
  ++size_;
  heads_.back().lastStart = span.startTicks;
  heads_.back().lastEnd = span.endTicks();
}

void SpanStore::insertAt(Place where, const SpanRecord& span) {
  if (blocks_[where.block]->count == kBlockSpans) {
    split(where.block);
    const std::size_t half = blocks_[where.block]->count;
    if (where.offset > half) {
      where = {where.block + 1, where.offset - half};
    }
  }
  Block& block = *blocks_[where.block];
  forEachColumn(block, block, [&](auto& column, auto&) {
    const auto begin = column.begin();
    std::move_backward(begin + static_cast<std::ptrdiff_t>(where.offset),
                       begin + static_cast<std::ptrdiff_t>(block.count),
                       begin + static_cast<std::ptrdiff_t>(block.count + 1));
  });
  block.put(where.offset, span);
  ++block.count;
  ++size_;
  note(where.block);
  for (std::size_t i = where.block + 1; i < heads_.size(); ++i) {
    ++heads_[i].first;
  }
}

void SpanStore::split(std::size_t index) {
  Block& full = *blocks_[index];
  const std::size_t half = full.count / 2;
  auto upper = std::unique_ptr<Block>(new Block);
  upper->count = full.count - half;
  forEachColumn(full, *upper, [&](const auto& from, auto& to) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(half), upper->count, to.begin());
  });
  upper->sorts = full.sorts;
  upper->tidySorts();
  full.count = half;
  full.tidySorts();
  const auto next = static_cast<std::ptrdiff_t>(index) + 1;
  blocks_.insert(blocks_.begin() + next, std::move(upper));
  heads_.insert(heads_.begin() + next, Head{heads_[index].first + half, 0, 0});
  note(index);
  note(index + 1);
}

std::size_t SpanStore::memoryBytes() const {
  std::size_t bytes = blocks_.size() * (sizeof(Block) + sizeof(Head));
  for (const auto& block : blocks_) {
    bytes += block->sorts.capacity() * sizeof(Block::Sort);
  }
  return bytes;
}

}  // namespace lockstep::ui
