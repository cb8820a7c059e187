// Jobs with parts on other hosts, whose relays a test plays. Relays that are none of a test's are
// in JobRelayTest.cpp, and both together in tests/app/cluster/jobs.py.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <variant>

#include "engine/base/Clock.h"
#include "engine/launch/ControlSocket.h"
#include "engine/trace/Event.h"
#include "tests/engine/launch/JobFixture.h"
#include "tests/engine/launch/PlayedRelay.h"

namespace lockstep::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using trace::RunState;

relay::Hello helloWithACommand() {
  relay::Hello hello;
  hello.hostName = "b";
  hello.hostIdentity = "another host";
  hello.environment[relay::kObserves] = "1";
  return hello;
}

/// Events of rank 1, up to a step, and what it says last.
relay::Batch stepsOfRank1(std::uint64_t number, std::uint32_t first, std::uint32_t last,
                          const std::string& error = "") {
  relay::RankPart part;
  part.rank = 1;
  part.lanes = {{0, "step", 0, {}}};
  for (std::uint32_t step = first; step <= last; ++step) {
    trace::Event event;
    event.startTicks = base::ticks();
    event.kind = static_cast<std::uint16_t>(trace::EventKind::kStep);
    event.step = step;
    part.lanes[0].events.push_back(event);
  }
  part.words.step = last;
  part.words.phase = static_cast<std::uint16_t>(trace::EventKind::kForward);
  part.words.sinceTicks = base::ticks();
  part.words.error = error;
  return {number, base::ticks(), {part}};
}

class RemotePartsTest : public JobFixture {
 protected:
  RemotePartsTest() { job.listen = "127.0.0.1"; }

  /// This host's command, which waits for `go()`, and then is `then`.
  void commandWaits(const std::string& then) {
    job.command = {
        "sh", "-c",
        fmt::format("while [ ! -e {} ]; do sleep 0.01; done; {}", (folder / "go").string(), then)};
  }
  void go() { std::ofstream(folder / "go") << ""; }

  /// "python3 fake_job.py ...", in which rank 1 is of another host.
  static std::string ranksHere(const std::string& arguments) {
    const auto words = fakeJob({});
    return fmt::format("{} '{}' {} 1:elsewhere", words[0], words[1], arguments);
  }

  /// A relay whose process attaches as `asks`, and for which `attached` decides what comes then.
  using OnAttached = std::function<void(relay::RelayClient&, const relay::Attached&)>;
  [[nodiscard]] PlayedRelay relay(const relay::Attach& asks, OnAttached attached) const {
    return {folder / "control",
            [asks](relay::RelayClient& client) {
              client.send(relay::RankStarted{-1, 4710});
              client.send(asks);
            },
            helloWithACommand(), [](auto& client, const auto& ping) { answer(client, ping, 0); },
            [attached](relay::RelayClient& client, const relay::ToRelay& message) {
              if (const auto* answered = std::get_if<relay::Attached>(&message)) {
                attached(client, *answered);
              }
            }};
  }

  /// The relay is gone once this host's recorder has five steps of rank 1.
  [[nodiscard]] OnAttached leavesAfterStep4() {
    return [this](relay::RelayClient& client, const relay::Attached& /*answered*/) {
      client.send(stepsOfRank1(1, 0, 4));
      waitUntil(
          [this] { return std::filesystem::exists(options.runFile) && summary().lastStep == 4; });
      go();
      throw Left();
    };
  }
};

