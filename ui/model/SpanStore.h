#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/trace/EventRecord.h"

namespace lockstep::ui {

/// A span as it is stored; times are host ticks.
struct SpanRecord {
  std::uint64_t startTicks = 0;
  std::uint64_t durationTicks = 0;  ///< at most 48 bits
  std::uint64_t value = 0;
  std::uint32_t id = 0;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint16_t track = 0;
  std::uint8_t kind = 0;

  [[nodiscard]] std::uint64_t endTicks() const { return startTicks + durationTicks; }
};

/// Spans of one row in columns, sorted by start, none overlapping another; so the ends are
/// sorted too and every question is a binary search. 32 bytes a span, and eight for each sort of
/// span (kind, bucket, detail, thread) in a block.
///
/// The columns are cut into blocks: an append never moves what stands, and a span that comes
/// late moves at most one block. [ui-thread]
class SpanStore {
 public:
  static constexpr std::size_t kBlockSpans = 2048;

  SpanStore();
  ~SpanStore();
  SpanStore(SpanStore&&) noexcept;
  SpanStore& operator=(SpanStore&&) noexcept;

  /// Inserts the span where its time belongs; returns false when it would overlap another.
  /// Spans that touch, and instants at the edge of a span, do not overlap.
  bool insert(const SpanRecord& span);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] SpanRecord at(std::size_t index) const;
  [[nodiscard]] std::uint64_t startAt(std::size_t index) const;
  [[nodiscard]] std::uint64_t endAt(std::size_t index) const;

  /// The first span that ends after `ticks`, or at it for an instant; size() if none.
  [[nodiscard]] std::size_t firstEndingAfter(std::uint64_t ticks) const;
  /// The first span that starts at or after `ticks`; size() if none.
  [[nodiscard]] std::size_t firstStartingAt(std::uint64_t ticks) const;

  [[nodiscard]] std::size_t memoryBytes() const;

 private:
  struct Block;
  struct Place {
    std::size_t block;
    std::size_t offset;
  };

  [[nodiscard]] Place place(std::size_t index) const;
  void append(const SpanRecord& span);
  void insertAt(Place where, const SpanRecord& span);
  void split(std::size_t block);

  /// What a search asks of a block, side by side in memory.
  struct Head {
    std::size_t first = 0;  ///< index of the block's first span in the row
    std::uint64_t lastStart = 0;
    std::uint64_t lastEnd = 0;
  };
  void note(std::size_t block);

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Head> heads_;  // of blocks_
  std::size_t size_ = 0;
  mutable std::size_t lastBlock_ = 0;  // where the last question led: the next lies near
};

}  // namespace lockstep::ui
