#include "engine/trace/SpanReader.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/base/Try.h"
#include "engine/trace/SpanPages.h"

namespace lockstep::trace {
namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr std::int64_t kWorthTwoThreads = 20'000;
constexpr std::size_t kRangeAtMost = 1u << 20;  // rows that room is made for at once

/// Where a statement puts its rows: there is room for `room` more.
struct Rows {
  std::vector<SpanRow>* rows = nullptr;
  std::size_t room = 0;
  std::int64_t lastId = 0;
};

// Takes one row of a statement. Called from C, so nothing here may throw.
void takeRow(sqlite3_context* context, int, sqlite3_value** values) {
  auto& into = *static_cast<Rows*>(sqlite3_user_data(context));
  const std::int64_t id = sqlite3_value_int64(values[0]);
  // More rows than ids, or ids that go back, are what only a damaged table has.
  if (into.room == 0 || id <= into.lastId) {
    sqlite3_result_error_code(context, SQLITE_CORRUPT);
    return;
  }
  --into.room;
  into.lastId = id;
  const auto number = [values](int at) { return sqlite3_value_int64(values[at]); };
  SpanRow& row = into.rows->emplace_back();
  row.id = id;
  row.track = static_cast<std::int32_t>(number(1));
  row.kind = static_cast<EventKind>(number(2));
  row.startTicks = static_cast<std::uint64_t>(number(3));
  row.durationTicks = static_cast<std::uint64_t>(number(4));
  row.step = static_cast<std::uint32_t>(number(5));
  row.bucket = sqlite3_value_type(values[6]) == SQLITE_NULL ? kNoBucket
                                                            : static_cast<std::uint16_t>(number(6));
  row.detail = static_cast<std::uint16_t>(number(7));
  row.value = static_cast<std::uint64_t>(number(8));
}

void endRows(sqlite3_context* context) {
  sqlite3_result_null(context);
}

// Adds the rows with ids above `after` up to `last`. They are handed over by an aggregate function
// within the statement: to step to each row and to ask for its columns one by one takes a quarter
// longer.
void readByStatement(Database& database, std::int64_t after, std::int64_t last,
                     std::vector<SpanRow>& rows) {
  Rows into{&rows, static_cast<std::size_t>(last - after), after};
  const auto define = [&](Rows* to, auto step, auto end) {
    return sqlite3_create_function_v2(database.handle(), "take_span", 9,
                                      SQLITE_UTF8 | SQLITE_DIRECTONLY, to, nullptr, step, end,
                                      nullptr);
  };
  database.note(define(&into, takeRow, endRows));
  {
    Statement select(database,
                     "SELECT take_span(id, track, kind, start, duration, step, bucket, detail, "
                     "value) FROM spans WHERE id > ? AND id <= ?");
    select.bind(1, after);
    select.bind(2, last);
    while (select.row()) {
    }
  }
  define(nullptr, nullptr, nullptr);  // `into` ends here
}

// The same, from the pages of the file where that can be.
void readRange(Database& database, std::int64_t after, std::int64_t last,
               std::vector<SpanRow>& rows) {
  rows.reserve(rows.size() + static_cast<std::size_t>(last - after));
  if (database.ok() && !readSpanPages(database, after, last, rows)) {
    readByStatement(database, after, last, rows);
  }
}

std::int64_t highestId(Database& database) {
  Statement highest(database, "SELECT max(id) FROM spans");
  return highest.row() ? highest.integer(0) : 0;
}

std::int64_t idAfter(Database& database, std::int64_t id) {
  Statement next(database, "SELECT id FROM spans WHERE id > ? ORDER BY id LIMIT 1");
  next.bind(1, id);
  return next.row() ? next.integer(0) : id + 1;
}

}  // namespace

base::Status SpanReader::read(Database& database, std::size_t most, std::vector<SpanRow>& rows) {
  const std::int64_t highest = highestId(database);
  while (database.ok() && rows.size() < most && after_ < highest) {
    // Ranges of ids stand in for numbers of rows: a writer numbers them without holes.
    const std::size_t before = rows.size();
    const auto room = static_cast<std::int64_t>(std::min(most - before, kRangeAtMost));
    const std::int64_t last = after_ + std::min(room, highest - after_);
    if (last - after_ < kWorthTwoThreads) {
      readRange(database, after_, last, rows);
    } else if (base::Status read = readByTwo(database, last, rows); !read.ok()) {
      return read;
    }
    after_ = last;
    if (rows.size() == before && last < highest) {
      // Ids have holes in a file that was mended, or made by others.
      after_ = idAfter(database, last) - 1;
    }
  }
  return {};
}

// The second connection sees the same rows: they were all there before it looks, and a row never
// changes.
base::Status SpanReader::readByTwo(Database& database, std::int64_t last,
                                   std::vector<SpanRow>& rows) {
  if (second_ == nullptr) {
    second_ = LOCKSTEP_TRY(connect_());
  }
  const std::int64_t middle = after_ + (last - after_) / 2;
  secondRows_.clear();
  std::thread second([&] {
    base::nameThisThread("run reader 2");
    second_->execute("BEGIN");
    readRange(*second_, middle, last, secondRows_);
    second_->execute("COMMIT");
  });
  rows.reserve(rows.size() + static_cast<std::size_t>(last - after_));
  readRange(database, after_, middle, rows);
  second.join();
  rows.insert(rows.end(), secondRows_.begin(), secondRows_.end());
  return second_->status();
}

void SpanReader::rest() {
  second_.reset();
  std::exchange(secondRows_, {});  // to assign {} would keep their room
}

}  // namespace lockstep::trace
