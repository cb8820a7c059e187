#include "engine/export/ChromeTrace.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "tests/engine/export/ExportedRun.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::exports {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using trace::EventKind;

// What rank 0 and rank 1 did in iteration 3, in µs; the export begins at 100:
//   rank 0  step    100 .. 210   forward 100 .. 140, gradient of parameter 0 ready at 145,
//                                backward 140 .. 200
//           gloo 0  allreduce 7 of bucket 0   120 .. 180
//                   allreduce 8 of no bucket  150 .. 200: in part beside the other
//   rank 1  step    110 .. 205
//           gloo 0  allreduce 7               130 .. 180
class ChromeTraceTest : public testing::Test {
 protected:
  ExportedRun& run() { return run_; }

  void writeStep() {
    trace::ParametersMessage parameters;
    parameters.parameters.push_back({"fc\"1\"\n\xFF", {10, 10}, "float32", 100, 400});
    run_.writer().setParameters(parameters);
    trace::BucketsMessage layout;
    layout.reason = "construction";
    layout.buckets.push_back({{0}, {0}, 400, 0, "float32"});
    run_.writer().addLayout(layout);
    run_.collective(0, 120, 180, 7, 400, 3, 0)
        .collective(0, 150, 200, 8, 10, 3)
        .collective(1, 130, 180, 7, 400, 3, 0)
        .step(0, EventKind::kForward, 100, 140, 3)
        .step(0, EventKind::kGradientReady, 145, 145, 3)
        .step(0, EventKind::kBackward, 140, 200, 3)
        .step(0, EventKind::kStep, 100, 210, 3)
        .step(1, EventKind::kStep, 110, 205, 3)
        .metric(0, "loss", 3, 200, 0.5)
        .metric(1, "loss", 3, 200, std::numeric_limits<double>::quiet_NaN());
  }

  json exported(const TraceOptions& options = {}) {
    const auto report = writeTrace(run_.path(), folder_ / "trace.json", options);
    EXPECT_TRUE(report.ok()) << report.error().message();
    return json::parse(support::readFile(folder_ / "trace.json"));
  }

  // The events of one phase, by the order in the file.
  static std::vector<json> of(const json& trace, const std::string& phase) {
    std::vector<json> found;
    for (const json& event : trace.at("traceEvents")) {
      if (event.at("ph") == phase) {
        found.push_back(event);
      }
    }
    return found;
  }
  static json named(const json& trace, const std::string& phase, const std::string& name) {
    for (const json& event : of(trace, phase)) {
      if (event.at("name") == name) {
        return event;
      }
    }
    ADD_FAILURE() << "no event " << name;
    return {};
  }
  // The name of the thread that an event is on.
  static std::string threadOf(const json& trace, const json& event) {
    for (const json& metadata : of(trace, "M")) {
      if (metadata.at("name") == "thread_name" && metadata.at("tid") == event.at("tid") &&
          metadata.at("pid") == event.at("pid")) {
        return metadata.at("args").at("name");
      }
    }
    return "none";
  }

  support::TemporaryFolder folder_;
  ExportedRun run_{folder_ / "run.lockstep", 2};
};

