#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/Result.h"

namespace lockstep::trace::sqlite {

enum class OpenMode {
  kReadWrite,
  kReadOnly,
  kImmutable,  ///< reads without locks or side files: only for a file nobody writes any more
};

/// One connection. The first error sticks: after it statements do nothing, and `status()`
/// tells it, so that code reads straight and is checked once at its end.
/// One thread at a time.
class Database {
 public:
  /// Opens an existing file. SQLite looks into it only when the first statement runs.
  static base::Result<std::unique_ptr<Database>> open(const std::filesystem::path& path,
                                                      OpenMode mode);
  /// An empty one that nobody else sees. Without memory for it every statement fails.
  static std::unique_ptr<Database> inMemory();
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs statements that return no rows, or whose rows do not matter.
  void execute(const char* sql);

  /// Sets how long a statement waits for another connection's lock.
  void setPatience(int ms) { sqlite3_busy_timeout(handle_, ms); }

  [[nodiscard]] bool ok() const { return code_ == SQLITE_OK; }
  [[nodiscard]] base::Status status() const;
  /// Says whether the error is another connection's lock.
  [[nodiscard]] bool busy() const { return (code_ & 0xFF) == SQLITE_BUSY; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

  /// Keeps `code` when it is the first error. SQLITE_ROW and SQLITE_DONE are none.
  void note(int code);

  /// Forgets the error and rolls back what was open, so that the connection can be used on.
  void recover();

 private:
  Database(sqlite3* handle, std::filesystem::path path);

  sqlite3* handle_;
  std::filesystem::path path_;
  int code_ = SQLITE_OK;
  int systemErrno_ = 0;
  std::string text_;
};

/// A prepared statement. Parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement(Database& database, const char* sql);
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, std::int64_t value) { sqlite3_bind_int64(handle_, at, value); }
  void bind(int at, std::uint64_t value) { bind(at, static_cast<std::int64_t>(value)); }
  void bind(int at, std::int32_t value) { bind(at, static_cast<std::int64_t>(value)); }
  void bind(int at, std::uint32_t value) { bind(at, static_cast<std::int64_t>(value)); }
  void bind(int at, double value) { sqlite3_bind_double(handle_, at, value); }
  template <typename Value>
  void bind(int at, const std::optional<Value>& value) {
    value ? bind(at, *value) : static_cast<void>(sqlite3_bind_null(handle_, at));
  }
  /// The text must live until the statement has run.
  void bind(int at, std::string_view text) {
    sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }

  /// The bytes must live until the statement has run.
  void bindBlob(int at, std::string_view bytes) {
    sqlite3_bind_blob(handle_, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  }

  /// Runs up to the next row; false at the end or on an error. After the end it can be bound
  /// and run again.
  bool row();

  /// Runs a statement without rows, and makes it ready to be bound again.
  void run();

  /// Binds the values in order and runs.
  template <typename... Values>
  void runWith(const Values&... values) {
    int at = 0;
    (bind(++at, values), ...);
    run();
  }

  [[nodiscard]] bool isNull(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(handle_, column);
  }
  [[nodiscard]] double number(int column) const { return sqlite3_column_double(handle_, column); }
  /// SQLite keeps no NaN: it stores a NULL, which is one here.
  [[nodiscard]] double numberOrNan(int column) const {
    return isNull(column) ? std::numeric_limits<double>::quiet_NaN() : number(column);
  }
  [[nodiscard]] std::string text(int column) const;
  /// The bytes live until the next row.
  [[nodiscard]] std::string_view blob(int column) const {
    const void* bytes = sqlite3_column_blob(handle_, column);
    return {static_cast<const char*>(bytes),
            bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
  }

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace lockstep::trace::sqlite
