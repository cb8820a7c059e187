#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/plugin/Verification.h"
#include "engine/trace/Segment.h"
#include "engine/trace/Tracer.h"

namespace lockstep::hooks {

/// What the hook of one rank did with its buckets, by the phases that it recorded.
class TrialPhases {
 public:
  /// Throws HookError where there is no memory to record into.
  TrialPhases();

  /// For the hook, which is closed before anything is asked here.
  [[nodiscard]] trace::Tracer& tracer() { return tracer_; }

  /// Puts what it did in the steps from `first` up to `end` into a verification: of each call with
  /// a bucket, whose sizes are `bytes`, its own time before and after, and the middle of what it
  /// did around a step. Nothing where events were lost. `first` is before `end`.
  void tell(std::uint32_t first, std::uint32_t end, const std::vector<std::uint64_t>& bytes,
            plugin::Verification& verification);

 private:
  base::ClockReading begin_;
  trace::Segment segment_;
  trace::Tracer tracer_;
};

}  // namespace lockstep::hooks
