#include "engine/capture/DetailWriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/analysis/CallSequences.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/StepOverlap.h"
#include "tests/engine/capture/MadeJob.h"
#include "tests/engine/trace/TemporaryFolder.h"

namespace lockstep::capture {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;
using trace::EventKind;
using trace::KeptDetail;
using trace::openRun;
using trace::readAll;
using trace::RunUpdate;

class DetailWriterTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_ / (name + ".lockstep");
  }

  /// Writes the job with this detail and returns how many events it emitted.
  std::uint64_t record(const std::string& name, MadeJob job, const DetailOptions& options) {
    return job.write(*writeDetail(trace::createRun(path(name)), options));
  }

  [[nodiscard]] RunUpdate read(const std::string& name) const {
    return readAll(*openRun(path(name)));
  }
  [[nodiscard]] analysis::RunAnalysis analysed(const std::string& name) const {
    return analysis::analyse(analysis::readRunData(path(name)).value());
  }
  [[nodiscard]] double size(const std::string& name) const {
    return static_cast<double>(std::filesystem::file_size(path(name)));
  }

  trace::TemporaryFolder folder_;
};

/// How many spans there are of a step of a rank.
std::size_t spansOf(const RunUpdate& run, int rank, std::uint32_t step) {
  return static_cast<std::size_t>(std::count_if(
      run.spans.begin(), run.spans.end(),
      [&](const trace::SpanRow& span) { return span.step == step && span.track / 2 == rank; }));
}

std::string leftOut(const RunUpdate& run) {
  const auto text = run.info->environment.find(trace::kLeftOut);
  return text == run.info->environment.end() ? "" : text->second;
}

void expectSameFigures(const analysis::RunAnalysis& run, const analysis::RunAnalysis& full,
                       double share) {
  ASSERT_EQ(run.ranks.size(), full.ranks.size());
  for (std::size_t i = 0; i < full.ranks.size(); ++i) {
    const analysis::RankAnalysis& rank = run.ranks[i];
    const analysis::RankAnalysis& whole = full.ranks[i];
    EXPECT_EQ(rank.measuredSteps, whole.measuredSteps);
    EXPECT_NEAR(*rank.overlapPercent, *whole.overlapPercent, share * *whole.overlapPercent);
    EXPECT_NEAR(*rank.exposedMs, *whole.exposedMs, share * *whole.exposedMs);
    EXPECT_NEAR(*rank.stepMs, *whole.stepMs, share * *whole.stepMs);
    EXPECT_NEAR(*rank.backwardMs, *whole.backwardMs, share * *whole.backwardMs);
  }
}

TEST_F(DetailWriterTest, AllIsTheFileItself) {
  auto file = trace::createRun(path("a"));
  const trace::RunFileWriter* own = file.get();
  EXPECT_EQ(writeDetail(std::move(file), {}).get(), own);
}

