#pragma once

#include <QString>
#include <cstdint>
#include <vector>

namespace lockstep::ui {

/// How an iteration of a run would have gone with something changed, to be drawn under how it went;
/// times in ns since the origin of the run. Never changed once made.
struct ForecastIteration {
  struct Bucket {
    double launchedNs = 0;
    double beganNs = 0;
    double endedNs = 0;
  };

  QString change;  ///< "cap 8 MiB, 2 in flight"
  std::uint32_t step = 0;
  std::vector<Bucket> buckets;  ///< in the order of their launch
  std::size_t rows = 1;         ///< so many may be in flight at once, and stand below each other
  double startNs = 0;
  double endNs = 0;
  double leastEndNs = 0;  ///< where the end is expected in nine cases of ten
  double mostEndNs = 0;
};

}  // namespace lockstep::ui
