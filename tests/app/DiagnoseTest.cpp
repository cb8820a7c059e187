#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"
#include "tests/app/SleepingRun.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class DiagnoseTest : public CommandLineTest {
 protected:
  DiagnoseTest() {
    run_.steps = 24;
    run_.ddp.firstBucketMb = 0.25;
    run_.ddp.bucketCapMb = 0.5;
  }

  std::string written() {
    run_.writeTo(folder / "run.lockstep");
    return "run.lockstep";
  }

  Json diagnosis() {
    const auto told = lockstep({"diagnose", written(), "--json"});
    EXPECT_EQ(told.exitCode, 0) << told.err;
    return told.exitCode == 0 ? Json::parse(told.out) : Json();
  }

  SleepingRun run_;
};

TEST_F(DiagnoseTest, NamesTheLateRankWithWhatItCosts) {
  run_.lateMs = 6;
  const Json told = diagnosis();
  ASSERT_FALSE(told["findings"].empty()) << told.dump(2);
  const Json& finding = told["findings"][0];
  EXPECT_EQ(finding["rule"], "late_rank");
  EXPECT_EQ(finding["place"]["rank"], 1);
  EXPECT_NEAR(finding["saving_ms"]["mean"].get<double>(), 6, 0.1);
  const auto text = lockstep({"diagnose", "run.lockstep"});
  EXPECT_THAT(text.out, StartsWith("1. Rank 1 is late\n   Rank 1 comes 6.00 ms a step"));
}

TEST_F(DiagnoseTest, NamesTheCapThatWouldSaveTime) {
  run_.ddp.firstBucketMb = 100;
  run_.ddp.bucketCapMb = 100;
  const Json told = diagnosis();
  ASSERT_FALSE(told["findings"].empty()) << told.dump(2);
  const Json& finding = told["findings"][0];
  EXPECT_EQ(finding["rule"], "buckets");
  EXPECT_EQ(finding["title"], "buckets are too large");
  EXPECT_TRUE(finding["settings"].contains("ddp.bucket_cap_mb"));
  EXPECT_GT(finding["saving_ms"]["low"].get<double>(), 0);
  EXPECT_EQ(finding["saving_ms"]["at_most"], false);
  EXPECT_THAT(
      finding["sentence"].get<std::string>(),
      AllOf(HasSubstr(" the replayed steps have "),
            HasSubstr(" ms in place of 27.59: more of the transfer lies beside the backward")));
  EXPECT_THAT(finding["remedy"].get<std::string>(),
              AllOf(StartsWith("Set ddp.bucket_cap_mb = "),
                    HasSubstr(" and ddp.first_bucket_mb no higher")));
  EXPECT_THAT(lockstep({"info", "run.lockstep"}).out,
              AllOf(HasSubstr("findings       1. buckets are too large: "),
                    HasSubstr("\n               what to do: lockstep diagnose\n")));
}

TEST_F(DiagnoseTest, SaysThatNobodyIsToBlameForWhatIsExposed) {
  const auto told = lockstep({"diagnose", written()});
  EXPECT_EQ(told.exitCode, 0);
  EXPECT_THAT(told.out, StartsWith("No rank, link or setting stands out in "));
  EXPECT_EQ(lineCount(told.out), 1);
}

TEST_F(DiagnoseTest, SaysThatAShortRunCannotTell) {
  run_.steps = 4;
  EXPECT_THAT(lockstep({"diagnose", written()}).out,
              StartsWith("This run cannot tell, because only "));
}

TEST_F(DiagnoseTest, NamesALateRankOfAJobThatWasOnlyRecorded) {
  run_.observed = true;
  run_.lateMs = 6;
  const Json told = diagnosis();
  ASSERT_FALSE(told["findings"].empty()) << told.dump(2);
  EXPECT_EQ(told["findings"][0]["rule"], "late_rank");
}

TEST_F(DiagnoseTest, ListsItsRules) {
  const auto told = lockstep({"diagnose", "--rules"});
  EXPECT_EQ(told.exitCode, 0);
  EXPECT_THAT(told.out, AllOf(HasSubstr("late_rank"), HasSubstr("speaks where")));
}

TEST_F(DiagnoseTest, WantsARunThatThereIs) {
  const auto missing = lockstep({"diagnose", "no.lockstep"});
  EXPECT_EQ(missing.exitCode, 2);
  EXPECT_EQ(lineCount(missing.err), 1) << missing.err;
  EXPECT_EQ(lockstep({"diagnose"}).exitCode, 2);
}

}  // namespace
}  // namespace lockstep::cli
