#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/run/SpanBlock.h"
#include "engine/trace/RunFile.h"

namespace lockstep::run {

/// The spans of a run for one who reads all of them, in any order. Its blocks may be those of a run
/// that grows: nobody writes to a block that is read here, and a copy of this shares them. It is
/// filled on one thread; reading is [any-thread] once it is made. Rows are handed out by value: no
/// pointer to one outlives the expression.
class Spans {
 public:
  /// Where a span stands, for operator[]; not its n-th.
  using Index = std::uint32_t;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = trace::SpanRow;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = trace::SpanRow;

    Iterator(const Spans* spans, std::size_t block) : spans_(spans), block_(block) {}
    trace::SpanRow operator*() const { return spans_->row(spans_->block(block_).at(offset_)); }
    Iterator& operator++() {
      if (++offset_ == spans_->block(block_).size()) {
        block_ = spans_->after(block_);
        offset_ = 0;
      }
      return *this;
    }
    bool operator==(const Iterator&) const = default;
    [[nodiscard]] Index index() const {
      return static_cast<Index>(block_ * SpanBlock::kSpans + offset_);
    }

   private:
    const Spans* spans_;
    std::size_t block_;
    std::size_t offset_ = 0;
  };

  Spans() = default;
  /// `trackIds`: TrackInfo::id by SpanRecord::track.
  Spans(SpanPacks packs, std::vector<std::int32_t> trackIds);

  /// Adds a span. Each track fills blocks of its own: its spans are alike.
  void push_back(const trace::SpanRow& span);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] trace::SpanRow operator[](Index index) const {
    return row(block(index / SpanBlock::kSpans).at(index % SpanBlock::kSpans));
  }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, packed() + blocks_.size()}; }

  /// Calls `take` with each span whose id is above `id`. It opens no pack and no block that has
  /// none: what has come since the last look costs little, however much was there.
  template <typename Take>
  void eachAfter(std::int64_t id, const Take& take) const {
    const auto look = [&](const std::vector<std::shared_ptr<const SpanBlock>>& blocks) {
      for (const auto& block : blocks) {
        for (std::size_t i = 0; block->latestId() > id && i < block->size(); ++i) {
          if (const SpanRecord span = block->at(i); span.id > id) {
            take(row(span));
          }
        }
      }
    };
    for (const auto& pack : packs_) {
      if (pack->latestId > id) {
        look(pack->blocks);
      }
    }
    look(blocks_);
  }

  /// Calls `take` with each span of a kind that is `wanted` and with its Index, in the order of
  /// begin(). Blocks that end before step `first` are passed over; a span of an earlier step may
  /// come all the same.
  template <typename Wanted, typename Take>
  void eachOf(const Wanted& wanted, std::uint32_t first, const Take& take) const {
    const std::size_t end = packed() + blocks_.size();
    for (std::size_t number = 0; number < end; number = after(number)) {
      eachInBlock(number, wanted, first, take);
    }
  }
  /// The same of one block, by its number.
  template <typename Wanted, typename Take>
  void eachInBlock(std::size_t number, const Wanted& wanted, std::uint32_t first,
                   const Take& take) const {
    const SpanBlock& of = block(number);
    if (of.latestStep() >= first) {
      of.eachOf(wanted, [&](std::size_t offset) {
        take(row(of.at(offset)), static_cast<Index>(number * SpanBlock::kSpans + offset));
      });
    }
  }
  /// Calls `take` with the number of each block, in the order of begin(), and the track of spans in
  /// it; with one track several times, and again where there are spans of several.
  template <typename Take>
  void eachBlock(const Take& take) const {
    const std::size_t end = packed() + blocks_.size();
    for (std::size_t number = 0; number < end; number = after(number)) {
      block(number).eachTrack([&](std::uint16_t track) { take(number, trackIds_[track]); });
    }
  }

 private:
  // Blocks are counted as if all packs were whole, and those without a pack after them.
  [[nodiscard]] std::size_t packed() const { return packs_.size() * SpanPack::kBlocks; }
  [[nodiscard]] const SpanBlock& block(std::size_t number) const {
    return number < packed()
               ? *packs_[number / SpanPack::kBlocks]->blocks[number % SpanPack::kBlocks]
               : *blocks_[number - packed()];
  }
  [[nodiscard]] std::size_t after(std::size_t block) const;
  [[nodiscard]] trace::SpanRow row(const SpanRecord& record) const {
    return rowOf(record, trackIds_[record.track]);
  }
  std::uint16_t numberOf(std::int32_t track);
  SpanBlock& blockFor(std::uint16_t number);

  SpanPacks packs_;
  std::vector<std::shared_ptr<const SpanBlock>> blocks_;
  std::vector<std::int32_t> trackIds_;
  // Of what is added: a track's number, and by number the block that its next span goes into.
  std::unordered_map<std::int32_t, std::uint16_t> numberOf_;
  std::vector<std::shared_ptr<SpanBlock>> filling_;
  std::uint16_t latest_ = 0;  // of the span before: the next is likely of it too
  std::size_t size_ = 0;
};

}  // namespace lockstep::run
