#include "engine/trace/RunFileAccess.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "engine/base/Try.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFileSchema.h"

namespace lockstep::trace {
namespace {

using base::ExitCode;

bool mayWrite(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path().empty() ? "." : path.parent_path();
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 &&
         faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) == 0;
}

base::Error alreadyExists(const std::filesystem::path& path) {
  return base::Error{ExitCode::kEnvironment,
                     "exists already and is not overwritten; choose another name", path.string()};
}

}  // namespace

std::filesystem::path walOf(const std::filesystem::path& path) {
  return path.string() + "-wal";
}

base::Result<std::unique_ptr<sqlite::Database>> openForReading(
    const std::filesystem::path& path, const RunFileReaderOptions& options) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) {
    return base::Error{ExitCode::kBadInput,
                       fmt::format("cannot open the run file: {}",
                                   code ? code.message() : "No such file or directory"),
                       path.string()};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return base::Error{ExitCode::kBadInput, "this is no file, so no run file either",
                       path.string()};
  }
  const bool hasWal = std::filesystem::exists(walOf(path), code);
  if (hasWal) {
    const std::string network =
        options.networkFileSystem ? options.networkFileSystem(path) : networkFileSystemOf(path);
    if (!network.empty()) {
      return base::Error{ExitCode::kEnvironment,
                         fmt::format("the run is still being recorded, and a live run cannot be "
                                     "followed across a network file system ({}); wait for its "
                                     "end, or record to a local disk",
                                     network),
                         path.string()};
    }
  }
  const bool immutable = !hasWal && !mayWrite(path);
  auto opened = sqlite::Database::open(
      path, immutable ? sqlite::OpenMode::kImmutable : sqlite::OpenMode::kReadOnly);
  if (opened.ok()) {
    LOCKSTEP_TRY(schema::check(*opened.value(), path));
  }
  return opened;
}

bool supervisorGone(const RunInfo& info) {
  // Its process number says nothing here. noteGone() says that it is not known.
  if (!info.hostName.empty() && info.hostName != hostName()) {
    return true;
  }
  const std::string start = processStart(info.supervisorPid);
  // The number may be another process's by now: the start time tells them apart.
  return start.empty() || (!info.supervisorStart.empty() && info.supervisorStart != start);
}

void noteGone(RunInfo& info) {
  info.state = RunState::kRecorderDied;
  if (info.hostName != hostName() && !info.hostName.empty() && info.failure.empty()) {
    info.failure = fmt::format(
        "it was recorded on host {}, and whether it still is cannot be told on {}: what was "
        "written so far is here",
        info.hostName, hostName());
  }
}

void tidyUp(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(walOf(path), code) || !mayWrite(path)) {
    return;
  }
  auto opened = sqlite::Database::open(path, sqlite::OpenMode::kReadWrite);
  if (!opened.ok()) {
    return;
  }
  sqlite::Database& database = *opened.value();
  // Whoever opened it, a studio perhaps, is waiting; the next reader can tidy up as well.
  database.setPatience(200);
  database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  database.recover();  // a reader elsewhere: the switch below then fails as harmlessly
  database.execute("PRAGMA journal_mode=DELETE");
}

base::Status createAtomically(
    const std::filesystem::path& path,
    const std::function<base::Status(const std::filesystem::path&)>& build) {
  std::error_code code;
  if (std::filesystem::exists(path, code)) {
    return alreadyExists(path);
  }
  // Beside the file, since a rename cannot cross file systems; hidden, and with the process number,
  // so that two that make the same run do not meet.
  const std::filesystem::path draft =
      path.parent_path() / fmt::format(".{}.{}.new", path.filename().string(), getpid());
  // Made here, because SQLite does not say why it cannot.
  if (!posix::Descriptor(open(draft.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0644))
           .open()) {
    return base::systemError(ExitCode::kEnvironment, "cannot create the run file", path.string());
  }
  base::Status result = build(draft);
  if (result.ok() &&
      renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    // Made by another program since the question above: theirs stays.
    if (errno == EEXIST) {
      result = alreadyExists(path);
    } else if ((errno != EINVAL && errno != ENOSYS) ||  // some file systems know no such rename
               std::rename(draft.c_str(), path.c_str()) != 0) {
      result =
          base::systemError(ExitCode::kEnvironment, "cannot create the run file", path.string());
    }
  }
  if (!result.ok()) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(draft.string() + suffix, code);
    }
  }
  return result;
}

}  // namespace lockstep::trace
