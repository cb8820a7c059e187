#pragma once

#include <vector>

#include "ui/canvas/Palette.h"
#include "ui/chart/Legend.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

/// What the colours of a timeline mean, of those that the run has. [ui-thread]
std::vector<LegendEntry> timelineLegend(const RunModel& model, ColourBy by, const Palette& palette);

}  // namespace lockstep::ui
