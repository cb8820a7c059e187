#pragma once

#include <optional>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Returns the span of a lane that goes on at a time, or nearest within `slackNs`, and that fits, by
/// the first of its rows that has one. [ui-thread]
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
