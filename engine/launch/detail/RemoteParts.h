#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "engine/base/posix/EventLoop.h"
#include "engine/launch/detail/JobParts.h"
#include "engine/launch/detail/RelayPeers.h"
#include "engine/relay/RelayServer.h"
#include "engine/relay/SegmentReplay.h"
#include "engine/trace/Recorder.h"

namespace lockstep::launch::detail {

/// The parts of a job on other hosts, each behind a relay (`lockstep join -- COMMAND`). Writes what
/// their processes record into this host's segments, from where the recorder takes it. Note [The
/// parts of a job].
class RemoteParts final : public OtherParts, private RelayPeers::Watcher {
 public:
  /// The loop and the watcher outlive this.
  RemoteParts(std::unique_ptr<relay::RelayServer> server, posix::EventLoop& loop, std::string runId,
              PartWatcher& watcher);

  base::Status start() { return peers_.start(); }

  void send(int signal) override;
  void setCapture(bool enabled) override;
  void recordInto(trace::Recorder& recorder) override { peers_.recordInto(recorder); }
  void tick() override { peers_.tick(); }
  void requestTrace(std::uint32_t request) override;
  [[nodiscard]] bool isStopped(int rank) const override { return stopped_.contains(rank); }
  [[nodiscard]] int living() const override;
  [[nodiscard]] std::string livingNames() const override;
  void finish() override { peers_.finish(); }

 private:
  using Relay = RelayPeers::Relay;

  base::Result<relay::Welcome> welcome(const relay::Hello& hello) override;
  void came(Relay& /*relay*/) override {}
  /// The relay has its answer by then, and the run's log a line: nothing is left to do.
  void refused(const std::string& /*who*/, const std::string& /*why*/) override {}
  void ready(Relay& relay) override;
  void said(Relay& relay, const relay::FromRelay& message) override;
  void recorded(Relay& relay, const relay::RankPart& part, std::uint64_t nowTicks) override;
  void lost(Relay& relay, const std::string& text) override;

  void take(Relay& /*relay*/, const auto& /*not for it*/) {}
  void take(Relay& relay, const relay::RankStarted& started);
  void take(Relay& relay, const relay::Attach& attach);
  void take(Relay& relay, const relay::RankOutput& output);
  void take(Relay& relay, const relay::RankEnded& ended);
  void take(Relay& relay, const relay::CommandEnded& ended);
  void take(Relay& relay, const relay::RelayFailed& failed);
  void take(Relay& relay, const relay::StopAsked& asked);

  const std::string runId_;
  PartWatcher& watcher_;
  std::map<int, std::unique_ptr<relay::SegmentReplay>> replays_;  // by rank
  std::set<int> stopped_;                                         // ranks, as their relays say
  std::map<PartId, bool> started_;  // those that were told to start their command
  bool capture_ = true;
  RelayPeers peers_;
};

}  // namespace lockstep::launch::detail
