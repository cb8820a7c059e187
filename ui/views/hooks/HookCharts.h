#pragma once

#include <QRectF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Card.h"
#include "ui/views/hooks/HooksContent.h"

namespace lockstep::ui {

/// The colour that stands for a run where two are shown.
QColor sideColour(const Palette& palette, std::size_t side);
/// "A", "B".
QString sideName(std::size_t side);

/// Draws how the durations of a bar are distributed, of two runs over each other.
void drawHookHistogram(DisplayList& list, const QRectF& rect, const HooksContent& content,
                       const HookPick& pick, const Palette& palette);

/// The height that the curves need; 0: the hooks report no numbers of their own.
double curvesHeight(const HooksContent& content);

/// Draws each counter and each changed parameter of the hooks over the steps, a strip each, with a
/// mark where a live parameter was changed.
void drawCurves(DisplayList& list, const QRectF& rect, const HooksContent& content,
                const Palette& palette);

}  // namespace lockstep::ui
