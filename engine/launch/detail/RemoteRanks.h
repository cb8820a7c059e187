#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/posix/EventLoop.h"
#include "engine/experiment/Experiment.h"
#include "engine/launch/OutputText.h"
#include "engine/launch/detail/Ranks.h"
#include "engine/launch/detail/RecorderAddress.h"
#include "engine/launch/detail/RelayPeers.h"
#include "engine/launch/detail/WatchedChild.h"
#include "engine/relay/SegmentReplay.h"
#include "engine/relay/Token.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// What the head of a run on other hosts has ready before it waits for its relays.
struct HeadOptions {
  experiment::LaunchConfig launch;
  std::string experimentToml;
  int worldSize = 1;
  std::string runId;
  std::uint16_t storePort = 0;
  std::string storeToken;
  relay::Ticket ticket;  ///< that the relays need
  std::filesystem::path ticketFile;
  std::filesystem::path joinProgram;                 ///< `lockstep`, as the launcher is to start it
  std::function<void(const std::string&)> announce;  ///< lines for whoever starts the relays
};

/// Ranks that relays supervise, started by mpirun, srun, torchrun or by hand. Writes what the
/// relays send into this host's segments, from where the recorder takes it.
class RemoteRanks final : public Ranks, private RelayPeers::Watcher {
 public:
  /// The loop, the segments and the recorder outlive this.
  RemoteRanks(HeadOptions options, std::unique_ptr<relay::RelayServer> server,
              posix::EventLoop& loop, std::vector<trace::Segment>& segments,
              trace::Recorder& recorder);

  base::Status start(RankWatcher& watcher) override;
  void send(int rank, int signal) override;
  [[nodiscard]] bool isSuspended(int rank) const override;
  void setCapture(bool enabled) override;
  void tick() override;
  void finish() override;

 private:
  using Clock = RelayPeers::Clock;
  using Relay = RelayPeers::Relay;

  enum class Life { kAwaited, kStarted, kEnded };

  struct Rank {
    Life life = Life::kAwaited;
    Relay* relay = nullptr;  ///< none has come for it yet
    bool suspended = false;
    std::unique_ptr<relay::SegmentReplay> replay;
  };

  base::Result<relay::Welcome> welcome(const relay::Hello& hello) override;
  void came(Relay& relay) override;
  void refused(const std::string& who, const std::string& why) override;
  void ready(Relay& relay) override;
  void said(Relay& relay, const relay::FromRelay& message) override;
  void recorded(Relay& relay, const relay::RankPart& part, std::uint64_t nowTicks) override;
  void lost(Relay& relay, const std::string& text) override;

  void take(const Relay& /*relay*/, const auto& /*not for it*/) {}
  void take(const Relay& relay, const relay::RankStarted& started);
  void take(const Relay& relay, const relay::RankOutput& output);
  void take(const Relay& relay, const relay::RankEnded& ended);
  void take(const Relay& relay, const relay::StopAsked& asked);
  void take(const Relay& relay, const relay::RelayFailed& failed);

  [[nodiscard]] base::Result<std::vector<std::int32_t>> ranksOf(const relay::Hello& hello) const;
  void abandonAwaited();
  void endRank(int rank, const posix::ProcessEnd& end);
  [[nodiscard]] std::vector<int> ranksWithoutRelay() const;

  base::Status startLauncher();
  void launcherHasEnded(const posix::ProcessEnd& end);

  const HeadOptions options_;
  posix::EventLoop& loop_;
  trace::Recorder& recorder_;
  RankWatcher* watcher_ = nullptr;
  std::vector<Rank> ranks_;
  RelayPeers peers_;
  std::unique_ptr<WatchedChild> launcher_;
  OutputTail launcherErrors_;
  bool capture_ = true;
  bool started_ = false;
  Clock::time_point joinDeadline_{};
};

}  // namespace lockstep::launch::detail
