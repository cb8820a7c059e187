#pragma once

#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// Returns the stretch of time that holds all that happened to the buckets, with a little margin.
inline TimeRange wholeTime(const BucketStory& story) {
  const double length = std::max(story.range.lengthNs(), 1000.0);
  return {story.range.startNs - 0.02 * length, story.range.startNs + 1.03 * length};
}

}  // namespace lockstep::ui
