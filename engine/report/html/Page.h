#pragma once

#include <string>

#include "engine/report/RunReport.h"

namespace lockstep::report::html {

/// Returns the whole page.
std::string page(const ReportedRun& run);

}  // namespace lockstep::report::html
