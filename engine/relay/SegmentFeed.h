#pragma once

#include <cstdint>
#include <vector>

#include "engine/relay/Wire.h"
#include "engine/trace/ResourceSampler.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep::relay {

/// Takes what a rank of this host has recorded out of its segment, piece by piece, to be sent to
/// where the recorder is. One thread.
class SegmentFeed {
 public:
  /// The segment outlives this.
  SegmentFeed(int rank, trace::Segment& segment);

  /// Takes at most about `most` events, less those that were taken; what is left waits in the
  /// rings, where new events are dropped and counted once they are full.
  RankPart take(std::size_t& most);

  /// Returns whether events or messages wait.
  [[nodiscard]] bool hasMore() const;

  /// Adds to the next part what the process `pid` uses: counters that a recorder on another host
  /// cannot see for itself.
  void sample(std::int64_t pid);

 private:
  int rank_;
  trace::Segment& segment_;
  trace::SegmentReader reader_;
  std::uint32_t nextLane_ = 0;  // so that no lane starves another
  trace::ResourceSampler resources_;
  std::vector<trace::Event> counters_;
};

}  // namespace lockstep::relay
