#include "ui/views/buckets/BucketsTable.h"

#include <gtest/gtest.h>

#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTableView>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/table/TableText.h"

namespace lockstep::ui {
namespace {

std::shared_ptr<const BucketStory> storyOf(const trace::RunUpdate& update, std::uint32_t step) {
  RunModel model;
  model.applyUpdate(update);
  return BucketStories(model).ofStep(step);
}

TEST(BucketsTable, HasARowAParameterWithItsTimesOrderAndWait) {
  BucketsTable table;
  table.setStory(storyOf(test::BucketRun().update, 1));
  EXPECT_EQ(rowsAsText(table).toStdString(),
            "Param\tShape\tBytes\tBucket\tReady ms, rank 0\tReady ms, rank 1\tOrder\tWaits for\n"
            "b.bias\t5 × 5\t100\t0\t0.100\t▲ 0.350\t1st, 3rd\tnothing: the last of its bucket\n"
            "b.weight\t5 × 5\t100\t1\t0.200\t0.150\t2nd, 1st\t"
            "a.bias, then bucket 0: 0.212 ms on rank 1\n"
            "a.bias\t5 × 5\t100\t1\t0.300\t0.250\t3rd, 2nd\tbucket 0: 0.112 ms on rank 1\n"
            "a.weight\t5 × 5\t100\t2\t0.400\t0.450\t4th\tnothing: the last of its bucket\n");
}

TEST(BucketsTable, SortsByNumbersAndCopiesOnlyWhatIsChosen) {
  BucketsTable table;
  table.setStory(storyOf(test::BucketRun().update, 1));
  table.sortByColumn(BucketsTableRows::kFirstReady + 1, Qt::AscendingOrder);
  EXPECT_EQ(table.model()->index(0, 0).data().toString(), QStringLiteral("b.weight"));
  table.showSelection(0, -1);
  EXPECT_EQ(rowsAsText(table).count(QLatin1Char('\n')), 2) << "header and one row";
  table.showSelection(-1, 1);
  EXPECT_EQ(rowsAsText(table).count(QLatin1Char('\n')), 3) << "a bucket of two";
}

TEST(BucketsTable, TellsWhatTheUserChoosesAndNotWhatItWasTold) {
  BucketsTable table;
  table.setStory(storyOf(test::BucketRun().update, 1));
  QSignalSpy chosen(&table, &BucketsTable::parameterChosen);
  table.showSelection(2, 1);
  EXPECT_EQ(chosen.count(), 0);
  table.setCurrentIndex(table.model()->index(3, BucketsTableRows::kFirstReady + 1));
  ASSERT_EQ(chosen.count(), 1);
  EXPECT_EQ(chosen[0][0].toInt(), 0) << "the fourth row is the last bucket's a.weight";
  EXPECT_EQ(chosen[0][1].toInt(), 1) << "in the column of rank 1";
}

TEST(BucketsTable, KeepsTheChoiceWhenALiveRunBringsAnotherIteration) {
  BucketsTable table;
  table.setStory(storyOf(test::demoRun(), 20));
  table.showSelection(5, -1);
  const QString name = table.currentIndex().siblingAtColumn(0).data().toString();
  table.setStory(storyOf(test::demoRun(), 21));
  EXPECT_EQ(table.currentIndex().siblingAtColumn(0).data().toString(), name);
}

// The script reads the run file by SQL and knows nothing of this program.
TEST(BucketsTable, AgreesWithAnIndependentScriptOverTheRunFileToTheLastDigit) {
  const QString python = QStringLiteral("/usr/bin/python3");
  if (!QFile::exists(python)) {
    GTEST_SKIP() << "no python3 here";
  }
  const support::TemporaryFolder folder;
  const std::filesystem::path file = folder / "demo.lockstep";
  test::DemoOptions options;
  options.ranks = 3;
  ASSERT_TRUE(test::writeDemoRun(file, options).ok());
  for (const std::uint32_t step : {0u, 1u, 20u, 49u}) {
    QProcess script;
    script.start(python, {QStringLiteral(LOCKSTEP_BUCKET_FIGURES),
                          QString::fromStdString(file.string()), QString::number(step)});
    ASSERT_TRUE(script.waitForFinished(30'000)) << script.errorString().toStdString();
    const QString error = QString::fromUtf8(script.readAllStandardError());
    ASSERT_EQ(script.exitCode(), 0) << error.toStdString();
    BucketsTable table;
    table.setStory(storyOf(test::demoRun(options), step));
    EXPECT_EQ(rowsAsText(table).toStdString(), script.readAllStandardOutput().toStdString())
        << "step " << step;
  }
}

}  // namespace
}  // namespace lockstep::ui
