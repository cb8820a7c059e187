#include "engine/export/Tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "tests/engine/export/ExportedRun.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::exports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using trace::EventKind;

class TablesTest : public testing::Test {
 protected:
  std::string table(const std::string& name, const Selection& selection = {}) {
    const auto report =
        writeTable(folder_ / "run.lockstep", name, folder_ / "table.csv", selection);
    EXPECT_TRUE(report.ok()) << report.error().message();
    return support::readFile(folder_ / "table.csv");
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      found.push_back(line);
    }
    return found;
  }

  support::TemporaryFolder folder_;
};

TEST_F(TablesTest, EventsAreARowEachWithTheirNumbersTakenApart) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  trace::ParametersMessage parameters;
  parameters.parameters.push_back({"w, the \"first\"", {2, 3}, "float32", 6, 24});
  run.writer().setParameters(parameters);
  run.step(0, EventKind::kGradientReady, 1'500, 1'500, 2, 0)
      .collective(0, 1'000, 3'250, 9, 24, 2, 1);
  run.finish();
  EXPECT_EQ(table("events"),
            "id,rank,thread,kind,what,start_ms,duration_ms,step,in_step_ms,bucket,group,sequence,"
            "bytes,parameter,detail,value\n"
            "1,0,step,gradient_ready,,1.500000,0.000000,2,,,,,24,\"w, the \"\"first\"\"\",0,0\n"
            "2,0,gloo 0,collective,allreduce,1.000000,2.250000,2,,1,0,9,24,,2,9895604650008\n");
}

TEST_F(TablesTest, APhaseOfTheScriptHasTheNameThatTheScriptGaveIt) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  const std::uint64_t number = trace::userPhaseNumber("tokenise");
  trace::RankInfo facts;
  facts.environment[trace::kUserPhasePrefix + std::to_string(number)] = "tokenise";
  run.writer().setRank(facts);
  run.step(0, EventKind::kUserPhase, 1'000, 2'000, 0, number)
      .step(0, EventKind::kUserPhase, 3'000, 4'000, 0, trace::userPhaseNumber("never told"));
  run.finish();
  const auto events = lines(table("events"));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_THAT(events[1], HasSubstr(",user_phase,tokenise,"));
  EXPECT_THAT(events[2], HasSubstr(",user_phase,,"));
  const std::string statistics = table("statistics");
  EXPECT_THAT(statistics, HasSubstr("user_phase,tokenise,"));
}

// Iteration 3 begins at 2 ms. What ended before it is of the start-up, though it carries its
// number; what goes on as it begins is of it, and began before it.
TEST_F(TablesTest, AnEventHasItsTimeWithinItsIteration) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.collective(0, 500, 1'900, 1, 24, 3).step(0, EventKind::kData, 1'990, 2'250, 3);
  run.step(0, EventKind::kStep, 2'000, 4'000, 3).finish();
  EXPECT_THAT(lines(table("events")),
              ElementsAre(StartsWith("id,rank"),
                          "1,0,gloo 0,collective,allreduce,0.500000,1.400000,,,,0,1,24,,2,"
                          "1099511627800",
                          "2,0,step,data,,1.990000,0.260000,3,-0.010000,,,,,,0,0",
                          "3,0,step,step,,2.000000,2.000000,3,0.000000,,,,,,0,0"));
}

