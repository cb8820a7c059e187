#pragma once

#include <QSize>
#include <memory>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws a loaded run with nothing changed: an iteration as measured and as replayed, and its
/// scaling. `size` is in logical pixels; a height of 0 takes what shows everything well. Takes
/// seconds. [ui-thread]
Picture whatIfPicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                      Theme theme);

}  // namespace lockstep::ui
