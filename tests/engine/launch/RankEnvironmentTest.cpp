#include "engine/launch/RankEnvironment.h"

#include <gmock/gmock.h>

namespace lockstep::launch {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

TEST(RankEnvironmentTest, TellsARankItsPlaceAsTorchrunDoes) {
  RankPlace place;
  place.rank = 2;
  place.worldSize = 4;
  place.masterPort = 29501;
  place.runId = "abc";
  place.threads = 3;
  place.supervisorPid = 77;
  place.storeToken = "feed";
  EXPECT_THAT(rankEnvironment(place, {}),
              IsSupersetOf({"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4",
                            "GROUP_RANK=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29501",
                            "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RUN_ID=abc",
                            "OMP_NUM_THREADS=3", "LOCKSTEP_TRACE_FD=3", "LOCKSTEP_EXPERIMENT_FD=4",
                            "LOCKSTEP_SUPERVISOR_PID=77", "LOCKSTEP_STORE_TOKEN=feed"}));
}

TEST(RankEnvironmentTest, ReplacesWhatWasInheritedAndKeepsTheRest) {
  const auto environment = rankEnvironment({}, {"HOME=/home/u", "RANK=9", "RANKING=1", "EMPTY="});
  EXPECT_THAT(environment, IsSupersetOf({"HOME=/home/u", "RANKING=1", "EMPTY=", "RANK=0"}));
  EXPECT_THAT(environment, Not(Contains("RANK=9")));
}

TEST(RankEnvironmentTest, TellsARankItsPlaceAmongSeveralHosts) {
  RankPlace place;
  place.rank = 3;
  place.worldSize = 4;
  place.localRank = 1;
  place.localWorldSize = 2;
  place.hostRank = 1;
  place.hosts = 2;
  place.masterAddress = "10.0.0.1";
  place.ownAddress = "10.0.0.2";
  EXPECT_THAT(
      rankEnvironment(place, {}),
      IsSupersetOf({"RANK=3", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=1",
                    "GROUP_WORLD_SIZE=2", "MASTER_ADDR=10.0.0.1", "GLOO_SOCKET_IFNAME=10.0.0.2"}));
  // Who has chosen an interface keeps it.
  const auto chosen = rankEnvironment(place, {"GLOO_SOCKET_IFNAME=ib0"});
  EXPECT_THAT(chosen, Contains("GLOO_SOCKET_IFNAME=ib0"));
  EXPECT_THAT(chosen, Not(Contains("GLOO_SOCKET_IFNAME=10.0.0.2")));
}

TEST(RankEnvironmentTest, KeepsTheRecordersTokenFromTheRanks) {
  const auto environment =
      rankEnvironment({}, {"LOCKSTEP_RUN_TOKEN=ab", "LOCKSTEP_RECORDER=tcp://10.0.0.1:4000"});
  EXPECT_THAT(environment, Not(Contains(testing::StartsWith("LOCKSTEP_RUN_TOKEN"))));
  EXPECT_THAT(environment, Not(Contains(testing::StartsWith("LOCKSTEP_RECORDER"))));
}

}  // namespace
}  // namespace lockstep::launch
