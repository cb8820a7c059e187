#pragma once

#include "ui/chart/LineChart.h"
#include "ui/views/live/LiveFeed.h"

namespace lockstep::ui {

// How the values of many ranks lie together, at evenly spaced places; costs as many looks as there
// are ranks times places. A place that most ranks have not come to yet is left out: what it would
// show are the few that are ahead. [ui-thread]

/// Of their losses, over iterations.
RankBand lossBand(const RunModel& model, const LiveFeed& feed);
/// Of their rates times `samples`, over seconds since the first step.
RankBand throughputBand(const LiveFeed& feed, TimeRange all, double samples);

}  // namespace lockstep::ui
