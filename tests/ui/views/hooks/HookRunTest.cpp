#include "ui/views/hooks/HookRun.h"

#include <gmock/gmock.h>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/hooks/HookRunFile.h"
#include "ui/table/RowsModel.h"
#include "ui/views/hooks/HooksContent.h"
#include "ui/views/hooks/HooksTable.h"

namespace lockstep::ui {
namespace {

using analysis::HookPhase;

std::shared_ptr<const HookRun> written(const test::HookRunOptions& options = {}) {
  const support::TemporaryFolder folder;
  const auto path = folder / "run.lockstep";
  EXPECT_TRUE(test::writeHookRun(path, options).ok());
  const auto run = readHookRun(path);
  EXPECT_TRUE(run.ok());
  return run.value();
}

TEST(HookRunTest, TellsOfTheHookAndItsValues) {
  const auto run = written();
  EXPECT_EQ(run->run, "with topk");
  EXPECT_EQ(run->hook, "topk");
  EXPECT_EQ(run->values, "density = 0.1");
  EXPECT_TRUE(run->plugin);
  EXPECT_EQ(run->ranks, 2);
  EXPECT_EQ(run->steps, 6u);
  EXPECT_FALSE(written({.hook = "allreduce"})->plugin);
}

TEST(HookRunTest, MeasuresTheStepsAfterTheWarmUp) {
  const auto run = written();
  EXPECT_EQ(run->calls.size(), 10u);  // steps 1 to 5 of two ranks
  EXPECT_EQ(run->stepMs, 30);
  ASSERT_EQ(run->wire.size(), 2u);
  EXPECT_EQ(run->wire[0].bytes, 30'000u);
}

TEST(HookRunTest, ACounterIsACurveAndAParameterBeginsWithWhatTheExperimentSays) {
  const auto run = written();
  ASSERT_EQ(run->curves.size(), 2u);
  const HookCurve& density = run->curves[0];
  EXPECT_EQ(density.key, "density");
  EXPECT_TRUE(density.parameter);
  EXPECT_EQ(density.ranks.at(0).front(), QPointF(0, 0.1));
  EXPECT_EQ(density.ranks.at(0).at(1), QPointF(3, 0.01));
  const HookCurve& kept = run->curves[1];
  EXPECT_FALSE(kept.parameter);
  EXPECT_EQ(kept.ranks.at(1).back(), QPointF(5, 105));
  ASSERT_EQ(run->changes.size(), 1u);
  EXPECT_EQ(run->changes[0].step, 3u);
  EXPECT_EQ(run->changes[0].value, "0.01");
}

TEST(HookRunTest, ALongCurveIsThinnedAndKeepsItsExtremes) {
  HookFacts facts;
  auto& points = facts.metrics["hook.norm"][0];
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    points.push_back({step, step, step == 54'321 ? 9.0 : step == 77'777 ? -9.0 : 1.0});
  }
  const auto run = makeHookRun(facts, {});
  const auto& line = run->curves.at(0).ranks.at(0);
  EXPECT_LE(line.size(), 2'000u);
  EXPECT_THAT(line, testing::Contains(QPointF(54'321, 9)));
  EXPECT_THAT(line, testing::Contains(QPointF(77'777, -9)));
}

TEST(HookRunTest, AFileThatIsNoRunIsAnError) {
  const support::TemporaryFolder folder;
  EXPECT_FALSE(readHookRun(folder.write("no.lockstep", "nonsense")).ok());
}

TEST(HooksContentTest, MeasuresEachPhaseOverRanksOrOfOne) {
  const auto all = makeHooksContent({written()}, std::nullopt);
  const analysis::HookBucket& bucket = all->sides[0].buckets.at(0);
  EXPECT_EQ(bucket.total.p50, 10);
  EXPECT_EQ(bucket.phases[static_cast<std::size_t>(HookPhase::kEncode)].p50, 4);  // of 3 and 5
  EXPECT_EQ(bucket.phases[static_cast<std::size_t>(HookPhase::kWaiting)].p50, 1);
  EXPECT_EQ(bucket.phases[static_cast<std::size_t>(HookPhase::kTransfer)].p50, 4);
  EXPECT_EQ(bucket.ratio(), 10);
  const auto second = makeHooksContent({written()}, 1);
  const analysis::HookBucket& ofRank = second->sides[0].buckets.at(0);
  EXPECT_EQ(ofRank.phases[static_cast<std::size_t>(HookPhase::kEncode)].p50, 5);
  EXPECT_TRUE(ofRank.lacks(HookPhase::kWaiting));
  EXPECT_EQ(second->heaviest(), (HookPick{0, std::nullopt}));
}

TEST(HooksTableTest, HasARowForTheBucketAndForEachPhaseItHas) {
  const HooksTable table(makeHooksContent({written()}, 1));
  ASSERT_EQ(table.size(), 4u);  // all, encode, transfer, decode
  const auto text = [&](std::size_t row, std::size_t column) { return table.text(row, column); };
  EXPECT_EQ(text(0, HooksTable::kPhase), "all phases");
  EXPECT_EQ(text(0, HooksTable::kP50), "10.0 ms");
  EXPECT_EQ(text(0, HooksTable::kBefore), "39.1 KiB");
  EXPECT_EQ(text(0, HooksTable::kAfter), "3.91 KiB");
  EXPECT_EQ(text(0, HooksTable::kRatio), "10.0 : 1");
  EXPECT_EQ(text(1, HooksTable::kPhase), "encode");
  EXPECT_EQ(text(1, HooksTable::kShare), "50.0 %");
  EXPECT_EQ(text(1, HooksTable::kBefore), "");
  EXPECT_EQ(table.rowOf({0, HookPhase::kTransfer}), 2u);
  EXPECT_EQ(table.rowOf({7, std::nullopt}), std::nullopt);
}

TEST(HooksTableTest, NewNumbersOfTheSameRowsLeaveTheRowsStanding) {
  RowsModel table;
  table.setRows(std::make_shared<HooksTable>(makeHooksContent({written()}, 1)));
  int resets = 0;
  QObject::connect(&table, &QAbstractItemModel::modelReset, [&] { ++resets; });
  table.setRows(std::make_shared<HooksTable>(makeHooksContent({written({.transferMs = 8})}, 1)));
  EXPECT_EQ(resets, 0);
  EXPECT_EQ(table.index(0, HooksTable::kP50).data().toString(), "14.0 ms");
}

}  // namespace
}  // namespace lockstep::ui
