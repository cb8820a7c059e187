// What a head makes of relays that do not do as they should. Relays that do are in
// tests/app/cluster, with real processes.

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "engine/trace/HostFacts.h"
#include "tests/engine/launch/LaunchFixture.h"
#include "tests/engine/launch/PlayedRelay.h"

namespace lockstep::launch {
namespace {

using base::ExitCode;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class RemoteRanksTest : public LaunchFixture {
 protected:
  RemoteRanksTest() {
    options.experiment.launch.launcher = "external";
    options.experiment.launch.joinSeconds = 15;
    options.experiment.launch.listen = "127.0.0.1";
  }

  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> texts;
    auto reader = std::move(trace::RunFileReader::open(options.runFile)).value();
    for (bool more = true; more;) {
      const auto update = std::move(reader->poll()).value();
      for (const auto& row : update.problems) {
        texts.push_back(row.text);
      }
      more = !update.empty();
    }
    return texts;
  }
};

TEST_F(RemoteRanksTest, BatchesThatAreMissingAreToldAndThoseThatComeTwiceAreLeftOut) {
  const PlayedRelay relay(options.controlDirectory, [](relay::RelayClient& client) {
    client.send(relay::RankStarted{0, 4711});
    for (const std::uint64_t number : {1, 2, 5, 5, 7}) {
      client.send(batchOfOneStep(number));
    }
    client.send(relay::RankEnded{0, 0, 0});
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kOk) << outcome.value().failure;
  EXPECT_THAT(problems(), Contains(HasSubstr("2 batches of events of host b (127.0.0.1) with "
                                             "rank 0 are lost")));
  EXPECT_THAT(problems(), Contains(HasSubstr("1 batch of events of host b (127.0.0.1) with rank 0 "
                                             "is lost")));
  EXPECT_THAT(problems(), Contains(HasSubstr("sent batch 5 again; it was left out")));
  EXPECT_EQ(summary().ranks[0].host, 1);
  EXPECT_EQ(summary().ranks[0].pid, 4711);
  EXPECT_EQ(summary().lastStep, 7U);
}

TEST_F(RemoteRanksTest, WhatConcernsRanksOfOthersIsNotTakenFromARelay) {
  const PlayedRelay relay(options.controlDirectory, [](relay::RelayClient& client) {
    client.send(relay::RankStarted{0, 4711});
    client.send(relay::RankEnded{7, 0, 9});
    client.send(relay::RankOutput{-1, true, "as if the launcher had said it\n"});
    client.send(batchOfOneStep(1));
    client.send(relay::RankEnded{0, 0, 0});
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kOk) << outcome.value().failure;
  EXPECT_THAT(logOf(options.runFile, -1), testing::Not(Contains(HasSubstr("as if"))));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RemoteRanksTest, ARankThatStartsOnceItWasGivenUpStaysEnded) {
  const PlayedRelay relay(options.controlDirectory, [](relay::RelayClient& client) {
    client.send(relay::RelayFailed{3, "no program to execute here"});
    client.send(relay::RankStarted{0, 4711});
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(summary().ranks[0].pid, 0);
  EXPECT_NE(summary().ranks[0].state, "starting");
}

TEST_F(RemoteRanksTest, ARelayThatCannotStartItsRanksEndsTheRunWithItsReason) {
  const PlayedRelay relay(options.controlDirectory, [](relay::RelayClient& client) {
    client.send(relay::RelayFailed{3, "no program to execute here"});
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kEnvironment);
  EXPECT_THAT(outcome.value().failure,
              HasSubstr("host b (127.0.0.1) with rank 0: no program to execute here"));
}

TEST_F(RemoteRanksTest, ARelayThatIsGoneLosesItsRanks) {
  const PlayedRelay relay(options.controlDirectory, [this](relay::RelayClient& client) {
    client.send(relay::RankStarted{0, 4711});
    waitUntil([this] { return !summary().ranks.empty() && summary().ranks[0].pid == 4711; });
    throw Left();
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kCommFailed);
  EXPECT_THAT(
      outcome.value().failure,
      HasSubstr("host b (127.0.0.1) with rank 0 is lost: its connection broke: the relay or "
                "its host ended, or the network failed"));
}

TEST_F(RemoteRanksTest, ARankWhoseEndNobodyTellsIsGivenUp) {
  options.limits.failureGrace = options.limits.terminateGrace = std::chrono::milliseconds(20);
  options.limits.killGrace = std::chrono::milliseconds(100);
  const PlayedRelay relay(options.controlDirectory, [](relay::RelayClient& client) {
    client.send(relay::RankStarted{0, 4711});
    client.send(relay::RelayFailed{3, "no second program"});
  });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(logOf(options.runFile, -1),
              Contains("rank 0: nothing tells that process 4711 ended within 0.1 s of SIGKILL: it "
                       "may be stuck in the kernel"));
}

TEST_F(RemoteRanksTest, OfALauncherThatWritesMuchIsToldHowMuchWasLeftOut) {
  const std::filesystem::path over = folder / "over";
  std::ofstream(folder / "srun") << "#!/bin/sh\n"
                                    "yes $(printf '%0200d' 7) | head -n 25000 >&2\n"
                                    "while [ ! -e "
                                 << over.string() << " ]; do sleep 0.02; done\n";
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.string() + ":" + path).c_str(), 1);
  options.experiment.launch.launcher = "srun";
  const PlayedRelay relay(options.controlDirectory, [&](relay::RelayClient& client) {
    waitUntil([this] {
      const auto lines = logOf(options.runFile, -1);
      return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.starts_with("(from here on left out");
      });
    });
    client.send(relay::RankStarted{0, 4711});
    client.send(batchOfOneStep(1));
    client.send(relay::RankEnded{0, 0, 0});
    std::ofstream(over) << "";
  });
  const auto outcome = launch(1, "");
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kOk) << outcome.value().failure;
  EXPECT_THAT(problems(), Contains(AllOf(StartsWith("the launcher's output: "),
                                         HasSubstr(" after the first 4 MiB were left out"))));
}

TEST_F(RemoteRanksTest, ARelayWithAnotherNumberOfRanksThanItsHostHasIsRefused) {
  relay::Hello hello;
  hello.nodeRank = 0;
  hello.nodeSize = std::numeric_limits<std::int32_t>::max();
  const PlayedRelay relay(
      options.controlDirectory, [](relay::RelayClient&) {}, hello);
  const auto outcome = launch(2, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kBadInput);
  EXPECT_THAT(outcome.value().failure, HasSubstr("it was started for 2147483647 ranks of its host "
                                                 "(--nproc-per-node), and the run has 2 on each"));
}

TEST_F(RemoteRanksTest, ARelayOfAHostThatTheRunHasNotIsRefused) {
  relay::Hello hello;
  hello.nodeRank = std::numeric_limits<std::int32_t>::max();
  const PlayedRelay relay(
      options.controlDirectory, [](relay::RelayClient&) {}, hello);
  const auto outcome = launch(2, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(outcome.value().failure,
              HasSubstr("it comes for rank 4294967294, and there are ranks 0 to 1"));
}

TEST_F(RemoteRanksTest, ARelayWithACommandOfItsOwnIsRefused) {
  relay::Hello hello;
  hello.environment[relay::kObserves] = "1";
  const PlayedRelay relay(
      options.controlDirectory, [](relay::RelayClient&) {}, hello);
  const auto outcome = launch(2, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kBadInput);
  EXPECT_THAT(outcome.value().failure, HasSubstr("it was started with a command of its own, and "
                                                 "this run starts its ranks itself"));
}

TEST_F(RemoteRanksTest, ProcessesOfAContainerOnThisHostAreNotTakenForOthersOfTheirNumber) {
  relay::Hello hello = helloOfRank0();
  hello.hostIdentity = trace::hostIdentity();
  hello.environment[relay::kProcessSpace] = "of a container";
  const PlayedRelay relay(
      options.controlDirectory,
      [this](relay::RelayClient& client) {
        client.send(relay::RankStarted{0, getpid()});  // the number, to this host, of this test
        waitUntil([this] {
          const auto ranks = summary().ranks;
          return !ranks.empty() && ranks[0].pid == getpid();
        });
        // Counters are of the time between two looks at a process.
        const auto before = metrics("ring_fill_percent");
        waitUntil([&] { return metrics("ring_fill_percent") > before + 2; });
        client.send(relay::RankEnded{0, 0, 0});
      },
      hello);
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(summary().ranks[0].host, trace::kRecordingHost);
  EXPECT_EQ(summary().ranks[0].pid, getpid());
  EXPECT_EQ(metrics("resident_bytes"), 0);
}

TEST_F(RemoteRanksTest, AClockThatIsSetDuringTheRunIsAProblem) {
  bool started = false;
  const PlayedRelay relay(
      options.controlDirectory,
      [&](relay::RelayClient& client) {
        started = true;
        client.send(relay::RankStarted{0, 4711});
      },
      helloOfRank0(),
      [&](relay::RelayClient& client, const relay::Ping& ping) {
        answer(client, ping, started ? 1'000'000'000 : 0);
        if (started) {
          client.send(relay::RankEnded{0, 0, 0});
        }
      });
  const auto outcome = launch(1, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(problems(), Contains(HasSubstr("the clock of host b (127.0.0.1) was set, or came to "
                                             "run at another rate than this host's (by more than "
                                             "30 ppm): the times of its events before that are "
                                             "known less exactly than the stated uncertainty")));
}

TEST_F(RemoteRanksTest, AHeadHasDescriptorsForManyConnections) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(before.rlim_max, 300);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  options.experiment.launch.joinSeconds = 0.1;
  const auto outcome = launch(1, "");
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 65'536));
}

TEST_F(RemoteRanksTest, NothingIsLeftOfARunThatNobodyJoined) {
  options.experiment.launch.joinSeconds = 0.2;
  const int before = countDescriptors();
  const auto outcome = launch(2, "");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kTimeout);
  EXPECT_EQ(outcome.value().failure,
            "no relay has come for ranks 0, 1 within 0.2 s (launch.join_seconds)");
  EXPECT_EQ(countDescriptors(), before);
  EXPECT_TRUE(std::filesystem::is_empty(options.controlDirectory));
}

TEST_F(RemoteRanksTest, ARunThatNobodyJoinsInTimeSaysWhatItsLauncherSaid) {
  // A srun that waits for nodes, until the run has been given up.
  const std::filesystem::path over = folder / "over";
  std::ofstream(folder / "srun") << "#!/bin/sh\n"
                                    "echo 'srun: job 12 queued and waiting for resources' >&2\n"
                                    "while [ ! -e "
                                 << over.string() << " ]; do sleep 0.02; done\n";
  std::filesystem::permissions(folder / "srun", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.string() + ":" + path).c_str(), 1);
  options.experiment.launch.launcher = "srun";
  options.experiment.launch.joinSeconds = 2;
  const auto outcome = launch(1, "", [&over](const LaunchProgress& progress) {
    if (progress.stopping) {
      std::ofstream(over) << "";
    }
  });
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kTimeout);
  EXPECT_EQ(outcome.value().failure,
            "no relay has come for rank 0 within 2 s (launch.join_seconds); srun said: srun: job "
            "12 queued and waiting for resources");
}

}  // namespace
}  // namespace lockstep::launch
