#include "engine/trace/Event.h"
#include "ui/panels/events/EventsExport.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <memory>
#include <string>
#include <vector>

#include "engine/export/Tables.h"
#include "tests/support/SortedLines.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

// What a search finds, once it has.
std::shared_ptr<const EventRows> found(const RunModel& model, const EventOrder& order) {
  EventSearch search;
  std::shared_ptr<const EventRows> rows;
  QObject::connect(&search, &EventSearch::found, &search, [&](const auto& all) { rows = all; });
  search.start(model, order);
  EXPECT_TRUE(QTest::qWaitFor([&] { return rows != nullptr; }, 30'000));
  return rows;
}

class EventsExportTest : public testing::Test {
 protected:
  // Returns what was said of it.
  QString write(const RunModel& model, const EventOrder& order) {
    EventsExport events;
    const QSignalSpy ended(&events, &EventsExport::ended);
    events.start(path(), model, order, found(model, order));
    EXPECT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, 30'000));
    return ended.value(0).value(1).toString();
  }
  [[nodiscard]] QString path() const {
    return QString::fromStdString((folder_ / "events.csv").string());
  }

  support::TemporaryFolder folder_;
};

// Lines are in another order: of time here, of the file there.
TEST_F(EventsExportTest, WritesTheRowsThatLockstepExportWrites) {
  const std::filesystem::path run = std::filesystem::path(LOCKSTEP_GOLDEN) / "run-1.2.lockstep";
  RunModel model(run);
  ASSERT_TRUE(QTest::qWaitFor([&] { return model.isLoaded(); }, 30'000));
  for (const bool part : {false, true}) {
    EventOrder order;
    exports::Selection selection;
    if (part) {
      order.query = SpanQuery("step:1..2");
      selection.steps = exports::StepRange{1, 2};
    }
    EXPECT_EQ(write(model, order), "");
    ASSERT_TRUE(exports::writeTable(run, "events", folder_ / "export.csv", selection).ok());
    const auto ours = support::sortedLines(folder_ / "events.csv");
    EXPECT_GT(ours.size(), 30u);
    auto theirs = support::sortedLines(folder_ / "export.csv");
    // It also says where events were lost: these stretches are no events that a search finds.
    EXPECT_EQ(std::erase_if(theirs, [](const auto& line) { return line.find(",gap,") < 20; }), 1u);
    EXPECT_EQ(ours, theirs);
  }
}

// After each search another event comes late, before all that it found.
TEST_F(EventsExportTest, GivesUpWhenEventsMoveAgainAndAgain) {
  test::Feed feed(1);
  RunModel model;
  std::uint64_t at = 10'000;
  const auto comesLate = [&] {
    at -= 100;
    model.applyUpdate(feed.span(1, trace::EventKind::kForward, at, at + 50).take());
  };
  comesLate();
  const auto rows = found(model, {});
  for (const int lateSearches : {1, EventsExport::kSearches}) {
    comesLate();
    EventsExport events;
    const QSignalSpy ended(&events, &EventsExport::ended);
    int searches = 0;
    QObject::connect(&events, &EventsExport::searchedAnew, &events, [&](int time) {
      EXPECT_EQ(time, ++searches);
      if (searches < lateSearches || lateSearches == EventsExport::kSearches) {
        comesLate();
      }
    });
    events.start(path(), model, {}, rows);
    ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, 30'000));
    EXPECT_EQ(searches, lateSearches);
    const QString mistake = ended[0][1].toString();
    if (lateSearches == 1) {
      EXPECT_EQ(mistake, "");
      EXPECT_EQ(support::sortedLines(folder_ / "events.csv").size(), 3u) << "titles, two events";
      std::filesystem::remove(folder_ / "events.csv");
    } else {
      EXPECT_TRUE(mistake.contains("5 times")) << mistake.toStdString();
      EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    }
  }
}

}  // namespace
}  // namespace lockstep::ui
