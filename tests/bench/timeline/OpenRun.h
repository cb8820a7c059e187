#pragma once

#include <QString>
#include <vector>

#include "ui/model/RunModel.h"

namespace lockstep::bench {

/// Returns when the model has read its file; an empty sentence, or why it has not.
QString waitUntilOpen(ui::RunModel& model);

/// Resident memory of this process, in bytes: now, and at most so far.
double residentBytes();
double mostResidentBytes();

/// `values` are not empty; `fraction`: 0..1.
double percentile(std::vector<double> values, double fraction);

}  // namespace lockstep::bench
