// What `lockstep info` prints of c10d's logging data, from real ranks.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using Json = nlohmann::json;

class DdpLoggingTest : public CommandLineTest {
 protected:
  Ended run(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{"run", experiment(), "--json", "--out", "r.lockstep"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    return lockstep(arguments);
  }
};

TEST_F(DdpLoggingTest, HasPyTorchsFieldsOfEachRankAndCountsEveryIteration) {
  const auto ended = run({"train.steps=25", "ddp.bucket_cap_mb=0.05", "ddp.first_bucket_mb=0.001"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const Json ranks = Json::parse(ended.out)["ranks"];
  for (int rank = 0; rank < 2; ++rank) {
    const Json& log = ranks[rank]["ddp_logging"];
    EXPECT_EQ(log["rank"], rank);
    EXPECT_EQ(log["world_size"], 2);
    EXPECT_EQ(log["num_parameter_tensors"], 4);
    EXPECT_EQ(log["total_parameter_size_bytes"], 4 * (784 * 32 + 32 + 32 * 10 + 10));
    EXPECT_EQ(log["dtypes"], "float32");
    EXPECT_EQ(log["backend_name"], "shared_memory");
    EXPECT_EQ(log["comm_hook"], "allreduce");
    EXPECT_EQ(log["has_rebuilt_buckets"], 1);
    EXPECT_EQ(log["has_error"], 0);
    EXPECT_EQ(log["iteration"], 25);
    for (const std::string name : {"forward_compute_time", "backward_compute_time",
                                   "backward_comm_time", "backward_compute_comm_overlap_time"}) {
      EXPECT_GT(log[name].get<std::int64_t>(), 0) << name;
      EXPECT_GT(log["avg_" + name].get<std::int64_t>(), 0) << name;
    }
    EXPECT_LT(log["forward_compute_time_start"], log["backward_compute_time_start"]);
    EXPECT_LT(log["backward_compute_time_start"], log["backward_comm_time_start"]);
    EXPECT_LT(log["backward_comm_time_start"], log["backward_comm_time_end"]);
    EXPECT_LE(log["backward_compute_time_end"], log["backward_comm_time_end"]);
    EXPECT_FALSE(ranks[rank]["environment"].contains("ddp.world_size"));
    EXPECT_EQ(ranks[rank]["environment"]["first_step"], "0");
  }
  const auto info = lockstep({"info", "r.lockstep"});
  EXPECT_THAT(info.out, HasSubstr("DDP logging data of rank 0, under PyTorch's names"));
  EXPECT_THAT(info.out, ContainsRegex("rebuilt_bucket_sizes +[0-9]+"));
}

TEST_F(DdpLoggingTest, KeepsTheErrorThatEndedARank) {
  const auto ended = run({"model.kind=branching"});
  ASSERT_EQ(ended.exitCode, 2) << ended.err;
  const Json log = Json::parse(ended.out)["ranks"][0]["ddp_logging"];
  EXPECT_EQ(log["has_error"], 1);
  EXPECT_THAT(log["error"].get<std::string>(), HasSubstr("branch.weight"));
  EXPECT_EQ(log["iteration"], 1);
}

TEST_F(DdpLoggingTest, CountsReductionsAndNotStepsThatOnlyAccumulate) {
  const auto ended = run({"train.steps=8", "ddp.sync_every=4"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["ranks"][1]["ddp_logging"]["iteration"], 2);
}

}  // namespace
}  // namespace lockstep::cli
