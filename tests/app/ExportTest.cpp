#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Two ranks, three steps each.
std::string golden() {
  return goldenRun("1.2");
}

class ExportTest : public CommandLineTest {
 protected:
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder / name).rdbuf();
    return text.str();
  }
  /// Drafts of exports, whatever they are called.
  [[nodiscard]] bool leftAnything() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.find("json") != std::string::npos || name.find(".new") != std::string::npos) {
        return true;
      }
    }
    return false;
  }
  void expectOneLine(const Ended& ended, int code, const std::string& text) {
    EXPECT_EQ(ended.exitCode, code) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
    EXPECT_EQ(ended.out, "");
  }
};

TEST_F(ExportTest, WritesATraceOfAllRanksAndSaysWhatIsInIt) {
  const auto ended = lockstep({"export", golden(), "--json", "run.json"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("run.json: "), HasSubstr(" events of 2 ranks, ")));
  const auto trace = nlohmann::json::parse(content("run.json"));
  EXPECT_EQ(trace.at("distributedInfo").at("world_size"), 2);
}

TEST_F(ExportTest, WritesATraceARankForHtaWithTheOverlapThatItWillFind) {
  const auto ended = lockstep({"export", golden(), "--per-rank", "out.d", "--for", "hta"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("2 files in out.d: "),
                               HasSubstr("\n  rank 1: overlap 0.00 % over 3 iterations\n")));
  EXPECT_TRUE(exists("out.d/run-1.2.rank0.json"));
  EXPECT_TRUE(exists("out.d/run-1.2.rank1.json"));
}

TEST_F(ExportTest, WritesTablesIntoFilesOrToStandardOutput) {
  const auto ended = lockstep(
      {"export", golden(), "--range", "1..2", "--csv", "steps", "-", "--csv", "events", "e.csv"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("rank,step,start_ms,step_ms"));
  EXPECT_EQ(lineCount(ended.out), 1 + 4 + 1) << "titles, two ranks of two steps, one line on e.csv";
  EXPECT_THAT(content("e.csv"), StartsWith("id,rank,thread,kind"));
}

TEST_F(ExportTest, WritesTheRanksThatAreNamed) {
  const auto ended = lockstep({"export", golden(), "--ranks", "1", "--csv", "steps", "-", "--json",
                               "one.json", "--per-rank", "out.d"});
  expectOneLine(ended, 2, "take one");
  const auto table = lockstep({"export", golden(), "--ranks", "1", "--csv", "steps", "-"});
  EXPECT_EQ(table.exitCode, 0) << table.err;
  EXPECT_EQ(lineCount(table.out), 1 + 3) << "titles, and three steps of one rank";
  const auto trace = lockstep({"export", golden(), "--ranks", "1", "--json", "one.json"});
  EXPECT_THAT(trace.out, HasSubstr(" events of 1 rank, "));
  const auto written = nlohmann::json::parse(content("one.json"));
  for (const auto& event : written.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), 2);
  }
  EXPECT_EQ(lockstep({"export", golden(), "--ranks", "0", "--per-rank", "out.d"}).exitCode, 0);
  EXPECT_TRUE(exists("out.d/run-1.2.rank0.json"));
  EXPECT_FALSE(exists("out.d/run-1.2.rank1.json"));
  expectOneLine(lockstep({"export", golden(), "--ranks", "2", "--json", "x.json"}), 2,
                "rank 2 is not in this run, which has ranks 0 to 1");
  expectOneLine(lockstep({"export", golden(), "--ranks", "outliers", "--json", "x.json"}), 2,
                "no rank of this run is unlike the rest");
  expectOneLine(lockstep({"export", golden(), "--ranks", "all", "--json", "x.json"}), 2,
                "write ranks as 3,17,100-120, or outliers");
}

TEST_F(ExportTest, WhatCannotBeWrittenIsOneLineAndLeavesNoFile) {
  expectOneLine(lockstep({"export", golden(), "--json", "/dev/full"}), 3,
                "No space left on device");
  expectOneLine(lockstep({"export", golden(), "--json", "no/such/run.json"}), 3,
                "no/such/run.json: cannot be written");
  expectOneLine(lockstep({"export", golden(), "--csv", "steps", "."}), 2, "is a folder");
  expectOneLine(lockstep({"export", golden(), "--json", golden()}), 2, "is the run file itself");
  expectOneLine(lockstep({"export", golden(), "--range", "50..60", "--json", "x.json"}), 2,
                "this run, which holds 0 to 2");
  expectOneLine(lockstep({"export", write("no.lockstep", "text"), "--json", "x.json"}), 2,
                "no.lockstep");
  EXPECT_FALSE(leftAnything());
}

TEST_F(ExportTest, BadArgumentsAreOneLine) {
  expectOneLine(lockstep({"export"}), 2, "RUN");
  expectOneLine(lockstep({"export", golden()}), 2, "--json FILE");
  expectOneLine(lockstep({"export", golden(), "--csv", "steps"}), 2, "--csv");
  expectOneLine(lockstep({"export", golden(), "--csv", "spans", "-"}), 2, "is no table");
  expectOneLine(lockstep({"export", golden(), "--json", "x", "--for", "kineto"}), 2, "kineto");
  expectOneLine(lockstep({"export", golden(), "--json", "x", "--per-rank", "y"}), 2, "take one");
  expectOneLine(lockstep({"export", golden(), "--csv", "steps", "-", "--for", "hta"}), 2, "--json");
  expectOneLine(lockstep({"export", golden(), "--json", "x", "--range", "3.."}), 2, "0 to 2");
  expectOneLine(lockstep({"export", golden(), "--json", "x", "--range", "three"}), 2, "3..9");
}

TEST_F(ExportTest, HelpListsTheTables) {
  const auto ended = lockstep({"export", "--help"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("  collectives "), HasSubstr("Holistic Trace Analysis")));
}

}  // namespace
}  // namespace lockstep::cli
