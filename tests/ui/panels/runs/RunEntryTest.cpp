#include "ui/panels/runs/RunEntry.h"

#include <gtest/gtest.h>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "ui/panels/runs/RunsTable.h"

namespace lockstep::ui {
namespace {

class RunEntryTest : public testing::Test {
 protected:
  RunEntry entryOf(const std::string& experiment, const std::string& taken = {},
                   trace::RunKind kind = trace::RunKind::kExperiment) {
    const auto path = folder_ / "run.lockstep";
    tests::SampleRun run(path, 3);
    trace::RunInfo info;
    info.worldSize = 1;
    info.state = trace::RunState::kFinished;
    info.experimentToml = experiment;
    info.kind = kind;
    run.setInfo(info);
    if (!taken.empty()) {
      run.backend(taken);
    }
    run.commit();
    return readRunEntry(path);
  }

  static QString shown(const RunEntry& entry, int column) {
    return RunsTable(std::vector<RunEntry>{entry}).text(0, static_cast<std::size_t>(column));
  }

 private:
  support::TemporaryFolder folder_;
};

TEST_F(RunEntryTest, SaysTheStrategyWhereRanksDoNotTalk) {
  const RunEntry entry = entryOf(
      "[processes]\nstrategy = \"data_parallel\"\nworld_size = 1\ndevices = 2\n"
      "[train]\nsteps = 3\n");
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(shown(entry, RunsTable::kBackend), "data_parallel");
  EXPECT_EQ(shown(entry, RunsTable::kHook), QString("–"));
  EXPECT_EQ(shown(entry, RunsTable::kBucketCap), QString("–"));
}

TEST_F(RunEntryTest, SaysBackendHookAndCapOfDdp) {
  const RunEntry entry = entryOf(
      "[processes]\nbackend = \"gloo\"\n[ddp]\nbucket_cap_mb = 5\n"
      "[hook]\nname = \"noop\"\n[train]\nsteps = 3\n");
  EXPECT_EQ(shown(entry, RunsTable::kBackend), "gloo");
  EXPECT_EQ(shown(entry, RunsTable::kHook), "noop");
  EXPECT_EQ(shown(entry, RunsTable::kBucketCap), "5");
}

TEST_F(RunEntryTest, SaysAutoWhileTheRanksHaveTakenNothing) {
  const RunEntry entry = entryOf("[processes]\nbackend = \"auto\"\n[train]\nsteps = 3\n");
  EXPECT_EQ(shown(entry, RunsTable::kBackend), "auto");
}

TEST_F(RunEntryTest, SaysWhatTheRanksTookForAuto) {
  const RunEntry entry =
      entryOf("[processes]\nbackend = \"auto\"\n[train]\nsteps = 3\n", "shared_memory");
  EXPECT_EQ(shown(entry, RunsTable::kBackend), "shared_memory");
}

TEST_F(RunEntryTest, SaysWhatAnObservedJobIs) {
  const RunEntry entry = entryOf("", "gloo", trace::RunKind::kObserved);
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(entry.kind, trace::RunKind::kObserved);
  EXPECT_EQ(shown(entry, RunsTable::kModel), "PyTorch");
  EXPECT_EQ(shown(entry, RunsTable::kBackend), "gloo");
  EXPECT_EQ(shown(entry, RunsTable::kBucketCap), QString("–"));
}

TEST_F(RunEntryTest, SaysWhichSweepItIsOneRunOf) {
  const RunEntry entry =
      entryOf("[train]\nsteps = 3\n[sweep]\ngroup = \"caps 1\"\nrun = \"bucket_cap_mb=5\"\n");
  EXPECT_EQ(shown(entry, RunsTable::kSweep), "caps 1");
  EXPECT_EQ(shown(RunEntry(), RunsTable::kSweep), QString("–"));
}

TEST_F(RunEntryTest, ShowsNoDefaultsForAnExperimentThatItCannotRead) {
  const RunEntry entry = entryOf("[processes]\nbackend = \"of tomorrow\"\n");
  EXPECT_EQ(entry.problem, "");
  for (const int column :
       {RunsTable::kModel, RunsTable::kBackend, RunsTable::kHook, RunsTable::kBucketCap}) {
    EXPECT_EQ(shown(entry, column), QString("–")) << column;
  }
}

}  // namespace
}  // namespace lockstep::ui
