#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

/// The spans of a run, one rank after the other: for what is made of each rank by itself, so that
/// what it takes on the way is there of one rank at a time, and several threads have a rank each.
/// The run outlives it. [any-thread]
class SpansByRank {
 public:
  explicit SpansByRank(const RunData& data) : data_(data), rankOf_(data.rankOfTrack()) {
    std::map<int, std::vector<const run::SpanBlock*>> blocks;
    data.spans.eachBlock([&](const run::SpanBlock& block) {
      data.spans.eachTrack(block, [&](std::int32_t track) {
        if (const auto rank = rankOf_.find(track); rank != rankOf_.end()) {
          std::vector<const run::SpanBlock*>& of = blocks[rank->second];
          if (of.empty() || of.back() != &block) {
            of.push_back(&block);
          }
        }
      });
    });
    for (auto& [number, of] : blocks) {
      ranks_.push_back({number, std::move(of)});
    }
  }

  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  /// The number of a rank with spans, by its place: they ascend.
  [[nodiscard]] int rank(std::size_t place) const { return ranks_[place].number; }
  /// Calls `take` with each of a rank's spans of a kind that is `wanted`, from step `first` on, in
  /// the order of RunData::eachSpanOf.
  template <typename Wanted, typename Take>
  void eachOf(std::size_t place, const Wanted& wanted, std::uint32_t first,
              const Take& take) const {
    const OfRank& rank = ranks_[place];
    auto at = rankOf_.end();  // of the track of the span before: the next is likely of it too
    for (const run::SpanBlock* block : rank.blocks) {
      data_.spans.eachInBlock(*block, wanted, first, [&](const trace::SpanRow& span) {
        if (at == rankOf_.end() || at->first != span.track) {
          at = rankOf_.find(span.track);
        }
        if (at != rankOf_.end() && at->second == rank.number && span.step >= first) {
          take(span);
        }
      });
    }
  }

 private:
  struct OfRank {
    int number = 0;
    std::vector<const run::SpanBlock*> blocks;
  };

  const RunData& data_;
  const RankOfTrack rankOf_;
  std::vector<OfRank> ranks_;  // by number
};

}  // namespace lockstep::analysis
