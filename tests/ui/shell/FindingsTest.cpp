#include "ui/panels/findings/Findings.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/findings/FindingCard.h"
#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"

namespace lockstep {
namespace {

using tests::SampleRun;
using tests::waitUntil;
using trace::RunState;

constexpr std::int64_t kMs = 1'000'000;

// What the window says of a run, beside the tabs and below them.
class FindingsTest : public tests::MainWindowFixture {
 protected:
  std::filesystem::path path(const char* name) {
    std::filesystem::create_directories(folder_ / "runs");
    return folder_ / "runs" / (std::string(name) + ".lockstep");
  }
  QString lateRun(const char* name = "late") {
    SampleRun run(path(name), 40, name);
    run.startUp();
    run.late(4 * kMs);
    run.steps(40);
    run.finish(RunState::kFinished);
    return QString::fromStdString(path(name).string());
  }
  ui::FindingsLine* line() { return find<ui::FindingsLine>("findingsLine"); }
  ui::FindingsList* list() { return find<ui::FindingsList>("findingsList"); }
  bool waitForLine(const QString& part) {
    return waitUntil([&] { return line()->isVisible() && line()->toolTip().contains(part); });
  }
  void pressLine() {
    const QPoint at = tests::middleOf(line(), [this] { return line()->pill(); });
    input_.click(at.x(), at.y());
    ASSERT_TRUE(waitUntil([this] { return list()->isVisible(); }));
  }
  ui::FindingCard* firstCard() { return list()->findChild<ui::FindingCard*>(); }
};

TEST_F(FindingsTest, ALateRankStandsBesideTheTabsAndShowLeadsToItsWorstMoment) {
  window().openRun(lateRun());
  ASSERT_TRUE(waitForLine("Rank 1 is late: "));
  EXPECT_TRUE(line()->shownText().startsWith("Rank 1 is late")) << line()->shownText().toStdString();
  auto* stages = find<ui::Stages>("stages");
  stages->setCurrent("buckets");
  pressLine();
  const QString place = firstCard()->findChild<QLabel*>("findingPlace")->text();
  EXPECT_TRUE(place.startsWith("rank 1, step ") && place.endsWith(", bucket 0, 4.bias, backward"))
      << place.toStdString();
  tests::keep(input_.screenshot(), "findings");
  click(firstCard()->showButton());
  ASSERT_TRUE(waitUntil([&] { return stages->current() == "timeline" && !list()->isVisible(); }));
  const auto& selection = window().session()->state()->selection();
  ASSERT_TRUE(waitUntil([&] { return selection.has_value(); }));
  EXPECT_EQ(selection->rank(), 1);
  EXPECT_EQ(selection->kind, trace::EventKind::kGradientReady);
  EXPECT_EQ(selection->value, 5U);
  const ui::TimeRange range = window().session()->state()->range();
  EXPECT_TRUE(range.startNs < selection->startNs && selection->startNs < range.endNs);
}

TEST_F(FindingsTest, AKeyOpensThemAndEscOrTheKeyClosesThem) {
  window().openRun(lateRun());
  ASSERT_TRUE(waitForLine("Rank 1 is late"));
  input_.key(tests::kKeyF8);
  ASSERT_TRUE(waitUntil([&] { return list()->isVisible(); }));
  input_.key(tests::kKeyEscape);
  ASSERT_TRUE(waitUntil([&] { return !list()->isVisible(); }));
  input_.key(tests::kKeyF8);
  ASSERT_TRUE(waitUntil([&] { return list()->isVisible(); }));
  input_.key(tests::kKeyF8);
  EXPECT_TRUE(waitUntil([&] { return !list()->isVisible(); }));
  pressLine();
  const QPoint at = tests::middleOf(line(), [this] { return line()->pill(); });
  input_.click(at.x(), at.y());
  EXPECT_TRUE(waitUntil([&] { return !list()->isVisible(); })) << "the line closes it again";
}

TEST_F(FindingsTest, TheyTakeNoHeightFromTheViews) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  auto* tabs = find<QTabBar>("stageTabs");
  ASSERT_TRUE(waitForLine("Nothing stands out in 39 measured steps of "));
  EXPECT_EQ(tabs->height(), tabs->sizeHint().height());
  EXPECT_EQ(tabs->width(), tabs->sizeHint().width()) << "nor width from the tabs";
  EXPECT_EQ(line()->height(), tabs->height());
  pressLine();
  EXPECT_FALSE(firstCard()->showButton()->isVisible());
}

TEST_F(FindingsTest, ARunThatIsTooShortSaysThatItCannotTell) {
  window().openRun(finishedRun(5));
  EXPECT_TRUE(waitForLine("This run cannot tell, because only 4 of its steps are measured"));
}

TEST_F(FindingsTest, OfALiveRunTheySaySoFarAndOfTheOneBeforeNothing) {
  window().openRun(lateRun());
  ASSERT_TRUE(waitForLine("Rank 1 is late"));
  pressLine();
  SampleRun live(path("live"), 100, "live");
  live.startUp();
  live.steps(2);
  window().openRun(QString::fromStdString(path("live").string()));
  EXPECT_FALSE(list()->isVisible());
  EXPECT_FALSE(line()->toolTip().contains("late")) << line()->toolTip().toStdString();
  ASSERT_TRUE(waitForLine("So far: This run cannot tell, because only "));
  live.late(4 * kMs);
  live.steps(40);
  ASSERT_TRUE(waitForLine("So far: Rank 1 is late: "));
  pressLine();
  EXPECT_TRUE(find<QLabel>("findingsSummary")->text().endsWith(" so far: the run goes on"));
  live.finish(RunState::kFinished);
  EXPECT_TRUE(waitUntil([&] { return line()->toolTip().startsWith("Rank 1 is late: "); }));
  EXPECT_FALSE(find<QLabel>("findingsSummary")->text().contains("so far"));
}

TEST_F(FindingsTest, ApplyRunsACopyOfTheExperimentBesideWhichTheRunIsCompared) {
  {
    SampleRun run(path("search"), 40, "search");
    run.startUp();
    run.searchUnused(2 * kMs);
    run.steps(40);
    run.finish(RunState::kFinished);
  }
  const QString before = QString::fromStdString(path("search").string());
  window().openRun(before);
  ASSERT_TRUE(waitForLine("Unused parameters are searched for, and there are none"));
  pressLine();
  ASSERT_TRUE(firstCard()->applyButton()->isEnabled());
  click(firstCard()->applyButton());
  ASSERT_TRUE(waitUntil([&] {
    return window().session() != nullptr && window().session()->path() != before;
  }));
  const QDir drafts(runs() + "/drafts");
  ASSERT_EQ(drafts.entryList({"*.toml"}),
            QStringList("search-find_unused_parameters=false.toml"));
  QFile file(drafts.filePath(drafts.entryList({"*.toml"}).front()));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray text = file.readAll();
  EXPECT_TRUE(text.contains("name = \"search find_unused_parameters=false\"")) << text.toStdString();
  EXPECT_FALSE(text.contains("find_unused_parameters = true")) << text.toStdString();
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_TRUE(waitUntil([&] {
    return window().findChild<ui::CompareView*>()->otherTabs()->count() == 1;
  }));
}

}  // namespace
}  // namespace lockstep
