#include <QClipboard>
#include <QMenu>
#include <QTableView>

#include "tests/ui/views/timeline/TimelineViewFixture.h"
#include "ui/table/TableText.h"
#include "ui/views/timeline/CounterMenu.h"
#include "ui/views/timeline/CounterPanel.h"
#include "ui/views/timeline/CounterTable.h"

namespace lockstep::ui {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

// The demo run with memory, processor and a hook's counter, ten values each, a second apart.
class TimelineCountersTest : public TimelineViewTest {
 protected:
  void openWithCounters() {
    trace::RunUpdate run = test::demoRun();
    const auto ticks = static_cast<std::uint64_t>(1e9 / test::kDemoNsPerTick);
    for (int rank = 0; rank < 2; ++rank) {
      for (int i = 0; i < 10; ++i) {
        const auto at = test::kDemoOriginTicks + static_cast<std::uint64_t>(i) * ticks;
        run.metrics.push_back(
            {0, rank, "resident_bytes", 0, at, (100 + 10 * i + rank) * kMebibyte});
        run.metrics.push_back({0, rank, "cpu_percent", 0, at, 10.0 * (i % 5) + rank});
        run.metrics.push_back({0, rank, "hook.kept", 0, at, 618});
      }
    }
    model_.applyUpdate(run);
    view_->setRun({&model_, &state_});
    const auto step = model_.step(0, 20);
    state_.setRange({step->startNs - 1e6, step->endNs + 1e6}, ViewState::RangeChange::kSilent);
    settle();
  }

  std::vector<std::string> plotted(std::size_t rank = 0) {
    std::vector<std::string> names;
    for (const auto& box : view_->controller()->layout().ranks()[rank].counters) {
      names.push_back(box.name);
    }
    return names;
  }

  CounterMenu& menu() { return *view_->findChild<CounterMenu*>(QStringLiteral("counterMenu")); }
  QTableView& table() { return *view_->findChild<QTableView*>(QStringLiteral("counterTable")); }
};

TEST_P(TimelineCountersTest, MemoryAndProcessorArePlottedUntilOthersAreChosen) {
  openWithCounters();
  EXPECT_EQ(plotted(), (std::vector<std::string>{"resident_bytes", "cpu_percent"}));
  emit menu().aboutToShow();
  QAction* kept = menu().findChild<QAction*>(QStringLiteral("hook.kept"));
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->text(), "kept");
  EXPECT_FALSE(kept->isChecked());
  kept->trigger();
  EXPECT_EQ(plotted(1), (std::vector<std::string>{"resident_bytes", "cpu_percent", "hook.kept"}));
  menu().findChild<QAction*>(QStringLiteral("resident_bytes"))->trigger();
  EXPECT_EQ(plotted(), (std::vector<std::string>{"cpu_percent", "hook.kept"}));
  state_.undoStack().undo();
  EXPECT_EQ(plotted().size(), 3u);
}

TEST_P(TimelineCountersTest, AKeyHidesThemAndBringsTheSameBack) {
  openWithCounters();
  state_.setCounters({"hook.kept"});
  trigger("V");
  EXPECT_TRUE(plotted().empty());
  trigger("V");
  EXPECT_EQ(plotted(), std::vector<std::string>{"hook.kept"});
}

TEST_P(TimelineCountersTest, TheTableHasTheFiguresOfTheRunOrOfTheFilteredTime) {
  openWithCounters();
  EXPECT_FALSE(table().isVisible());
  trigger("Shift+V");
  ASSERT_TRUE(table().isVisible());
  const QAbstractItemModel& rows = *table().model();
  ASSERT_EQ(rows.rowCount(), 4) << "two counters of two ranks";
  const auto text = [&](int row, int column) {
    return rows.index(row, column).data().toString().toStdString();
  };
  EXPECT_EQ(text(1, CounterTable::kCounter), "Memory");
  EXPECT_EQ(text(1, CounterTable::kRank), "1");
  EXPECT_EQ(text(1, CounterTable::kMinimum), "101 MiB");
  EXPECT_EQ(text(0, CounterTable::kMean), "145 MiB");  // 100, 110 .. 190
  EXPECT_EQ(text(0, CounterTable::kMaximum), "190 MiB");
  EXPECT_EQ(text(0, CounterTable::kMaximumAt), "9.000 s");
  EXPECT_EQ(text(2, CounterTable::kMaximumAt), "4.000 s") << "the first of two";
  EXPECT_EQ(text(0, CounterTable::kValues), "10");
  state_.setFilter(TimeRange{1.5e9, 3.5e9});
  EXPECT_EQ(text(0, CounterTable::kMinimum), "110 MiB") << "that of 1 s holds until 2 s";
  EXPECT_EQ(text(0, CounterTable::kLast), "130 MiB");
  EXPECT_EQ(text(0, CounterTable::kValues), "3");
  EXPECT_EQ(text(2, CounterTable::kMaximum), "40 %") << "the mean from 3 s to 4 s";
  EXPECT_EQ(text(2, CounterTable::kMaximumAt), "3.500 s");
  state_.setFilter(TimeRange{9.5e9, 9.7e9});
  EXPECT_EQ(text(0, CounterTable::kMean), "–") << "no value counts in that time";
  table().sortByColumn(CounterTable::kRank, Qt::DescendingOrder);
  EXPECT_EQ(text(0, CounterTable::kRank), "1");
  EXPECT_TRUE(csvOf(rows).startsWith(QLatin1String("Counter,Rank,Minimum,Mean,Maximum")));
}

TEST_P(TimelineCountersTest, ARowOfTheTableLeadsToItsPeak) {
  openWithCounters();
  trigger("Shift+V");
  const TimeRange before = state_.range();
  emit table().activated(table().model()->index(0, 0));
  EXPECT_NEAR((state_.range().startNs + state_.range().endNs) / 2, 9e9, 1);
  EXPECT_NEAR(state_.range().lengthNs(), before.lengthNs(), 1);
}

TEST_P(TimelineCountersTest, AreToldToWhoCannotSeeThem) {
  openWithCounters();
  state_.setCounters({"resident_bytes"});
  EXPECT_TRUE(
      view_->accessibleDescription().contains(QLatin1String("Memory: at most 191 MiB, on rank 1.")))
      << view_->accessibleDescription().toStdString();
}

TEST_P(TimelineCountersTest, FollowARunThatGoesOn) {
  openWithCounters();
  const auto lanes = [&] { return view_->controller()->layout().ranks()[0].counters.size(); };
  EXPECT_EQ(lanes(), 2u);
  state_.setCounters({"loss", "sent_bytes_per_second"});
  EXPECT_EQ(lanes(), 1u);
  trace::RunUpdate more;
  more.metrics = {{0, 0, "sent_bytes_per_second", 0, test::kDemoOriginTicks, 5e6}};
  model_.applyUpdate(more);
  EXPECT_TRUE(QTest::qWaitFor([&] { return lanes() == 2; }, 10'000));
}

INSTANTIATE_TEST_SUITE_P(Renderers, TimelineCountersTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui
