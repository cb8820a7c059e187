#include "ui/views/whatif/WhatIfView.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QComboBox>
#include <QCoreApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>
#include <algorithm>
#include <memory>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/FileDialog.h"
#include "tests/ui/views/whatif/WhatIfRuns.h"
#include "ui/table/TableView.h"
#include "ui/views/whatif/WhatIfControls.h"
#include "ui/views/whatif/WhatIfLinks.h"

namespace lockstep::ui {
namespace {

constexpr int kPatienceMs = 60'000;

class WhatIfViewTest : public testing::Test {
 protected:
  WhatIfViewTest() {
    view_.resize(1400, 900);
    view_.show();
  }
  ~WhatIfViewTest() override { view_.setRun({}); }

  /// Opens a run, and waits for its forecast.
  void open(std::uint32_t steps = 8, const char* name = "run.lockstep") {
    show(steps, name);
    ASSERT_TRUE(wait([this] { return view_.told() != nullptr && view_.told()->known(); }));
  }
  void show(std::uint32_t steps, const char* name = "run.lockstep",
            trace::RunState state = trace::RunState::kFinished) {
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&view_));
    trace::RunUpdate update = test::whatIfSteps(steps).update;
    update.info->state = state;
    update.info->supervisorPid = QCoreApplication::applicationPid();  // else a live one has died
    ASSERT_TRUE(test::writeRun(folder_ / name, update).ok());
    view_.setRun({});
    analyser_.reset();
    model_ = std::make_unique<RunModel>(folder_ / name);
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    view_.setRun({model_.get(), &state_, analyser_.get()});
  }
  template <typename Condition>
  bool wait(const Condition& condition) {
    return QTest::qWaitFor(condition, kPatienceMs);
  }
  static void choose(QComboBox* box, int index) {
    box->setCurrentIndex(index);
    Q_EMIT box->activated(index);
  }
  /// Waits until the button to run says so.
  bool refuses(const char* why) {
    return wait([&] { return controls().runButton()->toolTip() == QLatin1String(why); });
  }
  QString said(const char* name) { return view_.findChild<QLabel*>(QLatin1String(name))->text(); }
  WhatIfControls& controls() { return *view_.controls(); }

  support::TemporaryFolder folder_;
  ViewState state_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
  WhatIfView view_{QString::fromStdString((folder_ / "forecasts.jsonl").string())};
};

TEST_F(WhatIfViewTest, TheSliderForecastsAnotherCap) {
  open();
  EXPECT_EQ(view_.told()->plan.size(), 3u) << "at first the buckets of the run";
  EXPECT_TRUE(refuses("Nothing is changed yet"));
  controls().cap()->setValue(controls().cap()->maximum());
  ASSERT_TRUE(wait([this] { return view_.told()->plan.size() == 2; }));
  EXPECT_EQ(said("whatIfVerdict"), verdict(*view_.told()));
  EXPECT_EQ(view_.findChild<TableView*>("whatIfBuckets")->model()->rowCount(), 2);
  EXPECT_TRUE(controls().runButton()->isEnabled());
  ASSERT_NE(state_.forecast(), nullptr) << "for the timeline";
  EXPECT_EQ(state_.forecast()->buckets.size(), 2u);
  EXPECT_DOUBLE_EQ(state_.forecast()->startNs, model_->stepOfAll(state_.forecast()->step)->startNs);
  EXPECT_LT(state_.forecast()->leastEndNs, state_.forecast()->endNs);
  controls().cap()->setValue(0);
  ASSERT_TRUE(wait([this] { return view_.told()->plan.size() == 4; }));
  controls().reset();
  ASSERT_TRUE(wait([this] { return state_.forecast() == nullptr; }));
}

