#include "engine/import/NcclInspector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/import/ImportRun.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::imports {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kDay = 1'752'867'229'000'000;  // µs since 1970

/// One line of a log, of process 4710 + `rank` on `host`.
struct Line {
  int rank = 0;
  std::string host = "alpha";
  std::string id = "0x7f8c496ae9f661";
  int inIt = -1;  // rank in the communicator, if another
  int of = 2;
  std::string more = {};  // of the header
  std::string coll = "AllReduce";
  int number = 0;
  std::int64_t bytes = 4096;
  int us = 100;
  std::string source = "kernel_gpu";
  std::int64_t dumpUs = kDay;
  std::string verbose = {};

  [[nodiscard]] std::string head() const {
    return fmt::format(
        R"({{"header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":1{}}},"metadata":{{)"
        R"("inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":)"
        R"("nccl_profiler_interface","dump_timestamp_us":{},"hostname":"{}","pid":{}}},)",
        id, inIt < 0 ? rank : inIt, of, more, dumpUs, host, 4710 + rank);
  }
  [[nodiscard]] std::string text() const {
    return head() +
           fmt::format(R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},)"
                       R"("coll_exec_time_us":{},"coll_timing_source":"{}","coll_algobw_gbs":0.04,)"
                       R"("coll_busbw_gbs":0.04{}}}}})",
                       coll, number, bytes, us, source, verbose) +
           "\n";
  }
};

class NcclInspector : public testing::Test {
 protected:
  std::string refusal(const std::string& text) {
    const auto read = readInspectorLog(folder_.write("a.log", text));
    return read.ok() ? "" : read.error().message();
  }
  base::Result<ImportReport> import(const std::vector<std::filesystem::path>& paths) {
    std::filesystem::remove(run_);
    ImportOptions options;
    options.paths = paths;
    options.runFile = run_;
    return importRun(options);
  }
  std::vector<trace::SpanRow> spans() {
    auto reader = trace::RunFileReader::open(run_);
    return reader.value()->poll().value().spans;
  }

  support::TemporaryFolder folder_;
  std::filesystem::path run_ = folder_ / "run.lockstep";
};

