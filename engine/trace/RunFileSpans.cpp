#include "engine/trace/RunFileSpans.h"

#include <span>
#include <string>
#include <utility>

#include "engine/trace/RunFileTables.h"

namespace lockstep::trace {
namespace {

std::string insertOf(std::size_t rows) {
  std::string sql =
      "INSERT INTO spans(track, kind, start, duration, step, bucket, detail, value) VALUES";
  for (std::size_t row = 0; row < rows; ++row) {
    sql += row == 0 ? "(?, ?, ?, ?, ?, ?, ?, ?)" : ", (?, ?, ?, ?, ?, ?, ?, ?)";
  }
  return sql;
}

}  // namespace

SpanWriter::SpanWriter(sqlite::Database& database)
    : many_(database, insertOf(kRowsAtOnce).c_str()), one_(database, insertOf(1).c_str()) {}

void SpanWriter::add(std::int32_t track, const Event& event) {
  rows_[waiting_++] = {track, event};
  if (waiting_ == rows_.size()) {
    writeAll();
  }
}

void SpanWriter::writeAll() {
  const auto bind = [](sqlite::Statement& statement, int after, const Row& row) {
    const Event& event = row.event;
    statement.bind(after + 1, row.track);
    statement.bind(after + 2, static_cast<std::int32_t>(event.kind));
    statement.bind(after + 3, std::uint64_t{event.startTicks});
    statement.bind(after + 4, static_cast<std::uint64_t>(event.durationTicks));
    statement.bind(after + 5, event.step);
    statement.bind(after + 6, tables::writtenBucket(event.bucket));
    statement.bind(after + 7, std::int32_t{event.detail});
    statement.bind(after + 8, event.value);
  };
  const std::span<const Row> rows(rows_.data(), std::exchange(waiting_, 0));
  if (rows.size() == kRowsAtOnce) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      bind(many_, static_cast<int>(8 * row), rows[row]);
    }
    many_.run();
    return;
  }
  for (const Row& row : rows) {
    bind(one_, 0, row);
    one_.run();
  }
}

}  // namespace lockstep::trace
