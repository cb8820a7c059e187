#include "engine/import/ImportRun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/trace/RunFile.h"
#include "tests/engine/import/TraceText.h"

#ifdef LOCKSTEP_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lockstep::imports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class ImportRun : public testing::Test {
 protected:
  static std::string steps(int rank, double late, const std::string& host = "alpha") {
    TraceText text(rank, 2, host);
    for (int i = 0; i < 3; ++i) {
      addStep(text, 4 + i, 1000 * (i + 1), late);
    }
    return text.text();
  }

  base::Result<ImportReport> import(const std::vector<std::filesystem::path>& paths) {
    ImportOptions options;
    options.paths = paths;
    options.runFile = run_;
    return importRun(options);
  }

  std::string refusal(const std::vector<std::filesystem::path>& paths) {
    const auto result = import(paths);
    EXPECT_FALSE(std::filesystem::exists(run_));
    return result.ok() ? "" : result.error().message();
  }

  support::TemporaryFolder folder_;
  std::filesystem::path run_ = folder_ / "run.lockstep";
};

TEST_F(ImportRun, MakesARunOfAFolderOfTraces) {
  folder_.write("job/a.json", steps(0, 0));
  folder_.write("job/b.json", steps(1, 30));
  folder_.write("job/notes.txt", "nothing");
  const auto report = import({folder_ / "job"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report.value().ranks, 2);
  EXPECT_EQ(report.value().steps, 3);
  EXPECT_EQ(report.value().leftOut, 1);
  const auto summary = trace::readRunSummary(run_);
  ASSERT_TRUE(summary.ok()) << summary.error().message();
  const trace::RunInfo& info = summary.value().info;
  EXPECT_EQ(info.kind, trace::RunKind::kImported);
  EXPECT_EQ(info.state, trace::RunState::kFinished);
  EXPECT_EQ(info.name, "job");
  EXPECT_EQ(info.worldSize, 2);
  EXPECT_EQ(info.startedAt, "2023-11-14T22:13:20Z");
  EXPECT_EQ(info.environment.at("imported"), "2 Kineto traces");
  EXPECT_EQ(summary.value().lastStep, 6);
  EXPECT_EQ(summary.value().ranks.at(1).environment.at("first_step"), "4");
}

TEST_F(ImportRun, WhatItMadeIsAnalysedAsARunThatWasRecorded) {
  folder_.write("job/a.json", steps(0, 0));
  folder_.write("job/b.json", steps(1, 30));
  ASSERT_TRUE(import({folder_ / "job"}).ok());
  const auto data = analysis::readRunData(run_);
  ASSERT_TRUE(data.ok());
  const analysis::RunAnalysis run = analysis::analyse(data.value());
  ASSERT_EQ(run.stepRows.size(), 6);
  // In flight 190 and 190 µs; computing ends with the last gradient, at 500 of the step, less the
  // copies in at 351 (1 µs) and the launches' own waits.
  EXPECT_NEAR((*run.steps().begin()).inFlightMs, 0.380, 1e-9);
  EXPECT_NEAR((*run.steps().begin()).overlapMs, 0.189, 0.002);
  ASSERT_EQ(run.collectives.size(), 6);
  const analysis::CollectiveTimes& second = *std::next(run.collectives.begin());
  EXPECT_EQ(second.lastRank, 1) << "its second bucket began 30 µs later";
  EXPECT_NEAR(static_cast<double>(second.skewTicks) * run.nsPerTick / 1e6, 0.030, 1e-9);
}

TEST_F(ImportRun, SaysHowWellTheClocksOfTwoHostsAreKnown) {
  folder_.write("job/a.json", steps(0, 0));
  folder_.write("job/b.json", steps(1, 0, "beta"));
  ASSERT_TRUE(import({folder_ / "job"}).ok());
  const auto summary = trace::readRunSummary(run_);
  ASSERT_EQ(summary.value().hosts.size(), 2);
  EXPECT_EQ(summary.value().hosts[1].info.name, "beta");
  EXPECT_EQ(summary.value().hosts[1].offset->offsetNs, 0);
  EXPECT_NEAR(static_cast<double>(summary.value().hosts[1].offset->uncertaintyNs), 190'000, 100);
}

TEST_F(ImportRun, SaysWhichRanksAreNotThere) {
  folder_.write("a.json", steps(0, 0));
  const auto report = import({folder_ / "a.json"});
  EXPECT_THAT(report.value().problems,
              Contains("of the job's 2 ranks one is not among what was imported: who came last to "
                       "a collective is not known"));
}

TEST_F(ImportRun, TakesTheRankFromTheNameAndElseSaysSo) {
  const auto anonymous = [](double at) {
    TraceText text;
    addStep(text, 0, at);
    return text.head("").text();
  };
  folder_.write("job/worker1.pt.trace.json", anonymous(1000));
  folder_.write("job/trace_rank-0.json", anonymous(1000));
  ASSERT_TRUE(import({folder_ / "job"}).ok());
  std::filesystem::remove(run_);
  folder_.write("job/other.json", anonymous(1000));
  EXPECT_THAT(refusal({folder_ / "job"}),
              HasSubstr("other.json: does not say of which rank it is: put it into its name"));
  EXPECT_THAT(import({folder_ / "job/other.json"}).value().problems,
              Contains("the file does not say of which rank it is: it is shown as rank 0"));
}

TEST_F(ImportRun, ADumpTellsWhoDidNotComeBesideTheTraces) {
  const auto dump = [](const std::string& calls) {
    return R"({"pg_config":{"0":{"desc":"default_pg","ranks":"[0, 1]"}},"entries":[)" + calls +
           "]}";
  };
  const auto call = [](int number) {
    return fmt::format(R"({{"process_group":["0","default_pg"],"collective_seq_id":{},)"
                       R"("profiling_name":"gloo:all_reduce","input_sizes":[[4]],)"
                       R"("state":"scheduled","time_created_ns":170000000000000000{}}})",
                       number, number);
  };
  folder_.write("job/fr_rank0.json", dump(call(1) + "," + call(2)));
  folder_.write("job/fr_rank1.json", dump(call(1)));
  const auto report = import({folder_ / "job"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems,
              Contains("rank 1 had not come to allreduce of 4 elements, number 2 of group 0 "
                       "(default_pg), when its dump was written: rank 0 had; its last one was "
                       "number 1"));
  EXPECT_EQ(trace::readRunSummary(run_).value().info.environment.at("imported"),
            "2 Flight Recorder dumps");
}

TEST_F(ImportRun, SaysWhatCannotBeImportedAndLeavesNoFile) {
  EXPECT_THAT(refusal({}), HasSubstr("needs at least one file or folder"));
  EXPECT_THAT(refusal({folder_ / "missing.json"}), HasSubstr("cannot be opened"));
  EXPECT_THAT(
      refusal({folder_.write("notes.json", "notes")}),
      HasSubstr("is neither a trace of torch.profiler nor a dump of a Flight Recorder nor a log "
                "of an NCCL Inspector"));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_THAT(refusal({folder_ / "empty"}), HasSubstr("the folder holds no traces"));
  const std::string text = steps(0, 0);
  EXPECT_THAT(refusal({folder_.write("cut.json", text.substr(0, text.size() / 2))}),
              HasSubstr("cut.json: is cut off or damaged at byte"));
  EXPECT_THAT(refusal({folder_.write("a.json", text), folder_.write("b.json", text)}),
              HasSubstr("b.json: is of rank 0, as "));
}

/// What a profiler writes whose schedule repeats: steps `first` to `first + 2`, `atUs` into the
/// job.
std::string cycle(int rank, int first, double atUs, const std::string& host = "alpha") {
  TraceText text(rank, 2, host);
  for (int i = 0; i < 3; ++i) {
    addStep(text, first + i, atUs + 1000 * i);
  }
  return text.text();
}

TEST_F(ImportRun, JoinsTheTracesOfARankInTheOrderOfTheirTimes) {
  folder_.write("job/rank0_a.json", cycle(0, 14, 11'000));  // the later one is read first
  folder_.write("job/rank0_b.json", cycle(0, 4, 1'000));
  folder_.write("job/rank1_a.json", cycle(1, 14, 11'050));
  folder_.write("job/rank1_b.json", cycle(1, 4, 1'000));
  const auto report = import({folder_ / "job"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report.value().steps, 6);
  EXPECT_THAT(report.value().problems,
              Contains("of each rank there are 2 traces, one behind the other, and nothing was "
                       "recorded between them: 0.007 s between iterations 6 and 14"));
  const auto summary = trace::readRunSummary(run_);
  EXPECT_EQ(
      summary.value().ranks.at(0).environment.at("imported_from"),
      (folder_ / "job/rank0_b.json").string() + ", " + (folder_ / "job/rank0_a.json").string());
  EXPECT_EQ(summary.value().lastStep, 16);
  const auto data = analysis::readRunData(run_);
  ASSERT_TRUE(data.ok());
  const analysis::RunAnalysis run = analysis::analyse(data.value());
  ASSERT_EQ(run.stepRows.size(), 12) << "six of each rank";
  EXPECT_EQ(run.collectives.size(), 12);
  for (const auto& step : run.steps()) {
    EXPECT_NEAR(step.inFlightMs, 0.380, 1e-9) << "as in a trace alone, step " << step.step;
    EXPECT_NEAR(step.stepMs, 1.0, 1e-9) << "a gap is of no step";
  }
}

TEST_F(ImportRun, CountsOnWhereTracesCountTheirIterationsThemselves) {
  const auto byForwards = [](double at) {
    TraceText text;
    text.mark("DistributedDataParallel.forward", at, 90);
    text.mark("DistributedDataParallel.forward", at + 1000, 90);
    return text.text();
  };
  folder_.write("a.json", byForwards(1000));
  folder_.write("b.json", byForwards(2'002'090));
  const auto report = import({folder_ / "a.json", folder_ / "b.json"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems, Contains(HasSubstr("2.000 s between iterations 1 and 2")));
  EXPECT_EQ(trace::readRunSummary(run_).value().lastStep, 3);
}

TEST_F(ImportRun, RefusesTracesOfOneRankThatContradictEachOther) {
  const auto refused = [&](const std::string& first, const std::string& second) {
    return refusal({folder_.write("a.json", first), folder_.write("b.json", second)});
  };
  EXPECT_THAT(refused(cycle(0, 4, 1000), cycle(0, 7, 3500)),
              HasSubstr("b.json: is of rank 0, as " + (folder_ / "a.json").string() +
                        " is, and cannot stand behind it: their times overlap by 500 µs; import "
                        "one of the two"));
  EXPECT_THAT(refused(cycle(0, 4, 1000), cycle(0, 4, 9000)),
              HasSubstr("it begins with iteration 4, and that one, earlier, had come to 6"));
  EXPECT_THAT(refused(cycle(0, 4, 1000), cycle(0, 7, 9000, "beta")),
              HasSubstr("it was written on beta, and that one on alpha"));
  TraceText without;
  without.op("aten::add", 9000, 10);
  EXPECT_THAT(refused(cycle(0, 4, 1000), without.text()),
              HasSubstr("one has a ProfilerStep for each iteration, and the other has not"));
  TraceText alone(0, 1);
  addStep(alone, 7, 9000);
  EXPECT_THAT(refused(cycle(0, 4, 1000), alone.text()),
              HasSubstr("its job has 1 ranks, and that one's 2"));
  TraceText other(0, 2);
  other.head(R"("distributedInfo":{"backend":"nccl","rank":0,"world_size":2},"host_name":"alpha",)"
             R"("baseTimeNanoseconds":1700000000000000000,)");
  addStep(other, 7, 9000);
  EXPECT_THAT(refused(cycle(0, 4, 1000), other.text()),
              HasSubstr("they have another backend or device"));
  TraceText timeless(0, 2, "alpha", 0);
  addStep(timeless, 7, 9000);
  EXPECT_THAT(refused(cycle(0, 4, 1000), timeless.text()),
              HasSubstr("without the time of day in both there is no telling which was first"));
}

TEST_F(ImportRun, LeavesOutGradientsOfATraceWhoseParametersAreOthers) {
  TraceText other;
  addStep(other, 7, 9000, 0, false);
  folder_.write("a.json", cycle(0, 4, 1000));
  folder_.write("b.json", other.text());
  const auto report = import({folder_ / "a.json", folder_ / "b.json"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems,
              Contains("in 1 of its 2 traces the gradients are others, or come in another order, "
                       "than in the first: these are left out"));
}

TEST_F(ImportRun, NeverOverwritesARun) {
  folder_.write("run.lockstep", "precious");
  folder_.write("a.json", steps(0, 0));
  const auto report = import({folder_ / "a.json"});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, base::ExitCode::kEnvironment);
  EXPECT_EQ(support::readFile(run_), "precious");
}

#ifdef LOCKSTEP_HAVE_ZLIB
TEST_F(ImportRun, ReadsGzipAndNoticesThatOneIsCutOff) {
  const std::filesystem::path packed = folder_ / "rank0.json.gz";
  const std::string text = steps(0, 0);
  gzFile file = gzopen(packed.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  ASSERT_TRUE(import({packed}).ok());
  std::filesystem::remove(run_);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  EXPECT_THAT(refusal({packed}), HasSubstr("rank0.json.gz: the gzip is cut off"));
}
#endif

}  // namespace
}  // namespace lockstep::imports
