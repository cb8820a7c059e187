#pragma once

#include <optional>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Three iterations whose length is nearest the median, after the rebuild; the whole extent
/// when the run has fewer.
TimeRange typicalRange(const RunModel& model);

/// The iteration of the first fault after the rebuild and its neighbours; nothing without a
/// fault.
std::optional<TimeRange> faultRange(const RunModel& model);

/// What a run is opened at and drawn by: where a fault of the experiment struck, else typical
/// iterations.
TimeRange firstLook(const RunModel& model);

}  // namespace lockstep::ui
