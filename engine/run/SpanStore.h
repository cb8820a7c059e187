#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/run/Grown.h"
#include "engine/run/SpanBlock.h"

namespace lockstep::run {

/// The blocks of a row that has spans, as they were when it was shared. A copy costs the same
/// however many there are.
struct SharedRow {
  struct Whole {
    std::shared_ptr<const SpanPack> pack;
    std::size_t spans = 0;  ///< up to its end, of this pack and those before it, here and below
    std::uint32_t latestId = 0;
  };

  Grown<Whole> whole;                    ///< of kBlocks each, which the row has shared before
  std::shared_ptr<const SpanPack> last;  ///< after these

  [[nodiscard]] std::size_t size() const {
    return last->spans + (whole.empty() ? 0 : whole.back().spans);
  }
};

/// Spans of one row, sorted by start, none overlapping another; so the ends are sorted too and
/// every question is a binary search.
///
/// They stand in blocks: an append never moves what stands, and a span that comes late moves at
/// most one block. A block that was shared is never written again: what is to change is copied
/// first, so that other threads may read what they were given while the row grows. One thread at a
/// time. Note [A row in blocks] in the .cpp.
class SpanStore {
 public:
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

  /// The row's blocks as they are now, for other threads to read. There has to be a span.
  SharedRow share();

  /// Gives back the room that its blocks have for more: of a row that grows no more. What is shared
  /// stays as it is.
  void fit();

  [[nodiscard]] std::size_t memoryBytes() const;

 private:
  struct Place {
    std::size_t block;
    std::size_t offset;
  };

  [[nodiscard]] Place place(std::size_t index) const;
  SpanBlock& own(std::size_t block);
  void append(const SpanRecord& span);
  void insertAt(Place where, const SpanRecord& span);
  void split(std::size_t block);

  /// What a search asks of a block, side by side in memory.
  struct Head {
    std::size_t first = 0;  ///< index of the block's first span in the row
    std::uint64_t lastStart = 0;
    std::uint64_t lastEnd = 0;
    bool shared = false;  ///< others read it
  };
  void note(std::size_t block);
  std::shared_ptr<const SpanPack> pack(std::size_t first, std::size_t last);

  std::vector<std::shared_ptr<SpanBlock>> blocks_;
  std::vector<Head> heads_;        // of blocks_
  Grown<SharedRow::Whole> packs_;  // of the first of them, as they were shared
  std::size_t size_ = 0;
  mutable std::size_t lastBlock_ = 0;  // where the last question led: the next lies near
};

}  // namespace lockstep::run
