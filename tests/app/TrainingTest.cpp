#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;
using Json = nlohmann::json;

/// Real ranks, through the real commands.
class TrainingTest : public CommandLineTest {
 protected:
  ~TrainingTest() override {
    for (const int fd : rankFds) {
      close(fd);
    }
  }

  Json info() {
    const auto ended = lockstep({"info", "r.lockstep", "--json"});
    return ended.exitCode == 0 ? Json::parse(ended.out) : Json();
  }

  /// Starts a run that would train for hours and returns once a step is done.
  std::unique_ptr<RunningCommand> startEndless(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{
        "run", experiment(), "--quiet", "--out", "r.lockstep", "--set", "train.steps=10000000"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    auto running = std::make_unique<RunningCommand>(folder, arguments, environment);
    // Bounded by the supervisor: a run that reaches no step fails, and says so. Steps may be
    // recorded before the supervisor has found that all ranks run.
    Json now;
    for (; now.is_null() || now["steps"] == 0 || now["state"] == "starting"; now = info()) {
      if (!now.is_null() && now["state"] != "starting" && now["state"] != "running") {
        ADD_FAILURE() << now.dump(2);
        return running;
      }
    }
    for (const auto& rank : now["ranks"]) {
      rankPids.push_back(rank["pid"].get<pid_t>());
      rankFds.push_back(static_cast<int>(syscall(SYS_pidfd_open, rankPids.back(), 0)));
    }
    return running;
  }

  /// Expects that every rank's process ends within five seconds.
  void expectNoRankLeft() {
    for (const int fd : rankFds) {
      pollfd ended{fd, POLLIN, 0};
      EXPECT_EQ(poll(&ended, 1, 5000), 1);
    }
  }

  std::vector<pid_t> rankPids;
  std::vector<int> rankFds;
};

TEST_F(TrainingTest, ACheckpointThatCannotBeWrittenIsNoticedBeforeTheFirstStep) {
  // A folder in which nobody may make a file, root neither.
  const auto ended = lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep", "--set",
                               "train.checkpoint=/proc/c.st"});
  EXPECT_EQ(ended.exitCode, 3) << ended.err;
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("rank 0 failed"),
                    HasSubstr("train.checkpoint: /proc/c.st: cannot write the checkpoint: ")));
  EXPECT_EQ(info()["steps"], 0);
}

