#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class RunCommandTest : public CommandLineTest {};

TEST_F(RunCommandTest, EndsWithASummaryAndTheRunFile) {
  useFakeRanks("steps=12");
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("finished: 12 steps"), HasSubstr("0 dropped"),
                               HasSubstr("00000000deadbeef on every rank"),
                               HasSubstr("r.lockstep\n")));
  EXPECT_TRUE(exists("r.lockstep"));
  EXPECT_FALSE(exists("r.lockstep-wal"));
}

TEST_F(RunCommandTest, NamesItsRunFileByExperimentAndTime) {
  useFakeRanks("");
  ASSERT_EQ(lockstep({"run", experiment(), "--quiet"}).exitCode, 0);
  ASSERT_EQ(lockstep({"run", experiment(), "--quiet"}).exitCode, 0);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs")) {
    EXPECT_THAT(entry.path().filename().string(), StartsWith("small-2"));
    EXPECT_EQ(entry.path().extension(), ".lockstep");
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST_F(RunCommandTest, RunsThatAreStartedAtOnceAllFindANameForTheirFile) {
  useFakeRanks("");
  experiment();
  std::vector<std::unique_ptr<RunningCommand>> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(std::make_unique<RunningCommand>(
        folder, std::vector<std::string>{"run", "small.toml", "--quiet"}, environment));
  }
  for (const auto& run : runs) {
    const Ended ended = run->wait();
    EXPECT_EQ(ended.exitCode, 0) << ended.err;
  }
  const std::filesystem::directory_iterator files(folder / "runs");
  EXPECT_EQ(
      std::count_if(begin(files), end(files),
                    [](const auto& entry) { return entry.path().extension() == ".lockstep"; }),
      6);
}

TEST_F(RunCommandTest, TakesTheHostsOfTheFileWhereOnlyRanksAHostAreGiven) {
  const std::string file = experiment("[launch]\nnnodes = 2\n");
  // A contradiction, which names the ranks that the option stands for.
  const auto worldOf = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", file, "--launcher", "external", "--nproc-per-node", "2",
                               "--set", "launch.ranks_per_node=3"});
    return lockstep(more).err;
  };
  EXPECT_THAT(worldOf({}), HasSubstr("processes.world_size is 4"));
  EXPECT_THAT(worldOf({"--nnodes", "4"}), HasSubstr("processes.world_size is 8"));
  EXPECT_THAT(worldOf({"--nnodes", "4", "--set", "launch.nnodes=1"}),
              HasSubstr("processes.world_size is 2"));
}

TEST_F(RunCommandTest, QuietStillSaysWhatIsToBeStartedElsewhere) {
  const std::string file =
      experiment("[launch]\nlauncher = \"external\"\nlisten = \"127.0.0.1\"\njoin_seconds = 0.1\n");
  const auto ended = lockstep({"run", file, "--quiet", "--out", "r.lockstep"});
  if (ended.err.find("needs ZeroMQ") != std::string::npos) {
    GTEST_SKIP() << ended.err;
  }
  EXPECT_THAT(ended.out, IsEmpty());
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("waiting at tcp://127.0.0.1:"), HasSubstr("join --token-file")));
}

