// What a relay with a command of its own says to its head, which the test plays.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/launch/Join.h"
#include "engine/relay/RelayServer.h"
#include "tests/engine/launch/JobFixture.h"
#include "tests/engine/launch/PlayedRelay.h"

namespace lockstep::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// The head of a job: it starts the command of a relay, and lets its processes in.
class PlayedHead {
 public:
  using OnMessage = std::function<void(PlayedHead&, const relay::FromRelay&)>;

  explicit PlayedHead(OnMessage onMessage)
      : keys_(relay::makeRunKeys()),
        server_(std::move(relay::RelayServer::listen("127.0.0.1", 0, keys_)).value()),
        onMessage_(std::move(onMessage)),
        thread_([this] { lead(); }) {}
  ~PlayedHead() { thread_.join(); }

  [[nodiscard]] relay::Ticket ticket() const {
    return {fmt::format("tcp://127.0.0.1:{}", server_->port()), keys_.token, "this test"};
  }
  void send(const relay::ToRelay& message) { server_->send(peer_, message); }
  /// What it says to a relay that has come, and to a process that wants to be recorded.
  bool starts = true;
  bool answers = true;
  /// Is gone, and says nothing.
  void leave() { left_ = true; }

  std::vector<std::string>
      told;  ///< what kind of messages came, in their order, each once in a row
  std::string output;
  std::uint32_t lastStep = 0;

 private:
  void lead() {
    blockSignals();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool gone = false;
    while (!gone && !left_ && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      server_->pump({[&](const std::string& peer, const std::string& /*address*/,
                         const relay::FromRelay& message) {
                       peer_ = peer;
                       take(message);
                     },
                     [&](const std::string& /*peer*/) { gone = true; }});
    }
    if (left_) {
      server_.reset();
    }
  }

  void take(const relay::FromRelay& message) {
    if (const auto* hello = std::get_if<relay::Hello>(&message)) {
      EXPECT_TRUE(hello->environment.contains(relay::kObserves));
      relay::Welcome welcome;
      welcome.runId = "0123";
      welcome.headName = "a";
      welcome.lostAfterSeconds = 60;
      send(welcome);
      if (starts) {
        send(relay::Start{});
      }
    } else if (const auto* attach = std::get_if<relay::Attach>(&message)) {
      tell("attach");
      if (answers) {
        send(relay::Attached{attach->rank, 7, refusal});
      }
    } else if (const auto* batch = std::get_if<relay::Batch>(&message)) {
      for (const auto& part : batch->ranks) {
        for (const auto& lane : part.lanes) {
          for (const auto& event : lane.events) {
            tell("events");
            lastStep = event.step;
          }
        }
      }
    } else if (const auto* said = std::get_if<relay::RankOutput>(&message)) {
      EXPECT_EQ(said->rank, -1);
      output += said->bytes;
    } else if (std::holds_alternative<relay::RankEnded>(message)) {
      tell("rank ended");
    } else if (const auto* ended = std::get_if<relay::CommandEnded>(&message)) {
      tell(fmt::format("command ended {} {}", ended->exitCode, ended->signal));
      send(relay::Farewell{});
    } else if (const auto* failed = std::get_if<relay::RelayFailed>(&message)) {
      tell("failed: " + failed->failure);
    }
    if (onMessage_) {
      onMessage_(*this, message);
    }
  }

  void tell(const std::string& what) {
    if (told.empty() || told.back() != what) {
      told.push_back(what);
    }
  }

 public:
  std::string refusal;  ///< of every process

 private:
  const relay::RunKeys keys_;
  std::unique_ptr<relay::RelayServer> server_;
  const OnMessage onMessage_;
  std::string peer_;
  std::atomic<bool> left_ = false;
  std::thread thread_;
};

class JobRelayTest : public JobFixture {
 protected:
  base::Result<JoinedJob> join(const PlayedHead& head) {
    joined.ticket = head.ticket();
    joined.environment = jobEnvironment();
    joined.controlDirectory = folder / "control";
    joined.warn = [this](const std::string& text) {
      warnings.push_back(text);
      if (onWarning) {
        onWarning();
      }
    };
    if (!joined.wrote) {
      joined.wrote = [this](bool isError, std::string_view bytes) {
        (isError ? errors : output) += bytes;
      };
    }
    return joinJob(joined);
  }

  JoinJobOptions joined;
  std::vector<std::string> warnings;
  std::function<void()> onWarning;
};

