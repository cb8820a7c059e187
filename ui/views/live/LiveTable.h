#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/live/LiveContent.h"

namespace lockstep::ui {

/// The live view as a table: a row a rank. Null: no rows.
std::shared_ptr<const TableRows> liveRows(std::shared_ptr<const LiveContent> content,
                                          std::shared_ptr<const AnalysedRun> run);

}  // namespace lockstep::ui
