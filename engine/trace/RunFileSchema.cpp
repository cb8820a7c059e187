#include "engine/trace/RunFileSchema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "engine/trace/Event.h"

namespace lockstep::trace::schema {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE changes(part INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
CREATE TABLE environment(rank INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(rank, key)) WITHOUT ROWID;
CREATE TABLE clocks(id INTEGER PRIMARY KEY, origin_ticks INTEGER NOT NULL,
  origin_ns INTEGER NOT NULL, ns_per_tick REAL NOT NULL, host INTEGER NOT NULL DEFAULT 0,
  offset_ns INTEGER NOT NULL DEFAULT 0, uncertainty_ns INTEGER NOT NULL DEFAULT 0);
CREATE TABLE hosts(host INTEGER PRIMARY KEY, name TEXT NOT NULL, clock TEXT NOT NULL,
  address TEXT NOT NULL);
CREATE TABLE ranks(rank INTEGER PRIMARY KEY, pid INTEGER NOT NULL, state TEXT NOT NULL,
  exit_code INTEGER, signal INTEGER NOT NULL, last_words TEXT NOT NULL,
  stderr_tail TEXT NOT NULL, parameter_hash TEXT NOT NULL, wire_bytes INTEGER NOT NULL,
  wire_messages INTEGER NOT NULL, events_dropped INTEGER NOT NULL,
  host INTEGER NOT NULL DEFAULT 0);
CREATE TABLE tracks(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE kinds(kind INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE operations(operation INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE startup_stages(stage INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE fault_kinds(fault INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE spans(id INTEGER PRIMARY KEY, track INTEGER NOT NULL, kind INTEGER NOT NULL,
  start INTEGER NOT NULL, duration INTEGER NOT NULL, step INTEGER NOT NULL, bucket INTEGER,
  detail INTEGER NOT NULL, value INTEGER NOT NULL);
CREATE TABLE metrics(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, name TEXT NOT NULL,
  step INTEGER NOT NULL, ticks INTEGER NOT NULL, value REAL, host INTEGER NOT NULL DEFAULT 0);
CREATE TABLE last_metrics(rank INTEGER NOT NULL, name TEXT NOT NULL, step INTEGER NOT NULL,
  value REAL, PRIMARY KEY(rank, name)) WITHOUT ROWID;
CREATE TABLE fingerprints(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, step INTEGER NOT NULL,
  parameter INTEGER NOT NULL, hash INTEGER NOT NULL, norm REAL);
CREATE TABLE sketches(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, step INTEGER NOT NULL,
  counters BLOB NOT NULL);
CREATE TABLE gradients(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, step INTEGER NOT NULL,
  bucket INTEGER, norm REAL, largest REAL, nans INTEGER NOT NULL, infinities INTEGER NOT NULL,
  parameter INTEGER, reduced_norm REAL, reduced_hash INTEGER);
CREATE TABLE step_sums(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, step INTEGER NOT NULL,
  kept INTEGER NOT NULL, forward INTEGER NOT NULL, backward INTEGER NOT NULL,
  optimizer INTEGER NOT NULL, in_flight INTEGER NOT NULL, computing INTEGER NOT NULL,
  overlap INTEGER NOT NULL, off_core INTEGER NOT NULL, overlap_less INTEGER NOT NULL,
  overlap_more INTEGER NOT NULL, core_wait INTEGER NOT NULL);
CREATE TABLE packed_steps(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, track INTEGER NOT NULL,
  step INTEGER NOT NULL, unit INTEGER NOT NULL, steps BLOB NOT NULL);
CREATE TABLE parameters(parameter INTEGER PRIMARY KEY, name TEXT NOT NULL, shape TEXT NOT NULL,
  dtype TEXT NOT NULL, numel INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE layouts(layout INTEGER PRIMARY KEY, step INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE buckets(layout INTEGER NOT NULL, bucket INTEGER NOT NULL, bytes INTEGER NOT NULL,
  limit_bytes INTEGER NOT NULL, dtype TEXT NOT NULL, PRIMARY KEY(layout, bucket)) WITHOUT ROWID;
CREATE TABLE bucket_parameters(layout INTEGER NOT NULL, bucket INTEGER NOT NULL,
  position INTEGER NOT NULL, parameter INTEGER NOT NULL, byte_offset INTEGER NOT NULL,
  PRIMARY KEY(layout, bucket, position)) WITHOUT ROWID;
CREATE TABLE logs(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, ticks INTEGER NOT NULL,
  text TEXT NOT NULL);
CREATE TABLE problems(id INTEGER PRIMARY KEY, severity TEXT NOT NULL, rank INTEGER NOT NULL,
  step INTEGER NOT NULL, text TEXT NOT NULL);
)sql";

/// What minors after 1.0 added to kTables; a table without a column stands for all of its own.
struct Addition {
  std::int64_t minor;
  std::string_view table;
  std::string_view column;
};
constexpr std::array kAdditions{Addition{1, "fault_kinds", ""},
                                Addition{2, "fingerprints", ""},
                                Addition{2, "sketches", ""},
                                Addition{2, "gradients", ""},
                                Addition{3, "hosts", ""},
                                Addition{3, "ranks", "host"},
                                Addition{3, "clocks", "host"},
                                Addition{3, "clocks", "offset_ns"},
                                Addition{3, "clocks", "uncertainty_ns"},
                                Addition{3, "metrics", "host"},
                                Addition{6, "gradients", "reduced_norm"},
                                Addition{6, "gradients", "reduced_hash"},
                                Addition{7, "step_sums", ""},
                                Addition{8, "packed_steps", ""}};

// For people with a SQL prompt or pandas: names for numbers, nanoseconds for ticks. A CROSS JOIN is
// an inner one that SQLite runs in the order given: rows come as they stand in the file.
constexpr const char* kViews = R"sql(
CREATE VIEW clock AS SELECT * FROM clocks WHERE host = 0 ORDER BY id DESC LIMIT 1;
CREATE VIEW host_clocks AS
  SELECT host, name, origin_ticks, origin_ns - offset_ns AS zero_ns, ns_per_tick, offset_ns,
    uncertainty_ns
  FROM clocks LEFT JOIN hosts USING(host)
  WHERE id IN (SELECT max(id) FROM clocks GROUP BY host);
CREATE VIEW spans_ns AS
  SELECT spans.id AS id, tracks.rank AS rank, tracks.name AS track, kinds.name AS kind,
    zero_ns + CAST(round((start - origin_ticks) * ns_per_tick) AS INTEGER) AS start_ns,
    CAST(round(duration * ns_per_tick) AS INTEGER) AS duration_ns,
    step, bucket, detail, spans.value AS value
  FROM spans CROSS JOIN tracks ON tracks.id = track
    LEFT JOIN ranks ON ranks.rank = tracks.rank CROSS JOIN host_clocks ON host_clocks.host = coalesce(ranks.host, 0)
    LEFT JOIN kinds ON kinds.kind = spans.kind;
CREATE VIEW collectives AS
  SELECT spans.id AS id, tracks.rank AS rank, detail >> 8 AS group_number,
    (spans.value >> 40) & 0xFFFFFF AS sequence, operations.name AS operation, step, bucket,
    spans.value & 0xFFFFFFFFFF AS bytes,
    zero_ns + CAST(round((start - origin_ticks) * ns_per_tick) AS INTEGER) AS start_ns,
    CAST(round(duration * ns_per_tick) AS INTEGER) AS duration_ns
  FROM spans CROSS JOIN tracks ON tracks.id = track
    LEFT JOIN ranks ON ranks.rank = tracks.rank CROSS JOIN host_clocks ON host_clocks.host = coalesce(ranks.host, 0)
    LEFT JOIN operations ON operations.operation = (detail & 0xFF)
  WHERE spans.kind = 71;
CREATE VIEW gradients_ready AS
  SELECT spans.id AS id, tracks.rank AS rank, step, parameters.name AS parameter, bucket,
    zero_ns + CAST(round((start - origin_ticks) * ns_per_tick) AS INTEGER) AS ready_ns
  FROM spans CROSS JOIN tracks ON tracks.id = track
    LEFT JOIN ranks ON ranks.rank = tracks.rank CROSS JOIN host_clocks ON host_clocks.host = coalesce(ranks.host, 0)
    LEFT JOIN parameters ON parameters.parameter = spans.value
  WHERE spans.kind = 30;
CREATE VIEW parameters_differ AS
  SELECT step, name AS parameter, count(DISTINCT hash) AS variants
  FROM fingerprints LEFT JOIN parameters USING(parameter)
  GROUP BY step, fingerprints.parameter HAVING variants > 1;
CREATE VIEW metrics_ns AS
  SELECT metrics.id AS id, rank, metrics.name AS name, step,
    zero_ns + CAST(round((ticks - origin_ticks) * ns_per_tick) AS INTEGER) AS at_ns, value
  FROM metrics CROSS JOIN host_clocks USING(host);
)sql";
// The views above have these numbers in their text.
static_assert(static_cast<int>(EventKind::kCollective) == 71);
static_assert(static_cast<int>(EventKind::kGradientReady) == 30);

/// Writes the names of all numbers below `limit` that have one.
template <typename Enum>
void writeNames(sqlite::Database& database, const char* sql, int limit) {
  sqlite::Statement insert(database, sql);
  for (int number = 0; number < limit; ++number) {
    if (const std::string_view text = name(static_cast<Enum>(number)); text != "unknown") {
      insert.runWith(number, text);
    }
  }
}

std::int64_t pragma(sqlite::Database& database, const char* sql) {
  sqlite::Statement statement(database, sql);
  const std::int64_t value = statement.row() ? statement.integer(0) : 0;
  return value;
}

std::int64_t minorOf(sqlite::Database& database) {
  return pragma(database, "PRAGMA user_version") % 1000;
}

using Columns = std::set<std::pair<std::string, std::string>>;  // table, column

Columns columnsOf(sqlite::Database& database) {
  sqlite::Statement select(database,
                           "SELECT tables.name, columns.name FROM sqlite_master AS tables, "
                           "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'");
  Columns columns;
  while (select.row()) {
    columns.emplace(select.text(0), select.text(1));
  }
  return columns;
}

/// Of the version that is written.
const Columns& expectedColumns() {
  static const Columns columns = [] {
    // SQLite itself reads the statements above: no second list of columns that could differ.
    const auto empty = sqlite::Database::inMemory();
    empty->execute(kTables);
    return columnsOf(*empty);
  }();
  return columns;
}

bool isNewer(const std::pair<std::string, std::string>& column, std::int64_t minor) {
  return std::any_of(kAdditions.begin(), kAdditions.end(), [&](const Addition& added) {
    return added.minor > minor && added.table == column.first &&
           (added.column.empty() || added.column == column.second);
  });
}

}  // namespace

void create(sqlite::Database& database) {
  database.execute(
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kUserVersion)
          .c_str());
  database.execute(kTables);
  database.execute(kViews);
  writeNames<EventKind>(database, "INSERT INTO kinds VALUES(?, ?)", 256);
  writeNames<Operation>(database, "INSERT INTO operations VALUES(?, ?)", 256);
  writeNames<StartupStage>(database, "INSERT INTO startup_stages VALUES(?, ?)", 256);
  writeNames<FaultKind>(database, "INSERT INTO fault_kinds VALUES(?, ?)", 256);
  {
    sqlite::Statement insert(database, "INSERT INTO changes VALUES(?, 0)");
    for (int part = 0; part < kParts; ++part) {
      insert.runWith(part);
    }
  }
}

base::Status check(sqlite::Database& database, const std::filesystem::path& path) {
  const std::int64_t application = pragma(database, "PRAGMA application_id");
  const std::int64_t version = pragma(database, "PRAGMA user_version");
  if (!database.ok()) {
    return database.status();
  }
  if (application != kApplicationId) {
    return base::Error{base::ExitCode::kBadInput, "this is no run file of lockstep", path.string()};
  }
  if (version / 1000 != kMajor) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("run file of format {}.{}, but this lockstep reads format "
                                   "{}.x; open it with the lockstep that wrote it",
                                   version / 1000, version % 1000, kMajor),
                       path.string()};
  }
  return {};
}

base::Status checkTables(sqlite::Database& database, const std::filesystem::path& path) {
  const std::int64_t minor = minorOf(database);
  const Columns found = columnsOf(database);
  if (!database.ok()) {
    return database.status();
  }
  for (const auto& [table, column] : expectedColumns()) {
    if (!found.contains({table, column}) && !isNewer({table, column}, minor)) {
      const auto of = found.lower_bound({table, ""});
      // No column of that table at all: the table is missing.
      const bool whole = of == found.end() || of->first != table;
      return base::Error{
          base::ExitCode::kBadInput,
          fmt::format("the run file is not as expected: it has no {} {}{}{}",
                      whole ? "table" : "column", table, whole ? "" : ".", whole ? "" : column),
          path.string()};
    }
  }
  return {};
}

bool hasHosts(sqlite::Database& database) {
  constexpr std::int64_t kSinceMinor = 3;
  return minorOf(database) >= kSinceMinor;
}

bool hasReducedBuckets(sqlite::Database& database) {
  constexpr std::int64_t kSinceMinor = 6;
  return minorOf(database) >= kSinceMinor;
}

bool hasPackedSteps(sqlite::Database& database) {
  constexpr std::int64_t kSinceMinor = 8;
  return minorOf(database) >= kSinceMinor;
}

std::int64_t rootOfSpans(Database& database) {
  Statement select(database, "SELECT rootpage, sql FROM sqlite_master WHERE name = 'spans'");
  // SQLite keeps the statement by which a table was made, as it was given.
  const bool ours = select.row() &&
                    std::string_view(kTables).find(select.text(1) + ';') != std::string_view::npos;
  return ours ? select.integer(0) : 0;
}

}  // namespace lockstep::trace::schema
