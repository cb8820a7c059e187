#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

// Note [Opening a run file]
// While a run is recorded its newest rows lie in "<file>-wal", and readers and writer meet in
// "<file>-shm". From this follow the ways in:
//   live or not tidied up, and we may write here: read-only connection, WAL as SQLite does it
//   no WAL beside it, and we may not write here:  immutable, because SQLite could not make the
//                                                 side files that a WAL-mode header asks for
//   WAL beside it, on a network file system:      refused; the -shm file is no shared memory
//                                                 across hosts, a reader would see half a run
// The file itself is opened by SQLite alone: closing any other descriptor of it would drop the
// POSIX locks of every SQLite connection in this process.

/// Opens an existing run file for reading and checks its signature and version.
base::Result<std::unique_ptr<sqlite::Database>> openForReading(const std::filesystem::path& path,
                                                               const RunFileReaderOptions& options);

/// Reads what readRunSummary() gives. Whoever opens a run file begins with it, so that all of them
/// refuse the same files.
base::Result<RunSummary> readSummary(sqlite::Database& database, const std::filesystem::path& path);

/// Says whether nobody can be writing the run any more: its supervisor is not among this
/// host's processes, or it was another host's.
bool supervisorGone(const RunInfo& info);

/// Sets kRecorderDied, for a live run whose supervisor is gone. For a run of another host it cannot
/// be known whether it is, and `failure` says that.
void noteGone(RunInfo& info);

/// Turns a file with a WAL that nobody writes into one file, where we may write. Does nothing
/// when there is no WAL, and leaves the file as it is when another program has it open.
void tidyUp(const std::filesystem::path& path);

/// Returns the path of the WAL that belongs to `path`.
std::filesystem::path walOf(const std::filesystem::path& path);

/// Lets `build` make a file beside `path`, then gives it that name; fails when `path` exists,
/// and leaves nothing behind on failure.
base::Status createAtomically(
    const std::filesystem::path& path,
    const std::function<base::Status(const std::filesystem::path&)>& build);

}  // namespace lockstep::trace
