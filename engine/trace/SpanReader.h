#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

/// Reads the `spans` table from where it stopped the last time. Where much is new, two threads
/// read half of it each, by a connection each. One thread at a time.
class SpanReader {
 public:
  /// Makes one more connection to the same file.
  using Connect = std::function<base::Result<std::unique_ptr<sqlite::Database>>()>;

  explicit SpanReader(Connect connect) : connect_(std::move(connect)) {}

  /// Adds at most `most` rows, in the order of their ids: fewer only when there are no more.
  /// `database` is within a transaction; its own errors stick in it, those of the second
  /// connection are returned.
  base::Status read(sqlite::Database& database, std::size_t most, std::vector<SpanRow>& rows);

  /// The highest id that was read.
  [[nodiscard]] std::int64_t lastId() const { return after_; }

  /// Closes the second connection and gives its memory back.
  void rest();

 private:
  base::Status readByTwo(sqlite::Database& database, std::int64_t last, std::vector<SpanRow>& rows);

  Connect connect_;
  std::int64_t after_ = 0;  // all rows up to this id were read
  std::unique_ptr<sqlite::Database> second_;
  std::vector<SpanRow> secondRows_;
};

}  // namespace lockstep::trace
