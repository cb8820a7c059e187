#include "ui/panels/findings/Findings.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QToolButton>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/findings/FindingCard.h"
#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/panels/findings/VerdictCard.h"
#include "ui/shell/FindingPlace.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"

namespace lockstep {
namespace {

using tests::SampleRun;
using tests::waitUntil;
using trace::RunState;

constexpr std::int64_t kMs = 1'000'000;

// What the window says of a run, folded beside the tabs and below them.
class FindingsTest : public tests::MainWindowFixture {
 protected:
  FindingsTest() { ui::Settings().setVerdictIsFolded(true); }
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

TEST(FindingPlaceTest, WhereNoRankIsLateAllRanksAreShown) {
  diagnosis::Remark remark{diagnosis::Topic::kLate, "no rank is late", "no rank is late", {}};
  EXPECT_EQ(ui::viewOf(remark), "ranks");
  remark.place.step = 3;
  EXPECT_EQ(ui::viewOf(remark), "timeline");
}

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
  ASSERT_TRUE(waitForLine("No rank, link or setting stands out in 39 measured steps of "));
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

TEST_F(FindingsTest, TheVerdictUnfoldsInFrontOfTheViewsAndStaysSo) {
  const QString run = lateRun();
  window().openRun(run);
  ASSERT_TRUE(waitForLine("Rank 1 is late"));
  auto* card = find<ui::VerdictCard>("verdictCard");
  EXPECT_FALSE(card->isVisible());
  auto* fold = find<QToolButton>("foldVerdict");
  EXPECT_EQ(fold->toolTip(), "Unfold the verdict on this run");
  click(fold);
  ASSERT_TRUE(waitUntil([&] { return card->isVisible() && !line()->isVisible(); }));
  EXPECT_EQ(fold->toolTip(), "Fold the verdict on this run to a line");
  EXPECT_TRUE(card->words().headline.text.startsWith("Rank 1 is late: "))
      << card->words().headline.text.toStdString();
  EXPECT_TRUE(card->words().subject.startsWith("late · mlp, 2 ranks, ") &&
              card->words().subject.endsWith(", hook allreduce · 40 iterations"))
      << card->words().subject.toStdString();
  tests::keep(input_.screenshot(), "verdict");
  input_.key(tests::kKeyF8);
  ASSERT_TRUE(waitUntil([&] { return list()->isVisible(); }));
  EXPECT_GE(list()->geometry().top(), card->mapToGlobal(card->rect().bottomLeft()).y());
  input_.key(tests::kKeyEscape);
  ASSERT_TRUE(waitUntil([&] { return !list()->isVisible(); }));
  closeWindow();
  window().openRun(run);
  EXPECT_TRUE(waitUntil([&] { return find<ui::VerdictCard>("verdictCard")->isVisible(); }));
}

TEST_F(FindingsTest, EachPartOfTheVerdictLeadsToWhereItIsSeen) {
  ui::Settings().setVerdictIsFolded(false);
  window().openRun(lateRun());
  auto* card = find<ui::VerdictCard>("verdictCard");
  ASSERT_TRUE(waitUntil([&] { return !card->words().parts.empty(); }));
  auto* stages = find<ui::Stages>("stages");
  const auto press = [&](const QString& part) {
    for (const ui::VerdictWords::Part& one : card->words().parts) {
      if (one.text.startsWith(part)) {
        emit card->label()->linkActivated(one.link);
        return true;
      }
    }
    return false;
  };
  ASSERT_TRUE(press("Overlap "));
  EXPECT_EQ(stages->current(), "overlap");
  ASSERT_TRUE(press("Replicas "));
  EXPECT_EQ(stages->current(), "divergence");
  ASSERT_TRUE(press("Rank 1 is late in "));
  EXPECT_EQ(stages->current(), "timeline");
  const auto& selection = window().session()->state()->selection();
  ASSERT_TRUE(selection.has_value());
  EXPECT_EQ(selection->rank(), 1);
  ASSERT_TRUE(press("Step "));
  ASSERT_TRUE(selection.has_value());
  EXPECT_EQ(selection->kind, trace::EventKind::kStep);
  EXPECT_EQ(window().session()->state()->iteration(), selection->step);
}

TEST_F(FindingsTest, ARunThatFailedSaysThatFirstAndInTheColourOfAFault) {
  ui::Settings().setVerdictIsFolded(false);
  {
    SampleRun run(path("failed"), 40, "failed");
    run.startUp();
    run.steps(12);
    run.finish(RunState::kFailed, "rank 1 was killed by SIGKILL in iteration 12");
  }
  window().openRun(QString::fromStdString(path("failed").string()));
  auto* card = find<ui::VerdictCard>("verdictCard");
  ASSERT_TRUE(waitUntil([&] { return card->words().tone == ui::FindingTone::kWrong; }));
  EXPECT_EQ(card->words().headline.text, "Failed: rank 1 was killed by SIGKILL in iteration 12");
  click(find<QToolButton>("foldVerdict"));
  EXPECT_TRUE(waitForLine("Failed: rank 1 was killed by SIGKILL in iteration 12"))
      << "folded, too: " << line()->toolTip().toStdString();
  EXPECT_FALSE(messages().join(' ').contains("SIGKILL")) << "nobody else says it";
}

}  // namespace
}  // namespace lockstep
