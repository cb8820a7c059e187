// What capture.detail = outliers comes to where a step has few events: 42 of each rank.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "engine/analysis/RunAnalysis.h"
#include "engine/capture/DetailWriter.h"
#include "tests/bench/timeline/MadeFile.h"
#include "tests/bench/timeline/MadeRanks.h"
#include "tests/engine/trace/RunFileSupport.h"
#include "tests/engine/trace/TemporaryFolder.h"

namespace lockstep::capture {
namespace {

constexpr std::uint32_t kSteps = 10'000;
constexpr std::uint32_t kStrikesEvery = 1'501;
constexpr int kStriking = 2;
constexpr std::size_t kEventsOfAStep = 42;

class SmallModelTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_ / (name + ".lockstep");
  }
  void make(const std::string& name, const DetailOptions& options) const {
    bench::MadeRanksOptions made;
    made.ranks = 4;
    made.steps = kSteps;
    made.planted = {{bench::PlantedRank::Kind::kPeriodic, kStriking, 20, kStrikesEvery}};
    const auto file = writeDetail(trace::createRun(path(name)), options);
    ASSERT_TRUE(bench::writeMadeRanks(*file, made).ok());
  }
  [[nodiscard]] analysis::RunAnalysis analysed(const std::string& name) const {
    return analysis::analyse(analysis::readRunData(path(name)).value());
  }
  [[nodiscard]] double size(const std::string& name) const {
    return static_cast<double>(std::filesystem::file_size(path(name)));
  }

  trace::TemporaryFolder folder_;
};

TEST_F(SmallModelTest, OutliersTakeAtMostATwentiethKeepThePlantedStepsAndTheMedians) {
  make("full", {});
  make("outliers", {Detail::kOutliers});
  EXPECT_LE(size("outliers"), 0.05 * size("full"))
      << size("outliers") / size("full") << " of " << size("full");

  const analysis::RunAnalysis full = analysed("full");
  const analysis::RunAnalysis kept = analysed("outliers");
  ASSERT_EQ(kept.ranks.size(), full.ranks.size());
  for (std::size_t i = 0; i < full.ranks.size(); ++i) {
    EXPECT_EQ(kept.ranks[i].measuredSteps, full.ranks[i].measuredSteps);
    EXPECT_NEAR(*kept.ranks[i].overlapPercent, *full.ranks[i].overlapPercent,
                0.01 * *full.ranks[i].overlapPercent);
    EXPECT_NEAR(*kept.ranks[i].exposedMs, *full.ranks[i].exposedMs,
                0.01 * *full.ranks[i].exposedMs);
    EXPECT_NEAR(*kept.ranks[i].stepMs, *full.ranks[i].stepMs, 0.001 * *full.ranks[i].stepMs);
  }

  const trace::RunUpdate run = trace::readAll(*trace::openRun(path("outliers")));
  std::map<std::uint32_t, std::size_t> events;  // of the rank that strikes
  std::map<std::uint32_t, int> stepSpans;
  std::int64_t lastId = 0;
  for (const trace::SpanRow& span : run.spans) {
    EXPECT_GT(span.id, lastId) << "in the order in which they are handed out";
    lastId = span.id;
    if ((span.track - 1) / 2 == kStriking) {
      events[span.step] += 1;
      stepSpans[span.step] += span.kind == trace::EventKind::kStep ? 1 : 0;
    }
  }
  EXPECT_EQ(stepSpans.size(), kSteps) << "each step is there";
  for (const auto& [step, count] : stepSpans) {
    EXPECT_EQ(count, 1) << step;
  }
  std::set<std::uint32_t> unlike;
  for (const trace::StepSumsRow& row : run.sums) {
    if (row.kept == trace::KeptDetail::kUnlike && row.rank == kStriking) {
      unlike.insert(row.step);
    }
  }
  for (std::uint32_t step = kStrikesEvery; step < kSteps; step += kStrikesEvery) {
    EXPECT_EQ(events[step], kEventsOfAStep) << step;
    EXPECT_TRUE(unlike.contains(step)) << step;
  }
}

}  // namespace
}  // namespace lockstep::capture
