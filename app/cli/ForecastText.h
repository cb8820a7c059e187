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

/// "7.2 (6.8 to 7.9)", in ms.
std::string estimateText(const cost::Estimate& estimate);

/// {"value": ..., "low": ..., "high": ...}, in ms.
nlohmann::ordered_json estimateJson(const cost::Estimate& estimate);

/// One object a rank.
nlohmann::ordered_json forecastsJson(const std::vector<cost::RankForecast>& ranks);

/// What the communication of a bucket costs, and how many transfers say so, under the keys
/// "latency_ms", "ms_per_mib", "by_settings", "fit_error_percent", "transfers".
nlohmann::ordered_json fitJson(const cost::TransferFit& fit);

/// The same as two sentences.
std::string fitText(const cost::TransferFit& fit, std::size_t steps);

/// Returns the rank with the most exposed time: what the others show, it shows most.
const cost::RankForecast& mostExposed(const std::vector<cost::RankForecast>& ranks);

}  // namespace lockstep::cli
