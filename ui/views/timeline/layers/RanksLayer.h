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

  /// What a header has no room for, beside a point in it.
  void drawCard(DisplayList& list, QPointF pointer) const;

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
  /// How many of them the header has room for, the first at least; that may be cut.
  [[nodiscard]] qsizetype fitting(const QStringList& facts) const;
};

}  // namespace lockstep::ui
