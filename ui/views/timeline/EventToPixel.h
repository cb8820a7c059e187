#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ui/model/RunModel.h"
#include "ui/views/timeline/LatencyHistogram.h"

namespace lockstep::ui {

/// How long it is from the end of an event to the frame that shows it, for spans that arrive live
/// while somebody looks: what ends while nobody can see it is late for no one. [ui-thread]
class EventToPixel {
 public:
  /// Somebody looks from now on.
  void watch();
  /// From now on as if it were new, where somebody looks.
  void watchAnew();
  void stopWatching();
  /// Forgets all of another run.
  void clear();
  /// Spans with these ends have arrived.
  void arrived(const std::vector<std::uint64_t>& endTicks);
  /// A frame has been drawn; `follows`: it moves on with the run.
  void painted(const RunModel& model, TimeRange shown, bool follows);
  void paintedNothing() { unpainted_.clear(); }

  [[nodiscard]] const LatencyHistogram& latency() const { return latency_; }

 private:
  LatencyHistogram latency_;
  std::optional<std::uint64_t> watchedSince_;  // ticks; none: not in sight
  std::vector<std::uint64_t> unpainted_;       // end ticks of spans no frame has shown yet
};

}  // namespace lockstep::ui