TEST_F(RemotePartsTest, RanksOfAnotherHostAreOfTheRun) {
  commandWaits(ranksHere("2 20"));
  std::uint32_t firstStep = 99;
  const auto played = relay({1, 2, 4711}, [&](auto& client, const auto& answered) {
    firstStep = answered.step;
    EXPECT_THAT(answered.refusal, IsEmpty());
    client.send(stepsOfRank1(1, 0, 19));
    client.send(relay::RankOutput{-1, false, "said there\n"});
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::CommandEnded{0, 0});
    go();
  });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_EQ(outcome.value().state, RunState::kFinished);
  EXPECT_THAT(outcome.value().warning, IsEmpty());
  EXPECT_EQ(firstStep, 0U);
  const auto run = summary();
  EXPECT_EQ(run.info.worldSize, 2);
  ASSERT_THAT(run.ranks, SizeIs(2));
  EXPECT_EQ(run.ranks[0].host, trace::kRecordingHost);
  EXPECT_EQ(run.ranks[1].host, 1);
  EXPECT_EQ(run.ranks[1].pid, 4711);
  EXPECT_EQ(run.ranks[1].state, "finished");
  ASSERT_THAT(run.hosts, SizeIs(2));
  EXPECT_EQ(run.hosts[1].info.name, "b");
  EXPECT_TRUE(run.hosts[1].offset.has_value());
  EXPECT_THAT(logOf(job.runFile, -1),
              AllOf(Contains("b: said there"), Contains("host b (127.0.0.1) has come, process 0")));
  EXPECT_THAT(output, Not(HasSubstr("said there")));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "control"));
}

TEST_F(RemotePartsTest, ACommandFindsTheRecorderInItsEnvironment) {
  job.command = {"sh", "-c", "echo $LOCKSTEP_RECORDER ${#LOCKSTEP_RUN_TOKEN}"};
  ASSERT_TRUE(record().ok());
  EXPECT_THAT(output, AllOf(StartsWith("tcp://127.0.0.1:"), EndsWith(" 128\n")));
}

TEST_F(RemotePartsTest, WhereTheTokenIsIsAnnouncedAndATokenFileOfOnesOwnIsRemoved) {
  std::vector<std::string> announced;
  job.announce = [&](const std::string& line) { announced.push_back(line); };
  job.tokenFile = folder / "mine.token";
  job.command = {"cat", job.tokenFile.string()};
  ASSERT_TRUE(record().ok());
  EXPECT_THAT(output, HasSubstr("LOCKSTEP_RUN_TOKEN="));
  EXPECT_THAT(announced, ElementsAre(AllOf(StartsWith("listens at tcp://127.0.0.1:"),
                                           EndsWith(job.tokenFile.string())),
                                     HasSubstr("lockstep join --token-file ")));
  EXPECT_FALSE(std::filesystem::exists(job.tokenFile));
}

TEST_F(RemotePartsTest, ATokenFileThatIsThereIsLeftAlone) {
  job.tokenFile = folder / "mine.token";
  std::ofstream(job.tokenFile) << "mine";
  job.command = {"touch", (folder / "started").string()};
  const auto outcome = record();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("cannot write the run token"));
  EXPECT_TRUE(std::filesystem::exists(job.tokenFile));
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
  EXPECT_FALSE(std::filesystem::exists(job.runFile));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "control"));
}

TEST_F(RemotePartsTest, AnAddressThatIsNoneIsOfTheOptionListen) {
  job.listen = "nowhere";
  job.command = {"true"};
  const auto outcome = record();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(),
              AllOf(HasSubstr("--listen nowhere"), HasSubstr("an IPv4 address of this host")));
}

TEST_F(RemotePartsTest, AProcessOfAnotherWorldIsRefusedWhereverItComesFrom) {
  commandWaits("true");
  const PlayedRelay first = relay({1, 2, 4711}, [](auto& client, const auto&) {
    client.send(relay::Attach{0, 3, 4712});
    client.send(relay::Attach{1, 3, 4714});
    client.send(relay::Attach{0, 2, 4713});
    client.send(relay::RankEnded{0, 0, 0});
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::CommandEnded{0, 0});
  });
  std::thread goes([this] {
    waitUntil([this] { return std::filesystem::exists(options.runFile) && !problems().empty(); });
    go();
  });
  const auto outcome = record();
  goes.join();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  const std::vector<std::string> told = problems();
  EXPECT_THAT(
      told, Contains(AllOf(StartsWith("process 4712 on b is rank 0 of 3 ranks, and this run began "
                                      "with 2: it is not recorded, nor is what else comes of a "
                                      "job of that size, as after an elastic restart"))));
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const std::string& text) {
                            return text.find("ranks, and this run began") != std::string::npos;
                          }),
            1)
      << "one sentence for all ranks of the new job";
}

