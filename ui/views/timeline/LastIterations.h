#pragma once

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// The last iterations that were recorded, three of the mean length of a few, with a little room at
/// the right; an evaluation after them left out. Needs a model with spans.
TimeRange lastIterations(const RunModel& model);

}  // namespace lockstep::ui
