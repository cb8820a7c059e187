#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/run/SpanStore.h"
#include "engine/trace/RunFile.h"

namespace lockstep::run {

/// The spans of a run for one who reads all of them, in any order. Its blocks may be those of a run
/// that grows: nobody writes to a block that is read here, and a copy of this shares them. It is
/// filled on one thread; reading is [any-thread] once it is made. Rows are handed out by value: no
/// pointer to one outlives the expression.
class Spans {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = trace::SpanRow;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = trace::SpanRow;

    Iterator(const Spans* spans, std::size_t row, std::size_t block)
        : spans_(spans), row_(row), block_(block) {}
    trace::SpanRow operator*() const { return spans_->row(blocks()[block_]->at(offset_)); }
    Iterator& operator++() {
      if (++offset_ == blocks()[block_]->size()) {
        offset_ = 0;
        block_ += 1;
        if (row_ < spans_->rows_.size() && block_ == blocks().size()) {
          block_ = 0;
          const bool more = pack_ < spans_->rows_[row_].whole.size();
          pack_ = more ? pack_ + 1 : 0;
          row_ += more ? 0 : 1;
        }
      }
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    [[nodiscard]] const SpanBlocks& blocks() const {
      return row_ < spans_->rows_.size() ? packOf(spans_->rows_[row_], pack_).blocks
                                         : spans_->blocks_;
    }

    const Spans* spans_;
    std::size_t row_;  // after all of them: of what was added
    std::size_t pack_ = 0;
    std::size_t block_;
    std::size_t offset_ = 0;
  };

  Spans() = default;
  /// `trackIds`: TrackInfo::id by SpanRecord::track.
  Spans(std::vector<SharedRow> rows, std::vector<std::int32_t> trackIds);

  /// Adds a span. Each track fills blocks of its own: its spans are alike.
  void push_back(const trace::SpanRow& span);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return {this, 0, 0}; }
  [[nodiscard]] Iterator end() const { return {this, rows_.size(), blocks_.size()}; }

  /// Calls `take` with each span whose id is above `id`. It opens no pack and no block that has
  /// none: what has come since the last look costs the same, however much was there.
  template <typename Take>
  void eachAfter(std::int64_t id, const Take& take) const {
    const auto look = [&](const SpanBlocks& blocks) {
      for (const auto& block : blocks) {
        for (std::size_t i = 0; block->latestId() > id && i < block->size(); ++i) {
          if (const SpanRecord span = block->at(i); span.id > id) {
            take(row(span));
          }
        }
      }
    };
    for (const SharedRow& row : rows_) {
      if (!row.whole.empty() && row.whole.back().latestId > id) {
        const auto reaches = [id](const SharedRow::Whole& whole) { return whole.latestId > id; };
        for (std::size_t at = firstWhere(row.whole, reaches); at < row.whole.size(); ++at) {
          look(row.whole[at].pack->blocks);
        }
      }
      look(row.last->blocks);
    }
    look(blocks_);
  }

  /// Calls `take` with each span of a kind that is `wanted`, in the order of begin(). Blocks that
  /// end before step `first` are passed over; a span of an earlier step may come all the same.
  template <typename Wanted, typename Take>
  void eachOf(const Wanted& wanted, std::uint32_t first, const Take& take) const {
    eachBlock([&](const SpanBlock& block) { eachInBlock(block, wanted, first, take); });
  }
  /// The same of one block.
  template <typename Wanted, typename Take>
  void eachInBlock(const SpanBlock& block, const Wanted& wanted, std::uint32_t first,
                   const Take& take) const {
    if (block.latestStep() >= first) {
      block.eachOf(wanted, [&](std::size_t offset) { take(row(block.at(offset))); });
    }
  }
  /// Calls `take` with each block, in the order of begin().
  template <typename Take>
  void eachBlock(const Take& take) const {
    const auto look = [&](const SpanBlocks& blocks) {
      for (const auto& block : blocks) {
        take(*block);
      }
    };
    for (const SharedRow& row : rows_) {
      for (std::size_t pack = 0; pack <= row.whole.size(); ++pack) {
        look(packOf(row, pack).blocks);
      }
    }
    look(blocks_);
  }
  /// Calls `take` with the track of the spans of a block; with one track several times, and with
  /// each where there are spans of several.
  template <typename Take>
  void eachTrack(const SpanBlock& block, const Take& take) const {
    block.eachTrack([&](std::uint16_t track) { take(trackIds_[track]); });
  }

 private:
  static const SpanPack& packOf(const SharedRow& row, std::size_t pack) {
    return pack < row.whole.size() ? *row.whole[pack].pack : *row.last;
  }
  [[nodiscard]] trace::SpanRow row(const SpanRecord& record) const {
    return rowOf(record, trackIds_[record.track]);
  }
  std::uint16_t numberOf(std::int32_t track);
  SpanBlock& blockFor(std::uint16_t number);

  std::vector<SharedRow> rows_;
  SpanBlocks blocks_;  // of what was added
  std::vector<std::int32_t> trackIds_;
  // Of what is added: a track's number, and by number the block that its next span goes into.
  std::unordered_map<std::int32_t, std::uint16_t> numberOf_;
  std::vector<std::shared_ptr<SpanBlock>> filling_;
  std::uint16_t latest_ = 0;  // of the span before: the next is likely of it too
  std::size_t size_ = 0;
};

}  // namespace lockstep::run