TEST_F(JobRelayTest, CarriesWhatTheCommandAndItsProcessesDoToTheHead) {
  PlayedHead head(nullptr);
  joined.command = fakeJob({"1", "5"});
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 0) << errors;
  EXPECT_THAT(head.told, ElementsAre("attach", "events", "rank ended", "command ended 0 0"));
  EXPECT_EQ(output, "steps of rank 0: 7..11\n");  // from the step that the head said
  EXPECT_EQ(head.output, output);
  EXPECT_EQ(head.lastStep, 11U);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder / "control"));
}

TEST_F(JobRelayTest, RaisesTheLimitOfOpenFilesForTheProcessesThatAttach) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  {
    PlayedHead head(nullptr);
    joined.command = fakeJob({"1", "5"});
    const auto ended = join(head);
    EXPECT_TRUE(ended.ok() && ended.value().exitCode == 0) << errors;
  }
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 148U) << "128, and 20 for each of its processes";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(JobRelayTest, ARequestForATraceReachesItsProcessesAndTheHeadHearsThatItIsOver) {
  constexpr std::uint32_t kRequest = 3 << 16 | 5;
  std::uint32_t done = 0;
  PlayedHead head([&done](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::Attach>(message)) {
      self.send(relay::RequestTrace{kRequest});  // right behind the answer
    } else if (const auto* batch = std::get_if<relay::Batch>(&message)) {
      for (const auto& part : batch->ranks) {
        done = part.traceDone;
      }
    }
  });
  joined.command = fakeJob({"1", "5", "0:trace"});
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_THAT(output, HasSubstr("rank 0 traces 5 iterations"));
  EXPECT_EQ(done, kRequest);
}

TEST_F(JobRelayTest, AProcessThatTheHeadRefusesIsToldWhyAndGoesOn) {
  PlayedHead head(nullptr);
  head.refusal = "there is one of another world";
  joined.command = fakeJob({"1", "5"});
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 0);
  EXPECT_THAT(output, HasSubstr("rank 0 refused: there is one of another world"));
}

TEST_F(JobRelayTest, EndsAsItsCommandEnds) {
  PlayedHead head(nullptr);
  joined.command = {"sh", "-c", "exit 7"};
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 7);
  EXPECT_THAT(head.told, ElementsAre("command ended 7 0"));
}

TEST_F(JobRelayTest, SetsNothingOfTheEnginesAndHidesTheToken) {
  setenv("LOCKSTEP_RUN_TOKEN", "secret", 1);
  setenv("LOCKSTEP_RECORDER", "tcp://127.0.0.1:1", 1);
  setenv("LOCKSTEP_ATTACH", "another recorder's", 1);
  PlayedHead head(nullptr);
  joined.command = {"env"};
  const auto ended = join(head);
  unsetenv("LOCKSTEP_ATTACH");
  unsetenv("LOCKSTEP_RUN_TOKEN");
  unsetenv("LOCKSTEP_RECORDER");
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_THAT(output,
              AllOf(HasSubstr("LOCKSTEP_ATTACH=" + (folder / "control").string()),
                    Not(HasSubstr("another recorder's")), Not(HasSubstr("LOCKSTEP_RUN_TOKEN")),
                    Not(HasSubstr("LOCKSTEP_RECORDER")), Not(HasSubstr("GLOO_SOCKET")),
                    Not(HasSubstr("MASTER_ADDR")), Not(HasSubstr("OMP_NUM_THREADS"))));
}

TEST_F(JobRelayTest, SaysThatThereIsNoSuchProgramToBoth) {
  PlayedHead head(nullptr);
  joined.command = {"no-such-program-anywhere"};
  const auto ended = join(head);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(ended.error().message(), HasSubstr("cannot start no-such-program-anywhere"));
}

TEST_F(JobRelayTest, TheCommandGoesOnWhereTheHeadIsLost) {
  // Once the command runs the head is gone, of which the command knows nothing.
  joined.command = {"sh", "-c",
                    fmt::format("while [ ! -e {} ]; do sleep 0.01; done; echo went on; exit 5",
                                (folder / "go").string())};
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (const auto* started = std::get_if<relay::RankStarted>(&message)) {
      EXPECT_EQ(started->rank, -1);
      self.leave();
    }
  });
  onWarning = [this] { std::ofstream(folder / "go") << ""; };
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 5);
  EXPECT_EQ(output, "went on\n");
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(StartsWith("the head of the run, host a (127.0.0.1), is lost: "),
                                HasSubstr("the command here goes on, and is not recorded any "
                                          "more"))));
}

