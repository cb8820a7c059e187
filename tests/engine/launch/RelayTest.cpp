// What a relay says to its head, which the test plays.

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "engine/launch/Join.h"
#include "engine/relay/RelayServer.h"
#include "tests/engine/launch/LaunchFixture.h"

namespace lockstep::launch {
namespace {

constexpr std::uint64_t kWritten = 160'000'000;  // more than the queues on the way hold

constexpr const char* kExperiment = R"(name = "writes much"
[model]
kind = "mlp"
layers = [784, 10]
[data]
kind = "synthetic"
samples = 64
[train]
steps = 1
)";

/// The head of a run of one rank. It listens to nobody while the rank runs, and then to the end.
class Head {
 public:
  explicit Head(const relay::RunKeys& keys)
      : server_(std::move(relay::RelayServer::listen("127.0.0.1", 0, keys)).value()) {}

  [[nodiscard]] std::string address() const {
    return fmt::format("tcp://127.0.0.1:{}", server_->port());
  }

  void lead() {
    pumpUntil([this] { return pid_ != 0; });
    waitUntil([this] { return kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH; });
    pumpUntil([this] { return ended_; });
    server_->send(peer_, relay::Farewell{});
    pumpUntil([this] { return gone_; });
  }

  std::uint64_t bytes = 0;         ///< of output that came before the rank's end
  std::uint64_t bytesDropped = 0;  ///< that were told before it, too

 private:
  void waitUntil(const std::function<bool()>& done) const {
    while (!done() && !gone_ && std::chrono::steady_clock::now() < deadline_) {
      std::this_thread::yield();
    }
  }

  void pumpUntil(const std::function<bool()>& done) {
    const relay::RelayServer::Listener listener{
        [this](const std::string& peer, const std::string& /*address*/,
               const relay::FromRelay& message) { take(peer, message); },
        [this](const std::string& /*peer*/) { gone_ = true; }};
    waitUntil([&] {
      server_->pump(listener);
      return done();
    });
  }

  void take(const std::string& peer, const relay::FromRelay& message) {
    if (std::holds_alternative<relay::Hello>(message)) {
      peer_ = peer;
      relay::Welcome welcome;
      welcome.experimentToml = kExperiment;
      welcome.worldSize = 1;
      welcome.ranks = {0};
      welcome.lostAfterSeconds = 60;
      server_->send(peer, welcome);
      server_->send(peer, relay::Start{});
    } else if (const auto* started = std::get_if<relay::RankStarted>(&message)) {
      pid_ = started->pid;
    } else if (const auto* output = std::get_if<relay::RankOutput>(&message); output && !ended_) {
      const bool isTold = output->isError && output->bytes.starts_with('[');
      bytes += isTold ? 0 : output->bytes.size();
      bytesDropped += isTold ? std::stoull(output->bytes.substr(1)) : 0;
    } else if (std::holds_alternative<relay::RankEnded>(message)) {
      ended_ = true;
    }
  }

  const std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::unique_ptr<relay::RelayServer> server_;
  std::string peer_;
  std::int64_t pid_ = 0;
  bool ended_ = false;
  bool gone_ = false;
};

class RelayTest : public LaunchFixture {};

TEST_F(RelayTest, OutputThatIsLeftOutIsToldBeforeItsRanksEnd) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "each eight bytes that ZeroMQ hands over are a report that is suppressed: minutes";
#endif
  const relay::RunKeys keys = relay::makeRunKeys();
  Head head(keys);
  JoinOptions join;
  join.ticket = {head.address(), keys.token, "this test"};
  join.place.ranks = {0};
  join.rankProgram = folder / "rank";
  std::ofstream(join.rankProgram) << fmt::format("#!/bin/sh\nexec head -c {} /dev/zero\n",
                                                 kWritten);
  std::filesystem::permissions(join.rankProgram, std::filesystem::perms::owner_all);
  std::thread leading([&head] { head.lead(); });
  const auto joined = joinRun(join);
  leading.join();
  ASSERT_TRUE(joined.ok()) << joined.error().message();
  EXPECT_GT(head.bytesDropped, 0U);
  EXPECT_EQ(head.bytes + head.bytesDropped, kWritten);
}

}  // namespace
}  // namespace lockstep::launch
