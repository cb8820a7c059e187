#pragma once

#include <cstdint>

#include "engine/base/Result.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace::schema {

// FORMAT.md describes the format; these are its numbers.

inline constexpr std::int32_t kApplicationId = 0x4C4B5354;  ///< "LKST"
inline constexpr std::int32_t kMajor = 1;                   ///< another major cannot be read
inline constexpr std::int32_t kMinor = 8;                   ///< a minor only adds

/// PRAGMA user_version of what is written now.
inline constexpr std::int32_t kUserVersion = kMajor * 1000 + kMinor;

/// Rows of `ranks`-like tables that belong to the run as a whole.
inline constexpr int kWholeRun = -1;

/// Small tables that readers are given whole. `changes` counts the commits that touched each.
enum class Part : std::int32_t {
  kInfo = 0,
  kRanks,
  kTracks,
  kParameters,
  kLayouts,
  kClock,
  kHosts
};
inline constexpr int kParts = 7;

/// Makes tables, views and signature in an empty database, within the caller's transaction.
void create(sqlite::Database& database);

/// Says whether the database is a run file whose major is ours.
base::Status check(sqlite::Database& database, const std::filesystem::path& path);

/// Says whether it has every table and column that a run file of its minor has.
base::Status checkTables(sqlite::Database& database, const std::filesystem::path& path);

/// Says whether a run file knows of hosts, as 1.3 and later do: the table `hosts`, and the columns
/// `host` of ranks, clocks and metrics.
bool hasHosts(sqlite::Database& database);

/// Says whether a run file knows of reduced buckets, as 1.6 and later do: the columns
/// `reduced_norm` and `reduced_hash` of gradients.
bool hasReducedBuckets(sqlite::Database& database);

/// Says whether a run file may have packed steps, as 1.8 and later do: the table `packed_steps`.
bool hasPackedSteps(sqlite::Database& database);

/// The page in which the table `spans` begins, where its columns are those that are made now; 0:
/// they are others.
std::int64_t rootOfSpans(sqlite::Database& database);

}  // namespace lockstep::trace::schema
