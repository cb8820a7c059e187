#pragma once

#include <optional>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// The ranks of a run of many, a line each: what its step thread does, what it waits for laid over
/// that. Of lines too thin for all ranks, one stands for several (RankLines).
class LinesLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

  /// The rank whose line or name is at a point.
  static std::optional<int> rankAt(const TimelineSight& sight, QPointF position);
  /// The span in a line at a point.
  static std::optional<Span> spanAt(const TimelineSight& sight, QPointF position);

 private:
  void drawHeader(DisplayList& list) const;
  void drawNames(DisplayList& list, std::size_t first, std::size_t last) const;
  void drawLine(DisplayList& list, std::size_t line) const;
  [[nodiscard]] QString facts() const;
};

}  // namespace lockstep::ui
