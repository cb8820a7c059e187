#pragma once

#include <filesystem>
#include <string>

#include "engine/report/RunReport.h"

namespace lockstep::cli {

/// Returns the report as one JSON object on several lines.
std::string toJson(const report::RunReport& report);

/// Returns the report as tables.
std::string infoText(const report::RunReport& report);

/// Returns the table of infoText that names the hosts, their ranks and how far their clocks are
/// off; empty for a run on one host.
std::string hostTable(const report::RunReport& report);

/// Returns the few lines that a run ends with.
std::string summaryText(const report::RunReport& report, const std::filesystem::path& runFile);

}  // namespace lockstep::cli