TEST_F(RemotePartsTest, ASecondProcessOfARankIsRefusedWhereverItComesFrom) {
  job.command = fakeJob({"2", "5", "0:stay", "1:elsewhere"});
  job.wrote = [this](bool, std::string_view bytes) {
    output += bytes;
    if (output.find("steps of rank 0") != std::string::npos) {
      go();
    }
  };
  const PlayedRelay played(
      folder / "control",
      [this](relay::RelayClient& client) {
        waitUntil([this] { return std::filesystem::exists(folder / "go"); });
        client.send(relay::RankStarted{-1, 4710});
        client.send(relay::Attach{0, 2, 4711});
      },
      helloWithACommand(), [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [](relay::RelayClient& client, const relay::ToRelay& message) {
        if (const auto* answered = std::get_if<relay::Attached>(&message)) {
          EXPECT_THAT(answered->refusal,
                      AllOf(StartsWith("process 4711 on b says that it is rank 0, which process "),
                            EndsWith(" is already: it is not recorded")));
          client.send(relay::CommandEnded{0, 0});
          kill(getpid(), SIGTERM);
        }
      });
  ASSERT_TRUE(record().ok());
  EXPECT_THAT(problems(), Contains(StartsWith("process 4711 on b says that it is rank 0")));
}

TEST_F(RemotePartsTest, ARankThatComesAgainOnAnotherHostIsRefused) {
  commandWaits(ranksHere("2 5") + "; FAKE_RANK=1 " + ranksHere("2 5"));
  const auto played = relay({1, 2, 4711}, [this](auto& client, const auto&) {
    client.send(stepsOfRank1(1, 0, 4));
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::CommandEnded{0, 0});
    go();
  });
  ASSERT_TRUE(record().ok());
  EXPECT_THAT(output, HasSubstr("rank 1 refused: the job was started again, and rank 1, recorded "
                                "on b, is process "));
  EXPECT_THAT(problems(), Contains(HasSubstr(" now: a run has the times of a rank by the clock of "
                                             "one host, and ranks that have moved are not recorded "
                                             "any more")));
  EXPECT_EQ(summary().ranks[1].host, 1);
}

TEST_F(RemotePartsTest, AllRanksThatMoveToOtherHostsAreOneSentence) {
  commandWaits(ranksHere("3 5 2:elsewhere") + "; FAKE_RANK=1 " + ranksHere("3 5") +
               "; FAKE_RANK=2 " + ranksHere("3 5"));
  int attached = 0;
  const auto played = relay({1, 3, 4711}, [&](auto& client, const auto& answered) {
    EXPECT_THAT(answered.refusal, IsEmpty());
    if (++attached == 1) {
      client.send(relay::Attach{2, 3, 4712});
      return;
    }
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::RankEnded{2, 0, 0});
    client.send(relay::CommandEnded{0, 0});
    go();
  });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(output, AllOf(HasSubstr("rank 1 refused: "), HasSubstr("rank 2 refused: ")));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("ranks that have moved are not recorded")));
  EXPECT_EQ(outcome.value().state, RunState::kFinished);
}

