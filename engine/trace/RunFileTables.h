#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace::tables {

// The small tables of a run file, each written and read here and nowhere else. Errors stick in
// the database.

void writeInfo(sqlite::Database& database, const RunInfo& info);
RunInfo readInfo(sqlite::Database& database);

void writeRank(sqlite::Database& database, const RankInfo& rank);
std::vector<RankInfo> readRanks(sqlite::Database& database);

void writeParameters(sqlite::Database& database,
                     const std::vector<ParametersMessage::Parameter>& parameters);
std::vector<ParametersMessage::Parameter> readParameters(sqlite::Database& database);

/// Returns an upper limit of the parameter numbers in `table`: how many parameters the model has
/// or, until that is known, how many rows `table` has, since a writer numbers all from 0 on. A
/// number at or above it is damage: a list made as long as that would take all memory.
std::int64_t parameterLimit(sqlite::Database& database, const char* table);

/// Replaces the layout of the same number.
void writeLayout(sqlite::Database& database, const BucketsMessage& layout);
std::vector<BucketsMessage> readLayouts(sqlite::Database& database);

/// A bucket as rows have it: NULL where there is none.
inline std::optional<std::int32_t> writtenBucket(std::uint16_t bucket) {
  return bucket == kNoBucket ? std::nullopt : std::optional<std::int32_t>(bucket);
}

std::vector<TrackInfo> readTracks(sqlite::Database& database);

}  // namespace lockstep::trace::tables
