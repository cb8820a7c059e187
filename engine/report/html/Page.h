#pragma once

#include <filesystem>
#include <string>

#include "engine/base/Result.h"
#include "engine/report/RunReport.h"

namespace lockstep::report::html {

/// Returns the whole page. `runFile`: of the run, which is read again for the iterations that are
/// shown span by span. Errors: those of RunFileReader.
base::Result<std::string> page(const ReportedRun& run, const std::filesystem::path& runFile);

}  // namespace lockstep::report::html
