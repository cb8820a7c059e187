#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Clock.h"

namespace lockstep::trace {

/// How far a host's CLOCK_MONOTONIC is ahead of the recording host's, and how well that is
/// known: the true offset lies within `offsetNs` ± `uncertaintyNs`.
struct ClockOffset {
  std::int64_t offsetNs = 0;       ///< that host's minus the recording host's
  std::int64_t uncertaintyNs = 0;  ///< half width

  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

/// Returns "+5.012 ms ± 0.031 ms"; the offset in s where it is long, as between hosts that were
/// started at other times: "-86400.250000 s ± 0.031 ms".
std::string text(const ClockOffset& offset);

/// What the ticks of a host are on the recording host's CLOCK_MONOTONIC axis.
struct HostClock {
  base::ClockCalibration calibration;  ///< ticks to the host's own CLOCK_MONOTONIC
  ClockOffset offset;

  [[nodiscard]] std::int64_t toNs(std::uint64_t ticks) const {
    return calibration.toNs(ticks) - offset.offsetNs;
  }
};

/// One exchange with another host, of four readings of CLOCK_MONOTONIC in ns: "here" is the
/// host that asks, whose axis the offset refers to.
struct PingSample {
  std::int64_t sentNs = 0;           ///< t0, here: just before the question was sent
  std::int64_t receivedThereNs = 0;  ///< t1, there: the question arrived
  std::int64_t answeredThereNs = 0;  ///< t2, there: just before the answer was sent
  std::int64_t receivedNs = 0;       ///< t3, here: the answer arrived
};

/// Estimates another host's clock offset from exchanges of messages. Holds no clock and does no
/// input or output. One thread at a time. How it goes on, with numbers:
/// Note [Intervals and anchors] in the .cpp.
///
/// No message arrives before it was sent, so that with the readings of PingSample
///     t2 - t3  <=  offset  <=  t1 - t0
/// however unlike the two ways are (Cristian, "Probabilistic clock synchronization", Distributed
/// Computing 3, 1989). The middle is NTP's offset ((t1-t0) + (t2-t3)) / 2, and half the width its
/// delay / 2: the round trip less the time there (RFC 5905, section 8). All such intervals hold the
/// truth, hence so does their intersection (Marzullo and Owicki, "Maintaining the time in a
/// distributed system", 1983), once each is widened by what the clocks may have drifted apart
/// since. So of many exchanges the quickest way there and the quickest way back count, even where
/// they belong to different exchanges; a slow one adds nothing, and harms nothing.
class ClockOffsetEstimator {
 public:
  struct Options {
    /// How fast the offset may change, in parts per million. NTP takes 15 for one clock (RFC 5905,
    /// PHI); two clocks drift apart at most twice as fast. The bounds hold as long as this does:
    /// where clocks are being slewed (adjtime(3), up to 500) it must be larger.
    double driftPpm = 30;
    /// What was known is kept this often at first, and half as often each time there are too many.
    std::int64_t anchorEveryNs = 10'000'000;
    std::size_t anchors = 64;
  };

  enum class Taken {
    kYes,
    kImpossible,   ///< the readings contradict themselves (t3 < t0, or t2 < t1): left out
    kStartedAnew,  ///< excludes all that was known: a clock was stepped, or drifts above the bound
  };

  ClockOffsetEstimator() = default;
  explicit ClockOffsetEstimator(const Options& options) : options_(options) {}

  /// Takes the next exchange, in the order of t3.
  Taken add(const PingSample& sample);

  /// The offset at `nowNs` of the clock here; none before the first exchange. Wider the longer ago
  /// the last exchange was.
  [[nodiscard]] std::optional<ClockOffset> at(std::int64_t nowNs) const;

  /// For RunFileWriter::addClock and Recorder::updateHostClock: `there` with the drift that was
  /// seen folded into its ns_per_tick, so that one row places the host's earliest events as well as
  /// its latest. The offset is that of the last exchange; the uncertainty holds
  /// at all moments since the first one (or since the estimate started anew) that were kept
  /// (Options::anchors), between which the drift is taken as steady. None before the first
  /// exchange.
  [[nodiscard]] std::optional<HostClock> clock(const base::ClockCalibration& there) const;

  /// How often all that was known was dropped (Taken::kStartedAnew).
  [[nodiscard]] int restarts() const { return restarts_; }

 private:
  /// The offset lay within [lowNs, highNs] at `atNs`.
  struct Interval {
    std::int64_t atNs = 0;
    double lowNs = 0;
    double highNs = 0;

    [[nodiscard]] double middle() const { return (lowNs + highNs) / 2; }
    [[nodiscard]] double half() const { return (highNs - lowNs) / 2; }
  };

  [[nodiscard]] Interval widened(const Interval& interval, std::int64_t atNs) const;
  void keepAnchor();
  [[nodiscard]] std::vector<Interval> anchorsBySight() const;
  [[nodiscard]] double drift(const std::vector<Interval>& anchors) const;

  Options options_;
  std::optional<Interval> known_;
  std::vector<Interval> anchors_;  // by time; the last one grows better until it is old
  std::int64_t spacingNs_ = 0;
  int restarts_ = 0;
};

}  // namespace lockstep::trace