TEST_F(WhatIfViewTest, WhatIsChosenLastIsAnsweredHoweverFastTheSliderMoves) {
  open();
  for (int value = 0; value <= controls().cap()->maximum(); value += 10) {
    controls().cap()->setValue(value);
  }
  controls().computing()->setValue(50);
  ASSERT_TRUE(wait([this] { return view_.told()->parts.size() == 2; }));
  EXPECT_EQ(view_.told()->plan.size(), 2u);
  EXPECT_EQ(view_.told()->parts[1], "computing x 0.5");
  EXPECT_TRUE(refuses("No setting makes a machine compute faster, or a rank be like the others"));
}

TEST_F(WhatIfViewTest, TheHookOfAnotherRunIsOneOfTheList) {
  const std::string other = (folder_ / "other.lockstep").string();
  ASSERT_TRUE(test::writeRun(other, test::whatIfSteps(9).update).ok());
  open();
  view_.setOtherRuns({QString::fromStdString(other)});
  ASSERT_EQ(controls().hooks()->count(), 2);
  choose(controls().hooks(), 1);
  ASSERT_TRUE(wait([this] { return !view_.told()->known() || !view_.told()->parts.isEmpty(); }));
  EXPECT_TRUE(view_.told()->known()) << view_.told()->whyNot.toStdString();
  EXPECT_EQ(view_.told()->parts, QStringList("hook allreduce"));
}

/// A hook that sends half of what an allreduce does, and works 10 ns a byte before it.
cost::VerifiedHook halving(const char* name) {
  cost::VerifiedHook hook;
  hook.hook.name = name;
  cost::VerifiedOnRanks& run = hook.runs.emplace_back();
  run.ranks = 2;
  run.sameResult = true;
  run.elements = 1000;
  run.bytes = 4000;
  run.sentBytes = 2000;
  for (const std::uint64_t bytes : {100u, 400u}) {
    run.calls.encode.push_back({bytes, 10.0 * static_cast<double>(bytes), false});
    run.calls.decode.push_back({bytes, 0, false});
  }
  return hook;
}

TEST_F(WhatIfViewTest, HooksThatWereVerifiedAreInTheList) {
  open();
  view_.setVerifiedHooks({halving("fp16"), halving("halves")});
  ASSERT_EQ(controls().hooks()->count(), 3);
  EXPECT_EQ(controls().hooks()->itemText(2), "halves, as it was verified");
  choose(controls().hooks(), 2);
  ASSERT_TRUE(wait([this] { return !view_.told()->known() || !view_.told()->parts.isEmpty(); }));
  ASSERT_TRUE(view_.told()->known()) << view_.told()->whyNot.toStdString();
  EXPECT_EQ(view_.told()->parts, QStringList("hook halves"));
  EXPECT_EQ(view_.told()->experiment->hook.name, "halves");
  EXPECT_TRUE(said("whatIfAssumptions")
                  .contains("The hook halves is taken as it was verified on this machine, on 2 "
                            "ranks: of each 4 bytes it sends 2.00, counted as one allreduce"))
      << said("whatIfAssumptions").toStdString();
  view_.setVerifiedHooks({halving("halves")});
  EXPECT_EQ(controls().hooks()->currentText(), "halves, as it was verified") << "what was chosen";
}

TEST_F(WhatIfViewTest, WhatRunsIsAskedForWithItsForecastAndEndsBesideIt) {
  open();
  experiment::Experiment asked;
  PastForecast forecast;
  QObject::connect(&view_, &WhatIfView::runRequested, &view_,
                   [&](const experiment::Experiment& experiment, const PastForecast& of) {
                     asked = experiment;
                     forecast = of;
                   });
  controls().cap()->setValue(controls().cap()->maximum());
  ASSERT_TRUE(wait([this] { return controls().runButton()->isEnabled(); }));
  controls().runButton()->click();
  EXPECT_DOUBLE_EQ(asked.ddp.bucketCapMb, 400 / test::kMiB);
  EXPECT_EQ(forecast.change, "cap 0.0003815 MiB");
  EXPECT_EQ(forecast.rank, 0);
  EXPECT_DOUBLE_EQ(forecast.exposedNs.value, view_.told()->spoken().exposedNs.value);
  forecast.run = QString::fromStdString((folder_ / "tried.lockstep").string());
  view_.history().begin(forecast);
  open(9, "tried.lockstep");
  ASSERT_TRUE(
      wait([this] { return said("whatIfBeside").startsWith("The open run tried a forecast"); }));
  EXPECT_TRUE(said("whatIfPast").startsWith("Forecasts that were tried: 1. The step was "))
      << said("whatIfPast").toStdString();
  auto* past = view_.findChild<TableView*>("whatIfPastForecasts");
  ASSERT_EQ(past->model()->rowCount(), 1);
  const QAbstractItemModel& rows = *past->model();
  for (int column = 0; column < rows.columnCount(); ++column) {
    for (const QString& text : {rows.headerData(column, Qt::Horizontal).toString(),
                                rows.index(0, column).data().toString()}) {
      EXPECT_GT(past->columnWidth(column), past->fontMetrics().horizontalAdvance(text))
          << "cuts off " << text.toStdString();
    }
  }
}

