#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/analysis/SpanStatistics.h"
#include "engine/export/Csv.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::exports {

// The table of statistics as a file: of one group of spans the same cells under the same titles,
// whether `lockstep export` writes them or the studio. [any-thread]

/// What the spans of a group have in common; what is not set differs among them, or says nothing.
struct StatisticsKey {
  std::optional<int> rank;
  std::optional<trace::EventKind> kind;
  std::string what;  ///< beside the kind, see whatOf
  std::uint16_t bucket = trace::kNoBucket;

  auto operator<=>(const StatisticsKey&) const = default;
};

/// The titles of the columns, the unit last in each.
const std::vector<std::string_view>& statisticsTitles();

/// Adds a row under these titles. `of` is in ns; `share` is analysis::shareOf.
void write(Csv& csv, const StatisticsKey& key, const analysis::SpanStatistics& of, double share);

}  // namespace lockstep::exports
