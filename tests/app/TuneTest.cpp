#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "engine/trace/RunFile.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class TuneTest : public CommandLineTest {
 protected:
  /// Two buckets, one of the last layer and one of the first, over a link that costs something.
  Ended train(const std::string& out, const std::vector<std::string>& sets) {
    std::vector<std::string> arguments{"run", experiment(), "--quiet", "--out", out};
    for (const char* set : {"model.layers=[784,64,64,10]", "train.steps=12", "link.latency_us=500",
                            "link.bandwidth_gbps=0.5", "link.simulate_anyway=true",
                            "ddp.first_bucket_mb=0.001", "ddp.bucket_cap_mb=0.05"}) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    for (const std::string& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    return lockstep(arguments);
  }
};

TEST_F(TuneTest, ItsListMakesTheBucketsThatItPromises) {
  const auto first = train("first.lockstep", {});
  ASSERT_EQ(first.exitCode, 0) << first.err;
  const auto tuned = lockstep({"tune", "first.lockstep", "--json"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  const Json all = Json::parse(tuned.out);
  ASSERT_EQ(all["cuts"].size(), 3u);
  EXPECT_EQ(all["cuts"][0]["rule"], "run");
  EXPECT_EQ(all["cuts"][0]["buckets"], 2);
  EXPECT_LE(all["cuts"][2]["after_last_gradient_ms"], all["cuts"][1]["after_last_gradient_ms"]);
  EXPECT_LE(all["cuts"][2]["after_last_gradient_ms"], all["cuts"][0]["after_last_gradient_ms"]);
  for (int cut = 0; cut < 3; ++cut) {
    const std::string out = "again" + std::to_string(cut) + ".lockstep";
    const auto again =
        train(out, {"ddp.bucket_cap_mb_list=" + all["cuts"][cut]["bucket_cap_mb_list"].dump()});
    ASSERT_EQ(again.exitCode, 0) << again.err;
    auto reader = trace::RunFileReader::open(folder / out);
    ASSERT_TRUE(reader.ok());
    auto update = reader.value()->poll();
    ASSERT_TRUE(update.ok() && update.value().layouts);
    Json bytes = Json::array();
    for (const auto& bucket : update.value().layouts->back().buckets) {
      bytes.push_back(bucket.bytes);
    }
    EXPECT_EQ(bytes, all["cuts"][cut]["bytes"]) << all["cuts"][cut]["rule"];
  }
}

TEST_F(TuneTest, PrintsAListToPutIntoTheExperiment) {
  const auto first = train("first.lockstep", {});
  ASSERT_EQ(first.exitCode, 0) << first.err;
  const auto tuned = lockstep({"tune", "first.lockstep", "--rule", "mg-wfbp"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  EXPECT_THAT(tuned.out,
              AllOf(StartsWith("Over "), HasSubstr("this run"), HasSubstr("(measured: "),
                    HasSubstr("The buckets by \"mg-wfbp\", for [ddp]:\n\nbucket_cap_mb_list = [")));
}

TEST_F(TuneTest, BadInputIsOneLine) {
  const auto alike = train("alike.lockstep", {"ddp.bucket_cap_mb=25", "ddp.first_bucket_mb=25"});
  ASSERT_EQ(alike.exitCode, 0) << alike.err;
  for (const auto& [run, text] :
       {std::pair<std::string, std::string>{"alike.lockstep", "too alike in size"},
        {"nowhere.lockstep", "nowhere.lockstep"},
        {write("text.lockstep", "no run"), "text.lockstep"},
        {goldenRun("1.0"), "cannot be tuned by"}}) {
    const auto ended = lockstep({"tune", run});
    EXPECT_EQ(ended.exitCode, 2) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
  }
}

}  // namespace
}  // namespace lockstep::cli