TEST_F(WhatIfViewTest, MoreRanksArePlottedAndSayThatTheyAreExtrapolated) {
  open(24);
  // The analysis may come twice, and with the second all is simulated once more.
  ASSERT_TRUE(wait([this] {
    return view_.curve() != nullptr && said("whatIfScaling") == scalingWords(*view_.curve());
  }));
  ASSERT_TRUE(view_.curve()->known()) << view_.curve()->whyNot.toStdString();
  EXPECT_EQ(view_.findChild<TableView*>("whatIfByRanks")->model()->rowCount(), 12);
  choose(controls().manyRanks(), 2);
  EXPECT_TRUE(said("whatIfRankWords").startsWith("On 8 ranks, extrapolated, a step would take "));
  ASSERT_TRUE(wait([this] { return controls().runButton()->isEnabled(); }));
  int ranks = 0;
  PastForecast forecast;
  QObject::connect(&view_, &WhatIfView::runRequested, &view_,
                   [&](const experiment::Experiment& experiment, const PastForecast& of) {
                     ranks = experiment.processes.worldSize;
                     forecast = of;
                   });
  controls().runButton()->click();
  EXPECT_EQ(ranks, 8);
  EXPECT_EQ(forecast.rank, PastForecast::kMeanOfRanks);
  EXPECT_EQ(forecast.change, "on 8 ranks");
  choose(controls().manyRanks(), controls().manyRanks()->count() - 1);
  EXPECT_TRUE(refuses("An experiment has at most 1,024 ranks"));
  choose(controls().manyRanks(), 2);
  choose(controls().links()->links(), 1);
  ASSERT_TRUE(wait([this] { return !view_.curve()->link.isEmpty(); }));
  EXPECT_TRUE(refuses("A modelled link carries a ring: choose that to run it"));
}

// The picture and what came out stand first; three paragraphs of how wait behind a button.
TEST_F(WhatIfViewTest, WhatAForecastRestsOnIsFoldedUntilItIsAskedFor) {
  open();
  auto* basis = view_.findChild<QWidget*>("whatIfBasis");
  auto* button = view_.findChild<QToolButton*>("whatIfShowBasis");
  EXPECT_FALSE(basis->isVisible());
  EXPECT_TRUE(view_.findChild<QWidget*>("whatIfVerdict")->isVisible());
  EXPECT_LT(view_.canvas()->mapTo(&view_, QPoint()).x(),
            view_.findChild<QWidget*>("whatIfVerdict")->mapTo(&view_, QPoint()).x());
  button->click();
  EXPECT_TRUE(basis->isVisible());
  show(5, "short.lockstep");
  ASSERT_TRUE(wait([&] { return view_.told() != nullptr && !view_.told()->known(); }));
  EXPECT_FALSE(button->isVisibleTo(&view_)) << "why nothing is forecast is said as it is";
}