TEST_F(RunCommandTest, QuietSaysNothingOfARunThatFinishes) {
  useFakeRanks("");
  const auto ended = lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out, IsEmpty());
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(RunCommandTest, PrintsTheSameJsonAsInfo) {
  useFakeRanks("steps=12");
  const auto ended = lockstep({"run", experiment(), "--json", "--out", "r.lockstep"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json, nlohmann::json::parse(lockstep({"info", "r.lockstep", "--json"}).out));
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["steps"], 12);
  EXPECT_EQ(json["planned_steps"], 12);
  EXPECT_NEAR(json["loss"].get<double>(), 1.0 / 12, 1e-12);
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["events_dropped"], 0);
  EXPECT_GT(json["events"].get<int>(), 2 * 12);
  EXPECT_TRUE(json["failure"].is_null());
  for (const char* key : {"test_accuracy", "steps_per_second", "buckets"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  ASSERT_THAT(json["ranks"], SizeIs(2));
  EXPECT_EQ(json["ranks"][1]["rank"], 1);
  EXPECT_EQ(json["ranks"][1]["state"], "finished");
  EXPECT_EQ(json["ranks"][1]["exit_code"], 0);
  EXPECT_EQ(json["ranks"][1]["wire_bytes"], 12'000);
  EXPECT_EQ(json["ranks"][1]["parameter_hash"], "00000000deadbeef");
}

TEST_F(RunCommandTest, TakesThePlannedStepsOfEpochsFromTheRanks) {
  useFakeRanks("steps=7");
  const auto file = write("epochs.toml", "[train]\nepochs = 2\n");
  const auto ended = lockstep({"run", file, "--json", "--out", "r.lockstep"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["planned_steps"], 7);
}

TEST_F(RunCommandTest, KnowsStepsAndLossOfARunWhoseEventsWereNotCaptured) {
  useFakeRanks("steps=12");
  const auto ended = lockstep({"run", experiment(), "--json", "--out", "r.lockstep", "--set",
                               "capture.enabled=false"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["events"], 0);
  EXPECT_EQ(json["steps"], 12);
  EXPECT_NEAR(json["loss"].get<double>(), 1.0 / 12, 1e-12);
}

TEST_F(RunCommandTest, AppliesOverridesAndRecordsThem) {
  useFakeRanks("");
  const auto ended = lockstep({"run", experiment(), "--json", "--out", "r.lockstep", "--set",
                               "processes.world_size=3", "--set", "ddp.bucket_cap_mb=4"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_THAT(json["ranks"], SizeIs(3));
  EXPECT_THAT(json["experiment"].get<std::string>(), HasSubstr("bucket_cap_mb = 4"));
}

TEST_F(RunCommandTest, SaysInOneLineHowARankDied) {
  useFakeRanks("steps=50; 1: kill=9@7");
  const auto ended = lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 5);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, StartsWith("lockstep: rank 1 was ended by SIGKILL in iteration 7, in "
                                    "backward, "));
  EXPECT_THAT(ended.err, HasSubstr(" into allreduce of bucket 3"));
  const auto json = nlohmann::json::parse(lockstep({"info", "r.lockstep", "--json"}).out);
  EXPECT_EQ(json["state"], "failed");
  EXPECT_EQ(json["exit_code"], 5);
  EXPECT_EQ(json["ranks"][1]["signal"], 9);
  EXPECT_THAT(ended.err, HasSubstr(json["failure"].get<std::string>()));
  EXPECT_THAT(lockstep({"info", "r.lockstep"}).out,
              AllOf(HasSubstr("signal 9"), HasSubstr("rank 1 was ended by SIGKILL")));
}

TEST_F(RunCommandTest, ReportsTheExitCodeOfTheRanksKind) {
  useFakeRanks("0: exit=2@startup; 1: exit=2@startup");
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_THAT(ended.err, HasSubstr("failed (exit code 2) during start-up, last stage rendezvous"));
}

TEST_F(RunCommandTest, RefusesOutputThatCannotBeWritten) {
  useFakeRanks("");
  write("file", "");
  for (const char* path : {"file/r.lockstep", "/proc/r.lockstep"}) {
    const auto ended = lockstep({"run", experiment(), "--out", path});
    EXPECT_EQ(ended.exitCode, 3);
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith(std::string("lockstep: ") + path + ": cannot "),
                                 HasSubstr("--out")));
  }
}

TEST_F(RunCommandTest, NeverOverwritesARun) {
  useFakeRanks("");
  ASSERT_EQ(lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep"}).exitCode, 0);
  const auto before = lockstep({"info", "r.lockstep", "--json"}).out;
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 3);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("r.lockstep"));
  EXPECT_EQ(lockstep({"info", "r.lockstep", "--json"}).out, before);
}

TEST_F(RunCommandTest, NamesAPortThatIsTaken) {
  useFakeRanks("");
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep", "--set",
                               "processes.master_port=" + port});
  close(taken);
  EXPECT_EQ(ended.exitCode, 3);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(port), HasSubstr("processes.master_port")));
  EXPECT_FALSE(exists("r.lockstep"));
}

TEST_F(RunCommandTest, SaysThatTheRankProgramIsMissing) {
  environment["LOCKSTEP_RANK"] = "/nowhere/lockstep-rank";
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep"});
  EXPECT_EQ(ended.exitCode, 3);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("/nowhere/lockstep-rank"));
  EXPECT_FALSE(exists("r.lockstep"));
}

TEST_F(RunCommandTest, CopiesARunAndRefusesToStopIt) {
  useFakeRanks("steps=9");
  ASSERT_EQ(lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep"}).exitCode, 0);
  const auto stopped = lockstep({"stop", "r.lockstep"});
  EXPECT_EQ(stopped.exitCode, 2);
  EXPECT_THAT(stopped.err, HasSubstr("its state is \"finished\""));
  ASSERT_EQ(lockstep({"copy", "r.lockstep", "c.lockstep"}).exitCode, 0);
  EXPECT_EQ(lockstep({"info", "c.lockstep", "--json"}).out,
            lockstep({"info", "r.lockstep", "--json"}).out);
  const auto again = lockstep({"copy", "r.lockstep", "c.lockstep"});
  EXPECT_NE(again.exitCode, 0);
  EXPECT_EQ(lineCount(again.err), 1) << again.err;
}

}  // namespace
}  // namespace lockstep::cli
