#include "engine/launch/detail/LauncherCommand.h"

#include <gmock/gmock.h>

#include "engine/launch/Join.h"
#include "engine/launch/detail/RecorderAddress.h"

namespace lockstep::launch {
namespace {

using detail::launcherCommand;
using detail::recorderAddress;
using testing::ElementsAre;
using testing::HasSubstr;

base::ReadVariable variables(std::map<std::string, std::string> values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

TEST(LauncherCommand, MpirunGetsOneRelayARankAndNoTokenOnItsCommandLine) {
  experiment::LaunchConfig launch;
  launch.launcher = "mpirun";
  EXPECT_THAT(launcherCommand(launch, 4, "/opt/lockstep"),
              ElementsAre("mpirun", "-np", "4", "--bind-to", "none", "-x", "LOCKSTEP_RECORDER",
                          "-x", "LOCKSTEP_RUN_TOKEN", "/opt/lockstep", "join"));
  launch.nnodes = 2;
  launch.arguments = {"--bind-to", "core", "--hostfile", "hosts"};
  EXPECT_THAT(launcherCommand(launch, 4, "/opt/lockstep"),
              ElementsAre("mpirun", "-np", "4", "--map-by", "ppr:2:node", "-x", "LOCKSTEP_RECORDER",
                          "-x", "LOCKSTEP_RUN_TOKEN", "--bind-to", "core", "--hostfile", "hosts",
                          "/opt/lockstep", "join"));
}

TEST(LauncherCommand, SrunSpreadsTheRelaysOverItsNodes) {
  experiment::LaunchConfig launch;
  launch.launcher = "srun";
  launch.nnodes = 3;
  launch.arguments = {"--partition=short"};
  EXPECT_THAT(
      launcherCommand(launch, 6, "/opt/lockstep"),
      ElementsAre("srun", "--nodes=3", "--ntasks=6", "--ntasks-per-node=2", "--kill-on-bad-exit=0",
                  "--cpu-bind=none", "--partition=short", "/opt/lockstep", "join"));
  launch.arguments = {"--cpu-bind=cores"};
  EXPECT_THAT(launcherCommand(launch, 6, "/opt/lockstep"),
              ElementsAre("srun", "--nodes=3", "--ntasks=6", "--ntasks-per-node=2",
                          "--kill-on-bad-exit=0", "--cpu-bind=cores", "/opt/lockstep", "join"));
}

TEST(LauncherEnvironment, HasTheTicketAndNoPlaceThatThisProcessWasGiven) {
  const relay::Ticket ticket{"tcp://10.0.0.1:41000", relay::makeRunKeys().token};
  EXPECT_THAT(
      detail::launcherEnvironment(
          ticket, {"HOME=/home/u", "RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                   "RANKING=1", "LOCKSTEP_RECORDER=tcp://10.0.0.7:1", "LOCKSTEP_RUN_TOKEN=old"}),
      ElementsAre("HOME=/home/u", "RANKING=1", "LOCKSTEP_RECORDER=tcp://10.0.0.1:41000",
                  "LOCKSTEP_RUN_TOKEN=" + relay::toText(ticket.token)));
}

TEST(RelayPlace, IsOfOneLauncherAlone) {
  const auto mpirun = relayPlaceFromEnvironment(variables({{"OMPI_COMM_WORLD_RANK", "2"},
                                                           {"OMPI_COMM_WORLD_SIZE", "4"},
                                                           {"WORLD_SIZE", "1"},
                                                           {"LOCAL_RANK", "0"},
                                                           {"SLURM_PROCID", "0"},
                                                           {"SLURM_NTASKS_PER_NODE", "7"}}));
  ASSERT_TRUE(mpirun.ok()) << mpirun.error().message();
  EXPECT_THAT(mpirun.value().ranks, ElementsAre(2));
  EXPECT_EQ(mpirun.value().worldSize, 4);
  EXPECT_EQ(mpirun.value().localRank, std::nullopt);
  EXPECT_EQ(mpirun.value().localWorldSize, std::nullopt);
  EXPECT_EQ(mpirun.value().variable, "OMPI_COMM_WORLD_RANK");
}

TEST(RelayPlace, IsTheRankThatTorchrunMpirunOrSrunSays) {
  const auto torchrun = relayPlaceFromEnvironment(variables(
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}));
  ASSERT_TRUE(torchrun.ok());
  EXPECT_THAT(torchrun.value().ranks, ElementsAre(3));
  EXPECT_EQ(torchrun.value().worldSize, 4);
  EXPECT_EQ(torchrun.value().localRank, 1);
  const auto mpirun = relayPlaceFromEnvironment(
      variables({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  ASSERT_TRUE(mpirun.ok());
  EXPECT_THAT(mpirun.value().ranks, ElementsAre(2));
  const auto srun = relayPlaceFromEnvironment(
      variables({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "1"}}));
  ASSERT_TRUE(srun.ok());
  EXPECT_THAT(srun.value().ranks, ElementsAre(5));
  const auto nobody = relayPlaceFromEnvironment(variables({}));
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.error().message(), HasSubstr("or say --node-rank"));
}

TEST(JoinRun, SaysWhereAnAddressThatIsNoneComesFrom) {
  JoinOptions options;
  options.rankProgram = "/bin/true";
  options.ticket = {"10.0.0.1", relay::makeRunKeys().token, "--recorder"};
  const auto joined = joinRun(options);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, base::ExitCode::kBadInput);
  EXPECT_THAT(joined.error().message(), HasSubstr("--recorder: \"10.0.0.1\" is no address of a"));
}

TEST(JoinRun, DoesNotWaitForAHostThatIsNotKnown) {
  JoinOptions options;
  options.rankProgram = "/bin/true";
  // No name server is asked about a name that none can have.
  options.ticket = {"tcp://no..host:41000", relay::makeRunKeys().token, "run.token"};
  const auto joined = joinRun(options);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(joined.error().message(), HasSubstr("run.token: the host \"no..host\" is not known"));
}

experiment::LaunchConfig launchBy(const std::string& launcher, int nnodes,
                                  const std::string& listen = "") {
  experiment::LaunchConfig launch;
  launch.launcher = launcher;
  launch.nnodes = nnodes;
  launch.listen = listen;
  return launch;
}

TEST(RecorderAddress, IsTheLoopbackOnlyWhereMpirunCanOnlyStartRanksHere) {
  EXPECT_EQ(recorderAddress(launchBy("mpirun", 1), "10.0.0.9").value().advertised, "127.0.0.1");
  for (const char* option : {"--host", "--hostfile", "-H", "--machinefile"}) {
    auto launch = launchBy("mpirun", 1);
    launch.arguments = {option, "b"};
    EXPECT_EQ(recorderAddress(launch, "10.0.0.9").value().advertised, "10.0.0.9") << option;
  }
  EXPECT_EQ(recorderAddress(launchBy("mpirun", 2), "10.0.0.9").value().advertised, "10.0.0.9");
}

TEST(RecorderAddress, IsThisHostsForRanksThatMayBeAnywhere) {
  for (const char* launcher : {"srun", "external"}) {
    const auto one = recorderAddress(launchBy(launcher, 1), "10.0.0.9");
    EXPECT_EQ(one.value().bind, "10.0.0.9") << launcher;
    EXPECT_EQ(one.value().advertised, "10.0.0.9") << launcher;
  }
}

TEST(RecorderAddress, IsTheLoopbackOnAHostWithoutANetworkUnlessSeveralTakePart) {
  EXPECT_EQ(recorderAddress(launchBy("srun", 1), "").value().bind, "127.0.0.1");
  EXPECT_EQ(recorderAddress(launchBy("external", 1, "0.0.0.0"), "").value().advertised,
            "127.0.0.1");
  EXPECT_THAT(recorderAddress(launchBy("srun", 2), "").error().message(),
              HasSubstr("no address but its loopback"));
}

TEST(RecorderAddress, IsWhatIsAskedFor) {
  const auto asked = recorderAddress(launchBy("srun", 2, "10.0.0.1:41000"));
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.value().bind, "10.0.0.1");
  EXPECT_EQ(asked.value().advertised, "10.0.0.1");
  EXPECT_EQ(asked.value().port, 41000);
  for (const char* wrong : {"10.0.0.1:x", "10.0.0.1:70000", "head", "10.0.0:1"}) {
    EXPECT_EQ(recorderAddress(launchBy("srun", 2, wrong)).error().code, base::ExitCode::kBadInput)
        << wrong;
  }
}

}  // namespace
}  // namespace lockstep::launch
