#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace lockstep::base {

/// Says what a tick is on this host.
enum class ClockSource : std::uint32_t {
  kMonotonic = 0,  ///< CLOCK_MONOTONIC, one tick a nanosecond
  kTsc = 1,        ///< the processor's time stamp counter, constant and the same on all cores
};

/// Returns the host's clock source; every process of a host gets the same answer.
/// The TSC is taken where the kernel reports constant_tsc and nonstop_tsc. [any-thread]
ClockSource clockSource();

/// "monotonic" or "tsc", as run files name a host's clock.
std::string_view name(ClockSource source);

/// Returns CLOCK_MONOTONIC in nanoseconds. [any-thread]
std::int64_t monotonicNs();

namespace detail {
extern const bool kUseTsc;
}

/// Returns the host's raw ticks, comparable among processes of one host. [any-thread]
/// Costs about 9 ns with the TSC and 21 ns without.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  if (detail::kUseTsc) [[likely]] {
    return __rdtsc();
  }
#endif
  return static_cast<std::uint64_t>(monotonicNs());
}

/// One (ticks, monotonic nanoseconds) pair, the tightest of several readings.
struct ClockReading {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};

/// Takes 16 bracketed readings and returns the one with the narrowest bracket.
ClockReading readClock();

/// Converts ticks to nanoseconds on the CLOCK_MONOTONIC axis:
/// ns = originNs + (ticks - originTicks) * nsPerTick.
struct ClockCalibration {
  std::uint64_t originTicks = 0;
  std::int64_t originNs = 0;
  double nsPerTick = 1.0;

  [[nodiscard]] std::int64_t toNs(std::uint64_t t) const {
    const auto delta = static_cast<std::int64_t>(t - originTicks);
    return originNs + static_cast<std::int64_t>(static_cast<double>(delta) * nsPerTick);
  }
  [[nodiscard]] double durationNs(std::uint64_t durationTicks) const {
    return static_cast<double>(durationTicks) * nsPerTick;
  }
};

/// Returns the calibration given by two readings taken some time apart. Readings less
/// than 1 ms apart, or a monotonic clock source, give a calibration of one tick a ns.
ClockCalibration calibrate(const ClockReading& first, const ClockReading& second);

}  // namespace lockstep::base
