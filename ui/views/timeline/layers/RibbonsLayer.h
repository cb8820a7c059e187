#pragma once

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// Ribbons that join a collective across the ranks: the selected one, which says who came late, and
/// where that is asked for all in sight.
class RibbonsLayer : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;
  void draw(DisplayList& list) const;

 private:
  void drawAll(DisplayList& list, const Meeting* selected) const;
  void drawRibbon(DisplayList& list, const Meeting& meeting, const QColor& colour,
                  bool withText) const;
};

}  // namespace lockstep::ui
