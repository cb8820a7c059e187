#include "engine/trace/Sqlite.h"

#include <cerrno>
#include <system_error>

namespace lockstep::trace::sqlite {
namespace {

std::string asUri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    // These mean something in a URI, and a path may hold them.
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri;
}

base::Error toError(int code, int systemErrno, const std::string& text,
                    const std::filesystem::path& path) {
  using base::ExitCode;
  const auto error = [&](ExitCode exit, std::string what) {
    return base::Error{exit, std::move(what), path.string()};
  };
  const std::string reason = systemErrno != 0 ? std::generic_category().message(systemErrno) : text;
  // The low byte is the error; the rest says where in SQLite it arose.
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return error(ExitCode::kBadInput, "this is no run file of lockstep");
    case SQLITE_CORRUPT:
      return error(ExitCode::kBadInput,
                   "the run file is damaged or was cut short; `sqlite3 FILE .recover` may save "
                   "what is left");
    case SQLITE_FULL:
      return error(ExitCode::kEnvironment,
                   "the disk is full, or the run file reached its size limit; what was written "
                   "before can be read");
    case SQLITE_IOERR:
      if (systemErrno == ENOSPC || systemErrno == EFBIG || systemErrno == EDQUOT) {
        return error(ExitCode::kEnvironment,
                     fmt::format("the run file cannot grow: {}; what was written before can be "
                                 "read",
                                 reason));
      }
      return error(ExitCode::kEnvironment,
                   fmt::format("cannot read or write the run file: {}", reason));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return error(ExitCode::kEnvironment, fmt::format("cannot open the run file: {}", reason));
    case SQLITE_READONLY:
      return error(ExitCode::kEnvironment, "the run file cannot be written here");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ExitCode::kEnvironment, "the run file is locked by another program");
    case SQLITE_ERROR:  // a table or column that every run file has is missing
      return error(ExitCode::kBadInput, fmt::format("the run file is not as expected: {}", text));
    default:
      return error(ExitCode::kEnvironment, text);
  }
}

}  // namespace

base::Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path,
                                                       OpenMode mode) {
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE |
                    (mode == OpenMode::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  const std::string uri = asUri(path) + (mode == OpenMode::kImmutable ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(handle, path));
  if (handle == nullptr) {
    return base::Error{base::ExitCode::kEnvironment, "not enough memory to open the run file",
                       path.string()};
  }
  // Even a failed open gives a handle, which holds the text of the error.
  database->note(code);
  if (!database->ok()) {
    return database->status().error();
  }
  database->setPatience(2000);
  return database;
}

std::unique_ptr<Database> Database::inMemory() {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open(":memory:", &handle);
  std::unique_ptr<Database> database(new Database(handle, ":memory:"));
  database->note(code);
  return database;
}

Database::Database(sqlite3* handle, std::filesystem::path path)
    : handle_(handle), path_(std::move(path)) {}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

void Database::execute(const char* sql) {
  if (ok()) {
    note(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
  }
}

base::Status Database::status() const {
  return ok() ? base::Status() : toError(code_, systemErrno_, text_, path_);
}

void Database::note(int code) {
  // First of all: anything called below may change it.
  const int lastErrno = errno;
  if (!ok() || code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) {
    return;
  }
  code_ = code;
  systemErrno_ = sqlite3_system_errno(handle_);
  if (systemErrno_ == 0 && (code & 0xFF) == SQLITE_IOERR) {
    systemErrno_ = lastErrno;  // SQLite keeps none of a COMMIT
  }
  text_ = sqlite3_errmsg(handle_);
}

void Database::recover() {
  code_ = SQLITE_OK;
  // After some errors SQLite has rolled back by itself, and a second time would be an error.
  if (sqlite3_get_autocommit(handle_) == 0) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Statement::Statement(Database& database, const char* sql) : database_(database) {
  if (database_.ok()) {
    database_.note(sqlite3_prepare_v2(database_.handle(), sql, -1, &handle_, nullptr));
  }
}

bool Statement::row() {
  if (handle_ == nullptr || !database_.ok()) {
    return false;
  }
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) {
    return true;
  }
  database_.note(code);
  // Not left to the next step(): bind() is refused before a reset.
  sqlite3_reset(handle_);
  return false;
}

void Statement::run() {
  if (handle_ == nullptr || !database_.ok()) {
    return;
  }
  const int code = sqlite3_step(handle_);
  database_.note(code);
  sqlite3_reset(handle_);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes == nullptr
             ? std::string()
             : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

}  // namespace lockstep::trace::sqlite