TEST_F(RemotePartsTest, ARankThatComesAgainByAnotherRelayOfItsHostIsRefused) {
  commandWaits(ranksHere("2 5"));
  const auto first = relay({1, 2, 4711}, [this](auto& client, const auto&) {
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::CommandEnded{0, 0});
    std::ofstream(folder / "first") << "";
  });
  const PlayedRelay second(
      folder / "control",
      [this](relay::RelayClient& client) {
        waitUntil([this] { return std::filesystem::exists(folder / "first"); });
        client.send(relay::RankStarted{-1, 4720});
        client.send(relay::Attach{1, 2, 4721});
      },
      helloWithACommand(), [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [this](relay::RelayClient& client, const relay::ToRelay& message) {
        if (const auto* answered = std::get_if<relay::Attached>(&message)) {
          EXPECT_EQ(answered->refusal,
                    "rank 1 comes again, as process 4721 on b, and not by the lockstep join that "
                    "it came by before: it is not recorded any more");
          client.send(relay::CommandEnded{0, 0});
          go();
        }
      });
  ASSERT_TRUE(record().ok());
}

TEST_F(RemotePartsTest, ACaptureReachesTheRanksOfOtherHosts) {
  const auto answered = folder / "answered";
  commandWaits("FAKE_UNTIL=" + answered.string() + " " + ranksHere("2 5 0:trace"));
  std::atomic<int> state = 0;  // 1: rank 0 is here, 2: asked, 3: rank 1 has traced
  job.wrote = [&](bool, std::string_view bytes) {
    output += bytes;
    if (output.find("steps of rank 0") != std::string::npos && state == 0) {
      state = 1;
    }
  };
  std::vector<std::string> answers;
  std::thread asks([&] {
    blockSignals();
    waitUntil([&] { return state == 1 && !summary().info.controlSocket.empty(); });
    const ControlCommand capture{ControlCommand::Kind::kTrace, true, {}, 2};
    for (int i = 0; i < 2; ++i) {
      const auto answer = sendControl(options.runFile, capture);
      answers.push_back(answer.ok() ? answer.value() : answer.error().what);
    }
    std::ofstream(answered) << "";
    state = 2;
  });
  const PlayedRelay played(
      folder / "control",
      [](relay::RelayClient& client) {
        client.send(relay::RankStarted{-1, 4710});
        client.send(relay::Attach{1, 2, 4711});
      },
      helloWithACommand(), [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [&](relay::RelayClient& client, const relay::ToRelay& message) {
        if (std::holds_alternative<relay::Attached>(message)) {
          client.send(stepsOfRank1(1, 0, 4));
          go();
        } else if (const auto* asked = std::get_if<relay::RequestTrace>(&message)) {
          EXPECT_EQ(asked->request & 0xFFFF, 2u);
          waitUntil([&] { return state == 2; });
          relay::Batch batch = stepsOfRank1(2, 5, 6);
          batch.ranks[0].traceDone = asked->request;
          for (trace::Event& event : batch.ranks[0].lanes[0].events) {
            event.kind = static_cast<std::uint16_t>(trace::EventKind::kOperator);
          }
          client.send(batch);
          client.send(relay::RankEnded{1, 0, 0});
          client.send(relay::CommandEnded{0, 0});
        }
      });
  const auto outcome = record();
  asks.join();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(output, HasSubstr("rank 0 traces 2 iterations"));
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_THAT(answers[0], HasSubstr("[0,1]"));
  EXPECT_THAT(answers[1], HasSubstr("a capture of 2 iterations is under way: rank "));
  EXPECT_THAT(logOf(job.runFile, -1), Contains("capture: the next 2 iterations of every rank"));
  auto reader = trace::RunFileReader::open(job.runFile);
  const auto update = reader.value()->poll();
  EXPECT_EQ(
      std::count_if(update.value().spans.begin(), update.value().spans.end(),
                    [](const auto& span) { return span.kind == trace::EventKind::kOperator; }),
      2)
      << "what rank 1 traced is in the run";
}

TEST_F(RemotePartsTest, ARankThatIsStoppedOnAnotherHostIsNamedByACapture) {
  commandWaits(ranksHere("2 5 0:trace"));
  std::string refusal;
  std::atomic<bool> here = false;
  job.wrote = [&](bool, std::string_view bytes) {
    output += bytes;
    here = here || output.find("steps of rank 0") != std::string::npos;
  };
  std::thread asks([&] {
    blockSignals();
    waitUntil([&] { return here && summary().lastStep == 4; });
    const auto answer = sendControl(options.runFile, {ControlCommand::Kind::kTrace, true, {}, 2});
    refusal = answer.ok() ? "" : answer.error().what;
    kill(getpid(), SIGTERM);
  });
  const auto played = relay({1, 2, 4711}, [this](auto& client, const auto&) {
    relay::Batch batch = stepsOfRank1(1, 0, 4);
    batch.ranks[0].suspended = true;
    client.send(batch);
    go();
    client.send(relay::CommandEnded{0, 0});
  });
  ASSERT_TRUE(record().ok());
  asks.join();
  EXPECT_EQ(refusal, "rank 1 is stopped and would not trace; let it go on (kill -CONT 4711 on b)");
}

TEST_F(RemotePartsTest, ARankOfAnotherHostThatThrewIsNamed) {
  commandWaits(ranksHere("2 5") + "; exit 1");
  const auto played = relay({1, 2, 4711}, [this](auto& client, const auto&) {
    client.send(stepsOfRank1(1, 0, 4, "ValueError: boom"));
    client.send(relay::RankEnded{1, 0, 0});
    client.send(relay::CommandEnded{1, 0});
    go();
  });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 1);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 failed in iteration 4"), EndsWith(": ValueError: boom")));
}

