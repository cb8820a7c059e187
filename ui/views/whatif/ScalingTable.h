#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/whatif/ScalingCurve.h"

namespace lockstep::ui {

/// A number of ranks a row, the recorded one first. Null: no rows.
std::shared_ptr<const TableRows> scalingRows(std::shared_ptr<const ScalingCurve> curve);

}  // namespace lockstep::ui
