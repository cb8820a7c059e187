#pragma once

#include <optional>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// What stands beside the lanes of each rank: their names, and a header that says what became of
/// the rank and folds it.
class RanksLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

  /// The rank whose header is at a point.
  static std::optional<int> headerAt(const TimelineSight& sight, QPointF position) {
    return position.y() < timeline_metrics::kRulerHeight
               ? std::nullopt
               : sight.layout.headerAt(sight.layoutY(position));
  }

 private:
  void drawNames(DisplayList& list, const TimelineLayout::RankBox& rank) const;
  void drawHeader(DisplayList& list, const TimelineLayout::RankBox& rank, double top) const;
  [[nodiscard]] QStringList factsOf(int rank) const;
};

}  // namespace lockstep::ui
