#pragma once

#include <QSize>
#include <vector>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws the overlap view of a run: rank by bucket, and below all its iterations. `size` is in
/// logical pixels; a height of 0 takes what the ranks need; of many ranks what they have in common
/// and some of them, those `shown` or else examples. [ui-thread]
Picture overlapPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme,
                       const std::vector<int>& shown = {});

}  // namespace lockstep::ui