TEST_F(RemotePartsTest, ACommandThatFailsElsewhereFailsTheRunAndNotThisHostsExitCode) {
  commandWaits(ranksHere("2 5"));
  const auto played = relay({1, 2, 4711}, [this](auto& client, const auto&) {
    client.send(stepsOfRank1(1, 0, 4));
    client.send(relay::CommandEnded{3, 0});
    go();
  });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_EQ(outcome.value().state, RunState::kFailed);
  EXPECT_EQ(outcome.value().failure, "the command on host b ended with exit code 3");
  EXPECT_EQ(summary().info.exitCode, 3);
}

TEST_F(RemotePartsTest, AHostThatIsLostIsNamedWhereTheJobFails) {
  commandWaits(ranksHere("2 5") + "; exit 1");
  const auto played = relay({1, 2, 4711}, leavesAfterStep4());
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 was lost, last seen in iteration 4"),
                    HasSubstr("host b (127.0.0.1) with rank 1 is lost: its connection broke")));
  EXPECT_EQ(summary().ranks[1].state, "lost");
  EXPECT_THAT(problems(), Contains(EndsWith("; what it does is not recorded any more")));
}

TEST_F(RemotePartsTest, AHostThatIsLostToTheRecorderAloneIsNotAccused) {
  // Rank 0 goes on, which it cannot without rank 1, and throws later.
  commandWaits(ranksHere("2 40 0:throw"));
  const auto played = relay({1, 2, 4711}, leavesAfterStep4());
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 0 failed in iteration 39"), EndsWith("ValueError: boom")));
}

TEST_F(RemotePartsTest, AJobThatEndsWellWithoutAHostThatIsLostWarns) {
  commandWaits(ranksHere("2 5"));
  const auto played = relay({1, 2, 4711}, [this](auto&, const auto&) {
    go();
    throw Left();
  });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_EQ(outcome.value().state, RunState::kFinished);
  EXPECT_THAT(outcome.value().warning, StartsWith("host b (127.0.0.1) with rank 1 is lost"));
}

