#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/RunReportText.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"

namespace lockstep::cli {
namespace {

using report::RunReport;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Rank 0 on golden-host, which recorded; rank 1 on other-host.
class HostsTest : public CommandLineTest {
 protected:
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder / name).rdbuf();
    return text.str();
  }
};

TEST_F(HostsTest, InfoNamesHostsTheirRanksAndHowWellTheirClocksAreKnown) {
  const auto ended = lockstep({"info", goldenRun("1.3")});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("\nhosts\n"), HasSubstr("golden-host"),
                               HasSubstr("records the run"), HasSubstr("other-host"),
                               HasSubstr("192.0.2.7"), HasSubstr("+5.012 ms ± 0.031 ms")));
}

TEST_F(HostsTest, InfoSaysOfWhichHostTheClockIsNotKnown) {
  RunReport report;
  report.hosts = {{{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
                  {{1, "beta", "10.0.0.2", "tsc"}, std::nullopt}};
  EXPECT_THAT(hostTable(report), HasSubstr("not compared with the recording host's\n"));
}

TEST_F(HostsTest, InfoDoesNotSayOfAnImportedJobThatAHostOfItRecordedIt) {
  RunReport report;
  report.info.kind = trace::RunKind::kImported;
  report.hosts = {{{0, "alpha", "", "monotonic"}, trace::ClockOffset{}},
                  {{1, "beta", "", "monotonic"}, std::nullopt}};
  EXPECT_THAT(hostTable(report),
              AllOf(HasSubstr("the reference clock\n"),
                    HasSubstr("not compared with the first host's\n"), Not(HasSubstr("record"))));
}

TEST_F(HostsTest, InfoOfARunOnOneHostHasNoSuchTable) {
  const auto ended = lockstep({"info", goldenRun("1.2")});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, Not(HasSubstr("\nhosts\n")));
  const json none = json::parse(lockstep({"info", "--json", goldenRun("1.2")}).out);
  EXPECT_TRUE(none.at("hosts").empty());
  EXPECT_EQ(none.at("ranks").at(1).at("host"), 0);
}

TEST_F(HostsTest, InfoGivesThemAsJson) {
  const auto ended = lockstep({"info", "--json", goldenRun("1.3")});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  const json info = json::parse(ended.out);
  ASSERT_EQ(info.at("hosts").size(), 2);
  const json& other = info.at("hosts").at(1);
  EXPECT_EQ(other.at("name"), "other-host");
  EXPECT_EQ(other.at("address"), "192.0.2.7");
  EXPECT_EQ(other.at("clock"), "monotonic");
  EXPECT_EQ(other.at("clock_offset_ns"), 5'012'000);
  EXPECT_EQ(other.at("clock_uncertainty_ns"), 31'000);
  EXPECT_EQ(info.at("ranks").at(1).at("host"), 1);
}

TEST_F(HostsTest, ACopySaysTheSame) {
  ASSERT_EQ(lockstep({"copy", goldenRun("1.3"), "copy.lockstep"}).exitCode, 0);
  EXPECT_EQ(lockstep({"info", "--json", "copy.lockstep"}).out,
            lockstep({"info", "--json", goldenRun("1.3")}).out);
}

TEST_F(HostsTest, WhatIsExportedIsThatOfTheSameRunOnOneHost) {
  // The golden run of 1.3 is that of 1.2 with rank 1 moved to another host.
  for (const char* version : {"1.2", "1.3"}) {
    const auto ended =
        lockstep({"export", goldenRun(version), "--csv", "events", std::string(version) + ".csv",
                  "--csv", "collectives", std::string(version) + "c.csv"});
    ASSERT_EQ(ended.exitCode, 0) << ended.err;
  }
  EXPECT_EQ(content("1.3.csv"), content("1.2.csv"));
  EXPECT_NE(content("1.3.csv"), "");
}

}  // namespace
}  // namespace lockstep::cli
