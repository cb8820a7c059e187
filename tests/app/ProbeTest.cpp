#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/cost/Probe.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "tests/app/CommandLine.h"
#include "tests/app/SleepingRun.h"

namespace lockstep::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

/// Runs of sleeping layers with buckets of one size alone.
class ProbeTest : public CommandLineTest {
 protected:
  void train(const std::vector<std::string>& sets) {
    write("layers.json", kSleepingLayers);
    std::vector<std::string> arguments{"run", experiment(), "--quiet", "--out", "r.lockstep"};
    for (const char* set :
         {"model.kind=shapes", "model.file=layers.json", "data.kind=synthetic", "train.steps=12",
          "ddp.first_bucket_mb=0.25", "ddp.bucket_cap_mb=0.25"}) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    for (const std::string& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    const auto ended = lockstep(arguments);
    ASSERT_EQ(ended.exitCode, 0) << ended.err;
  }

  /// What the ranks say of their probe; the same on both.
  std::vector<cost::TransferSample> probes() {
    const auto ended = lockstep({"info", "r.lockstep", "--json"});
    const Json ranks = Json::parse(ended.out)["ranks"];
    EXPECT_EQ(ranks[0]["environment"].value("probe", ""),
              ranks[1]["environment"].value("probe", ""));
    return cost::probesFrom(ranks[0]["environment"].value("probe", ""));
  }
};

TEST_F(ProbeTest, ARunTimesAllreducesOfSeveralSizesBeforeItsFirstStep) {
  train({});
  const auto probes = this->probes();
  ASSERT_GE(probes.size(), 9u);
  EXPECT_EQ(probes.front().bytes, 4096u);
  EXPECT_GE(probes.back().bytes, 64 * probes.front().bytes);
  const auto told = lockstep({"whatif", "r.lockstep", "--bucket-cap-mb", "1"});
  EXPECT_THAT(told.err, Not(HasSubstr("too alike in size")));
}

// An allreduce over this link takes 40 ms at least: eight times as many bytes may take too long.
TEST_F(ProbeTest, ASlowLinkIsProbedWithFewBytes) {
  train({"link.latency_us=20000", "link.simulate_anyway=true"});
  const auto probes = this->probes();
  ASSERT_EQ(probes.size(), 3u);
  for (const cost::TransferSample& probe : probes) {
    EXPECT_EQ(probe.bytes, 4096u);
    EXPECT_GE(probe.ns, 40e6);
  }
}

TEST_F(ProbeTest, ThreeRanksTimeTheLinkOfEachToTheNext) {
  train({"processes.world_size=3", "link.bandwidth_gbps=8", "link.slow_ranks=[1]",
         "link.slow_bandwidth_gbps=1"});
  const Json ranks = Json::parse(lockstep({"info", "r.lockstep", "--json"}).out)["ranks"];
  ASSERT_EQ(ranks.size(), 3u);
  for (const Json& rank : ranks) {
    const auto samples = cost::probesFrom(rank["environment"].value("next_peer", ""));
    ASSERT_EQ(samples.size(), 10u);
    EXPECT_EQ(samples.front().bytes, 4096u);
    EXPECT_EQ(samples.back().bytes, 262'144u);
    // 256 KiB take 0.26 ms over the fast link and 2.1 ms over the slow ones, to and from rank 1.
    const double quickest =
        std::min_element(samples.begin() + 5, samples.end(),
                         [](const auto& one, const auto& other) { return one.ns < other.ns; })
            ->ns;
    if (rank["rank"] == 2) {
      EXPECT_GE(quickest, 0.26e6);
    } else {
      EXPECT_GE(quickest, 2.09e6);
    }
  }
}

TEST_F(ProbeTest, NothingOfItIsRecordedAsARunsOwn) {
  train({});
  auto reader = trace::RunFileReader::open(folder / "r.lockstep");
  ASSERT_TRUE(reader.ok());
  const auto update = reader.value()->poll();
  ASSERT_TRUE(update.ok());
  const auto& spans = update.value().spans;
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(), [](const trace::SpanRow& span) {
    return span.kind == trace::EventKind::kCollective;
  }));
  for (const trace::SpanRow& span : spans) {
    EXPECT_FALSE(span.kind == trace::EventKind::kCollective &&
                 trace::operationOf(span.detail) == trace::Operation::kAllreduce &&
                 trace::collectiveBytes(span.value) == 4096);
  }
}

TEST_F(ProbeTest, WithoutCaptureThereIsNone) {
  train({"capture.enabled=false"});
  EXPECT_TRUE(probes().empty());
}

}  // namespace
}  // namespace lockstep::cli
