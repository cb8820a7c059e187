#include "ui/views/buckets/WhatIf.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/experiment/Parse.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/model/Format.h"
#include "ui/views/buckets/BucketsView.h"
#include "ui/views/buckets/WhatIfPanel.h"
#include "ui/views/buckets/WhatIfScene.h"

namespace lockstep::ui {
namespace {

class WhatIfTest : public testing::Test {
 protected:
  WhatIfTest() {
    test::BucketRun run;
    experiment::Experiment experiment;
    experiment.train.steps = 2;
    experiment.ddp.firstBucketMb = 100.0 / (1 << 20);
    experiment.ddp.bucketCapMb = 150.0 / (1 << 20);
    run.update.info->experimentToml = experiment::toToml(experiment);
    model_.applyUpdate(run.update);
  }

  BucketStory story() {
    BucketStories stories(model_);
    return *stories.ofStep(1);
  }

  static std::vector<analysis::CostSample> samples(const BucketStory& story) {
    const auto step = measuredStep(story);
    return step ? analysis::costSamples(*step) : std::vector<analysis::CostSample>();
  }

  RunModel model_;
  ViewState state_;
};

// 100 bytes took 500 - 370 = 130 and 700 - 615 = 85, 200 bytes 600 - 510 = 90: the fit does not
// rise, so that each takes (2 * 107.5 + 90) / 3 = 101.67 µs. Of 130, 85 and 90 that is off by 22,
// 20 and 13 %.
TEST_F(WhatIfTest, SaysWhatItAssumesWithTheFitAndItsError) {
  const BucketStory measured = story();
  ASSERT_EQ(ownCap(measured), 150u);
  const WhatIf told = whatIf(measured, samples(measured), 200);
  ASSERT_TRUE(told.known()) << told.whyNot.toStdString();
  const QString text = assumptions(told);
  EXPECT_TRUE(text.contains("102 µs and 0 ns a MB")) << text.toStdString();
  EXPECT_TRUE(text.contains("3 measured ones")) << text.toStdString();
  EXPECT_TRUE(text.contains("more than 20 %")) << text.toStdString();
  EXPECT_TRUE(spokenSummary(told).contains("Measured, cap"));
}

// Rank 0's last gradient is ready at 400 and it is in flight from 120 to 500, 510 to 600 and 610 to
// 700: 100 + 90 + 90 = 280 of 560 behind it. Rank 1, from 450: 50 + 90 + 85 = 225 of 305.
TEST_F(WhatIfTest, HasTheMeasuredOutcomeBesideTheForecasts) {
  const BucketStory measured = story();
  const WhatIf told = whatIf(measured, samples(measured), 400);
  const auto rows = outcomeRows(told);
  ASSERT_EQ(rows.size(), 3u);
  ASSERT_EQ(rows[0].size(), outcomeTitles().size());
  EXPECT_EQ(rows[0][1], "3");
  EXPECT_EQ(rows[0][2], formatDuration(432.5e3));
  EXPECT_EQ(rows[0][3], formatDuration(252.5e3));
  EXPECT_EQ(rows[0][4], "42 %");
  EXPECT_EQ(rows[0][5], "250 µs");  // 450 to 700
  EXPECT_EQ(rows[1][1], "3");
  EXPECT_EQ(rows[2][1], "2") << "{3} {2 1 0} under a cap of 400";
  EXPECT_TRUE(rows[2][0].contains(capText(400)));
}

TEST_F(WhatIfTest, SaysWhyNothingCanBeForecast) {
  BucketStory measured = story();
  EXPECT_TRUE(whatIf(measured, {}, 200).whyNot.contains("too alike in size"));
  measured.config->bucketCapMbList = {1, 2};
  EXPECT_TRUE(whatIf(measured, samples(measured), 200).whyNot.contains("list of caps"));
  measured.config.reset();
  EXPECT_TRUE(whatIf(measured, samples(measured), 200).whyNot.contains("cannot be read"));
  DisplayList list;
  drawWhatIf(list, QRectF(0, 0, 600, 0), whatIf(measured, {}, 200), Palette::of(Theme::kLight));
  EXPECT_TRUE(list.texts().empty());
}

TEST_F(WhatIfTest, DrawsBothStripsWithinTheirArea) {
  const BucketStory measured = story();
  const WhatIf told = whatIf(measured, samples(measured), 400);
  const QRectF area(0, 0, 900, whatIfHeight(told));
  DisplayList list;
  drawWhatIf(list, area, told, Palette::of(Theme::kDark));
  int bars = 0;
  for (const auto& command : list.commands()) {
    EXPECT_TRUE(area.adjusted(-1, -1, 1, 1).contains(command.rect));
    bars +=
        command.op == DisplayList::Op::kText && list.textOf(command).startsWith(QLatin1Char('b'))
            ? 1
            : 0;
  }
  EXPECT_EQ(bars, 5) << "three measured buckets and two of the forecast";
}

// The pane on its own, with the iteration.
class WhatIfPanelTest : public WhatIfTest {
 protected:
  WhatIfPanelTest() {
    panel_.resize(1200, 500);
    panel_.show();
    panel_.setRun(&model_, &stories_);
  }

