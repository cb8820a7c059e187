#include "ui/views/whatif/WhatIf.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QSlider>
#include <algorithm>
#include <memory>

#include "tests/ui/views/whatif/WhatIfRuns.h"
#include "ui/model/Format.h"
#include "ui/views/whatif/WhatIfControls.h"
#include "ui/views/whatif/WhatIfLinks.h"
#include "ui/views/whatif/WhatIfScene.h"

namespace lockstep::ui {
namespace {

using test::kMiB;
using test::whatIfRunOf;
using test::whatIfSteps;

diagnosis::WantedChange capOf(double bytes) {
  diagnosis::WantedChange wanted;
  wanted.capMb = bytes / kMiB;
  return wanted;
}

class WhatIfTest : public testing::Test {
 protected:
  WhatIf told(const diagnosis::WantedChange& wanted) { return whatIf(*run_, wanted, 2); }

  std::shared_ptr<const WhatIfRun> run_ = whatIfRunOf(whatIfSteps(8).update);
};

// 100 bytes took 500 - 370 = 130 and 740 - 655 = 85, in the middle 107.5; 200 bytes 640 - 510 =
// 130. That is 85 and 0.225 a byte. Of 130, 130 and 85 it is off by 17, 0 and 26 %.
TEST_F(WhatIfTest, SaysWhatItAssumesWithTheFitAndItsError) {
  ASSERT_EQ(run_->ownCap(), 150u);
  const WhatIf told = this->told(capOf(200));
  ASSERT_TRUE(told.known()) << told.whyNot.toStdString();
  const QString text = assumptions(told);
  EXPECT_TRUE(
      text.startsWith("Medians over 7 iterations; in brackets, where a run with this cap is "
                      "expected in nine cases of ten."))
      << text.toStdString();
  EXPECT_TRUE(text.contains("takes 85.0 µs and")) << text.toStdString();
  EXPECT_TRUE(text.contains("fitted to what the run measured")) << text.toStdString();
  EXPECT_TRUE(text.contains("of 21 transfers half are off by more than 17")) << text.toStdString();
  EXPECT_TRUE(spokenSummary(told).contains("Measured, cap"));
}

// Rank 0's last gradient is ready at 400 and it is in flight until 500, from 510 to 640 and from
// 650 to 740: 320 behind it, the most of the two. Replayed: 370 to 477.5, to 607.5, to 715. With a
// cap of 400 {2 1 0} is full at 450 on rank 1, begins at 470, queues until 477.5 and takes 152.5.
TEST_F(WhatIfTest, HasTheMeasuredOutcomeBesideTheForecast) {
  const WhatIf told = this->told(capOf(400));
  ASSERT_TRUE(told.known()) << told.whyNot.toStdString();
  const auto rows = outcomeRows(told);
  ASSERT_EQ(rows.size(), 3u);
  ASSERT_EQ(rows[0].size(), outcomeTitles(told).size());
  EXPECT_TRUE(outcomeTitles(told)[2].contains("rank 0"));
  EXPECT_EQ(rows[0][1], "3");
  EXPECT_EQ(rows[0][2], formatDuration(320e3));
  EXPECT_EQ(rows[0][3], formatDuration(1e6));
  EXPECT_EQ(rows[1][0], "The same, replayed");
  EXPECT_EQ(rows[1][1], "3");
  EXPECT_EQ(rows[1][2], formatDuration(315e3));
  EXPECT_EQ(rows[2][0], "Forecast, cap 0.0003815 MiB");
  EXPECT_EQ(rows[2][1], "2") << "{3} {2 1 0} under a cap of 400";
  EXPECT_TRUE(rows[2][2].startsWith(formatDuration(230e3) + " (")) << rows[2][2].toStdString();
  EXPECT_TRUE(rows[2][2].contains(" to ")) << rows[2][2].toStdString();
  EXPECT_EQ(told.step, 2u);
  EXPECT_DOUBLE_EQ(told.measured.buckets[2].endedNs, 740e3) << "since the first rank began";
}

// 230 of exposed time instead of 320 is beyond what two runs differ by; of the 1000 of the step
// they are not.
TEST_F(WhatIfTest, SaysWhereFiguresGoOrThatNoDifferenceCanBeTold) {
  const WhatIf larger = told(capOf(400));
  EXPECT_TRUE(
      verdict(larger).startsWith("Exposed time of rank 0 would fall from 320 µs to 230 µs ("))
      << verdict(larger).toStdString();
  EXPECT_TRUE(spokenSummary(larger).contains(verdict(larger)));
  const WhatIf same = told({});
  EXPECT_TRUE(verdict(same).startsWith("Exposed time of rank 0: no difference can be told; 315 µs"))
      << verdict(same).toStdString();
  EXPECT_EQ(outcomeRows(same)[2][0], "Forecast, nothing changed");
}

TEST_F(WhatIfTest, SaysWhyNothingCanBeForecast) {
  const auto whyNot = [](const trace::RunUpdate& update, const diagnosis::WantedChange& wanted) {
    return whatIf(*whatIfRunOf(update), wanted).whyNot;
  };
  EXPECT_TRUE(whyNot(whatIfSteps(5).update, capOf(200))
                  .startsWith("This run cannot tell, because only 4 of its steps"));
  auto run = whatIfSteps(8);
  run.update.info->experimentToml = "no experiment";
  EXPECT_EQ(whyNot(run.update, {}),
            "The experiment of this run cannot be read, so its cap is not known.");
  EXPECT_TRUE(verdict(whatIf(*whatIfRunOf(run.update), {})).isEmpty());
  DisplayList list;
  drawWhatIf(list, QRectF(0, 0, 600, 0), whatIf(*whatIfRunOf(run.update), {}),
             Palette::of(Theme::kLight));
  EXPECT_TRUE(list.texts().empty());
  run.update.info->kind = trace::RunKind::kObserved;
  EXPECT_EQ(whyNot(run.update, {}),
            "This is a job of PyTorch: there is no experiment that says its caps and its link, and "
            "so no forecast with others.");
  run.update.info->kind = trace::RunKind::kSimulated;
  EXPECT_EQ(whyNot(run.update, {}), "This run is simulated: ask the run that it was made from.");
}

// What lasts 400 until the last gradient takes 200 then; it is no setting, and cannot be run.
TEST_F(WhatIfTest, FasterComputingEndsAnIterationEarlierAndIsNoExperiment) {
  diagnosis::WantedChange wanted;
  wanted.computeFactor = 0.5;
  const WhatIf faster = told(wanted);
  ASSERT_TRUE(faster.known()) << faster.whyNot.toStdString();
  EXPECT_LT(faster.spoken().stepNs.value, 0.9e6);
  EXPECT_LT(faster.wantedLane.lastGradientNs, faster.measuredLane.lastGradientNs);
  EXPECT_FALSE(faster.experiment);
  EXPECT_TRUE(assumptions(faster).contains("where a run with this change is expected"));
  EXPECT_EQ(outcomeRows(faster)[2][0], "Forecast, computing x 0.5");
}

TEST_F(WhatIfTest, AChangeOfSettingsIsAnExperimentNamedAfterIt) {
  diagnosis::WantedChange wanted = capOf(400);
  wanted.link = "ethernet_10g_8";
  const WhatIf changed = told(wanted);
  ASSERT_TRUE(changed.known()) << changed.whyNot.toStdString();
  ASSERT_TRUE(changed.experiment);
  EXPECT_EQ(changed.experiment->name, "by hand cap 0.0003815 MiB, link ethernet_10g_8");
  EXPECT_EQ(changed.experiment->link.preset, "ethernet_10g_8");
  EXPECT_DOUBLE_EQ(changed.experiment->ddp.bucketCapMb, 400 / kMiB);
  EXPECT_TRUE(assumptions(changed).contains("With the change it would take"));
  WhatIf scarce = changed;
  scarce.ofCores = "Cores are short.";
  EXPECT_EQ(assumptions(scarce), assumptions(changed) + " Cores are short.");
}

// 85 µs and 225 a KB are the backend's, whatever link comes over it; then two hops of 37.4 µs.
TEST_F(WhatIfTest, ForecastsAnotherLinkOverTheBackendOfTheRun) {
  diagnosis::WantedChange wanted;
  wanted.link = "ethernet_10g_8";
  const WhatIf linked = told(wanted);
  ASSERT_TRUE(linked.known()) << linked.whyNot.toStdString();
  ASSERT_TRUE(linked.line.under);
  EXPECT_NEAR(linked.line.cost.latencyNs, 74.7e3, 100);
  EXPECT_TRUE(outcomeRows(linked)[2][0].endsWith(", link ethernet_10g_8"));
  wanted.link.clear();
  wanted.inFlight = 2;
  EXPECT_TRUE(told(wanted).whyNot.startsWith(
      "This run cannot tell, because its link is not a modelled one"))
      << told(wanted).whyNot.toStdString();
}

TEST_F(WhatIfTest, AHookOfARunThatIsGoneIsOneLine) {
  diagnosis::WantedChange wanted;
  wanted.hookOf = "/nowhere/gone.lockstep";
  EXPECT_TRUE(told(wanted).whyNot.startsWith("/nowhere/gone.lockstep: "))
      << told(wanted).whyNot.toStdString();
}

TEST_F(WhatIfTest, DrawsBothStripsWithinTheirArea) {
  const WhatIf told = this->told(capOf(400));
  const QRectF area(0, 0, 900, whatIfHeight(told));
  DisplayList list;
  drawWhatIf(list, area, told, Palette::of(Theme::kDark));
  int bars = 0;
  for (const auto& command : list.commands()) {
    EXPECT_TRUE(command.op == DisplayList::Op::kUnclip ||
                area.adjusted(-1, -1, 1, 1).contains(command.rect));
    bars +=
        command.op == DisplayList::Op::kText && list.textOf(command).startsWith(QLatin1Char('b'))
            ? 1
            : 0;
  }
  EXPECT_EQ(bars, 5) << "three measured buckets and two of the forecast";
  EXPECT_TRUE(std::ranges::count(list.texts(), QString("Forecast, cap 0.0003815 MiB")));
  DisplayList same;
  drawWhatIf(same, area, this->told({}), Palette::of(Theme::kDark));
  EXPECT_TRUE(std::ranges::count(same.texts(), QString("Forecast, nothing changed")));
}

class WhatIfControlsTest : public WhatIfTest {
 protected:
  static void choose(QComboBox* box, int index) {
    box->setCurrentIndex(index);
    Q_EMIT box->activated(index);
  }

