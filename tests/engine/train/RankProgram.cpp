#include "tests/engine/train/RankProgram.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/engine/train/Files.h"

namespace lockstep::train {

using support::ChildProcess;

namespace {

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

}  // namespace

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

RankProgram::RankProgram() {
  writeFile(folder_ / "small.toml", kSmall);
}

ChildProcess RankProgram::start(int rank, int world, std::uint16_t port,
                                std::vector<std::string> arguments, Variables more) {
  Variables variables{{"RANK", std::to_string(rank)},
                      {"LOCAL_RANK", std::to_string(rank)},
                      {"WORLD_SIZE", std::to_string(world)},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", std::to_string(port)}};
  variables.insert(variables.end(), more.begin(), more.end());
  arguments.insert(arguments.begin(), folder_ / "small.toml");
  return ChildProcess({rankProgram(), arguments, variables});
}

std::vector<std::string> RankProgram::runRanks(int world,
                                               const std::vector<std::string>& settings) {
  std::vector<std::string> arguments;
  for (const auto& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  const auto port = freePort();
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.push_back(start(rank, world, port, arguments));
  }
  std::vector<std::string> errors;
  for (auto& rank : ranks) {
    EXPECT_EQ(exitCode(rank), 0) << rank.errors();
    errors.push_back(rank.errors());
  }
  return errors;
}

int RankProgram::exitCode(ChildProcess& child) {
  const auto status = child.wait();
  return status.signalled ? -status.signal : status.code;
}

bool RankProgram::awaitText(ChildProcess& child, const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + ChildProcess::kPatience;
  while (child.errors().find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "did not write \"" << text << "\" but: " << child.errors();
      return false;
    }
    usleep(10'000);
  }
  return true;
}

std::string RankProgram::after(const std::string& text, const std::string& before) {
  const auto at = text.find(before);
  if (at == std::string::npos) {
    return "(nothing after " + before + ")";
  }
  const auto begin = at + before.size();
  return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
}

int RankProgram::lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace lockstep::train