TEST_F(NcclInspector, ReadsWhatALineSays) {
  const std::string verbose =
      R"(,"event_trace_sn":{},"event_trace_ts":{"coll_start_ts":1,"coll_stop_ts":2,)"
      R"("kernel_events":[{"channel_id":0,"kernel_start_ts":1752867229235181,)"
      R"("kernel_stop_ts":1752867229275811,"kernel_record_ts":1},{"channel_id":1,)"
      R"("kernel_start_ts":1752867229235180,"kernel_stop_ts":1752867229275810,)"
      R"("kernel_record_ts":1}]})";
  const auto read = readInspectorLog(folder_.write(
      "a.log", Line{.number = 7, .verbose = verbose}.text() +
                   Line{.coll = "ReduceScatter", .number = 3, .source = "kernel_cpu"}.text()));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const InspectorLog& log = read.value();
  EXPECT_EQ(log.hostName, "alpha");
  EXPECT_EQ(log.pid, 4710);
  ASSERT_THAT(log.communicators, SizeIs(1));
  EXPECT_EQ(log.communicators[0].ranks, 2);
  ASSERT_THAT(log.records, SizeIs(2));
  EXPECT_EQ(log.records[0].operation, trace::Operation::kAllreduce);
  EXPECT_EQ(log.records[0].sequence, 7U);
  EXPECT_EQ(log.records[0].bytes, 4096U);
  EXPECT_EQ(log.records[0].durationNs, 100'000);
  EXPECT_TRUE(log.records[0].byDevice);
  EXPECT_EQ(log.records[0].beginNs, 1'752'867'229'235'180'000);
  EXPECT_EQ(log.records[0].endNs, 1'752'867'229'275'811'000);
  EXPECT_EQ(log.records[1].operation, trace::Operation::kReduceScatter);
  EXPECT_FALSE(log.records[1].byDevice);
  EXPECT_EQ(log.records[1].endNs, 0);
  EXPECT_EQ(log.records[1].dumpNs, kDay * 1000);
}

TEST_F(NcclInspector, ReadsSendsAndReceivesAndPassesOverOtherLines) {
  const std::string send =
      Line{}.head() +
      R"("p2p_perf":{"p2p":"Send","p2p_sn":8,"p2p_peer":1,"p2p_msg_size_bytes":524288,)"
      R"("p2p_exec_time_us":50.0,"p2p_timing_source":"kernel_gpu"}})"
      "\n";
  const std::string stats = Line{}.head() + R"("dump_stats":{"dropped":3}})" + "\n\n";
  const auto read = readInspectorLog(folder_.write("a.log", stats + send));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value().others, 1U);
  ASSERT_THAT(read.value().records, SizeIs(1));
  EXPECT_EQ(read.value().records[0].operation, trace::Operation::kSend);
  EXPECT_EQ(read.value().records[0].durationNs, 50'000);
}

TEST_F(NcclInspector, NamesTheLineThatIsWrong) {
  const std::string good = Line{}.text();
  EXPECT_THAT(refusal(good + "{\n" + good), EndsWith("a.log: line 2 is no JSON object"));
  EXPECT_THAT(refusal(good + "7\n"), HasSubstr("line 2 is no JSON object"));
  EXPECT_THAT(refusal(R"({"inspector_output_format_version":1})"), HasSubstr("line 1 has no "
                                                                             "\"metadata\""));
  const auto without = [&](const std::string& part, const std::string& other) {
    std::string text = good;
    text.replace(text.find(part), part.size(), other);
    return refusal(good + text);
  };
  EXPECT_THAT(without("\"header\"", "\"else\""), HasSubstr("line 2 has no \"header\""));
  EXPECT_THAT(without("\"coll_sn\":0,", ""), HasSubstr("line 2 has no \"coll_sn\""));
  EXPECT_THAT(without("\"coll_sn\":0", "\"coll_sn\":-1"), HasSubstr("\"coll_sn\" is no number"));
  EXPECT_THAT(without("\"coll_sn\":0", "\"coll_sn\":\"0\""), HasSubstr("\"coll_sn\" is no number"));
  EXPECT_THAT(without(":4096", ":2e30"), HasSubstr("\"coll_msg_size_bytes\" is no number from 0"));
  EXPECT_THAT(without("\"AllReduce\"", "[]"), HasSubstr("\"coll\" is no text"));
  EXPECT_THAT(without("\"rank\":0", "\"rank\":2"), HasSubstr("rank 2 of 2 is none"));
  EXPECT_THAT(without("\"pid\":4710", "\"pid\":4711"),
              HasSubstr("line 2 is of process 4711 on alpha, and those before it of process 4710"));
  EXPECT_THAT(without("\"rank\":0", "\"rank\":1"),
              HasSubstr("the process is rank 1 of 2 in communicator 0x7f8c496ae9f661, and was rank "
                        "0 of 2: one with several GPUs is not read"));
  EXPECT_THAT(without("{\"coll\":", "[{\"coll\":"), HasSubstr("line 2 is no JSON object"));
  EXPECT_THAT(refusal(good + std::string(2 << 20, ' ')), HasSubstr("line 2 is longer than"));
  EXPECT_THAT(refusal(Line{}.head() + "\"dump_stats\":{}}\n"),
              HasSubstr("holds no collective of an NCCL Inspector"));
  const std::string times = R"(,"event_trace_ts":)";
  EXPECT_THAT(refusal(Line{.verbose = times + "7"}.text()),
              HasSubstr("\"event_trace_ts\" is no object"));
  EXPECT_THAT(refusal(Line{.verbose = times + R"({"kernel_events":7})"}.text()),
              HasSubstr("\"kernel_events\" is no list"));
}

TEST_F(NcclInspector, LeavesOutALastLineThatIsCutOff) {
  const std::string text = Line{}.text() + Line{.number = 1}.text();
  const auto read = readInspectorLog(folder_.write("a.log", text.substr(0, text.size() - 20)));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(read.value().isCutOff);
  EXPECT_THAT(read.value().records, SizeIs(1));
}

TEST_F(NcclInspector, AProcessHasTheRankThatItHasInTheCommunicatorOfAll) {
  // Each has one of its own first, in which all are rank 0.
  for (int i = 0; i < 2; ++i) {
    folder_.write(fmt::format("logs/alpha-pid{}.log", 4710 + i),
                  Line{.rank = i, .id = fmt::format("0x{}", i), .inIt = 0, .of = 1}.text() +
                      Line{.rank = i, .inIt = 1 - i}.text());
  }
  const auto report = import({folder_ / "logs"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  const auto summary = trace::readRunSummary(run_).value();
  EXPECT_THAT(summary.ranks[0].environment.at("imported_from"), EndsWith("alpha-pid4711.log"));
  EXPECT_EQ(summary.ranks[0].environment.at("nccl.communicator.0"), "rank 0 of 2");
  EXPECT_THAT(report.value().problems, Not(Contains(HasSubstr("no communicator has all"))));
}

TEST_F(NcclInspector, CollectivesWithoutATimeStandAsLateAsTheyCan) {
  std::string text;
  for (int i = 0; i < 3; ++i) {  // the last two were written at once
    text += Line{.number = 5 + 2 * i, .us = 100 + i, .dumpUs = kDay + (i == 0 ? 0 : 1000)}.text();
  }
  folder_.write("logs/a.log", text);
  const auto report = import({folder_ / "logs"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems,
              Contains("of 3 of its 3 collectives the Inspector says how long they took, and not "
                       "when (NCCL_INSPECTOR_DUMP_VERBOSE=1 would): they stand as late as they "
                       "can"));
  EXPECT_THAT(
      report.value().problems,
      Contains("of 5 collectives that NCCL counted 2 are not in the Inspector's file, which "
               "has those that it found over whenever it looked"));
  const auto rows = spans();
  ASSERT_THAT(rows, SizeIs(3));
  const auto end = [&](std::size_t i) { return rows[i].startTicks + rows[i].durationTicks; };
  EXPECT_EQ(rows[0].durationTicks, 100'000U);
  EXPECT_EQ(rows[2].durationTicks, 102'000U);
  EXPECT_EQ(end(1), rows[2].startTicks) << "over before the next begins";
  EXPECT_EQ(end(2) - end(0), 1'000'000U) << "over when their lines were written";
}

TEST_F(NcclInspector, SpansAreThoseOfNcclsKernelsAndNobodyIsSaidToBeLate) {
  const std::string verbose =
      fmt::format(R"(,"event_trace_ts":{{"kernel_events":[{{"channel_id":0,"kernel_start_ts":{},)"
                  R"("kernel_stop_ts":{},"kernel_record_ts":0}}]}})",
                  kDay - 400, kDay - 200);
  folder_.write("a.log", Line{.number = 9, .us = 150, .verbose = verbose}.text());
  folder_.write("b.log", Line{.rank = 1,
                              .host = "beta",
                              .more = R"(,"comm_name":"DP Group 0")",
                              .number = 9,
                              .source = "collective_cpu",
                              .verbose = verbose}
                             .text());
  const auto report = import({folder_ / "a.log", folder_ / "b.log"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report.value().ranks, 2U);
  const auto summary = trace::readRunSummary(run_).value();
  EXPECT_EQ(summary.info.environment.at("imported"), "2 NCCL Inspector logs");
  EXPECT_EQ(summary.info.worldSize, 2);
  EXPECT_EQ(summary.ranks[1].environment.at("nccl.communicator.0"), "rank 1 of 2, DP Group 0");
  EXPECT_EQ(summary.ranks[1].environment.at("hostname"), "beta");
  const auto rows = spans();
  ASSERT_THAT(rows, SizeIs(2));
  for (const auto& row : rows) {
    EXPECT_EQ(row.kind, trace::EventKind::kNcclKernel);
    EXPECT_EQ(trace::collectiveSequence(row.value), 9U);
    EXPECT_EQ(trace::collectiveBytes(row.value), 4096U);
    EXPECT_EQ(trace::operationOf(row.detail), trace::Operation::kAllreduce);
  }
  EXPECT_EQ(rows[0].durationTicks, 150'000U) << "by the device's clock, up to when the host heard";
  EXPECT_NE(rows[0].detail & trace::kByDevice, 0);
  EXPECT_EQ(rows[1].durationTicks, 200'000U) << "by the host's alone";
  EXPECT_EQ(rows[1].detail & trace::kByDevice, 0);
  const auto& problems = report.value().problems;
  EXPECT_THAT(problems,
              Contains("an NCCL Inspector knows NCCL's kernels alone: it is shown without "
                       "iterations, buckets and who came last"));
  EXPECT_THAT(problems,
              Contains("rank 1: 1 of its 1 collectives were timed by the host, and not by "
                       "the device"));
  EXPECT_THAT(problems, Contains(HasSubstr("the clock of beta cannot be set against that of alpha: "
                                           "there is no collective that both carried out")));
  EXPECT_THAT(problems, Not(Contains(HasSubstr("not when"))));
}

TEST_F(NcclInspector, SaysSoWhereNoCommunicatorHasAllProcesses) {
  folder_.write("a.log", Line{.id = "0xa"}.text());
  folder_.write("b.log", Line{.rank = 1, .id = "0xb", .inIt = 0}.text() + Line{.rank = 1}.head() +
                             "\"dump_stats\":{}}\n" + "{\"cut");
  const auto report = import({folder_ / "a.log", folder_ / "b.log"});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems,
              Contains("no communicator has all processes whose files were imported: ranks are "
                       "numbered by host and process, and need not be the job's own"));
  EXPECT_THAT(report.value().problems,
              Contains("rank 1: 1 of its lines tell of something else than collectives, sends and "
                       "receives, and are left out"));
  EXPECT_THAT(report.value().problems,
              Contains("rank 1: the last line of the Inspector's file is cut off, and left out"));
}

TEST_F(NcclInspector, RefusesLogsThatAreNotOfOneJob) {
  const auto refused = [&](const std::string& a, const std::string& b) {
    const auto report = import({folder_.write("a.log", a), folder_.write("b.log", b)});
    EXPECT_FALSE(std::filesystem::exists(run_));
    return report.ok() ? "" : report.error().message();
  };
  EXPECT_THAT(refused(Line{}.text(), Line{}.text()), HasSubstr("is of process 4710 on alpha, as "));
  EXPECT_THAT(refused(Line{}.text(), Line{.host = "beta"}.text()),
              HasSubstr("b.log: is of rank 0, as " + (folder_ / "a.log").string() +
                        " is: import the files of one job"));
  const auto dump =
      folder_.write("fr_rank0.json", R"({"pg_config":{},"entries":[{"process_group":["0","d"],)"
                                     R"("collective_seq_id":1,"profiling_name":"gloo:all_reduce",)"
                                     R"("time_created_ns":170000000000000000}]})");
  const auto mixed = import({folder_.write("a.log", Line{}.text()), dump});
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.error().message(),
              HasSubstr("a.log: is a log of an NCCL Inspector, and " + dump.string() +
                        " is none: import the two by themselves"));
}

TEST_F(NcclInspector, ManyCommunicatorsShareTheLastNumber) {
  std::string text;
  for (int i = 0; i < 130; ++i) {
    text += Line{.id = fmt::format("0x{}", i)}.text();
  }
  const auto report = import({folder_.write("a.log", text)});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_THAT(report.value().problems,
              Contains("there are 130 communicators: those from 127 on are shown as one"));
}

}  // namespace
}  // namespace lockstep::imports
