#include "engine/run/SpanStore.h"

#include <algorithm>
#include <utility>

#include "engine/base/Check.h"

namespace lockstep::run {

// Note [A row in blocks]
//
//   heads_    first 0         first 2048      first 4096      one beside the other: searched first
//             lastEnd 900     lastEnd 1800    lastEnd 2100
//   blocks_   2048 spans      2048 spans      300 spans       full ones stay full
//
// Spans come by time but for a few, so nearly each is an append to the last block. One that comes
// late goes into its block; a full one is split in two, and only the `first` of the heads after it
// move on.
//
// share() hands the blocks to other threads and marks the heads: a marked block is copied before it
// is written (own()). So a reader keeps a row as it was, at the price of one block.
SpanStore::Place SpanStore::place(std::size_t index) const {
  LOCKSTEP_CHECK(index < size_, "span {} of a row of {}", index, size_);
  const auto holds = [&](std::size_t block) {
    return block < heads_.size() && index >= heads_[block].first &&
           index - heads_[block].first < blocks_[block]->size();
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
  return blocks_[where.block]->at(where.offset);
}

std::uint64_t SpanStore::startAt(std::size_t index) const {
  const Place where = place(index);
  return blocks_[where.block]->startAt(where.offset);
}

std::uint64_t SpanStore::endAt(std::size_t index) const {
  const Place where = place(index);
  return blocks_[where.block]->endAt(where.offset);
}

std::size_t SpanStore::firstStartingAt(std::uint64_t ticks) const {
  const auto it = std::partition_point(heads_.begin(), heads_.end(),
                                       [&](const Head& head) { return head.lastStart < ticks; });
  return it == heads_.end()
             ? size_
             : it->first +
                   blocks_[static_cast<std::size_t>(it - heads_.begin())]->firstStartingAt(ticks);
}

std::size_t SpanStore::firstEndingAfter(std::uint64_t ticks) const {
  const auto it = std::partition_point(heads_.begin(), heads_.end(),
                                       [&](const Head& head) { return head.lastEnd < ticks; });
  if (it == heads_.end()) {
    return size_;
  }
  const SpanBlock& block = *blocks_[static_cast<std::size_t>(it - heads_.begin())];
  // Starts are sorted and lie close in memory: they give the place but for one span, since none
  // overlaps another.
  std::size_t low = block.firstStartingAfter(ticks);
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
  const std::size_t last = blocks_[block]->size() - 1;
  heads_[block].lastStart = blocks_[block]->startAt(last);
  heads_[block].lastEnd = blocks_[block]->endAt(last);
}

// A block to write to. The packs from it on, of which the row has few, are shared anew.
SpanBlock& SpanStore::own(std::size_t block) {
  if (const std::size_t before = block / SpanPack::kBlocks; before < packs_.size()) {
    Grown<SharedRow::Whole> kept;
    for (std::size_t pack = 0; pack < before; ++pack) {
      kept.push_back(packs_[pack]);
    }
    packs_ = std::move(kept);
  }
  if (heads_[block].shared) {
    blocks_[block] = std::make_shared<SpanBlock>(*blocks_[block]);
    heads_[block].shared = false;
  }
  return *blocks_[block];
}

bool SpanStore::insert(const SpanRecord& span) {
  if (size_ == 0) {
    append(span);
    return true;
  }
  // Nothing to compare with: no span ends later.
  if (span.startTicks >= heads_.back().lastEnd) {
    append(span);
    return true;
  }
  std::size_t index = firstStartingAt(span.startTicks);
  // After the instants of the same tick, before a span that starts there.
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

// The usual case: the span comes after all others. A full block stays full.
void SpanStore::append(const SpanRecord& span) {
  if (blocks_.empty() || blocks_.back()->full()) {
    blocks_.push_back(std::make_shared<SpanBlock>());
    heads_.push_back({size_, 0, 0});
  }
  own(blocks_.size() - 1).push_back(span);
  ++size_;
  heads_.back().lastStart = span.startTicks;
  heads_.back().lastEnd = span.endTicks();
}

void SpanStore::insertAt(Place where, const SpanRecord& span) {
  if (blocks_[where.block]->full()) {
    split(where.block);
    const std::size_t half = blocks_[where.block]->size();
    if (where.offset > half) {
      where = {where.block + 1, where.offset - half};
    }
  }
  own(where.block).insert(where.offset, span);
  ++size_;
  note(where.block);
  // A row of a million spans has 500 heads: cheaper to count up than to search in a tree.
  for (std::size_t i = where.block + 1; i < heads_.size(); ++i) {
    ++heads_[i].first;
  }
}

void SpanStore::split(std::size_t index) {
  SpanBlock& full = own(index);
  // In the middle, since more late spans may come to the same place.
  const std::size_t half = full.size() / 2;
  auto upper = std::make_shared<SpanBlock>();
  upper->append(full, half);
  full.cut(half);
  const auto next = static_cast<std::ptrdiff_t>(index) + 1;
  blocks_.insert(blocks_.begin() + next, std::move(upper));
  heads_.insert(heads_.begin() + next, Head{heads_[index].first + half, 0, 0});
  note(index);
  note(index + 1);
}

std::shared_ptr<const SpanPack> SpanStore::pack(std::size_t first, std::size_t last) {
  auto made = std::make_shared<SpanPack>();
  for (std::size_t i = first; i < last; ++i) {
    heads_[i].shared = true;
    made->blocks.push_back(blocks_[i]);
    made->spans += blocks_[i]->size();
    made->latestId = std::max(made->latestId, blocks_[i]->latestId());
  }
  return made;
}

SharedRow SpanStore::share() {
  LOCKSTEP_CHECK(size_ > 0, "a row without spans is shared");
  constexpr std::size_t kBlocks = SpanPack::kBlocks;
  while ((packs_.size() + 1) * kBlocks < blocks_.size()) {  // the last block goes on growing
    SharedRow::Whole next{pack(packs_.size() * kBlocks, (packs_.size() + 1) * kBlocks)};
    next.spans = next.pack->spans;
    next.latestId = next.pack->latestId;
    if (!packs_.empty()) {
      next.spans += packs_.back().spans;
      next.latestId = std::max(next.latestId, packs_.back().latestId);
    }
    packs_.push_back(std::move(next));
  }
  return {packs_, pack(packs_.size() * kBlocks, blocks_.size())};
}

void SpanStore::fit() {
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (!heads_[block].shared) {
      blocks_[block]->fit();
    }
  }
}

std::size_t SpanStore::memoryBytes() const {
  std::size_t bytes = heads_.size() * sizeof(Head);
  for (const auto& block : blocks_) {
    bytes += block->memoryBytes();
  }
  return bytes;
}

}  // namespace lockstep::run