TEST_F(TablesTest, StatisticsAreThoseOfTheAnalysis) {
  // Forwards of 1, 2, 3 and 4 ms in iterations of 10 ms: mean and median 2.5, the 90th percentile
  // 0.9 * 3 = 2.7 of the way, so 3.7; a quarter of the 40 ms; of their squared distances from the
  // mean, 2.25, 0.25, 0.25 and 2.25, the mean is 1.25 and its root 1.118. They lie within the
  // iterations, whose self time is 30 ms. The instant is counted and not measured.
  ExportedRun run(folder_ / "run.lockstep", 1);
  for (std::uint32_t i = 0; i < 4; ++i) {
    run.step(0, EventKind::kForward, 10'000 * i, 10'000 * i + 1'000 * (i + 1), i)
        .step(0, EventKind::kStep, 10'000 * i, 10'000 * (i + 1), i);
  }
  run.step(0, EventKind::kGradientReady, 500, 500).finish();
  EXPECT_THAT(lines(table("statistics")),
              ElementsAre("rank,kind,what,bucket,count,total_ms,share_percent,self_ms,mean_ms,"
                          "min_ms,p50_ms,p90_ms,p99_ms,max_ms,deviation_ms",
                          "0,step,,,4,40.000000,100.0000,30.000000,10.000000,10.000000,10.000000,"
                          "10.000000,10.000000,10.000000,0.000000",
                          "0,forward,,,4,10.000000,25.0000,10.000000,2.500000,1.000000,2.500000,"
                          "3.700000,3.970000,4.000000,1.118034",
                          "0,gradient_ready,,,1,,,,,,,,,,"));
}

// Somewhere in 8 ms and in 2 ms it waited for 2 ms and for 0.5 ms.
TEST_F(TablesTest, StatisticsOfWaitsForACoreAreOfWhatWasWaited) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.step(0, EventKind::kForward, 0, 10'000)
      .step(0, EventKind::kOffCore, 0, 8'000, 0, 2'000'000)
      .step(0, EventKind::kOffCore, 8'000, 10'000, 0, 500'000);
  run.finish();
  EXPECT_THAT(lines(table("statistics")),
              Contains(StartsWith("0,off_core,,,2,2.500000,25.0000,2.500000,1.250000,0.500000,")));
}

// Forward 0 .. 8 ms holds one of 2 .. 5: together they take 8 ms, and so does their self time,
// 5 + 3. Of 4 .. 6 ms it is 2, all of it; the inner one still takes its 3 of the outer's self time.
// Of 6 .. 10 ms the inner one is no part, and takes its 3 all the same: of 8 ms 5 are left. The
// window ends with the run, at 8: all of its 2 ms.
TEST_F(TablesTest, StatisticsCountNestedSpansOnceWhateverIsSelected) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.step(0, EventKind::kForward, 2'000, 5'000).step(0, EventKind::kForward, 0, 8'000);
  run.finish();
  EXPECT_THAT(lines(table("statistics"))[1],
              StartsWith("0,forward,,,2,8.000000,100.0000,8.000000,"));
  Selection selection;
  selection.ticks = TickRange{4'000, 6'000};
  EXPECT_THAT(lines(table("statistics", selection))[1],
              StartsWith("0,forward,,,2,8.000000,100.0000,8.000000,"));
  selection.ticks = TickRange{6'000, 10'000};
  EXPECT_THAT(lines(table("statistics", selection))[1],
              StartsWith("0,forward,,,1,8.000000,100.0000,5.000000,"));
}

TEST_F(TablesTest, StepsTellTheOverlapThatIsKnownOnPaper) {
  // Of 6 ms in flight 2 .. 8, computing covers 2 .. 5: half.
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.step(0, EventKind::kBackward, 0, 5'000)
      .collective(0, 2'000, 8'000, 0, 400)
      .step(0, EventKind::kStep, 0, 10'000);
  run.finish();
  EXPECT_THAT(lines(table("steps")),
              ElementsAre(StartsWith("rank,step,start_ms"),
                          "0,0,0.000000,10.000000,0.000000,5.000000,0.000000,6.000000,5.000000,"
                          "3.000000,3.000000,50.0000,0,0,0.000000,3.000000,3.000000"));
}

TEST_F(TablesTest, CollectivesNameWhomTheOthersWaitedFor) {
  ExportedRun run(folder_ / "run.lockstep", 2);
  run.collective(0, 1'000, 5'000, 4, 400, 0, 2).collective(1, 3'000, 5'000, 4, 400, 0, 2);
  run.finish();
  EXPECT_THAT(
      lines(table("collectives")),
      ElementsAre(StartsWith("group,sequence"),
                  "0,4,allreduce,0,2,400,0,1.000000,5.000000,2.000000,2.000000,1,2.000000",
                  "0,4,allreduce,0,2,400,1,3.000000,5.000000,0.000000,2.000000,1,2.000000"));
}

TEST_F(TablesTest, ANumberThatIsNoneIsAnEmptyCell) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.metric(0, "loss", 3, 500, 0.1)
      .metric(0, "loss", 4, 600, NAN)
      .metric(0, "cpu_percent", 4, 600, 7);
  run.finish();
  EXPECT_EQ(table("loss"),
            "rank,name,step,at_ms,value\n0,loss,3,0.500000,0.1\n0,loss,4,0.600000,\n");
  EXPECT_EQ(table("counters"), "rank,name,step,at_ms,value\n0,cpu_percent,4,0.600000,7\n");
}

TEST_F(TablesTest, ARangeLeavesOutTheOtherIterations) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  for (std::uint32_t i = 0; i < 5; ++i) {
    run.step(0, EventKind::kStep, 100 * i, 100 * i + 90, i);
  }
  run.finish();
  Selection selection;
  selection.steps = StepRange{1, 2};
  EXPECT_EQ(lines(table("steps", selection)).size(), 3u);
  EXPECT_EQ(lines(table("events", selection)).size(), 3u);
  selection = {};
  selection.ticks = TickRange{150, 250};
  EXPECT_EQ(lines(table("events", selection)).size(), 3u);
  EXPECT_EQ(lines(table("steps", selection)).size(), 3u) << "the iterations that reach into it";
}

// Iteration 0 ended on both ranks; in iteration 1 rank 1 died before its end:
//   rank 0   step 0    0 .. 90    step 1  forward 100 .. 120, allreduce 5   130 .. 150
//   rank 1   step 0    0 .. 95    step 1  forward  98 .. 120, allreduce 5   125 .. 150
TEST_F(TablesTest, ARangeHoldsAnIterationThatNeverEnded) {
  ExportedRun run(folder_ / "run.lockstep", 2);
  run.step(0, EventKind::kStep, 0, 90, 0).step(1, EventKind::kStep, 0, 95, 0);
  run.step(0, EventKind::kForward, 100, 120, 1).step(1, EventKind::kForward, 98, 120, 1);
  run.collective(0, 130, 150, 5, 400, 1).collective(1, 125, 150, 5, 400, 1);
  run.finish();
  for (const StepRange range : {StepRange{1, 1}, StepRange{0, UINT32_MAX}}) {
    Selection selection;
    selection.steps = range;
    EXPECT_EQ(lines(table("calls", selection)).size(), 2u);
    EXPECT_EQ(lines(table("collectives", selection)).size(), 3u);
  }
  Selection selection;
  selection.steps = StepRange{1, 1};
  EXPECT_THAT(lines(table("events", selection)),
              testing::Contains(StartsWith("4,1,step,forward,,0.098000,0.022000,1")));
  selection = {};
  selection.ticks = TickRange{124, 140};
  EXPECT_EQ(lines(table("calls", selection)).size(), 2u);
}

// Rank 1 has no record of call 5. A run that was recorded to its end shows that it made none; of an
// imported one its dump may have been written earlier, and a recorder that died saw no more.
TEST_F(TablesTest, CallsAccuseNobodyOfWhatHappenedBeyondTheRecord) {
  const auto callsOf = [&](trace::RunKind kind, trace::RunState state) {
    const auto path = folder_ / "run.lockstep";
    std::filesystem::remove(path);
    ExportedRun run(path, 2);
    run.collective(0, 100, 120, 4, 400).collective(1, 105, 120, 4, 400);
    run.collective(0, 130, 150, 5, 400);
    run.info.kind = kind;
    run.info.state = state;
    run.writer().setInfo(run.info);
    EXPECT_TRUE(run.writer().finish().ok());
    return lines(table("calls")).back();
  };
  EXPECT_THAT(
      callsOf(trace::RunKind::kExperiment, trace::RunState::kFinished),
      testing::EndsWith(",missing rank,1,Rank 0 called allreduce; rank 1 made no such call."));
  EXPECT_THAT(callsOf(trace::RunKind::kImported, trace::RunState::kFinished),
              testing::EndsWith(",undecided,,"));
  EXPECT_THAT(callsOf(trace::RunKind::kExperiment, trace::RunState::kRecorderDied),
              testing::EndsWith(",undecided,,"));
}

TEST_F(TablesTest, NumbersAreSelectedByTheirIterationWheneverTheyCame) {
  ExportedRun run(folder_ / "run.lockstep", 2);
  run.step(0, EventKind::kStep, 100, 200, 4).step(0, EventKind::kStep, 200, 300, 5);
  run.step(1, EventKind::kStep, 110, 220, 4).step(1, EventKind::kStep, 220, 310, 5);
  run.metric(1, "loss", 4, 215, 0.5).metric(1, "loss", 5, 305, 0.25);
  run.metric(0, "gradient_norm", 5, 400, 1);  // stamped when it arrived
  run.finish();
  Selection selection;
  selection.steps = StepRange{5, 5};
  EXPECT_THAT(lines(table("loss", selection)),
              ElementsAre("rank,name,step,at_ms,value", "1,loss,5,0.305000,0.25",
                          "0,gradient_norm,5,0.400000,1"));
}

TEST_F(TablesTest, ARangeFromTheFirstIterationLeavesOutTheStartUp) {
  // DDP's construction and the counters before it carry the number of iteration 0.
  ExportedRun run(folder_ / "run.lockstep", 2);
  for (const int rank : {0, 1}) {
    run.step(rank, EventKind::kStartup, 100, 250).collective(rank, 120, 200, 1, 400);
    run.metric(rank, "cpu_percent", 0, 150, 9).metric(rank, "cpu_percent", 0, 350, 99);
    run.collective(rank, 320, 380, 2, 400);
  }
  run.step(0, EventKind::kStep, 300, 400);  // rank 1 did not come to the end of it
  run.finish();
  Selection selection;
  selection.steps = StepRange{0, 0};
  EXPECT_EQ(lines(table("events", selection)).size(), 4u);
  EXPECT_EQ(lines(table("calls", selection)).size(), 2u);
  EXPECT_EQ(lines(table("collectives", selection)).size(), 3u);
  EXPECT_THAT(lines(table("counters", selection)),
              ElementsAre(StartsWith("rank"), "0,cpu_percent,0,0.350000,99",
                          "1,cpu_percent,0,0.350000,99"));
  for (const char* name : {"events", "collectives", "counters"}) {
    EXPECT_THAT(table(name, selection), testing::Not(HasSubstr(",-"))) << name;
  }
}

TEST_F(TablesTest, WhatALiveRunRecordsMeanwhileIsLeftOut) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.step(0, EventKind::kStep, 0, 100).metric(0, "loss", 0, 90, 0.5);
  run.writer().addLog({0, 0, 95, "hello"});
  run.commit();
  std::uint64_t rows = 0;  // each export makes the next one a row longer
  for (const char* name : {"loss", "log", "events"}) {
    bool more = true;
    const auto report =
        writeTable(folder_ / "run.lockstep", name, folder_ / "table.csv", {}, [&](double) {
          if (more) {  // the survey has just been made
            run.step(0, EventKind::kStep, 100, 200, 1).metric(0, "loss", 1, 190, 0.4);
            run.writer().addLog({0, 0, 195, "again"});
            run.commit();
            more = false;
          }
          return true;
        });
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_EQ(report.value().rows, ++rows) << name;
  }
}

TEST_F(TablesTest, TextIsUtf8WhateverAProcessPrinted) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  run.step(0, EventKind::kStep, 0, 100);
  run.writer().addLog({0, 0, 50, "\xFF,\n"});
  run.finish();
  EXPECT_EQ(table("log"), "rank,at_ms,text\n0,0.050000,\"\xEF\xBF\xBD,\n\"\n");
}

TEST_F(TablesTest, EveryTableCanBeEndedUntilItIsWhole) {
  ExportedRun run(folder_ / "run.lockstep", 2);
  for (const int rank : {0, 1}) {
    run.step(rank, EventKind::kForward, 0, 40).collective(rank, 50, 60, 1, 400);
    run.step(rank, EventKind::kStep, 0, 100).metric(rank, "loss", 0, 90, 0.5);
  }
  run.finish();
  for (const TableInfo& info : tables()) {
    std::vector<double> parts;
    std::size_t last = SIZE_MAX;
    const Progress progress = [&](double part) {
      EXPECT_TRUE(parts.empty() || part >= parts.back()) << info.name;
      parts.push_back(part);
      return parts.size() < last;
    };
    const auto file = folder_ / "ended.csv";
    ASSERT_TRUE(writeTable(run.path(), info.name, folder_ / "whole.csv", {}, progress).ok());
    EXPECT_EQ(parts.back(), 1.0) << info.name;
    const std::size_t questions = parts.size();
    for (last = 1; last <= questions; ++last) {
      parts.clear();
      const auto ended = writeTable(run.path(), info.name, file, {}, progress);
      ASSERT_FALSE(ended.ok()) << info.name << ", question " << last;
      EXPECT_EQ(ended.error().code, base::ExitCode::kInterrupted);
      EXPECT_FALSE(std::filesystem::exists(file)) << info.name;
    }
  }
}

TEST_F(TablesTest, AnAnalysedTableAsksBetweenItsRows) {
  ExportedRun run(folder_ / "run.lockstep", 1);
  for (std::uint32_t i = 0; i < 9'000; ++i) {
    run.step(0, EventKind::kStep, 100 * i, 100 * i + 90, i);
  }
  run.finish();
  int questions = 0;
  ASSERT_TRUE(writeTable(run.path(), "steps", folder_ / "table.csv", {}, [&](double) {
                return ++questions > 0;
              }).ok());
  EXPECT_GE(questions, 6) << "the survey, the analysis, rows 0, 4096 and 8192, the end";
}

TEST_F(TablesTest, EveryTableOfEveryGoldenRunCanBeWritten) {
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_GOLDEN)) {
    if (entry.path().extension() != ".lockstep") {
      continue;
    }
    for (const TableInfo& info : tables()) {
      const auto report = writeTable(entry.path(), info.name, folder_ / "table.csv", {});
      ASSERT_TRUE(report.ok()) << info.name << ": " << report.error().message();
      const auto rows = lines(support::readFile(folder_ / "table.csv"));
      EXPECT_EQ(rows.size(), report.value().rows + 1) << info.name;
    }
  }
}

TEST_F(TablesTest, ATableThatThereIsNotIsRefusedWithThoseThatThereAre) {
  ExportedRun(folder_ / "run.lockstep", 1).finish();
  const auto report = writeTable(folder_ / "run.lockstep", "spans", folder_ / "table.csv", {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, base::ExitCode::kBadInput);
  EXPECT_THAT(report.error().message(), HasSubstr("there are events, statistics, steps"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "table.csv"));
}

}  // namespace
}  // namespace lockstep::exports
