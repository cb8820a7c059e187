#include "engine/trace/SpanPages.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/trace/RunFileAccess.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

/// A file and a reader's transaction in it.
class SpanPagesTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "a.lockstep"; }

  void open() {
    database_ = openForReading(path(), {}).value();
    database_->execute("BEGIN");
  }

  /// Those of a statement.
  std::vector<SpanRow> selected(std::int64_t after, std::int64_t last) {
    std::vector<SpanRow> rows;
    sqlite::Statement select(*database_,
                             "SELECT id, track, kind, start, duration, step, bucket, detail, value "
                             "FROM spans WHERE id > ? AND id <= ? ORDER BY id");
    select.bind(1, after);
    select.bind(2, last);
    while (select.row()) {
      SpanRow& row = rows.emplace_back();
      row.id = select.integer(0);
      row.track = static_cast<std::int32_t>(select.integer(1));
      row.kind = static_cast<EventKind>(select.integer(2));
      row.startTicks = static_cast<std::uint64_t>(select.integer(3));
      row.durationTicks = static_cast<std::uint64_t>(select.integer(4));
      row.step = static_cast<std::uint32_t>(select.integer(5));
      row.bucket = select.isNull(6) ? kNoBucket : static_cast<std::uint16_t>(select.integer(6));
      row.detail = static_cast<std::uint16_t>(select.integer(7));
      row.value = static_cast<std::uint64_t>(select.integer(8));
    }
    return rows;
  }

  void expectSame(std::int64_t after, std::int64_t last) {
    std::vector<SpanRow> rows(1);  // that stands there
    ASSERT_TRUE(readSpanPages(*database_, after, last, rows)) << after << " to " << last;
    rows.erase(rows.begin());
    const std::vector<SpanRow> expected = selected(after, last);
    ASSERT_EQ(rows.size(), expected.size()) << after << " to " << last;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const SpanRow& row = rows[i];
      const SpanRow& other = expected[i];
      ASSERT_TRUE(row.id == other.id && row.track == other.track && row.kind == other.kind &&
                  row.startTicks == other.startTicks && row.durationTicks == other.durationTicks &&
                  row.step == other.step && row.bucket == other.bucket &&
                  row.detail == other.detail && row.value == other.value)
          << "row " << other.id;
    }
  }

  void expectRefused() {
    std::vector<SpanRow> rows(3);
    EXPECT_FALSE(readSpanPages(*database_, 0, kAll, rows));
    EXPECT_EQ(rows.size(), 3U);
  }

  TemporaryFolder folder_;
  std::unique_ptr<sqlite::Database> database_;
};

TEST_F(SpanPagesTest, GivesTheRowsOfAStatementWhereverAStretchBeginsAndEnds) {
  makeFinishedRun(path(), 50'000);
  open();
  expectSame(0, kAll);
  for (const std::int64_t after : {0, 1, 130, 12'345, 49'998, 49'999}) {
    for (const std::int64_t length : {1, 2, 133, 20'000}) {
      expectSame(after, after + length);
    }
  }
}

TEST_F(SpanPagesTest, KnowsNumbersOfEveryWidthAndHolesInIds) {
  makeFinishedRun(path(), 3'000);
  std::string rows;
  std::int64_t id = 10'000;
  for (int bits = 0; bits < 63; ++bits) {
    const std::string number = std::to_string(std::int64_t{1} << bits);
    const std::string less = std::to_string((std::int64_t{1} << bits) - 1);
    id *= bits % 8 == 0 && bits < 48 ? 40 : 1;
    rows += "INSERT INTO spans VALUES(" + std::to_string(++id) + ", 1, 12, " + number + ", " +
            less + ", 7, NULL, 3, -" + number + ");";
    rows += "INSERT INTO spans VALUES(" + std::to_string(++id) + ", 0, 1, 0, 1, 0, 0, 1, " + less +
            ");";
  }
  query(path(), "DELETE FROM spans WHERE id BETWEEN 50 AND 2000; " + rows);
  open();
  expectSame(0, kAll);
  expectSame(1'000, 10'020);
}

TEST_F(SpanPagesTest, LeavesALiveRunToStatements) {
  auto writer = createRun(path());
  writeEvents(*writer, 0, 1'000);
  open();
  expectRefused();
  database_.reset();
}

TEST_F(SpanPagesTest, LeavesToStatementsWhatOurWriterDoesNotWrite) {
  for (const char* change :
       {"ALTER TABLE spans ADD COLUMN colour INTEGER",
        "UPDATE spans SET value = 'a word' WHERE id = 700",
        "UPDATE spans SET value = 1.5 WHERE id = 700",
        "UPDATE spans SET value = zeroblob(9000) WHERE id = 700", "DELETE FROM spans"}) {
    std::filesystem::remove(path());
    makeFinishedRun(path(), 1'000);
    query(path(), change);
    open();
    SCOPED_TRACE(change);
    expectRefused();
    database_.reset();
  }
}

}  // namespace
}  // namespace lockstep::trace
