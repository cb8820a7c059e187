#include "engine/base/Try.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/RunFileAccess.h"
#include "engine/trace/RunFileHosts.h"
#include "engine/trace/RunFileSchema.h"
#include "engine/trace/RunFileTables.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

using sqlite::Database;
using sqlite::Statement;

base::Result<RunSummary> readSummary(Database& database, const std::filesystem::path& path) {
  LOCKSTEP_TRY(schema::checkTables(database, path));
  // Asked before reading, as in poll().
  const bool gone = supervisorGone(tables::readInfo(database));
  RunSummary summary;
  database.execute("BEGIN");
  summary.info = tables::readInfo(database);
  summary.ranks = tables::readRanks(database);
  summary.hosts = tables::readHosts(database);
  {
    Statement last(database, "SELECT name, value FROM last_metrics WHERE rank = 0");
    while (last.row()) {
      summary.lastMetrics[last.text(0)] = last.numberOrNan(1);
    }
    Statement step(database, "SELECT value FROM meta WHERE key = 'last_step'");
    if (step.row()) {
      summary.lastStep = static_cast<std::uint32_t>(step.integer(0));
    }
  }
  database.execute("COMMIT");
  if (!database.ok()) {
    return database.status().error();
  }
  if (gone && isLive(summary.info.state)) {
    noteGone(summary.info);
  }
  return summary;
}

base::Result<RunSummary> readRunSummary(const std::filesystem::path& path) {
  auto opened = LOCKSTEP_TRY(openForReading(path, {}));
  return readSummary(*opened, path);
}

}  // namespace lockstep::trace