TEST_F(ChromeTraceTest, ASliceHasItsTimesInMicrosecondsSinceTheBegin) {
  writeStep();
  run().finish();
  const json trace = exported();
  EXPECT_EQ(trace.at("baseTimeNanoseconds"), 100'000);
  const json backward = named(trace, "X", "backward");
  EXPECT_EQ(backward.at("ts"), 40.0);
  EXPECT_EQ(backward.at("dur"), 60.0);
  EXPECT_EQ(backward.at("pid"), 1);
  EXPECT_EQ(threadOf(trace, backward), "step");
  EXPECT_EQ(backward.at("args").at("step"), 3);
  EXPECT_EQ(named(trace, "X", "ProfilerStep#3").at("dur"), 110.0);
  EXPECT_THAT(support::readFile(folder_ / "trace.json"), HasSubstr("\"ts\":40.000,\"dur\":60.000"));
}

TEST_F(ChromeTraceTest, AWaitForACoreSaysThatItIsOfAPartOfTheSlice) {
  writeStep();
  run().step(0, EventKind::kOffCore, 150, 190, 3, 7'000).finish();
  const json wait = named(exported(), "X", "no core for a part of it");
  EXPECT_EQ(wait.at("dur"), 40.0);
  EXPECT_EQ(wait.at("args").at("no core [ns]"), 7'000);
}

TEST_F(ChromeTraceTest, AProcessOfARunOnSeveralHostsSaysWhereItRan) {
  // Rank 1 is on a host that ticks once a ns and is 5 ms ahead.
  run().writer().addHost({0, "alpha", "", "tsc"});
  run().writer().addHost({1, "beta", "10.0.0.2", "monotonic"});
  trace::RankInfo rank;
  rank.rank = 1;
  rank.host = 1;
  run().writer().setRank(rank);
  run().writer().addClock(1, {0, 0, 1}, {5'000'000, 31'000});
  run().step(0, EventKind::kStep, 100, 210, 3).step(1, EventKind::kStep, 5'110'000, 5'205'000, 3);
  run().finish();
  const json trace = exported();
  std::vector<std::string> names;
  std::vector<std::string> labels;
  for (const json& metadata : of(trace, "M")) {
    if (metadata.at("name") == "process_name") {
      names.push_back(metadata.at("args").at("name"));
    } else if (metadata.at("name") == "process_labels") {
      labels.push_back(metadata.at("args").at("labels"));
    }
  }
  EXPECT_THAT(names, testing::ElementsAre("rank 0 on alpha", "rank 1 on beta"));
  EXPECT_THAT(labels.at(1), HasSubstr("clock +5.000 ms ± 0.031 ms"));
  EXPECT_EQ(trace.at("lockstep").at("clock of beta"),
            "+5.000 ms ± 0.031 ms, taken off the times here");
  const auto slices = of(trace, "X");
  ASSERT_EQ(slices.size(), 2);
  EXPECT_EQ(slices[1].at("ts"), 10.0) << "both on the recording host's axis";
  EXPECT_EQ(slices[1].at("dur"), 95.0);
}

TEST_F(ChromeTraceTest, APhaseOfTheScriptAndAGroupHaveTheNamesOfTheJob) {
  const std::uint64_t number = trace::userPhaseNumber("load \"all\"");
  trace::RankInfo rank;
  rank.environment = {{trace::kUserPhasePrefix + std::to_string(number), "load \"all\""},
                      {trace::kGroupPrefix + "0", "mesh_dp"}};
  run().writer().setRank(rank);
  run().step(0, EventKind::kStep, 100, 210, 3).step(0, EventKind::kUserPhase, 110, 150, 3, number);
  run().collective(0, 120, 140, 7, 400, 3, 0).finish();
  const json trace = exported();
  EXPECT_EQ(named(trace, "X", "load \"all\"").at("dur"), 40.0);
  EXPECT_THAT(support::readFile(folder_ / "trace.json"),
              HasSubstr("\"Process Group Description\":\"mesh_dp\""));
}

TEST_F(ChromeTraceTest, NamesAreValidWhateverTheRunHolds) {
  writeStep();
  run().finish();
  const json ready = named(exported(), "i", "gradient_ready");
  EXPECT_EQ(ready.at("args").at("parameter"), "fc\"1\"\n\xEF\xBF\xBD");
  EXPECT_EQ(ready.at("s"), "t");
  EXPECT_EQ(ready.at("ts"), 45.0);
}

TEST_F(ChromeTraceTest, ACollectiveHasTheFieldsThatKinetoGivesIt) {
  writeStep();
  run().finish();
  const json trace = exported();
  const json args = named(trace, "X", "gloo:allreduce").at("args");
  EXPECT_EQ(args.at("Collective name"), "allreduce");
  EXPECT_EQ(args.at("In msg nelems"), 100) << "400 bytes of float32, as the bucket's";
  EXPECT_EQ(args.at("Out msg nelems"), 100);
  EXPECT_EQ(args.at("dtype"), "Float");
  EXPECT_EQ(args.at("Seq"), 7);
  EXPECT_EQ(args.at("Group size"), 2);
  EXPECT_EQ(args.at("Process Group Name"), "0");
  EXPECT_EQ(args.at("Process Group Description"), "default_pg");
  EXPECT_EQ(args.at("Process Group Ranks"), "[0, 1]");
  EXPECT_FALSE(args.contains("dtype recorded"));
  EXPECT_EQ(trace.at("distributedInfo"),
            json::parse(R"({"backend": "gloo", "world_size": 2, "pg_count": 1, "pg_config": [
                            {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo",
                             "pg_size": 2, "ranks": [0, 1]}]})"))
      << "no rank: it is a file of two";
}

TEST_F(ChromeTraceTest, ADtypeThatIsNotKnownIsSaidToBe) {
  writeStep();
  run().finish();
  for (const json& event : of(exported(), "X")) {
    if (event.at("args").value("Seq", 0) == 8) {
      EXPECT_EQ(event.at("args").at("dtype"), "Byte");
      EXPECT_EQ(event.at("args").at("In msg nelems"), 10);
      EXPECT_EQ(event.at("args").at("dtype recorded"), false);
      return;
    }
  }
  FAIL() << "no collective 8";
}

TEST_F(ChromeTraceTest, SlicesThatOverlapInPartAreOnThreadsOfTheirOwn) {
  writeStep();
  run().finish();
  const json trace = exported();
  std::map<int, std::string> threads;
  for (const json& event : of(trace, "X")) {
    if (event.at("name") == "gloo:allreduce" && event.at("pid") == 1) {
      threads[event.at("args").at("Seq")] = threadOf(trace, event);
    }
  }
  EXPECT_EQ(threads, (std::map<int, std::string>{{7, "gloo 0"}, {8, "gloo 0 (2)"}}));
}

TEST_F(ChromeTraceTest, AFlowLeadsThroughOneCollectiveInTheOrderOfArrival) {
  writeStep();
  run().finish();
  const json trace = exported();
  const auto begins = of(trace, "s");
  const auto ends = of(trace, "f");
  ASSERT_EQ(begins.size(), 1u) << "the other collective is of one rank";
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_TRUE(of(trace, "t").empty());
  EXPECT_EQ(begins[0].at("pid"), 1);
  EXPECT_EQ(begins[0].at("ts"), 20.0);
  EXPECT_EQ(ends[0].at("pid"), 2);
  EXPECT_EQ(ends[0].at("ts"), 30.0);
  EXPECT_EQ(ends[0].at("bp"), "e");
  EXPECT_EQ(begins[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(threadOf(trace, ends[0]), "gloo 0");
}

TEST_F(ChromeTraceTest, NumbersAreCountersAndWhatIsNoneIsMarked) {
  writeStep();
  run().finish();
  const json trace = exported();
  const auto counters = of(trace, "C");
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].at("name"), "loss");
  EXPECT_EQ(counters[0].at("args"), json({{"value", 0.5}})) << "any other key is named beside it";
  EXPECT_EQ(counters[0].at("ts"), 100.0);
  EXPECT_EQ(named(trace, "i", "loss is not finite").at("pid"), 2);
}

TEST_F(ChromeTraceTest, BlocksOfAnySizeGiveTheSameEvents) {
  writeStep();
  run().finish();
  TraceOptions options;
  const json whole = exported(options);
  // Which of a lane's threads a slice is on depends on what was written before it.
  const auto lines = [](const json& trace) {
    std::multiset<std::string> found;
    for (json event : trace.at("traceEvents")) {
      if (event.at("ph") != "M") {
        event.erase("tid");
        found.insert(event.dump());
      }
    }
    return found;
  };
  for (const std::size_t block : {1u, 2u, 3u}) {
    options.blockSpans = block;
    const json trace = exported(options);
    EXPECT_EQ(lines(trace), lines(whole)) << block;
  }
}

TEST_F(ChromeTraceTest, AFileARankHoldsThatRankAndNoFlows) {
  writeStep();
  run().finish();
  const auto report = writeTracePerRank(run().path(), folder_ / "out", {});
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_EQ(report.value().files.size(), 2u);
  for (int rank = 0; rank < 2; ++rank) {
    const auto path = folder_ / ("out/run.rank" + std::to_string(rank) + ".json");
    const json trace = json::parse(support::readFile(path));
    EXPECT_EQ(trace.at("distributedInfo").at("rank"), rank);
    for (const json& event : trace.at("traceEvents")) {
      EXPECT_EQ(event.at("pid"), rank + 1);
    }
    EXPECT_TRUE(of(trace, "s").empty());
  }
}

TEST_F(ChromeTraceTest, TracesOfAnotherRunInTheFolderAreNamed) {
  writeStep();
  run().finish();
  ASSERT_TRUE(writeTracePerRank(run().path(), folder_ / "out", {}).value().others.empty());
  EXPECT_TRUE(writeTracePerRank(run().path(), folder_ / "out", {}).value().others.empty())
      << "these are replaced";
  std::ofstream(folder_ / "out/old.rank7.json") << "{}";
  std::ofstream(folder_ / "out/notes.txt") << "other";
  EXPECT_THAT(writeTracePerRank(run().path(), folder_ / "out", {}).value().others,
              testing::ElementsAre(folder_ / "out/old.rank7.json"));
}

TEST_F(ChromeTraceTest, ForHtaTheKernelsHaveStreamsAndSayThatTheyAreNone) {
  writeStep();
  run().finish();
  TraceOptions options;
  options.reader = TraceReader::kHta;
  const auto report = writeTracePerRank(run().path(), folder_ / "out", options);
  ASSERT_TRUE(report.ok());
  // Rank 0 computes from 100 to 145, its last gradient, and communicates from 120 to 200; rank 1
  // does not compute.
  EXPECT_EQ(report.value().overlaps.at(0).percent, 100.0 * 25 / 80);
  EXPECT_EQ(report.value().overlaps.at(1).percent, 0.0);
  const json trace = json::parse(support::readFile(folder_ / "out/run.rank0.json"));
  std::map<int, int> streams;
  for (const json& event : of(trace, "X")) {
    EXPECT_EQ(event.at("args").contains("stream"), event.at("cat") == "kernel");
    EXPECT_THAT(event.at("name").get<std::string>(), testing::Not(testing::StartsWith("Profiler")));
    if (event.at("cat") == "kernel") {
      streams[event.at("args").at("stream")] += 1;
      EXPECT_EQ(event.at("args").at("no CUDA stream"), true);
    }
  }
  EXPECT_EQ(streams, (std::map<int, int>{{7, 2}, {20, 1}, {21, 1}}));
  EXPECT_THAT(trace.at("lockstep").at("streams").get<std::string>(), HasSubstr("no CUDA streams"));
}

TEST_F(ChromeTraceTest, ARangeHoldsItsIterationsAndTheirNumbers) {
  writeStep();
  run().step(0, EventKind::kStep, 300, 400, 4).metric(0, "loss", 4, 390, 0.25);
  run().finish();
  TraceOptions options;
  options.selection.steps = StepRange{4, 9};
  const json trace = exported(options);
  ASSERT_EQ(of(trace, "X").size(), 1u);
  EXPECT_EQ(of(trace, "X")[0].at("ts"), 0.0);
  ASSERT_EQ(of(trace, "C").size(), 1u);
  EXPECT_EQ(of(trace, "C")[0].at("ts"), 90.0);

  options.selection.steps = StepRange{70, 80};
  const auto nothing = writeTrace(run().path(), folder_ / "none.json", options);
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message(), HasSubstr("which holds 3 to 4"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.json"));
}

TEST_F(ChromeTraceTest, ARangeFromTheFirstIterationLeavesOutTheStartUp) {
  // DDP's verification carries the number of iteration 0, which begins at 500.
  run().collective(0, 100, 200, 1, 400).collective(0, 520, 540, 2, 400);
  run().step(0, EventKind::kForward, 500, 550).step(0, EventKind::kStep, 500, 600);
  run().finish();
  TraceOptions options;
  options.selection.steps = StepRange{0, 3};
  const json trace = exported(options);
  EXPECT_EQ(of(trace, "X").size(), 3u);
  EXPECT_TRUE(of(trace, "i").empty());
  EXPECT_EQ(named(trace, "X", "gloo:allreduce").at("ts"), 20.0);
  options.selection = {};
  EXPECT_EQ(of(exported(options), "X").size(), 4u);
}

TEST_F(ChromeTraceTest, OfALiveRunIsWrittenWhatIsThere) {
  writeStep();
  run().commit();
  EXPECT_EQ(of(exported(), "X").size(), 7u);
  run().step(1, EventKind::kForward, 110, 120, 3);
  run().commit();
  EXPECT_EQ(of(exported(), "X").size(), 8u);
}

TEST_F(ChromeTraceTest, ARunWithoutEventsIsAnEmptyTrace) {
  run().finish();
  const json trace = exported();
  EXPECT_TRUE(of(trace, "X").empty());
  EXPECT_EQ(trace.at("distributedInfo").at("world_size"), 2);
}

TEST_F(ChromeTraceTest, AnExportThatIsEndedEarlyLeavesNothing) {
  writeStep();
  run().finish();
  double reached = 0;
  const auto ended = writeTracePerRank(run().path(), folder_ / "out", {}, [&](double part) {
    EXPECT_GE(part, reached);
    reached = part;
    return part < kSurveyPart;
  });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, base::ExitCode::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
}

TEST_F(ChromeTraceTest, AnExportForHtaCanBeEndedWhileItsKernelsAreWritten) {
  writeStep();
  run().finish();
  TraceOptions options;
  options.reader = TraceReader::kHta;
  std::vector<double> parts;
  std::size_t last = SIZE_MAX;
  const Progress progress = [&](double part) {
    EXPECT_TRUE(parts.empty() || part >= parts.back());
    parts.push_back(part);
    return parts.size() < last;
  };
  ASSERT_TRUE(writeTracePerRank(run().path(), folder_ / "whole", options, progress).ok());
  EXPECT_EQ(parts.back(), 1.0);
  const std::size_t questions = parts.size();
  ASSERT_GE(questions, 5u) << "the survey, the spans, two ranks, the end";
  for (last = questions - 3; last <= questions; ++last) {
    parts.clear();
    const auto ended = writeTracePerRank(run().path(), folder_ / "out", options, progress);
    ASSERT_FALSE(ended.ok()) << last;
    EXPECT_EQ(ended.error().code, base::ExitCode::kInterrupted);
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
  }
}

}  // namespace
}  // namespace lockstep::exports
