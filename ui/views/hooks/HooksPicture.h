#pragma once

#include <QSize>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/views/hooks/HooksContent.h"

namespace lockstep::ui {

/// Draws what the hooks view shows of a run, all ranks together, the heaviest bucket's histogram.
/// `size` is in logical pixels; a height of 0, or one that is too small, is what the content
/// needs. [ui-thread]
Picture hooksPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme);

/// The same of one or two runs.
Picture hooksPicture(const HooksContent& content, QSize size, Theme theme);

}  // namespace lockstep::ui
