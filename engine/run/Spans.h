#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
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
    trace::SpanRow operator*() const { return spans_->at(block_, offset_); }
    Iterator& operator++() {
      if (++offset_ == spans_->blocks_[block_]->size()) {
        ++block_;
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
  /// Of blocks that hold at least one span each. `trackIds`: TrackInfo::id by SpanRecord::track.
  Spans(std::vector<std::shared_ptr<const SpanBlock>> blocks, std::vector<std::int32_t> trackIds);

  /// Adds a span. Each track fills blocks of its own: its spans are alike.
  void push_back(const trace::SpanRow& span);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] trace::SpanRow operator[](Index index) const {
    return at(index / SpanBlock::kSpans, index % SpanBlock::kSpans);
  }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, blocks_.size()}; }

 private:
  /// A track's number, and the block that its next span goes into.
  struct Filling {
    std::uint16_t track = 0;
    std::shared_ptr<SpanBlock> block;
  };

  [[nodiscard]] trace::SpanRow at(std::size_t block, std::size_t offset) const;
  SpanBlock& blockFor(Filling& filling);

  std::vector<std::shared_ptr<const SpanBlock>> blocks_;
  std::vector<std::int32_t> trackIds_;
  std::map<std::int32_t, Filling> filling_;  // by track
  std::size_t size_ = 0;
};

}  // namespace lockstep::run