// The forecast and the simulation of more ranks lack the same.
TEST_F(WhatIfViewTest, WhatARunCannotTellIsSaidOnce) {
  show(5);
  ASSERT_TRUE(wait([this] { return view_.told() != nullptr && view_.curve() != nullptr; }));
  EXPECT_TRUE(said("whatIfAssumptions").startsWith("This run cannot tell, because only 4 of its"))
      << said("whatIfAssumptions").toStdString();
  ASSERT_FALSE(view_.curve()->known());
  EXPECT_TRUE(said("whatIfScaling").isEmpty()) << said("whatIfScaling").toStdString();
  EXPECT_TRUE(said("whatIfPast").isEmpty()) << "no word of a button that cannot be pressed";
}

// In place of choices, of an empty picture and of empty tables.
TEST_F(WhatIfViewTest, ARunThatCannotTellSaysSoOverTheWholeViewAndWhatToDo) {
  open();
  auto* cannot = view_.findChild<QWidget*>("whatIfCannot");
  auto* tabs = view_.findChild<QTabWidget*>("whatIfTabs");
  EXPECT_FALSE(cannot->isVisible());
  EXPECT_TRUE(tabs->isVisible());
  show(5, "short.lockstep");
  ASSERT_TRUE(wait([&] { return cannot->isVisible(); }));
  EXPECT_TRUE(test::says(*cannot, "This run cannot tell, because only 4 of its"));
  EXPECT_TRUE(test::says(*cannot,
                         "Run it again, for more iterations and with nothing else on the machine, "
                         "and ask that run what if."));
  const QSignalSpy again(&view_, &WhatIfView::runAgainRequested);
  auto* button = cannot->findChild<QPushButton*>();
  ASSERT_TRUE(button->isVisible());
  button->click();
  EXPECT_EQ(again.size(), 1);
  EXPECT_FALSE(controls().isVisible());
  EXPECT_FALSE(view_.canvas()->isVisible());
  EXPECT_FALSE(tabs->isVisible());
  // What was tried stays to be read.
  PastForecast forecast;
  forecast.run = QString::fromStdString((folder_ / "tried.lockstep").string());
  view_.history().begin(forecast);
  EXPECT_TRUE(tabs->isVisible());
  EXPECT_FALSE(tabs->isTabVisible(0));
  EXPECT_EQ(tabs->currentWidget(), view_.findChild<TableView*>("whatIfPastForecasts"));
  open(9, "longer.lockstep");
  EXPECT_FALSE(cannot->isVisible());
  EXPECT_TRUE(controls().isVisible());
  EXPECT_EQ(tabs->currentIndex(), 0);
}

// A run that goes on may tell later.
TEST_F(WhatIfViewTest, OfALiveRunItIsAskedAgain) {
  show(5, "live.lockstep", trace::RunState::kRunning);
  auto* cannot = view_.findChild<QWidget*>("whatIfCannot");
  ASSERT_TRUE(wait([&] { return cannot->isVisible(); }));
  EXPECT_TRUE(test::says(*cannot, "It is asked again as the run goes on."));
  EXPECT_FALSE(cannot->findChild<QPushButton*>()->isVisible());
}

TEST_F(WhatIfViewTest, WithoutProgramsTheReasonStandsAtTheButton) {
  open();
  view_.blockRun("lockstep is not built yet");
  EXPECT_FALSE(controls().runButton()->isEnabled());
  EXPECT_TRUE(refuses("lockstep is not built yet"));
}

TEST_F(WhatIfViewTest, WritesTheTableInSightAsCsv) {
  open();
  controls().cap()->setValue(controls().cap()->maximum());
  ASSERT_TRUE(wait([this] { return view_.told()->plan.size() == 2; }));
  const std::filesystem::path path = folder_ / "forecast.csv";
  test::writeBy(*view_.findChild<QToolButton*>("whatIfExport"), path);
  const std::string text = support::readFile(path);
  EXPECT_TRUE(text.starts_with("Bucket,Parameters,Bytes,Full,Launched,Begun,Ended\r\nb0,1,"))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "the titles and two buckets";
}

}  // namespace
}  // namespace lockstep::ui
