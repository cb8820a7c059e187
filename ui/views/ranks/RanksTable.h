#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/ranks/RanksContent.h"

namespace lockstep::ui {

/// The ranks as a table: means of all figures over the measured steps, and what is unlike the rest.
/// `content` null: empty.
std::shared_ptr<const TableRows> rankTable(std::shared_ptr<const RanksContent> content);

}  // namespace lockstep::ui
