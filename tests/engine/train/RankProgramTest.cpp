// The program lockstep-rank as torchrun, mpirun or a supervisor would start it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/base/ExitCodes.h"
#include "engine/store/TCPStore.h"
#include "engine/train/Safetensors.h"
#include "tests/engine/train/Files.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using base::ExitCode;
using support::ChildProcess;
using support::TemporaryFolder;
using testing::HasSubstr;
using testing::StartsWith;
using Variables = std::vector<std::pair<std::string, std::string>>;

std::string rankProgram() {
  const char* folder = std::getenv("LOCKSTEP_BIN");
  return (folder != nullptr ? std::filesystem::path(folder)
                            : std::filesystem::read_symlink("/proc/self/exe").parent_path()) /
         "lockstep-rank";
}

std::uint16_t freePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

constexpr const char* kSmall = R"(
name = "small"
[model]
kind = "mlp"
layers = [20, 16, 4]
[data]
kind = "synthetic"
samples = 200
batch_size = 8
[processes]
world_size = 2
timeout_seconds = 20
[train]
steps = 30
)";

class RankProgram : public testing::Test {
 protected:
  RankProgram() { writeFile(folder_ / "small.toml", kSmall); }

  ChildProcess start(int rank, int world, std::uint16_t port,
                     std::vector<std::string> arguments = {}, Variables more = {}) {
    Variables variables{{"RANK", std::to_string(rank)},
                        {"LOCAL_RANK", std::to_string(rank)},
                        {"WORLD_SIZE", std::to_string(world)},
                        {"MASTER_ADDR", "127.0.0.1"},
                        {"MASTER_PORT", std::to_string(port)}};
    variables.insert(variables.end(), more.begin(), more.end());
    arguments.insert(arguments.begin(), folder_ / "small.toml");
    return ChildProcess({rankProgram(), arguments, variables});
  }

  static int exitCode(ChildProcess& child) {
    const auto status = child.wait();
    return status.signalled ? -status.signal : status.code;
  }

  /// Returns the text between `before` and the next blank, comma or end of line.
  static std::string after(const std::string& text, const std::string& before) {
    const auto at = text.find(before);
    if (at == std::string::npos) return "(nothing after " + before + ")";
    const auto begin = at + before.size();
    return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
  }

  static int lines(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  TemporaryFolder folder_;
};

TEST_F(RankProgram, TrainsTwoRanksUnderTorchrunsVariablesAndEndsWithEqualReplicas) {
  const auto port = freePort();
  const std::string checkpoint = folder_ / "out.safetensors";
  auto one = start(1, 2, port, {"--set", "train.checkpoint=" + checkpoint});
  auto zero = start(0, 2, port, {"--set", "train.checkpoint=" + checkpoint});
  EXPECT_EQ(exitCode(zero), 0) << zero.errors();
  EXPECT_EQ(exitCode(one), 0) << one.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("[rank 0] [info] done: 30 steps"));
  EXPECT_THAT(zero.errors(), HasSubstr("test accuracy"));
  EXPECT_EQ(after(zero.errors(), "parameter hash ").size(), 16u);
  EXPECT_EQ(after(zero.errors(), "parameter hash "), after(one.errors(), "parameter hash "));
  const auto saved = readSafetensors(checkpoint);
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  EXPECT_EQ(saved.value().metadata.at("step"), "30");
}

TEST_F(RankProgram, StandsBesideTorchrunsAgentStore) {
  // The agent's port is taken; the ranks meet on the next one.
  const auto port = freePort();
  const Variables agent{{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  store::TCPStoreOptions options;
  options.port = port;
  options.isServer = true;
  const store::TCPStore taken("127.0.0.1", options);
  auto one = start(1, 2, port, {}, agent);
  auto zero = start(0, 2, port, {}, agent);
  EXPECT_EQ(exitCode(zero), 0) << zero.errors();
  EXPECT_EQ(exitCode(one), 0) << one.errors();
}

TEST_F(RankProgram, StopsBothRanksAfterTheSameStepWhenOneIsAskedTo) {
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  while (zero.errors().find("training") == std::string::npos) {
    ASSERT_EQ(kill(zero.pid(), 0), 0) << zero.errors();
    usleep(10'000);
  }
  one.kill(SIGTERM);
  EXPECT_EQ(exitCode(one), static_cast<int>(ExitCode::kInterrupted)) << one.errors();
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kInterrupted)) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("stopped: "));
  EXPECT_EQ(after(zero.errors(), "stopped: "), after(one.errors(), "stopped: "));
  EXPECT_EQ(after(zero.errors(), "parameter hash "), after(one.errors(), "parameter hash "));
}

TEST_F(RankProgram, EndsWithOneLineAndTheCodeOfACommErrorWhenAPeerIsKilled) {
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  while (zero.errors().find("training") == std::string::npos) {
    ASSERT_EQ(kill(zero.pid(), 0), 0) << zero.errors();
    usleep(10'000);
  }
  const auto before = lines(zero.errors());
  one.kill(SIGKILL);
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kCommFailed));
  EXPECT_EQ(lines(zero.errors()), before + 1) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("\nrank 0: "));
}

