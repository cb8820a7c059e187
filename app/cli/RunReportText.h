#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/report/RunReport.h"

namespace lockstep::cli {

/// Returns the report as one JSON object on several lines.
std::string toJson(const report::RunReport& report);

/// How long the lists of infoText are: as long as is read, or as there is to list.
enum class Lists : std::uint8_t { kShort, kWhole };

/// Returns the report as tables.
std::string infoText(const report::RunReport& report, Lists lists = Lists::kShort);

/// Returns the table of infoText that names the hosts, their ranks and how far their clocks are
/// off; empty for a run on one host.
std::string hostTable(const report::RunReport& report, Lists lists = Lists::kShort);

/// Returns the table of infoText that says how the ranks ended.
std::string rankTable(const report::RunReport& report, Lists lists = Lists::kShort);

/// Returns the few lines that a run ends with.
std::string summaryText(const report::RunReport& report, const std::filesystem::path& runFile);

}  // namespace lockstep::cli
