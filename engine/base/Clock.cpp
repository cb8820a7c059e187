#include "engine/base/Clock.h"

#include <ctime>
#include <fstream>
#include <string>

namespace lockstep::base {
namespace {

// constant: it ticks at one rate whatever the core's speed. nonstop: also while the core sleeps.
bool cpuHasConstantTsc() {
#if defined(__x86_64__)
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("flags", 0) == 0) {
      line += ' ';
      return line.find(" constant_tsc ") != std::string::npos &&
             line.find(" nonstop_tsc ") != std::string::npos;
    }
  }
#endif
  return false;
}

}  // namespace

namespace detail {
const bool kUseTsc = cpuHasConstantTsc();
}

ClockSource clockSource() { return detail::kUseTsc ? ClockSource::kTsc : ClockSource::kMonotonic; }

std::string_view name(ClockSource source) {
  return source == ClockSource::kTsc ? "tsc" : "monotonic";
}

std::int64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

ClockReading readClock() {
  ClockReading best;
  // A pair of readings is as good as they are close. An interrupt between them widens the bracket,
  // and one of 16 is seldom hit.
  std::uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = monotonicNs();
    const std::uint64_t after = ticks();
    if (after - before < narrowest) {
      narrowest = after - before;
      best = ClockReading{before + (after - before) / 2, ns};
    }
  }
  return best;
}

ClockCalibration calibrate(const ClockReading& first, const ClockReading& second) {
  ClockCalibration calibration{first.ticks, first.ns, 1.0};
  const std::int64_t elapsedNs = second.ns - first.ns;
  if (clockSource() == ClockSource::kTsc && elapsedNs >= 1'000'000) {
    calibration.nsPerTick =
        static_cast<double>(elapsedNs) / static_cast<double>(second.ticks - first.ticks);
  }
  return calibration;
}

}  // namespace lockstep::base
