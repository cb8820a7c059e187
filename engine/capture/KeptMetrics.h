#pragma once

#include "engine/trace/RunFile.h"

namespace lockstep::capture {

/// Whether a number belongs to a step: a loss, or what c10d's Logger has.
bool isOfStep(const trace::MetricRow& metric);

/// Whether it says what a run came to.
bool isOfEnd(const trace::MetricRow& metric);

/// Whether it is a counter, which has a clock of its own.
bool isCounter(const trace::MetricRow& metric);

}  // namespace lockstep::capture