TEST_F(TrainingTest, TrainsToTheSameParametersOnEveryRank) {
  const auto ended = lockstep({"run", experiment(), "--json", "--out", "r.lockstep", "--set",
                               "ddp.bucket_cap_mb=0.05", "--set", "ddp.first_bucket_mb=0.001"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = Json::parse(ended.out);
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["steps"], 12);
  EXPECT_EQ(json["events_dropped"], 0);
  EXPECT_TRUE(json["loss"].is_number());
  EXPECT_TRUE(json["ranks"][1]["figures"]["overlap_percent"].is_number());
  EXPECT_GT(json["steps_per_second"].get<double>(), 0);
  ASSERT_THAT(json["ranks"], SizeIs(2));
  EXPECT_THAT(json["ranks"][0]["parameter_hash"].get<std::string>(), MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(json["ranks"][0]["parameter_hash"], json["ranks"][1]["parameter_hash"]);
  EXPECT_GT(json["ranks"][1]["wire_bytes"].get<std::int64_t>(), 12 * 4 * 784 * 32);
  // All parameters stand in the buckets of both layouts, in the rebuilt one last to first.
  std::uint64_t initialBytes = 0;
  std::uint64_t rebuiltBytes = 0;
  for (const auto& bucket : json["buckets"]["initial"]) {
    initialBytes += bucket["bytes"].get<std::uint64_t>();
  }
  for (const auto& bucket : json["buckets"]["rebuilt"]) {
    rebuiltBytes += bucket["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(initialBytes, 4u * (784 * 32 + 32 + 32 * 10 + 10));
  EXPECT_EQ(rebuiltBytes, initialBytes);
  EXPECT_GT(json["buckets"]["rebuilt"].size(), 1u);
}

TEST_F(TrainingTest, CountsOnAShapedLinkTheBytesOfTheRunAndNotThoseOfMeasuringTheLink) {
  std::vector<std::uint64_t> bytes;
  for (const char* link : {"0", "0.05"}) {
    std::filesystem::remove(folder / "r.lockstep");
    const auto ended = lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep", "--set",
                                 std::string("link.bandwidth_gbps=") + link});
    ASSERT_EQ(ended.exitCode, 0) << ended.err;
    bytes.push_back(info()["ranks"][1]["wire_bytes"]);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(TrainingTest, KeepsOfMostStepsTheirSumsWhereOutliersAreAskedFor) {
  const auto ended = lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep", "--set",
                               "train.steps=150", "--set", "capture.detail=outliers"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const Json report = info();
  EXPECT_EQ(report["steps"], 150);
  EXPECT_EQ(report["environment"]["detail"], "outliers");
  EXPECT_THAT(report["environment"]["left_out"].get<std::string>(),
              HasSubstr(" of 150 steps there are sums alone (capture.detail = outliers)"));
  EXPECT_GT(report["ranks"][1]["figures"]["measured_steps"], 140);
  EXPECT_TRUE(report["ranks"][1]["figures"]["overlap_percent"].is_number());
}

TEST_F(TrainingTest, ARunThatComesToTheLimitOfItsFileEndsWell) {
  const auto ended = lockstep({"run", experiment(), "--out", "r.lockstep", "--set",
                               "train.steps=600", "--set", "capture.limit_mb=1"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("there are sums alone, since the file came near its limit of "
                                   "1 MiB (capture.limit_mb)"));
  EXPECT_EQ(info()["steps"], 600);
  // What one drain brings is written before the size is looked at.
  EXPECT_LT(std::filesystem::file_size(folder / "r.lockstep"), 1'600'000U);
}

TEST_F(TrainingTest, KeepsTheRanksAsItsDirectChildren) {
  const auto running = startEndless();
  ASSERT_THAT(rankPids, SizeIs(2));
  for (const pid_t pid : rankPids) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string parent;
    for (std::string line; std::getline(status, line);) {
      parent = line.starts_with("PPid:") ? line.substr(6) : parent;
    }
    EXPECT_EQ(parent, std::to_string(running->pid()));
  }
}

TEST_F(TrainingTest, SaysWhatAKilledRankWasLastIn) {
  const auto running = startEndless();
  kill(rankPids.at(1), SIGKILL);
  const auto ended = running->wait();
  EXPECT_EQ(ended.exitCode, 5);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, StartsWith("lockstep: rank 1 was ended by SIGKILL "));
  EXPECT_THAT(ended.err, HasSubstr(" iteration "));
  expectNoRankLeft();
  EXPECT_EQ(info()["state"], "failed");
  EXPECT_EQ(info()["ranks"][1]["signal"], 9);
}

TEST_F(TrainingTest, NamesTheSuspendedRankBeforeThePeerThatWaitedForIt) {
  const auto running = startEndless({"processes.timeout_seconds=1"});
  kill(rankPids.at(0), SIGSTOP);
  const auto ended = running->wait();
  EXPECT_EQ(ended.exitCode, 4);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: rank 0 was suspended (SIGSTOP) and was killed, in "),
                               HasSubstr("; rank 1 failed (exit code 4) in iteration ")));
  expectNoRankLeft();
}

TEST_F(TrainingTest, StopsAllRanksAfterTheSameStepOnCtrlC) {
  const auto running = startEndless();
  running->send(SIGINT);
  const auto ended = running->wait();
  EXPECT_EQ(ended.exitCode, 130) << ended.err;
  expectNoRankLeft();
  const auto json = info();
  EXPECT_EQ(json["state"], "stopped");
  EXPECT_EQ(json["ranks"][0]["exit_code"], 130);
  EXPECT_EQ(json["ranks"][1]["exit_code"], 130);
  EXPECT_EQ(json["ranks"][0]["parameter_hash"], json["ranks"][1]["parameter_hash"]);
}

TEST_F(TrainingTest, StopsByTheStopCommand) {
  const auto running = startEndless();
  EXPECT_EQ(lockstep({"stop", "r.lockstep"}).exitCode, 0);
  EXPECT_EQ(running->wait().exitCode, 130);
  EXPECT_EQ(info()["state"], "stopped");
}

TEST_F(TrainingTest, StopsRanksThatRunApartAtOneStep) {
  for (const char* hook : {"gossip", "post_local_sgd", "noop"}) {
    std::filesystem::remove(folder / "r.lockstep");
    const auto running = startEndless({std::string("hook.name=") + hook, "processes.world_size=3"});
    EXPECT_EQ(lockstep({"stop", "r.lockstep"}).exitCode, 0);
    const auto ended = running->wait();
    EXPECT_EQ(ended.exitCode, 130) << hook << ": " << ended.err;
    const auto json = info();
    EXPECT_EQ(json["state"], "stopped");
    for (int rank = 1; rank < 3; ++rank) {
      EXPECT_EQ(json["ranks"][rank]["ddp_logging"]["iteration"],
                json["ranks"][0]["ddp_logging"]["iteration"])
          << hook;
    }
  }
}

TEST_F(TrainingTest, ChangesAParameterOfTheHookOnAllRanksWhileTheRunIsLive) {
  const auto running = startEndless({"hook.name=topk", "hook.density=0.1"});
  const auto set = lockstep({"set", "r.lockstep", "hook.density=0.01"});
  EXPECT_EQ(set.exitCode, 0) << set.err;
  const auto told = [](const Json& json, int rank) {
    const Json& facts = json["ranks"][rank]["ddp_logging"];
    return facts.value("hook.kept", 0) == 255 && facts.value("hook.density", 0.0) == 0.01;
  };
  // A hundredth of 784 x 32 + 32 + 32 x 10 + 10 parameters.
  Json now = info();
  while (now["state"] == "running" && !(told(now, 0) && told(now, 1))) {
    now = info();
  }
  EXPECT_TRUE(told(now, 0) && told(now, 1)) << now["state"];
  running->send(SIGINT);
  const auto ended = running->wait();
  EXPECT_EQ(ended.exitCode, 130) << ended.err;
  now = info();
  EXPECT_EQ(now["ranks"][0]["parameter_hash"], now["ranks"][1]["parameter_hash"]);
}

TEST_F(TrainingTest, RefusesToChangeWhatMustStayWhileTheRunIsLive) {
  const auto running = startEndless({"hook.name=topk", "hook.density=0.1"});
  const auto refusal = [&](const std::string& change) {
    const auto ended = lockstep({"set", "r.lockstep", change});
    EXPECT_EQ(ended.exitCode, 2) << change;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    return ended.err;
  };
  EXPECT_THAT(refusal("hook.density=2"), HasSubstr("hook.density"));
  EXPECT_THAT(refusal("hook.densty=0.1"), HasSubstr("did you mean hook.density"));
  EXPECT_THAT(refusal("hook.error_feedback=false"),
              HasSubstr("hook.error_feedback cannot change during a run; of this one can "
                        "hook.density"));
  EXPECT_THAT(refusal("train.steps=5"), HasSubstr("train.steps cannot change during a run"));
  EXPECT_THAT(refusal("density"), HasSubstr("is no key=value"));
  running->send(SIGINT);
  running->wait();
  EXPECT_THAT(refusal("hook.density=0.1"), HasSubstr("this run takes no commands"));
}

TEST_F(TrainingTest, LeavesNoRankAndAReadableFileWhenTheSupervisorIsKilled) {
  const auto running = startEndless();
  running->send(SIGKILL);
  running->wait();
  expectNoRankLeft();
  const auto json = info();
  EXPECT_EQ(json["state"], "recorder died");
  EXPECT_GT(json["steps"].get<int>(), 0);
}

TEST_F(TrainingTest, TrainsOnAndKeepsWhatWasRecordedWhenTheDiskIsFull) {
  const std::vector<std::string> arguments{"run",        experiment(), "--quiet",         "--out",
                                           "r.lockstep", "--set",      "train.steps=1500"};
  RunningCommand running(folder, arguments, environment);
  while (!exists("r.lockstep") && !running.hasEnded()) {
    std::this_thread::yield();
  }
  // As a full disk does, a limit ends the growth of the file; SIGXFSZ ends who is not prepared.
  const rlimit limit{1 << 20, 1 << 20};
  ASSERT_EQ(prlimit(running.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  const auto ended = running.wait();
  EXPECT_EQ(ended.exitCode, 3) << ended.err;
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: the run file is incomplete"),
                               HasSubstr("r.lockstep: the run file cannot grow")));
  const auto json = info();
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_THAT(json["failure"].get<std::string>(), HasSubstr("the run file is incomplete"));
  EXPECT_GT(json["steps"].get<int>(), 0);
  EXPECT_LT(json["steps"].get<int>(), 1500);
  for (const auto& rank : json["ranks"]) {
    EXPECT_EQ(kill(rank["pid"].get<pid_t>(), 0), -1) << rank;
  }
}

TEST_F(TrainingTest, StartsNothingWhenNotEvenTheEventMemoryFits) {
  const std::vector<std::string> arguments{"run", experiment(), "--out", "r.lockstep"};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{64 << 10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  RunningCommand running(folder, arguments, environment);
  setrlimit(RLIMIT_FSIZE, &before);
  const auto ended = running.wait();
  EXPECT_EQ(ended.exitCode, 3) << ended.err;
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("bytes of event memory"));
  EXPECT_FALSE(exists("r.lockstep"));
}

TEST_F(TrainingTest, NamesADataFileThatIsTruncated) {
  std::filesystem::create_directory(folder / "digits");
  write("digits/train-images-idx3-ubyte", std::string("\0\0\x08\x03\0\0\x27\x10", 8));
  const auto ended =
      lockstep({"run", experiment(), "--quiet", "--out", "r.lockstep", "--set", "data.kind=mnist",
                "--set", "data.folder=" + (folder / "digits").string()});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("train-images-idx3-ubyte"));
}

}  // namespace
}  // namespace lockstep::cli