  WhatIfControls controls_;
};

TEST_F(WhatIfControlsTest, OfferWhatCanBeChanged) {
  controls_.setRun(run_);
  EXPECT_EQ(controls_.wanted(), diagnosis::WantedChange());
  controls_.cap()->setValue(controls_.cap()->maximum());
  EXPECT_DOUBLE_EQ(*controls_.wanted().capMb, 400 / kMiB);
  controls_.computing()->setValue(50);
  EXPECT_EQ(controls_.wanted().computeFactor, 0.5);
  ASSERT_EQ(controls_.rank()->count(), 3);
  choose(controls_.rank(), 2);
  EXPECT_EQ(controls_.wanted().withoutExcessOf, 1);
  choose(controls_.links()->links(), 1);
  EXPECT_EQ(controls_.wanted().link, "ethernet_10g_8");
  choose(controls_.links()->inFlight(), 1);
  EXPECT_EQ(controls_.wanted().inFlight, 2);
  ASSERT_TRUE(controls_.tuned()->isEnabled());
  controls_.tuned()->setChecked(true);
  EXPECT_FALSE(controls_.wanted().capMb);
  EXPECT_EQ(controls_.wanted().capListMb, run_->tunedMb);
  controls_.reset();
  EXPECT_EQ(controls_.wanted(), diagnosis::WantedChange());
}

TEST_F(WhatIfControlsTest, MoreRanksKnowNoOtherChangeThanTheLink) {
  controls_.setRun(run_);
  controls_.computing()->setValue(50);
  choose(controls_.links()->links(), 1);
  choose(controls_.manyRanks(), 1);
  EXPECT_EQ(controls_.ranks(), 4);
  EXPECT_EQ(controls_.manyRanks()->itemData(controls_.manyRanks()->count() - 1), 4096);
  EXPECT_FALSE(controls_.cap()->isEnabled());
  EXPECT_FALSE(controls_.wanted().computeFactor);
  EXPECT_EQ(controls_.wanted().link, "ethernet_10g_8");
}

TEST_F(WhatIfControlsTest, OfAListOfCapsThereIsNoCapToDrag) {
  auto run = whatIfSteps(8);
  experiment::Experiment experiment;
  experiment.train.steps = 9;
  experiment.ddp.bucketCapMbList = {100 / kMiB, 200 / kMiB};
  run.update.info->experimentToml = experiment::toToml(experiment);
  controls_.setRun(whatIfRunOf(run.update));
  EXPECT_FALSE(controls_.cap()->isEnabled());
  EXPECT_EQ(controls_.cap()->toolTip(),
            "This run gives a list of caps: there is no one cap to change.");
  EXPECT_TRUE(controls_.computing()->isEnabled());
}

}  // namespace
}  // namespace lockstep::ui
