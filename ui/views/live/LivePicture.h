#pragma once

#include <QSize>
#include <memory>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws the live view of a loaded run as it stands. `size` is in logical pixels; a height of 0
/// takes what shows everything well. [ui-thread]
Picture livePicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                    Theme theme);

}  // namespace lockstep::ui
