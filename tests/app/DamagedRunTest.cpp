#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"

namespace lockstep::cli {
namespace {

/// A run file in which rows are missing, as a person with a SQL prompt can make it.
class DamagedRunTest : public CommandLineTest {
 protected:
  DamagedRunTest() { restore(); }

  void restore() const {
    std::filesystem::copy_file(goldenRun("1.3"), folder / "run.lockstep",
                               std::filesystem::copy_options::overwrite_existing);
  }

  /// Runs statements on run.lockstep; returns the first column of what they give.
  [[nodiscard]] std::vector<std::string> query(const std::string& sql) const {
    sqlite3* database = nullptr;
    std::vector<std::string> rows;
    sqlite3_open((folder / "run.lockstep").c_str(), &database);
    EXPECT_EQ(sqlite3_exec(
                  database, sql.c_str(),
                  [](void* out, int, char** values, char**) {
                    static_cast<std::vector<std::string>*>(out)->emplace_back(values[0]);
                    return 0;
                  },
                  &rows, nullptr),
              SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(database);
    sqlite3_close(database);
    return rows;
  }

  /// Expects that text and JSON of `lockstep info` end alike, and not by a signal.
  void expectInfo(const std::string& without) {
    const Ended text = lockstep({"info", "run.lockstep"});
    const Ended json = lockstep({"info", "run.lockstep", "--json"});
    EXPECT_EQ(text.exitCode, json.exitCode) << without << ": " << text.err << json.err;
    EXPECT_TRUE(json.exitCode == 0 || json.exitCode == 2) << without << ": " << json.exitCode;
    if (json.exitCode == 0) {
      EXPECT_FALSE(nlohmann::json::parse(json.out, nullptr, false).is_discarded()) << without;
    } else {
      EXPECT_EQ(lineCount(json.err), 1) << without << ": " << json.err;
    }
  }
};

TEST_F(DamagedRunTest, InfoEndsInASentenceOrAReportWhicheverTableIsEmpty) {
  for (const std::string& table : query("SELECT name FROM sqlite_master WHERE type = 'table'")) {
    restore();
    (void)query("DELETE FROM " + table);
    expectInfo(table);
  }
}

TEST_F(DamagedRunTest, InfoTellsOfSketchesAndGradientsWithoutFingerprints) {
  (void)query("DELETE FROM fingerprints");
  const Ended ended = lockstep({"info", "run.lockstep", "--json"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto divergence = nlohmann::json::parse(ended.out)["divergence"];
  EXPECT_EQ(divergence["samples"], 0);
  EXPECT_TRUE(divergence["consensus_distance"].is_null());
  EXPECT_EQ(divergence["gradients_not_finite"].size(), 1);
}

TEST_F(DamagedRunTest, WordsOfARunFileDoNotSteerTheTerminal) {
  const std::string words = "char(27) || '[2J' || char(155) || 'gone' || char(13) || 'rank 0'";
  (void)query("UPDATE meta SET value = " + words + " WHERE key IN ('name', 'failure'); " +
              "UPDATE problems SET text = " + words + "; UPDATE ranks SET last_words = " + words +
              "; UPDATE parameters SET name = " + words);
  const Ended ended = lockstep({"info", "run.lockstep"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("\\x1b[2J\\xc2\\x9bgone\\x0drank 0"));
  EXPECT_THAT(ended.out, testing::Not(testing::ContainsRegex("[\x1b\r]")));
  const Ended refused = lockstep({"info", "no\x1b[31m.lockstep"});
  EXPECT_THAT(refused.err, testing::HasSubstr("no\\x1b[31m.lockstep"));
}

}  // namespace
}  // namespace lockstep::cli
