#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cost/Forecaster.h"

namespace lockstep::cost {

// The words of a forecast, for the command line and the studio.

/// "7.20 ms (6.80 ms to 7.90 ms)".
std::string estimateText(const Estimate& estimate);

/// "less", "more" or "unknown".
std::string_view changeWord(Change change);

/// "this run cannot tell, because ...", of an error of Forecaster; no full stop.
std::string cannotTellText(const base::Error& why);

/// Two sentences: where exposed time and step time of a rank go, each with its interval, or that no
/// difference from what was measured can be told.
std::string forecastText(const RankForecast& of);

/// A sentence: what the communication of a bucket costs, whence that is known, and how well it
/// fits.
std::string costText(const TransferFit& fit);

/// A sentence: what it would cost on a line that is changed.
std::string lineText(const Line& line);

/// A sentence: by how much steps are held up where cores are short; empty: by nothing.
std::string coresText(const std::optional<Cores>& cores, const std::vector<RankForecast>& ranks);

/// Returns the rank with the most exposed time, which shows most what all show; null: of none.
const RankForecast* mostExposed(const std::vector<RankForecast>& ranks);

}  // namespace lockstep::cost
