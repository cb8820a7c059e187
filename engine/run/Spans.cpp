#include "engine/run/Spans.h"

#include <utility>

#include "engine/base/Check.h"

namespace lockstep::run {

Spans::Spans(SpanPacks packs, std::vector<std::int32_t> trackIds)
    : packs_(std::move(packs)), trackIds_(std::move(trackIds)) {
  for (const auto& pack : packs_) {
    size_ += pack->spans;
  }
}

std::size_t Spans::after(std::size_t block) const {
  const std::size_t pack = block / SpanPack::kBlocks;
  const bool last =
      pack < packs_.size() && block % SpanPack::kBlocks + 1 == packs_[pack]->blocks.size();
  return last ? (pack + 1) * SpanPack::kBlocks : block + 1;
}

// A copy of this shares the block: then what is to be added goes into a new one.
SpanBlock& Spans::blockFor(Filling& filling) {
  const bool copied = filling.block.use_count() > 2;  // here and in blocks_
  if (filling.block == nullptr || filling.block->full() || copied) {
    filling.block = std::make_shared<SpanBlock>();
    blocks_.push_back(filling.block);
  }
  return *filling.block;
}

void Spans::push_back(const trace::SpanRow& span) {
  auto [at, isNew] = filling_.try_emplace(span.track);
  if (isNew) {
    LOCKSTEP_CHECK(trackIds_.size() < 0xFFFF, "a run with {} tracks", trackIds_.size());
    at->second.track = static_cast<std::uint16_t>(trackIds_.size());
    trackIds_.push_back(span.track);
  }
  blockFor(at->second).push_back(recordOf(span, at->second.track));
  ++size_;
}

}  // namespace lockstep::run
