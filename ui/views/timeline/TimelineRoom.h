#pragma once

#include <optional>
#include <set>

#include "ui/views/timeline/TimelineLayout.h"

namespace lockstep::ui {

// Note [Room for rows]
//
// Rows are as many as overlap deepest, and one iteration of a thousand may need two more than the
// rest. So rows have room only where a span of them lies in sight or in the iterations beside it:
// these, so that lanes do not jump with each iteration that is passed, nor vanish when somebody
// zooms into one.
//
// Rows are as high as usual where all ranks that are shown are in sight at once, else as dense as
// that needs. Where nothing helps, or somebody has chosen another height, counters alone are low.
// The lines of many ranks have all the room that there is as long as no rank has lanes. With lanes
// below they have a part of it, and where the densest rows do not fit, as little as they need.
// What is dense stays so until something else is to be shown: else a row that comes and goes would
// change the height of all others.

/// Returns the iterations that are in sight and some beside them, from the begin to the end of one,
/// so that it is another stretch only where these are others; none: there is no iteration.
std::optional<TimeRange> stepsAround(const RunModel& model, const TimeRange& sight);

/// Returns a layout that is no higher than `room`, 0 being none, if any density of rows from
/// `options.density` on is dense enough; that is then in `options`, with the room of the lines.
TimelineLayout fittedLayout(const RunModel& model, const std::set<int>& collapsed,
                            TimelineLayout::Options& options, double room);

}  // namespace lockstep::ui
