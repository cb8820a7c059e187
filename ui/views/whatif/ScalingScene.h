#pragma once

#include <QPointF>
#include <QRectF>
#include <optional>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/whatif/ScalingCurve.h"

namespace lockstep::ui {

/// One frame of the plots of a curve.
struct ScalingFrame {
  QRectF rect;
  int chosen = 0;                  ///< ranks that are marked; 0: none
  std::optional<QPointF> pointer;  ///< tells the figures of the ranks under it
};

/// Draws step time and efficiency against the number of ranks, side by side, ranks doubling along
/// the axis: curves, where they are expected in nine cases of ten, where more ranks than recorded
/// begin, and where the efficiency breaks and by what. Of a curve that is not known, why.
/// [ui-thread]
void drawScaling(DisplayList& list, const ScalingFrame& frame, const ScalingCurve& curve,
                 const Palette& palette);

}  // namespace lockstep::ui