TEST_F(JobRelayTest, AProcessThatComesOnceTheHeadIsLostIsToldSo) {
  const auto words = fakeJob({"1", "5"});
  joined.command = {"sh", "-c",
                    fmt::format("while [ ! -e {} ]; do sleep 0.01; done; exec {} '{}' 1 5",
                                (folder / "go").string(), words[0], words[1])};
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::RankStarted>(message)) {
      self.leave();
    }
  });
  onWarning = [this] { std::ofstream(folder / "go") << ""; };
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 0);
  EXPECT_THAT(output, HasSubstr("rank 0 refused: the head of the run is lost"));
}

TEST_F(JobRelayTest, AProcessIsNotKeptByAHeadThatDoesNotAnswer) {
  PlayedHead head(nullptr);
  head.answers = false;
  joined.command = fakeJob({"1", "5"});
  joined.answerPatience = std::chrono::milliseconds(50);
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_THAT(output, HasSubstr("rank 0 refused: the head of the run did not answer"));
}

TEST_F(JobRelayTest, NothingIsStartedWhereTheRunEndsBefore) {
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::Hello>(message)) {
      self.send(relay::Farewell{});
    }
  });
  head.starts = false;
  joined.command = {"touch", (folder / "started").string()};
  const auto ended = join(head);
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message(),
              HasSubstr("the run had ended before the command was started"));
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

TEST_F(JobRelayTest, NothingIsStartedWhereTheHeadGoesBefore) {
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::Hello>(message)) {
      self.leave();
    }
  });
  head.starts = false;
  joined.command = {"touch", (folder / "started").string()};
  const auto ended = join(head);
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message(),
              HasSubstr("the recorder ended the connection before the command was started"));
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

TEST_F(JobRelayTest, ASignalBeforeTheCommandIsStartedEndsTheRelay) {
  PlayedHead head([](PlayedHead&, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::Hello>(message)) {
      kill(getpid(), SIGTERM);
    }
  });
  head.starts = false;
  joined.command = {"touch", (folder / "started").string()};
  const auto ended = join(head);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, base::ExitCode::kInterrupted);
  EXPECT_THAT(ended.error().message(), HasSubstr("SIGTERM before the command was started"));
}

TEST_F(JobRelayTest, TheCommandGoesOnWhereTheRecorderEndsBefore) {
  joined.command = {
      "sh", "-c",
      fmt::format("while [ ! -e {} ]; do sleep 0.01; done; exit 5", (folder / "go").string())};
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::RankStarted>(message)) {
      self.send(relay::Farewell{});
    }
  });
  onWarning = [this] { std::ofstream(folder / "go") << ""; };
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 5);
  EXPECT_THAT(warnings, ElementsAre(StartsWith("the recorder on host a (127.0.0.1) has ended; the "
                                               "command here goes on")));
}

TEST_F(JobRelayTest, TheHeadsSignalReachesTheCommand) {
  joined.command = {"sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done"};
  PlayedHead head([](PlayedHead& self, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::RankOutput>(message)) {
      self.send(relay::SendSignal{-1, SIGINT});
    }
  });
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 9);
}

TEST_F(JobRelayTest, ASignalAsksTheHeadToStopAndASecondKillsWhatIsHere) {
  joined.command = {"sh", "-c", "echo ready; while :; do sleep 0.01; done"};
  int asked = 0;
  PlayedHead head([&asked](PlayedHead&, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::RankOutput>(message)) {
      kill(getpid(), SIGTERM);
    } else if (const auto* stop = std::get_if<relay::StopAsked>(&message)) {
      EXPECT_EQ(stop->who, "SIGTERM");
      ++asked;
      kill(getpid(), SIGTERM);
    }
  });
  const auto ended = join(head);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(ended.value().exitCode, 128 + SIGKILL);
  EXPECT_EQ(asked, 1);
}

TEST_F(JobRelayTest, AWrongTokenStartsNothing) {
  PlayedHead head([](PlayedHead&, const relay::FromRelay&) {});
  joined.command = {"touch", (folder / "started").string()};
  joined.patience = std::chrono::milliseconds(300);
  joined.environment = jobEnvironment();
  joined.ticket = head.ticket();
  joined.ticket.token.clientSecret[0] ^= 0x10;
  const auto ended = joinJob(joined);
  head.leave();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, base::ExitCode::kTimeout);
  EXPECT_THAT(ended.error().message(), HasSubstr("token"));
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

}  // namespace
}  // namespace lockstep::launch