  QToolButton& exportButton() {
    return *panel_.findChild<QToolButton*>(QStringLiteral("whatIfExport"));
  }

  BucketStories stories_{model_};
  WhatIfPanel panel_;
};

TEST_F(WhatIfPanelTest, WritesTheBucketsOfTheForecastAsCsv) {
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel_));
  panel_.setStory(stories_.ofStep(1));
  panel_.slider()->setValue(panel_.slider()->maximum());
  ASSERT_TRUE(exportButton().isEnabled());
  const support::TemporaryFolder folder;
  const std::filesystem::path path = folder / "forecast.csv";
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  // The dialog has an event loop of its own: it is answered from there.
  QTimer answer;
  QObject::connect(&answer, &QTimer::timeout, [&] {
    if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
      answer.stop();
      dialog->selectFile(QString::fromStdString(path.string()));
      QMetaObject::invokeMethod(dialog, "accept");
    }
  });
  answer.start(10);
  exportButton().click();
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs, false);
  const std::string text = support::readFile(path);
  EXPECT_TRUE(text.starts_with("Bucket,Parameters,Bytes,Full,Launched,Begun,Ended\r\nb0,1,"))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "the titles and two buckets";
}

TEST_F(WhatIfPanelTest, HasNothingToWriteWithoutAForecast) {
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel_));
  auto unknown = std::make_shared<BucketStory>(story());
  unknown->config.reset();
  panel_.setStory(unknown);
  ASSERT_NE(panel_.told(), nullptr);
  EXPECT_FALSE(exportButton().isEnabled());
}

TEST_F(WhatIfTest, TheSliderOfThePaneForecastsAnotherCap) {
  BucketsView view;
  view.resize(1200, 900);
  view.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&view));
  view.setRun({&model_, &state_, nullptr});
  state_.setIteration(1);
  auto* panel = view.findChild<WhatIfPanel*>();
  ASSERT_NE(panel, nullptr);
  EXPECT_FALSE(panel->isVisible());
  for (QAction* action : view.viewActions()) {
    if (action->shortcuts().contains(QKeySequence(Qt::Key_I))) {
      action->trigger();
    }
  }
  ASSERT_TRUE(panel->isVisible());
  ASSERT_NE(panel->told(), nullptr);
  ASSERT_TRUE(panel->told()->known()) << panel->told()->whyNot.toStdString();
  EXPECT_EQ(panel->told()->capBytes, 150u) << "at first the cap of the run";
  EXPECT_EQ(panel->told()->wanted.buckets.size(), 3u);
  panel->slider()->setValue(panel->slider()->maximum());
  EXPECT_EQ(panel->told()->capBytes, 400u);
  EXPECT_EQ(panel->told()->wanted.buckets.size(), 2u);
  EXPECT_EQ(panel->findChild<QTableView*>()->model()->rowCount(), 2);
  panel->slider()->setValue(0);
  EXPECT_EQ(panel->told()->wanted.buckets.size(), 4u);
}

}  // namespace
}  // namespace lockstep::ui
