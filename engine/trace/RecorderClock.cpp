#include "engine/trace/RecorderClock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace lockstep::trace {
namespace {

constexpr std::int64_t kFirstClockNs = 5'000'000;
constexpr std::int64_t kLongestClockNs = 60'000'000'000;

}  // namespace

std::int64_t RecorderClock::begin() {
  first_ = base::readClock();
  nextNs_ = first_.ns + kFirstClockNs;
  return first_.ns;
}

base::ClockCalibration RecorderClock::calibrate(bool last) {
  const base::ClockReading reading = base::readClock();
  const std::int64_t apart = reading.ns - first_.ns;
  // Each ten times as far from the first reading as the one before, and so ten times as good: after
  // 5 ms, 50 ms, 0.5 s, 5 s, and from then on once a minute.
  nextNs_ = reading.ns + std::clamp(9 * apart, kFirstClockNs, kLongestClockNs);
  // A run that ends at once must not replace a good calibration by a rougher one.
  if (!last || apart >= kFirstClockNs) {
    return base::calibrate(first_, reading);
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(kFirstClockNs - apart));
  return base::calibrate(first_, base::readClock());
}

}  // namespace lockstep::trace
