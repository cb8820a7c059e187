#pragma once

#include <optional>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Returns a span of a lane that goes on at a time, or is the nearest to it within `slackNs`, and
/// that fits: of the first row that has such a span. [ui-thread]
template <typename Fits>
std::optional<Span> spanInLane(const RunModel& model, int laneNumber, double ns, const Fits& fits,
                               double slackNs = 0) {
  const Lane* lane = model.lane(laneNumber);
  for (int row = 0; lane != nullptr && row < static_cast<int>(lane->rows.size()); ++row) {
    const auto span = model.findSpan(laneNumber, row, ns, slackNs);
    if (span && fits(*span)) {
      return span;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::ui
