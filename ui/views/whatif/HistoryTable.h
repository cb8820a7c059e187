#pragma once

#include <memory>
#include <vector>

#include "ui/table/TableRows.h"
#include "ui/views/whatif/ForecastHistory.h"

namespace lockstep::ui {

/// A forecast that was run a row, beside what was measured, the latest first.
std::shared_ptr<const TableRows> historyRows(const std::vector<PastForecast>& forecasts);

}  // namespace lockstep::ui
