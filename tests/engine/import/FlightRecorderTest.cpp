#include "engine/import/FlightRecorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::imports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Asked {
  int sequence = 0;
  std::string operation = "nccl:all_reduce";
  int elements = 100;
  bool done = true;
};

std::string dumpText(const std::vector<Asked>& calls, const std::string& ranks = "[0, 1, 2]") {
  std::string entries;
  for (const Asked& call : calls) {
    entries += fmt::format(
        R"({}{{"process_group":["0","default_pg"],"collective_seq_id":{},"profiling_name":"{}",)"
        R"("input_sizes":[[{}]],"input_dtypes":["Float"],"state":"{}","is_p2p":false,)"
        R"("time_created_ns":{}}})",
        entries.empty() ? "" : ",", call.sequence, call.operation, call.elements,
        call.done ? "completed" : "scheduled", 1'700'000'000'000'000'000 + call.sequence);
  }
  return fmt::format(
      R"({{"version":"2.10","pg_config":{{"0":{{"name":"0","desc":"default_pg","ranks":"{}"}}}},)"
      R"("entries":[{}]}})",
      ranks, entries);
}

base::Result<FlightDump> readDump(const std::string& text) {
  const support::TemporaryFolder folder;
  return readFlightDump(folder.write("rank0.json", text));
}

std::vector<std::string> findings(const std::vector<std::vector<Asked>>& ranks) {
  std::map<int, FlightDump> dumps;
  for (const auto& calls : ranks) {
    dumps.emplace(static_cast<int>(dumps.size()), readDump(dumpText(calls)).value());
  }
  std::vector<std::string> texts;
  for (const FlightFinding& finding : findingsOf(dumps)) {
    texts.push_back(fmt::format("{} {}: {}", finding.isError ? "error" : "warning", finding.rank,
                                finding.text));
  }
  return texts;
}

TEST(FlightRecorder, KnowsWhatWasAskedForAndWhen) {
  const FlightDump dump =
      readDump(dumpText({{7, "nccl:all_reduce", 30, true}, {8, "gloo:_reduce_scatter_base", 8}}))
          .value();
  ASSERT_EQ(dump.entries.size(), 2);
  EXPECT_EQ(dump.entries[0].sequence, 7);
  EXPECT_EQ(dump.entries[0].facts.operation, trace::Operation::kAllreduce);
  EXPECT_EQ(dump.entries[0].facts.elements, 30);
  EXPECT_EQ(dump.entries[0].facts.dtype, "float32");
  EXPECT_TRUE(dump.entries[0].done);
  EXPECT_EQ(dump.entries[1].facts.operation, trace::Operation::kReduceScatter);
  EXPECT_EQ(dump.groups.at("0").ranks, (std::vector<int>{0, 1, 2}));
}

TEST(FlightRecorder, NamesTheRankThatDidNotCome) {
  EXPECT_THAT(findings({{{4}, {5, "nccl:all_reduce", 100, false}},
                        {{4}},
                        {{4}, {5, "nccl:all_reduce", 100, false}}}),
              ElementsAre("error 1: rank 1 had not come to allreduce of 100 elements, number 5 of "
                          "group 0 (default_pg), when its dump was written: ranks 0, 2 had; its "
                          "last one was number 4"));
}

TEST(FlightRecorder, AccusesNobodyWhereTheOthersAreThrough) {
  EXPECT_THAT(findings({{{4}, {5}}, {{4}}, {{4}, {5}}}),
              ElementsAre("warning 1: rank 1's dump ends with number 4 of group 0 (default_pg), and "
                          "others are through with the next one: it was written earlier"));
}

TEST(FlightRecorder, NamesCollectivesThatAreNotTheSame) {
  EXPECT_THAT(findings({{{4}}, {{4, "nccl:broadcast", 100}}, {{4}}}),
              ElementsAre("error 1: the ranks asked for different collectives as number 4 of group "
                          "0 (default_pg): rank 0 for allreduce of 100 elements, rank 1 for "
                          "broadcast of 100 elements"));
  EXPECT_THAT(findings({{{4}}, {{4}}, {{4, "nccl:all_reduce", 99}}}),
              ElementsAre(HasSubstr("rank 2 for allreduce of 99 elements")));
}

TEST(FlightRecorder, NamesTheCollectiveThatHungThoughAllCame) {
  EXPECT_THAT(findings({{{4, "nccl:all_reduce", 100, false}},
                        {{4, "nccl:all_reduce", 100, false}},
                        {{4}}}),
              ElementsAre("error -1: all 3 ranks whose dumps there are came to allreduce of 100 "
                          "elements, number 4 of group 0 (default_pg), and it was not done on ranks "
                          "0, 1"));
}

TEST(FlightRecorder, SaysOfWhichRanksThereIsNoDump) {
  EXPECT_THAT(findings({{{4}}, {{4}}}),
              ElementsAre("warning 2: there is no dump of rank 2, which is in group 0 "
                          "(default_pg): whether it came is not known"));
}

TEST(FlightRecorder, SaysNothingOfAHealthyJob) {
  EXPECT_THAT(findings({{{4}, {5}}, {{4}, {5}}, {{4}, {5}}}), ElementsAre());
}

TEST(FlightRecorder, ShowsWhatItHasAndSaysWhatItHasNot) {
  const RankTimeline made = timelineOf(readDump(dumpText({{4}, {5}})).value());
  ASSERT_EQ(made.calls.size(), 2);
  EXPECT_FALSE(made.calls[0].flew);
  EXPECT_EQ(made.calls[1].bytes(), 400);
  EXPECT_THAT(made.notes,
              ElementsAre("a Flight Recorder knows collectives alone: it is shown without "
                          "iterations",
                          "of 2 of its 2 collectives the Flight Recorder says when they were asked "
                          "for, and not when they were carried out"));
}

TEST(FlightRecorder, RefusesWhatIsNoDump) {
  EXPECT_THAT(readDump("{\"entries\":").error().message(), HasSubstr("cut off or damaged"));
  EXPECT_THAT(readDump("[]").error().message(), HasSubstr("holds no list of entries"));
  EXPECT_THAT(readDump("{\"entries\":[3]}").error().message(), HasSubstr("entry 0: is no record"));
  EXPECT_THAT(readDump("{\"entries\":[{}]}").error().message(), HasSubstr("has no process_group"));
  EXPECT_THAT(readDump(R"({"entries":[{"process_group":["0"],"collective_seq_id":"x"}]})")
                  .error()
                  .message(),
              HasSubstr("has no collective_seq_id"));
  EXPECT_THAT(
      readDump(R"({"entries":[{"process_group":["0"],"collective_seq_id":1}]})").error().message(),
      HasSubstr("has no time_created_ns"));
}

}  // namespace
}  // namespace lockstep::imports
