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
  EXPECT_THAT(
      rankEnvironment(place, {}),
      IsSupersetOf({"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4", "GROUP_RANK=0",
                    "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29501",
                    "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RUN_ID=abc",
                    "OMP_NUM_THREADS=3", "LOCKSTEP_TRACE_FD=3", "LOCKSTEP_EXPERIMENT_FD=4",
                    "LOCKSTEP_SUPERVISOR_PID=77"}));
}

TEST(RankEnvironmentTest, ReplacesWhatWasInheritedAndKeepsTheRest) {
  const auto environment = rankEnvironment({}, {"HOME=/home/u", "RANK=9", "RANKING=1", "EMPTY="});
  EXPECT_THAT(environment, IsSupersetOf({"HOME=/home/u", "RANKING=1", "EMPTY=", "RANK=0"}));
  EXPECT_THAT(environment, Not(Contains("RANK=9")));
}

}  // namespace
}  // namespace lockstep::launch
