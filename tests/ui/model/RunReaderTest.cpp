#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>
#include <gtest/gtest.h>

#include <functional>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "ui/model/RunModel.h"

// RunModel on real run files, through its reader thread.
namespace lockstep::ui {
namespace {

// Runs the event loop until `done` or the limit.
bool waitFor(const std::function<bool()>& done, int limitMs = 10'000) {
  QElapsedTimer clock;
  clock.start();
  while (!done()) {
    if (clock.elapsed() > limitMs) {
      return false;
    }
    QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
  }
  return true;
}

class RunModelOnFiles : public testing::Test {
 protected:
  support::TemporaryFolder folder_;
};

TEST_F(RunModelOnFiles, LoadsAFinishedRunOnceAndStops) {
  const auto path = folder_.path() / "run.lockstep";
  ASSERT_TRUE(test::writeDemoRun(path).ok());
  RunModel model(path);
  int loaded = 0;
  QObject::connect(&model, &RunModel::loaded, &model, [&] { ++loaded; });
  ASSERT_TRUE(waitFor([&] { return loaded > 0; }));
  RunModel expected;
  expected.applyUpdate(test::demoRun());
  EXPECT_TRUE(model.isLoaded());
  EXPECT_FALSE(model.isLive());
  EXPECT_EQ(model.spanCount(), expected.spanCount());
  EXPECT_EQ(model.stepCount(0), 50u);
  EXPECT_EQ(model.parameters().size(), expected.parameters().size());
  EXPECT_EQ(model.layouts().size(), 2u);
  EXPECT_DOUBLE_EQ(model.step(1, 30)->startNs, expected.step(1, 30)->startNs);
  EXPECT_EQ(model.metric("loss", 0).size(), 50u);
}

TEST_F(RunModelOnFiles, PutsEachSpanWhereTheOrderOfTheFilePutsIt) {
  const auto path = folder_.path() / "run.lockstep";
  const test::DemoOptions many{.ranks = 5, .steps = 40};
  ASSERT_TRUE(test::writeDemoRun(path, many).ok());
  RunModel model(path);
  ASSERT_TRUE(waitFor([&] { return model.isLoaded(); }));
  RunModel expected;
  expected.applyUpdate(test::demoRun(many));
  ASSERT_EQ(model.lanes().size(), expected.lanes().size());
  for (std::size_t lane = 0; lane < model.lanes().size(); ++lane) {
    const auto& rows = model.lanes()[lane].rows;
    const auto& others = expected.lanes()[lane].rows;
    ASSERT_EQ(rows.size(), others.size()) << lane;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      ASSERT_EQ(rows[row].size(), others[row].size()) << lane;
      for (std::size_t i = 0; i < rows[row].size(); ++i) {
        EXPECT_EQ(rows[row].at(i).startTicks, others[row].at(i).startTicks);
        EXPECT_EQ(rows[row].at(i).kind, others[row].at(i).kind);
      }
    }
  }
}

TEST_F(RunModelOnFiles, ShowsARunWhileItIsWritten) {
  const auto path = folder_.path() / "live.lockstep";
  auto created = trace::RunFileWriter::create(path);
  ASSERT_TRUE(created.ok());
  trace::RunFileWriter& file = *created.value();
  trace::RunInfo info;
  info.name = "live";
  info.worldSize = 1;
  info.state = trace::RunState::kRunning;
  info.supervisorPid = QCoreApplication::applicationPid();
  file.setInfo(info);
  file.addTrack({1, 0, "step"});
  file.addClock({base::ticks(), 0, 1.0});
  ASSERT_TRUE(file.commit().ok());

  RunModel model(path);
  std::size_t measured = 0;
  QObject::connect(&model, &RunModel::liveSpansApplied, &model,
                   [&](const std::vector<std::uint64_t>& ends) { measured += ends.size(); });
  ASSERT_TRUE(waitFor([&] { return model.isLoaded(); }));
  EXPECT_EQ(model.spanCount(), 0u);

  for (std::uint32_t step = 0; step < 3; ++step) {
    trace::Event event;
    event.startTicks = base::ticks();
    event.durationTicks = 100;
    event.kind = static_cast<std::uint16_t>(trace::EventKind::kStep);
    event.step = step;
    file.addEvent(1, event);
    ASSERT_TRUE(file.commit().ok());
    ASSERT_TRUE(waitFor([&] { return model.stepCount(0) == step + 1; })) << step;
  }
  EXPECT_EQ(measured, 3u);

  info.state = trace::RunState::kFinished;
  file.setInfo(info);
  ASSERT_TRUE(file.finish().ok());
  EXPECT_TRUE(waitFor([&] { return model.info().state == trace::RunState::kFinished; }));
}

TEST_F(RunModelOnFiles, SaysInOneSentenceWhyAFileCannotBeOpened) {
  RunModel model(folder_.path() / "missing.lockstep");
  QString sentence;
  QObject::connect(&model, &RunModel::failed, &model, [&](const QString& s) { sentence = s; });
  ASSERT_TRUE(waitFor([&] { return !sentence.isEmpty(); }));
  EXPECT_TRUE(sentence.contains("missing.lockstep")) << sentence.toStdString();
}

TEST_F(RunModelOnFiles, NeverHoldsTheUiThreadLongWhileLoading) {
  const auto path = folder_.path() / "long.lockstep";
  test::DemoOptions options;
  options.steps = 3000;
  ASSERT_TRUE(test::writeDemoRun(path, options).ok());
  RunModel model(path);
  QElapsedTimer loading;
  QElapsedTimer turn;
  qint64 longestUs = 0;
  loading.start();
  while (!model.isLoaded()) {
    turn.start();
    QCoreApplication::processEvents(QEventLoop::AllEvents, 0);
    longestUs = std::max(longestUs, turn.nsecsElapsed() / 1000);
  }
  EXPECT_GT(model.spanCount(), 400'000u);
  // A turn takes a slice of 8 ms out of the loading; a busy machine may stretch one.
  EXPECT_LT(longestUs, loading.nsecsElapsed() / 1000 / 2);
}

TEST_F(RunModelOnFiles, ClosesWhileItReads) {
  const auto path = folder_.path() / "long.lockstep";
  test::DemoOptions options;
  options.steps = 1000;
  ASSERT_TRUE(test::writeDemoRun(path, options).ok());
  for (int i = 0; i < 5; ++i) {
    RunModel model(path);
    QCoreApplication::processEvents();
  }
}

}  // namespace
}  // namespace lockstep::ui
