#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::run {

/// A span as it is stored; times are host ticks.
struct SpanRecord {
  std::uint64_t startTicks = 0;
  std::uint64_t durationTicks = 0;  ///< at most 48 bits
  std::uint64_t value = 0;
  std::uint32_t id = 0;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint16_t track = 0;  ///< a number that whoever stores it gives the track
  std::uint8_t kind = 0;

  [[nodiscard]] std::uint64_t endTicks() const { return startTicks + durationTicks; }
};

/// A row of a run file as it is stored. `track`: SpanRecord::track.
SpanRecord recordOf(const trace::SpanRow& row, std::uint16_t track);

/// The other way round. `track`: TrackInfo::id. Here, as what follows, to be inlined: those who go
/// through a long run do so for each of its spans, again and again.
inline trace::SpanRow rowOf(const SpanRecord& record, std::int32_t track) {
  trace::SpanRow row;
  row.id = record.id;
  row.track = track;
  row.kind = static_cast<trace::EventKind>(record.kind);
  row.startTicks = record.startTicks;
  row.durationTicks = record.durationTicks;
  row.step = record.step;
  row.bucket = record.bucket;
  row.detail = record.detail;
  row.value = record.value;
  return row;
}

/// Some spans in columns: 24 bytes a span, and eight for each sort of span (kind, bucket, detail,
/// track) among them. It takes room as it fills: of many ranks most rows are short. Where a value,
/// a duration or a step needs more than its usual width, its column of upper parts is added.
/// Neither sorted nor checked: that is for whoever puts them here.
class SpanBlock {
 public:
  static constexpr std::size_t kSpans = 2048;

  SpanBlock() = default;
  SpanBlock(const SpanBlock& other) : SpanBlock() { append(other, 0); }
  SpanBlock& operator=(const SpanBlock&) = delete;

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool full() const { return count_ == kSpans; }
  /// At least the highest id among them.
  [[nodiscard]] std::uint32_t latestId() const { return latestId_; }
  /// At least the highest step among them.
  [[nodiscard]] std::uint32_t latestStep() const { return latestStep_; }
  [[nodiscard]] SpanRecord at(std::size_t offset) const {
    const Sort& sort = sorts_[sort_[offset]];
    SpanRecord span;
    span.startTicks = startTicks_[offset];
    span.durationTicks = endAt(offset) - startTicks_[offset];
    span.value = static_cast<std::uint64_t>(valueHigh_.at(offset)) << 32 | valueLow_[offset];
    span.id = id_[offset];
    span.step = static_cast<std::uint32_t>(stepHigh_.at(offset)) << 16 | stepLow_[offset];
    span.bucket = sort.bucket;
    span.detail = sort.detail;
    span.track = sort.track;
    span.kind = sort.kind;
    return span;
  }
  /// Calls `take` with the offset of each span of a kind that is `wanted`, in their order.
  template <typename Wanted, typename Take>
  void eachOf(const Wanted& wanted, const Take& take) const {
    std::bitset<kSpans> are;  // of the sorts: there are few, and each is asked once
    for (std::size_t i = 0; i < sorts_.size(); ++i) {
      are.set(i, wanted(static_cast<trace::EventKind>(sorts_[i].kind)));
    }
    const std::size_t end = are.any() ? count_ : 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (are[sort_[i]]) {
        take(i);
      }
    }
  }
  /// Calls `take` with the track of each sort of span among them; with one track several times.
  template <typename Take>
  void eachTrack(const Take& take) const {
    for (const Sort& sort : sorts_) {
      take(sort.track);
    }
  }
  [[nodiscard]] std::uint64_t startAt(std::size_t offset) const { return startTicks_[offset]; }
  [[nodiscard]] std::uint64_t endAt(std::size_t offset) const {
    return startTicks_[offset] +
           (static_cast<std::uint64_t>(durationHigh_.at(offset)) << 32 | durationLow_[offset]);
  }
  /// The first span that starts at or after `ticks`, or after it; of spans that lie by start.
  [[nodiscard]] std::size_t firstStartingAt(std::uint64_t ticks) const;
  [[nodiscard]] std::size_t firstStartingAfter(std::uint64_t ticks) const;

  /// Puts a span before the one at `offset`; there has to be room.
  void insert(std::size_t offset, const SpanRecord& span);
  void push_back(const SpanRecord& span) {
    if (count_ == capacity_) {
      grow(count_ + 1);
    }
    put(count_++, span);
  }
  /// Adds the spans of `other` from `first` on.
  void append(const SpanBlock& other, std::size_t first);
  /// Drops the spans from `first` on.
  void cut(std::size_t first);
  /// Gives back the room that it has for more, where that is much.
  void fit();

  [[nodiscard]] std::size_t memoryBytes() const {
    return sizeof(SpanBlock) + capacity_ * kSpanBytes + sorts_.capacity() * sizeof(Sort) +
           valueHigh_.memoryBytes() + durationHigh_.memoryBytes() + stepHigh_.memoryBytes();
  }

 private:
  static constexpr std::size_t kSpanBytes = 24;  // in all columns
  static constexpr std::size_t kFewest = 32;     // that room is made for

  /// The upper parts of numbers that are small in most blocks: up to the last that is not.
  template <typename T>
  class UpperColumn {
   public:
    [[nodiscard]] T at(std::size_t offset) const {
      return offset < parts_.size() ? parts_[offset] : T{0};
    }
    void put(std::size_t offset, std::uint64_t part) {
      if (part != 0 && offset >= parts_.size()) {
        parts_.resize(offset + 1);
      }
      if (offset < parts_.size()) {
        parts_[offset] = static_cast<T>(part);
      }
    }
    void makeRoom(std::size_t offset) {
      if (offset < parts_.size()) {
        parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(offset), T{0});
      }
    }
    void fit() { parts_.shrink_to_fit(); }
    [[nodiscard]] std::size_t memoryBytes() const { return parts_.capacity() * sizeof(T); }

   private:
    std::vector<T> parts_;
  };

  /// What many spans of a block have in common.
  struct Sort {
    std::uint16_t bucket = 0;
    std::uint16_t detail = 0;
    std::uint16_t track = 0;
    std::uint8_t kind = 0;
    bool operator==(const Sort&) const = default;
  };

  void grow(std::size_t atLeast);
  void moveTo(std::size_t capacity);
  void put(std::size_t offset, const SpanRecord& span);
  std::uint16_t indexOf(const Sort& wanted);
  void tidySorts();

  std::size_t count_ = 0;
  std::uint32_t latestId_ = 0;
  std::uint32_t latestStep_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> room_;  // for the columns, one after the other:
  std::uint64_t* startTicks_ = nullptr;
  std::uint32_t* valueLow_ = nullptr;
  std::uint32_t* durationLow_ = nullptr;
  std::uint32_t* id_ = nullptr;
  std::uint16_t* stepLow_ = nullptr;
  std::uint16_t* sort_ = nullptr;  // index into `sorts_`: at most one for each span
  UpperColumn<std::uint32_t> valueHigh_;
  UpperColumn<std::uint16_t> durationHigh_;
  UpperColumn<std::uint16_t> stepHigh_;
  std::vector<Sort> sorts_;
  std::uint16_t lastSort_ = 0;
};

using SpanBlocks = std::vector<std::shared_ptr<const SpanBlock>>;

/// Blocks that follow each other and change no more: what is shared costs a pointer for many.
struct SpanPack {
  static constexpr std::size_t kBlocks = 32;  ///< at most; at least one, and none is empty

  SpanBlocks blocks;
  std::size_t spans = 0;
  std::uint32_t latestId = 0;
};

}  // namespace lockstep::run
