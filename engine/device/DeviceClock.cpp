#include "engine/device/DeviceClock.h"

#include <cmath>
#include <utility>

namespace lockstep::device {
namespace {

constexpr std::int64_t kMsNs = 1'000'000;
constexpr std::int64_t kAnchorLastsNs = 250 * kMsNs;
// An event on an idle stream takes some microseconds; a busy device is asked again later.
constexpr std::int64_t kPatienceNs = 5 * kMsNs;
constexpr int kTries = 5;
// By how much two clocks of good machines drift apart.
constexpr double kDrift = 50e-6;
// What the rate of the host's ticks is taken over at least: the first span waits for it.
constexpr std::int64_t kRateTakesNs = 2 * kMsNs;

}  // namespace

// Note [The anchor]
//
//   host     before                     after
//              │ record ────▶ passed? ────│        host time of the anchor: the middle,
//   device     └──────▶ event ────────────┘        ± half of the distance
//
// The device does the event somewhere between the two readings, on a stream of its own where
// nothing is in its way. Later events are placed by the device's time since the anchor. CUDA gives
// that as a float of milliseconds: after a quarter of a second its steps are 15 ns, after an hour a
// quarter of a millisecond. So the anchor is made anew, each quarter of a second.
DeviceClock::DeviceClock(Device& device)
    : device_(device), stream_(device.makeStream()), first_(base::readClock()) {}

std::optional<DeviceClock::Anchor> DeviceClock::tryAnchor() const {
  Anchor anchor;
  anchor.event = device_.makeEvent(true);
  const base::ClockReading before{base::ticks(), base::monotonicNs()};
  anchor.event->record(stream_);
  while (!anchor.event->passed()) {
    if (base::monotonicNs() - before.ns > kPatienceNs) {
      return std::nullopt;
    }
  }
  const base::ClockReading after{base::ticks(), base::monotonicNs()};
  anchor.host.ticks = before.ticks + (after.ticks - before.ticks) / 2;
  anchor.host.ns = before.ns + (after.ns - before.ns) / 2;
  anchor.uncertaintyNs = static_cast<double>(after.ns - before.ns) / 2;
  return anchor;
}

// With the mutex held.
void DeviceClock::refresh() {
  const std::int64_t now = base::monotonicNs();
  if (triedNs_ != 0 && now - triedNs_ < kAnchorLastsNs) {
    return;
  }
  triedNs_ = now;
  std::optional<Anchor> best;
  for (int i = 0; i < kTries; ++i) {
    std::optional<Anchor> anchor = tryAnchor();
    if (!anchor) {
      break;  // busy: the next one would wait as long
    }
    if (!best || anchor->uncertaintyNs < best->uncertaintyNs) {
      best = std::move(anchor);
    }
  }
  // A busy device gives a wide bracket, which may be worse than the old anchor with what the clocks
  // have drifted since.
  if (best && betterThanLast(*best)) {
    anchor_ = std::move(best);
  }
}

bool DeviceClock::betterThanLast(const Anchor& anchor) const {
  if (!anchor_) {
    return true;
  }
  const auto age = static_cast<double>(anchor.host.ns - anchor_->host.ns);
  return anchor.uncertaintyNs < anchor_->uncertaintyNs + kDrift * age;
}

void DeviceClock::relate(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  const std::lock_guard lock(mutex_);
  for (refresh(); !anchor_ && std::chrono::steady_clock::now() < end; refresh()) {
    // Else refresh() would wait for a quarter of a second before it tries again.
    triedNs_ = 0;
  }
}

std::optional<DeviceClock::Span> DeviceClock::spanOf(const Event& begin, const Event& end) {
  std::lock_guard lock(mutex_);
  refresh();
  if (!anchor_) {
    return std::nullopt;
  }
  const double nsPerTick = hostNsPerTick();
  return Span{ticksOf(begin, nsPerTick), ticksOf(end, nsPerTick)};
}

double DeviceClock::hostNsPerTick() const {
  base::ClockReading now = base::readClock();
  // Busy, and only in the first two milliseconds of this clock's life.
  while (now.ns - first_.ns < kRateTakesNs) {
    now = base::readClock();
  }
  return base::calibrate(first_, now).nsPerTick;
}

std::uint64_t DeviceClock::ticksOf(const Event& event, double nsPerTick) const {
  const double ticks = event.nanosecondsSince(*anchor_->event) / nsPerTick;
  return anchor_->host.ticks + static_cast<std::uint64_t>(std::llround(ticks));
}

double DeviceClock::uncertaintyNs() const {
  std::lock_guard lock(mutex_);
  return anchor_ ? anchor_->uncertaintyNs : 0;
}

}  // namespace lockstep::device
