#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::trace {

// Note [Ranks together]
// A file has its spans by time, a few of each rank after a few of another. Who puts those of each
// rank in a place of their own finds each place gone from the caches: of a thousand ranks that
// takes longer than all else. So spans that are read many at a time are handed on rank by rank.

/// Puts the spans of each rank together: ranks as they come, spans of a rank in their order. One
/// thread at a time.
class RanksTogether {
 public:
  /// Learns the tracks of what was read, and orders its spans. Those whose track is not known yet
  /// stay together, too.
  void order(RunUpdate& update);

 private:
  [[nodiscard]] std::uint32_t groupOf(int rank);

  std::unordered_map<std::int32_t, std::uint32_t> groupOfTrack_;
  std::unordered_map<int, std::uint32_t> groupOfRank_;
  std::vector<SpanRow> ordered_;  // of the call before: its room is used again
};

}  // namespace lockstep::trace
