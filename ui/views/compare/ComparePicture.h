#pragma once

#include <QSize>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws the comparison of two loaded runs: the keys that differ, the delta table, why, the
/// distribution of the step time, and a typical iteration of each, aligned at its start. `size`
/// is in logical pixels; a height of 0 takes what all of it needs. It needs no display. [ui-thread]
Picture comparePicture(const RunModel& a, const AnalysedRun& analysedA, const RunModel& b,
                       const AnalysedRun& analysedB, QSize size, Theme theme);

}  // namespace lockstep::ui
