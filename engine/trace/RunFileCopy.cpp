#include "engine/base/Try.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/RunFileAccess.h"
#include "engine/trace/RunFileTables.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {
namespace {

/// Copies every page in one read transaction of the source: rows that are committed meanwhile
/// are not in the copy.
base::Status copyPages(sqlite::Database& from, sqlite::Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) {
    to.note(sqlite3_extended_errcode(to.handle()));
    return to.status();
  }
  // All pages in one step: with several, SQLite would start over whenever the writer commits.
  const int code = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  to.note(code);
  return to.status();
}

/// Makes one file of the copy, and says in it that its rest is elsewhere.
base::Status settle(const std::filesystem::path& path) {
  auto opened = LOCKSTEP_TRY(sqlite::Database::open(path, sqlite::OpenMode::kReadWrite));
  sqlite::Database& database = *opened;
  database.execute("PRAGMA journal_mode=DELETE");
  RunInfo info = tables::readInfo(database);
  if (isLive(info.state)) {
    info.failure =
        supervisorGone(info) ? info.failure : "this is a copy that was taken while the run went on";
    info.state = RunState::kRecorderDied;
    // The copy must not stop, by its reader's hand, the run that goes on.
    info.controlSocket.clear();
    database.execute("BEGIN");
    tables::writeInfo(database, info);
    database.execute("COMMIT");
  }
  return database.status();
}

}  // namespace

base::Status copyRunFile(const std::filesystem::path& from, const std::filesystem::path& to) {
  auto opened = LOCKSTEP_TRY(openForReading(from, {}));
  base::Status made = createAtomically(to, [&](const std::filesystem::path& draft) -> base::Status {
    {
      auto target = LOCKSTEP_TRY(sqlite::Database::open(draft, sqlite::OpenMode::kReadWrite));
      LOCKSTEP_TRY(copyPages(*opened, *target));
    }
    return settle(draft);
  });
  if (!made.ok() && made.error().where != to.string()) {
    // Of the draft nothing is left, and what is damaged in it was damaged before.
    base::Error error = made.error();
    error.where = (error.code == base::ExitCode::kBadInput ? from : to).string();
    return error;
  }
  return made;
}

}  // namespace lockstep::trace
