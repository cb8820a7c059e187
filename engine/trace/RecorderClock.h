#pragma once

#include <cstdint>

#include "engine/base/Clock.h"

namespace lockstep::trace {

/// When a recorder calibrates the clock of its host, and how. A calibration is as good as its two
/// readings are far apart, so that later ones change little and are rarer. [recorder thread]
class RecorderClock {
 public:
  /// Takes the reading that all others are compared with; returns its time, CLOCK_MONOTONIC in ns.
  std::int64_t begin();
  [[nodiscard]] bool isDue(std::int64_t nowNs, bool last) const { return nowNs >= nextNs_ || last; }
  /// `last`: no other follows, so that this one may wait until it is as good as the first.
  base::ClockCalibration calibrate(bool last);

 private:
  base::ClockReading first_;
  std::int64_t nextNs_ = 0;
};

}  // namespace lockstep::trace
