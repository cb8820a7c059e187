#include "engine/run/Spans.h"

#include <utility>

#include "engine/base/Check.h"

namespace lockstep::run {

Spans::Spans(std::vector<SharedRow> rows, std::vector<std::int32_t> trackIds)
    : rows_(std::move(rows)), trackIds_(std::move(trackIds)) {
  for (const SharedRow& row : rows_) {
    size_ += row.size();
  }
}

std::uint16_t Spans::numberOf(std::int32_t track) {
  if (latest_ < filling_.size() && filling_[latest_] != nullptr && trackIds_[latest_] == track) {
    return latest_;
  }
  const auto [at, isNew] = numberOf_.try_emplace(track);
  if (isNew) {
    LOCKSTEP_CHECK(trackIds_.size() < 0xFFFF, "a run with {} tracks", trackIds_.size());
    at->second = static_cast<std::uint16_t>(trackIds_.size());
    trackIds_.push_back(track);
    filling_.resize(trackIds_.size());  // none of those before, whose blocks were given
  }
  return latest_ = at->second;
}

// A copy of this shares the block: then what is to be added goes into a new one.
SpanBlock& Spans::blockFor(std::uint16_t number) {
  std::shared_ptr<SpanBlock>& block = filling_[number];
  const bool copied = block.use_count() > 2;  // here and in blocks_
  if (block == nullptr || block->full() || copied) {
    block = std::make_shared<SpanBlock>();
    blocks_.push_back(block);
  }
  return *block;
}

void Spans::push_back(const trace::SpanRow& span) {
  const std::uint16_t number = numberOf(span.track);
  blockFor(number).push_back(recordOf(span, number));
  ++size_;
}

}  // namespace lockstep::run
