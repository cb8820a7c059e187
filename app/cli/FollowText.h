#pragma once

#include <string>
#include <vector>

#include "app/cli/FollowedRun.h"

namespace lockstep::cli {

/// Of a terminal, in characters.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Returns the lines that show a run at one moment: how far it is, what costs most, each rank's
/// figures, its buckets as they fill, the latest problems. No line is longer than the screen is
/// wide, and there is one less than it has rows; what has no room is counted.
std::vector<std::string> followLines(const FollowedState& state, const ScreenSize& size);

/// "[####....]": what part of a bucket's gradients is there; "[========]" while it is in flight.
std::string bucketBar(const BucketProgress& bucket, int width);

}  // namespace lockstep::cli
