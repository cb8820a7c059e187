#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/report/html/Markup.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"
#include "tests/app/SleepingRun.h"

namespace lockstep::cli {
namespace {

using nlohmann::json;
using report::html::escaped;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ReportTest : public CommandLineTest {
 protected:
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder / name).rdbuf();
    return text.str();
  }
  /// Two ranks, of which rank 1 is late.
  std::string sleeping() const {
    SleepingRun run;
    run.steps = 24;
    run.lateMs = 6;
    run.writeTo(folder / "run.lockstep");
    return "run.lockstep";
  }
  void expectOneLine(const Ended& ended, int code, const std::string& text) {
    EXPECT_EQ(ended.exitCode, code) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
    EXPECT_EQ(ended.out, "");
    EXPECT_FALSE(exists("page.html"));
  }
};

TEST_F(ReportTest, WritesAPageAndSaysHowLargeItIs) {
  const auto ended = lockstep({"report", sleeping(), "--html", "page.html"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("page.html: "), HasSubstr("opens in any browser\n")));
  EXPECT_THAT(content("page.html"), StartsWith("<!doctype html>"));
}

TEST_F(ReportTest, HasTheNumbersOfInfo) {
  const std::string run = sleeping();
  ASSERT_EQ(lockstep({"report", run, "--html", "page.html"}).exitCode, 0);
  const std::string page = content("page.html");
  const json info = json::parse(lockstep({"info", run, "--json"}).out);
  for (const json& rank : info.at("ranks")) {
    for (const char* figure : {"step_ms", "overlap_percent", "exposed_ms", "waiting_ms",
                               "transfer_ms", "lateness_ms", "core_wait_ms"}) {
      EXPECT_THAT(page, HasSubstr(fmt::format("data-order=\"{}\"",
                                              rank.at("figures").at(figure).get<double>())))
          << figure;
    }
  }
  for (const json& cause : info.at("causes")) {
    EXPECT_THAT(page, HasSubstr(fmt::format("data-order=\"{}\"", cause.at("ms").get<double>())));
  }
  EXPECT_THAT(page, HasSubstr("<b>24</b><span>steps</span>"));
}

TEST_F(ReportTest, HasTheFindingsOfDiagnoseWithWhatToDo) {
  const std::string run = sleeping();
  ASSERT_EQ(lockstep({"report", run, "--html", "page.html"}).exitCode, 0);
  const std::string page = content("page.html");
  const json told = json::parse(lockstep({"diagnose", run, "--json"}).out);
  ASSERT_FALSE(told.at("findings").empty());
  for (const json& finding : told.at("findings")) {
    EXPECT_THAT(page, HasSubstr(escaped(finding.at("sentence").get<std::string>())));
    EXPECT_THAT(
        page, HasSubstr("<b>What to do:</b> " + escaped(finding.at("remedy").get<std::string>())));
  }
  EXPECT_THAT(page, HasSubstr("Rank 1 comes 6.00 ms a step"));
}

TEST_F(ReportTest, GoesToStandardOutputAlone) {
  const auto ended = lockstep({"report", goldenRun("1.3"), "--html", "-"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("<!doctype html>"));
  EXPECT_THAT(ended.out, HasSubstr("rank 1 on other-host"));
}

TEST_F(ReportTest, RefusesWhatItCannotReadOrWriteInOneLine) {
  expectOneLine(lockstep({"report", "none.lockstep", "--html", "page.html"}), 2, "none.lockstep");
  write("text.lockstep", "no run\n");
  expectOneLine(lockstep({"report", "text.lockstep", "--html", "page.html"}), 2, "text.lockstep");
  const std::string run = sleeping();
  expectOneLine(lockstep({"report", run}), 2, "--html");
  expectOneLine(lockstep({"report", run, "--html", "none/page.html"}), 3, "none");
  expectOneLine(lockstep({"report", run, "--html", "/dev/full"}), 3, "cannot be written");
  expectOneLine(lockstep({"report", run, "--html", run}), 2,
                "is the run file itself; name another file");
}

}  // namespace
}  // namespace lockstep::cli
