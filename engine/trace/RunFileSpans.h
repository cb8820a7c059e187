#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/trace/EventRecord.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

/// Writes the table of spans, many rows with one statement: a row of its own costs more than twice
/// as much. What was added waits here until writeAll(), which belongs before a commit. Errors stick
/// in the database.
class SpanWriter {
 public:
  explicit SpanWriter(sqlite::Database& database);

  void add(std::int32_t track, const Event& event);
  void writeAll();

 private:
  static constexpr std::size_t kRowsAtOnce = 32;

  struct Row {
    std::int32_t track = 0;
    Event event;
  };

  sqlite::Statement many_;
  sqlite::Statement one_;
  std::array<Row, kRowsAtOnce> rows_;
  std::size_t waiting_ = 0;
};

}  // namespace lockstep::trace