TEST_F(RemotePartsTest, AStopReachesTheCommandsOfAllHosts) {
  commandWaits(ranksHere("2 5 0:stay"));
  job.wrote = [this](bool, std::string_view bytes) {
    output += bytes;
    if (output.find("steps of rank 0") != std::string::npos) {
      output.clear();
      kill(getpid(), SIGTERM);
    }
  };
  std::atomic<int> signal = 0;
  const PlayedRelay played(
      folder / "control",
      [this](relay::RelayClient& client) {
        client.send(relay::RankStarted{-1, 4710});
        go();
      },
      helloWithACommand(), [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [&](relay::RelayClient& client, const relay::ToRelay& message) {
        if (const auto* sent = std::get_if<relay::SendSignal>(&message)) {
          signal = sent->signal;
          EXPECT_EQ(sent->rank, -1);
          client.send(relay::CommandEnded{0, SIGINT});
        }
      });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(signal, SIGINT);
  EXPECT_EQ(outcome.value().state, RunState::kStopped);
}

TEST_F(RemotePartsTest, ASignalToARelayStopsTheJob) {
  job.command = fakeJob({"2", "5", "0:stay", "1:elsewhere"});
  const PlayedRelay played(
      folder / "control",
      [this](relay::RelayClient& client) {
        client.send(relay::RankStarted{-1, 4710});
        waitUntil([this] {
          return std::filesystem::exists(options.runFile) && !summary().ranks.empty();
        });
        client.send(relay::StopAsked{"SIGTERM"});
        client.send(relay::CommandEnded{0, SIGINT});
      },
      helloWithACommand());
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_TRUE(outcome.value().stopped);
  EXPECT_THAT(logOf(job.runFile, -1), Contains("stop: asked for by SIGTERM on host b (127.0.0.1)"));
}

TEST_F(RemotePartsTest, ACommandElsewhereThatGoesOnIsRecordedNoFurther) {
  job.othersGrace = std::chrono::milliseconds(50);
  commandWaits(ranksHere("2 5"));
  const auto played = relay({1, 2, 4711}, [this](auto&, const auto&) { go(); });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_THAT(problems(),
              Contains("the command of this host has ended, and that of host b (127.0.0.1) with "
                       "rank 1 goes on: it is recorded no further"));
}

TEST_F(RemotePartsTest, ARelayWithoutACommandIsRefusedAndTheJobGoesOn) {
  commandWaits(ranksHere("2 5"));
  const PlayedRelay played(
      folder / "control", [](relay::RelayClient&) {}, helloOfRank0(),
      [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [this](relay::RelayClient&, const relay::ToRelay& message) {
        if (const auto* refusal = std::get_if<relay::Refusal>(&message)) {
          EXPECT_THAT(refusal->why, StartsWith("it was started without a command"));
          go();
          throw Left();
        }
      });
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_THAT(logOf(job.runFile, -1), Contains(StartsWith("host b (127.0.0.1), process 0 was "
                                                          "refused: it was started without")));
}

TEST_F(RemotePartsTest, ARelayOfAnotherVersionIsRefused) {
  commandWaits("true");
  relay::Hello hello = helloWithACommand();
  hello.version = 1;
  hello.program = "0.0.1";
  const PlayedRelay played(
      folder / "control", [](relay::RelayClient&) {}, hello,
      [](auto& client, const auto& ping) { answer(client, ping, 0); },
      [this](relay::RelayClient&, const relay::ToRelay& message) {
        if (const auto* refusal = std::get_if<relay::Refusal>(&message)) {
          EXPECT_THAT(refusal->why, AllOf(StartsWith("it has Lockstep 0.0.1 (relay version 1), the "
                                                     "run "),
                                          EndsWith("; install the same")));
          go();
          throw Left();
        }
      });
  ASSERT_TRUE(record().ok());
}

TEST_F(RemotePartsTest, ARelayThatCannotStartItsCommandIsToldOf) {
  commandWaits(ranksHere("2 5"));
  const PlayedRelay played(
      folder / "control",
      [this](relay::RelayClient& client) {
        client.send(relay::RelayFailed{3, "the command: cannot start no-such-program"});
        go();
      },
      helloWithACommand());
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().failure, "the command on host b ended with exit code 3");
  EXPECT_THAT(logOf(job.runFile, -1), Contains("b: the command: cannot start no-such-program"));
}

}  // namespace
}  // namespace lockstep::launch
