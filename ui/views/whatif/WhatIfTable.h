#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/whatif/WhatIf.h"

namespace lockstep::ui {

/// The buckets of a forecast, one a row, in the order in which they are launched. Null: no rows.
std::shared_ptr<const TableRows> whatIfRows(std::shared_ptr<const WhatIf> told);

}  // namespace lockstep::ui