// The figures that the run file's bound is held to.
TEST_F(DetailWriterTest, OutliersTakeAFewPercentOfTheFileKeepThePlantedStepsAndTheMedians) {
  MadeJob job(2, 10'000);
  const std::map<std::uint32_t, int> planted{{1'234, 1}, {5'000, 0}, {7'777, 1}};
  job.computesMore = [&](int rank, std::uint32_t step) {
    const auto at = planted.find(step);
    return at != planted.end() && at->second == rank ? 5'000'000 : 0;
  };
  job.sendsMore = [](int, std::uint32_t step) { return step == 8'888 ? 4'000'000 : 0; };
  const std::uint64_t emitted = record("full", job, {});
  record("outliers", job, {Detail::kOutliers});

  EXPECT_LT(size("outliers"), 0.05 * size("full"));
  expectSameFigures(analysed("outliers"), analysed("full"), 0.01);

  const RunUpdate run = read("outliers");
  const std::size_t whole = emitted / job.steps / 2;
  std::map<std::uint32_t, std::set<int>> unlike;
  for (const trace::StepSumsRow& row : run.sums) {
    if (row.kept == KeptDetail::kUnlike) {
      unlike[row.step].insert(row.rank);
    }
  }
  for (const auto& [step, rank] : planted) {
    EXPECT_EQ(spansOf(run, rank, step), whole) << step;
    EXPECT_THAT(unlike[step], Contains(rank)) << step;
  }
  EXPECT_EQ(spansOf(run, 0, 8'888), whole);
  EXPECT_EQ(spansOf(run, 1, 8'888), whole);
  EXPECT_EQ(spansOf(run, 0, 19), whole) << "the first ones are there to compare with";
  EXPECT_EQ(spansOf(run, 0, 4'000), whole) << "and every hundredth";
  EXPECT_EQ(spansOf(run, 0, 4'001), 1U);
  EXPECT_EQ(run.info->environment.at(trace::kDetail), "outliers");
  EXPECT_THAT(leftOut(run),
              AllOf(HasSubstr("of 10,000 steps there are sums alone (capture.detail = outliers): "
                              "all is there of the first 20, of every 100th, and of those unlike "
                              "the rest"),
                    HasSubstr("1234 (rank")));
}

TEST_F(DetailWriterTest, OfACollectiveAllRecordsAreKeptOrNone) {
  MadeJob job(3, 400);
  job.computesMore = [](int rank, std::uint32_t step) {
    return rank == 2 && step == 333 ? 5'000'000 : 0;
  };
  record("a", job, {Detail::kOutliers});
  const analysis::RunData data = analysis::readRunData(path("a")).value();
  for (const analysis::CallSequence& sequence : analysis::callSequences(data, true)) {
    EXPECT_EQ(sequence.mismatches, 0U);
  }
  // Of its peers the collectives are there, so that one sees who waited.
  const RunUpdate run = read("a");
  EXPECT_GT(spansOf(run, 2, 333), spansOf(run, 0, 333));
  EXPECT_GT(spansOf(run, 0, 333), 2 * MadeJob::kBuckets);
}

TEST_F(DetailWriterTest, StepsKeepPhasesAndCollectivesAndTheFiguresOfAll) {
  const MadeJob job(2, 300);
  record("full", job, {});
  record("steps", job, {Detail::kSteps});
  expectSameFigures(analysed("steps"), analysed("full"), 1e-9);
  std::map<EventKind, int> kinds;
  const RunUpdate run = read("steps");
  for (const trace::SpanRow& span : run.spans) {
    ++kinds[span.kind];
  }
  EXPECT_EQ(kinds[EventKind::kStep], 600);
  EXPECT_EQ(kinds[EventKind::kCollective], 600 * static_cast<int>(MadeJob::kBuckets));
  EXPECT_EQ(kinds[EventKind::kGradientReady], 600) << "the last, which ends the computing";
  EXPECT_EQ(kinds[EventKind::kCopyIn], 0);
  EXPECT_THAT(leftOut(run), StartsWith("steps have their phases, buckets and collectives, and no "
                                       "single gradients, copies and waits"));
}

TEST_F(DetailWriterTest, ThePartsOfAStepStillAddUp) {
  record("a", MadeJob(2, 300), {Detail::kOutliers});
  const analysis::RunData data = analysis::readRunData(path("a")).value();
  for (const analysis::StepOverlap& step : analysis::stepOverlaps(data, analysis::analyse(data))) {
    const analysis::StepTimes& times = step.times;
    EXPECT_NEAR(times.stepMs, step.aloneMs + times.overlapMs + times.exposedMs + step.otherMs,
                1e-6);
    EXPECT_NEAR(times.exposedMs,
                step.noCoreMs + step.waitingMs + step.transferMs + step.undividedMs, 1e-6);
  }
}

TEST_F(DetailWriterTest, SaysThatNoStepIsUnlikeTheRest) {
  record("a", MadeJob(2, 300), {Detail::kOutliers});
  EXPECT_THAT(leftOut(read("a")),
              HasSubstr("of 278 of 300 steps there are sums alone (capture.detail = outliers): all "
                        "is there of the first 20, of every 100th, and of those unlike the rest: "
                        "none"));
}

TEST_F(DetailWriterTest, AStepThatIsNeverEndedIsKeptWhole) {
  MadeJob job(2, 150);
  job.ends = false;
  const std::uint64_t emitted = record("a", job, {Detail::kOutliers});
  const RunUpdate run = read("a");
  EXPECT_EQ(spansOf(run, 0, 149), emitted / 300) << "all but the end";
  EXPECT_EQ(spansOf(run, 1, 149), emitted / 300 + 1);
}

TEST_F(DetailWriterTest, OfTheLossesThatOfRankZeroIsKept) {
  record("a", MadeJob(3, 200), {Detail::kOutliers});
  std::map<int, int> losses;
  int others = 0;
  for (const trace::MetricRow& metric : read("a").metrics) {
    if (metric.name == "loss") {
      ++losses[metric.rank];
    } else {
      ++others;
    }
  }
  EXPECT_EQ(losses[0], 21 + 17 + 1) << "of those, of every tenth of the others, and of the last";
  EXPECT_EQ(losses[1], 21) << "of the steps that are whole";
  EXPECT_EQ(others, 3 * 21 * 6) << "likewise what c10d's Logger has";
}

TEST_F(DetailWriterTest, OfSamplesThoseAreKeptThatTellSomethingAndAFewOfTheOthers) {
  MadeJob job(2, 800);
  job.samplesEvery = 10;
  job.hash = [](int rank, std::uint32_t step) { return step == 330 && rank == 1 ? 1 : step; };
  job.isNan = [](int rank, std::uint32_t step) { return step == 720 && rank == 0; };
  record("a", job, {Detail::kOutliers});
  const RunUpdate run = read("a");
  std::map<std::uint32_t, std::set<int>> steps;
  for (const trace::FingerprintRow& row : run.fingerprints) {
    steps[row.step].insert(row.rank);
  }
  std::set<std::uint32_t> sampled;
  for (const auto& [step, ranks] : steps) {
    sampled.insert(step);
    EXPECT_EQ(ranks.size(), 2U) << "of all ranks or none, at step " << step;
  }
  EXPECT_EQ(sampled, (std::set<std::uint32_t>{0, 330, 500, 720}));
  EXPECT_EQ(run.gradients.size(), 2 * sampled.size());
  EXPECT_THAT(leftOut(run), HasSubstr("of losses there is every 10th, and of samples of parameters "
                                      "and gradients every 50th, and all that are not finite or "
                                      "differ"));
}

TEST_F(DetailWriterTest, OfSamplesThatMayDifferOnlyAFewAreKept) {
  auto file = writeDetail(trace::createRun(path("a")), {Detail::kOutliers});
  trace::RankInfo rank;
  rank.environment[trace::kIgnoredParameters] = "1";
  file->setRank(rank);
  MadeJob job(2, 300);
  job.samplesEvery = 10;
  job.hash = [](int of, std::uint32_t step) { return step + static_cast<std::uint64_t>(of); };
  job.write(*file);
  EXPECT_EQ(read("a").fingerprints.size(), 2U) << "the first";
}

class LimitTest : public DetailWriterTest {
 protected:
  static constexpr std::uint64_t kLimit = 1 << 20;
};

TEST_F(LimitTest, NearItOnlySumsAreWrittenAndTheFiguresStayRight) {
  const MadeJob job(2, 500);
  record("full", job, {});
  record("limited", job, {Detail::kFull, kLimit});
  EXPECT_GT(size("full"), 2 * kLimit);
  EXPECT_LT(size("limited"), 1.05 * kLimit);
  expectSameFigures(analysed("limited"), analysed("full"), 0.01);
  const RunUpdate run = read("limited");
  EXPECT_EQ(run.info->state, trace::RunState::kFinished);
  ASSERT_EQ(run.problems.size(), 1U);
  EXPECT_THAT(run.problems[0].text,
              HasSubstr("the run file has come near its limit of 1 MiB (capture.limit_mb): from "
                        "step "));
  EXPECT_EQ(run.log.at(0).text, run.problems[0].text);
  EXPECT_THAT(leftOut(run),
              HasSubstr("there are sums alone, since the file came near its limit of"));
}

// A run that is faster than its recorder: two hundred steps of each rank lie in its ring.
TEST_F(LimitTest, IsKeptToByARunThatWritesManyStepsAtATime) {
  for (const Detail detail : {Detail::kFull, Detail::kSteps, Detail::kOutliers}) {
    MadeJob job(4, 2'000);
    job.stepsAPass = 200;
    const std::string name = "limited" + std::to_string(static_cast<int>(detail));
    record(name, job, {detail, 4 * kLimit});
    EXPECT_LT(size(name), 1.05 * 4 * kLimit) << name;
    const RunUpdate run = read(name);
    EXPECT_EQ(run.info->state, trace::RunState::kFinished);
    for (const analysis::CallSequence& calls :
         analysis::callSequences(analysis::readRunData(path(name)).value(), true)) {
      EXPECT_EQ(calls.mismatches, 0U) << "a step that has begun is written of all ranks";
    }
  }
}

TEST_F(LimitTest, AtItNothingIsWrittenAndTheRunGoesOn) {
  record("limited", MadeJob(2, 5'000), {Detail::kOutliers, kLimit / 2});
  EXPECT_LT(size("limited"), 1.1 * kLimit / 2);
  const RunUpdate run = read("limited");
  EXPECT_EQ(run.info->state, trace::RunState::kFinished) << "its end is written all the same";
  ASSERT_EQ(run.problems.size(), 2U);
  EXPECT_THAT(run.problems[1].text, AllOf(HasSubstr("the run file has come to its limit"),
                                          HasSubstr("nothing is written of steps from "),
                                          HasSubstr("on; training is not affected")));
  EXPECT_THAT(leftOut(run), HasSubstr("on there is nothing, since it came to that limit"));
}

}  // namespace
}  // namespace lockstep::capture
