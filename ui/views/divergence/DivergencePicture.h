#pragma once

#include <QSize>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws how alike the ranks of a run are, on one page: the verdict with strips and heat map on
/// top, the calls around the first mismatch below. `size` is in logical pixels; a height of 0 takes
/// what there is to show. Needs no display. [ui-thread]
Picture divergencePicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                          Theme theme);

}  // namespace lockstep::ui
