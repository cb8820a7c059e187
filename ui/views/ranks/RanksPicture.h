#pragma once

#include <QSize>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws the landscape of a run's ranks by step time, in the order of their numbers. `size` is in
/// logical pixels; a height of 0 is one for all runs, however many ranks they have. [ui-thread]
Picture ranksPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme);

}  // namespace lockstep::ui