TEST_F(RankProgram, RefusesASecondProcessWithTheSameRank) {
  store::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const store::TCPStore store("127.0.0.1", options);
  const Variables supervised{{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"LOCKSTEP_SUPERVISOR_PID", std::to_string(getpid())}};
  auto first = start(1, 2, store.port(), {}, supervised);
  auto second = start(1, 2, store.port(), {}, supervised);
  // Whoever is second is told; the other waits for rank 0.
  while (first.errors().empty() && second.errors().empty()) {
    usleep(10'000);
  }
  ChildProcess& refused = first.errors().empty() ? second : first;
  EXPECT_EQ(exitCode(refused), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(refused.errors(), StartsWith("rank 1: environment RANK: is 1 here (process "));
  EXPECT_THAT(refused.errors(), HasSubstr("; start each rank once"));
  EXPECT_EQ(lines(refused.errors()), 1);
}

TEST_F(RankProgram, NamesTheRankThatDoesNotComeWithinTheTimeLimit) {
  auto zero = start(0, 2, freePort(), {"--set", "processes.timeout_seconds=1"});
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kCommFailed));
  EXPECT_EQ(lines(zero.errors()), 1) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("waiting for rank 1"));
}

TEST_F(RankProgram, EndsWhenItsSupervisorIsGone) {
  auto rank = start(0, 1, freePort(), {}, {{"LOCKSTEP_SUPERVISOR_PID", "1"}});
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kEnvironment));
  EXPECT_EQ(rank.errors(), "rank 0: the supervisor, process 1, is gone\n");
}

TEST_F(RankProgram, TellsBadEnvironmentInOneLineEach) {
  ChildProcess bare({"/usr/bin/env", {"-u", "RANK", rankProgram(), "x.toml"}, {}});
  EXPECT_EQ(exitCode(bare), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(bare.errors(), StartsWith("lockstep-rank: environment RANK: is not set"));
  EXPECT_EQ(lines(bare.errors()), 1);
  auto outside = start(2, 2, 29500);
  EXPECT_EQ(exitCode(outside), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(outside.errors(), HasSubstr("RANK: is 2, but WORLD_SIZE is 2"));
}

TEST_F(RankProgram, TellsBadDataInOneLineThatNamesTheFile) {
  writeStripedDigits(folder_.path(), 50, 10);
  const std::string pictures = readFile(folder_ / "train-images-idx3-ubyte.gz");
  writeFile(folder_ / "train-images-idx3-ubyte.gz", pictures.substr(0, pictures.size() / 2));
  auto rank = start(0, 1, freePort(),
                    {"--set", "data.kind=mnist", "--set", "data.folder=" + folder_.path().string(),
                     "--set", "model.layers=[784,10]", "--set", "processes.world_size=1"});
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(rank.errors(), StartsWith("rank 0: " + (folder_ / "train-images").string()));
  EXPECT_THAT(rank.errors(), HasSubstr("39200 bytes expected"));
  EXPECT_EQ(lines(rank.errors()), 1) << rank.errors();
}

TEST_F(RankProgram, TellsEveryMistakeInTheExperimentFile) {
  writeFile(folder_ / "small.toml", "[model]\nkind = \"mpl\"\n[train]\nsteps = -3\n");
  auto rank = start(0, 1, freePort());
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(rank.errors(), HasSubstr("small.toml:2:"));
  EXPECT_THAT(rank.errors(), HasSubstr("small.toml:4:"));
}

TEST_F(RankProgram, DescribesAModelWithoutOtherRanks) {
  ChildProcess describing({rankProgram(), {"--describe-model", folder_ / "small.toml"}, {}});
  EXPECT_EQ(exitCode(describing), 0) << describing.errors();
  const auto json = nlohmann::json::parse(describing.output());
  EXPECT_EQ(json["parameters"][0]["name"], "layers.0.weight");
  EXPECT_EQ(json["parameters"][0]["shape"], nlohmann::json({16, 20}));
  EXPECT_EQ(json["bytes"], 4 * (20 * 16 + 16 + 16 * 4 + 4));
}

TEST_F(RankProgram, ResumesAcrossProcessesToTheSameReplicas) {
  const std::string half = folder_ / "half.safetensors";
  const auto run = [&](std::vector<std::string> settings) {
    std::vector<std::string> arguments;
    for (auto& setting : settings) {
      arguments.push_back("--set");
      arguments.push_back(std::move(setting));
    }
    const auto port = freePort();
    auto one = start(1, 2, port, arguments);
    auto zero = start(0, 2, port, arguments);
    EXPECT_EQ(exitCode(zero), 0) << zero.errors();
    EXPECT_EQ(exitCode(one), 0) << one.errors();
    return after(zero.errors(), "parameter hash ");
  };
  const auto whole = run({"train.steps=10"});
  const auto first = run({"train.steps=5", "train.checkpoint=" + half});
  const auto rest = run({"train.steps=10", "train.resume_from=" + half});
  EXPECT_EQ(rest, whole);
  EXPECT_NE(first, whole);
}

}  // namespace
}  // namespace lockstep::train
