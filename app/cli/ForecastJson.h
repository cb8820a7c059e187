#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/Forecaster.h"

namespace lockstep::cli {

inline constexpr double kNsPerMs = 1e6;

/// "this run cannot tell, because ...", of the file at `path`.
base::Error cannotTell(const std::string& path, const base::Error& why);

/// One object a rank; each estimate is {"value", "low", "high"} in ms, and "change": whether that
/// is "less" or "more" than what was measured, or "unknown".
nlohmann::ordered_json forecastsJson(const std::vector<cost::RankForecast>& ranks);

/// What the communication of a bucket costs, and how many transfers say so, under the keys
/// "latency_ms", "ms_per_mib", "by_settings", "fit_error_percent", "transfers".
nlohmann::ordered_json fitJson(const cost::TransferFit& fit);

/// The line of a forecast: "latency_ms", "ms_per_mib", "in_flight" and, where a modelled one goes
/// on over a backend, that one's as "backend".
nlohmann::ordered_json lineJson(const cost::Line& line);

}  // namespace lockstep::cli
