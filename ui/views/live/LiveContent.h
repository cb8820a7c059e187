#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/chart/LineChart.h"
#include "ui/views/live/LiveFeed.h"

namespace lockstep::ui {

/// A figure of the run with its course.
struct LiveTile {
  QString name;
  QString value;               ///< "unknown" until it is known
  QString note;                ///< more about it, short
  QString definition;          ///< a sentence or two, with the unit
  std::vector<double> course;  ///< evenly over the window; NaN where there is none
};

enum class LiveFigure : std::uint8_t {
  kStepsPerSecond,
  kOverlap,
  kExposed,
  kLateRank,
  kThroughput,
  kLoss
};
inline constexpr int kLiveFigures = 6;

/// A bucket of the iteration that a rank is in.
struct LiveBucket {
  std::uint64_t bytes = 0;
  std::uint32_t parameters = 0;
  std::uint32_t ready = 0;  ///< gradients, those counted as unused included
  bool launched = false;
  bool reduced = false;  ///< its communication is over
  double readyNs = 0;    ///< of the last gradient, from the start of the first; 0: none yet
};

/// One rank as it stands.
struct LiveRank {
  int rank = 0;
  std::optional<std::uint32_t> step;  ///< that it is in, or ended last
  bool stepEnded = false;
  std::vector<LiveBucket> buckets;  ///< of that step; empty before it is known
  std::optional<double> loss;
  std::optional<double> stepsPerSecond;
  std::optional<double> stepMs;  ///< of the last that ended
  std::optional<double> cpuPercent;
  std::optional<double> residentBytes;
};

/// What the live view shows at one moment.
struct LiveContent {
  bool live = false;
  QString problem;   ///< why the run failed, or where it diverged; empty: neither
  TimeRange window;  ///< of the courses: the last minute of a live run, else all of it
  std::array<LiveTile, kLiveFigures> tiles;
  std::vector<RankCurve> loss;        ///< over iterations; of many ranks lowest, middle, highest
  std::vector<RankCurve> throughput;  ///< samples/s, or steps/s, over seconds since the first step
  RankBand lossBand;                  ///< of many ranks: how all of them lie
  RankBand throughputBand;
  QString throughputUnit;
  std::optional<TimeRange> iterations;  ///< the last that all ranks ended
  std::uint32_t firstIteration = 0;
  std::uint32_t lastIteration = 0;
  std::vector<LiveRank> ranks;
  std::vector<int> unlike;  ///< ranks that are unlike the rest, the first of them most

  [[nodiscard]] const LiveTile& tile(LiveFigure figure) const {
    return tiles[static_cast<std::size_t>(figure)];
  }
};

/// Looks at the run; `feed` was updated before. `nowNs` is the present on the run's time axis, for
/// a live run. Costs what the courses and curves show, not what the run holds. [ui-thread]
LiveContent liveContent(const RunModel& model, const LiveFeed& feed, double nowNs);

/// The present on a live run's time axis, as far as its clock is this host's: never before its
/// last event. [ui-thread]
double presentOf(const RunModel& model);

}  // namespace lockstep::ui
