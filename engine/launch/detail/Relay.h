#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/launch/EventLoop.h"
#include "engine/launch/Join.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/detail/LocalRanks.h"
#include "engine/relay/RelayClient.h"
#include "engine/relay/SegmentFeed.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Supervises some ranks for a head elsewhere (Note [The relay's protocol]). One thread, the
/// main one.
class Relay final : private RankWatcher {
 public:
  /// All arguments but the program's path outlive this.
  Relay(const JoinOptions& options, std::filesystem::path program, relay::Endpoint recorder,
        SignalQueue& signals, EventLoop& loop, relay::RelayClient& client);
  ~Relay() override;

  base::Result<base::ExitCode> run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Rank {
    std::unique_ptr<relay::SegmentFeed> feed;
    std::int64_t pid = 0;
    bool living = false;
    bool suspended = false;
    std::uint64_t outputDropped = 0;  ///< bytes that did not fit, since it was told
  };

  void rankStarted(int rank, std::int64_t pid, int host) override;
  void rankWrote(int rank, bool isError, std::string_view bytes) override;
  void rankEnded(int rank, const ProcessEnd& end) override;
  void rankLost(int /*rank*/, const std::string& /*why*/) override {}
  void allStarted() override {}
  void runFailed(const base::Error& error) override;
  void stopAsked(const std::string& /*who*/) override {}

  void pump();
  void received(relay::ToRelay message);
  void take(const relay::Welcome& welcome);
  void take(const relay::Refusal& refusal);
  void take(const relay::Start& start);
  void take(const relay::Ping& ping);
  void take(const relay::SendSignal& signal);
  void take(const relay::SetCapture& capture);
  void take(const relay::Farewell& farewell);

  base::Status prepare(const relay::Welcome& welcome);
  [[nodiscard]] RankPlace placeOf(const relay::Welcome& welcome, int threads) const;
  void sayHello();
  void onSignal();
  void tick();
  void tellDropped(int rank);
  void queue(relay::FromRelay message, std::size_t bytes = 0);
  void sendQueued();
  relay::Batch nextBatch();
  bool sendBatch();
  void loseHead(const std::string& why);
  void endRanks();
  [[nodiscard]] bool anyLiving() const;

  const JoinOptions& options_;
  const std::filesystem::path program_;
  const relay::Endpoint recorder_;
  SignalQueue& signals_;
  EventLoop& loop_;
  relay::RelayClient& client_;

  std::optional<relay::Welcome> welcome_;
  std::string elsewhere_;
  std::vector<trace::Segment> segments_;
  std::map<int, Rank> ranks_;
  std::unique_ptr<LocalRanks> local_;
  std::deque<relay::FromRelay> outgoing_;
  std::size_t outgoingBytes_ = 0;  // of output
  std::uint64_t batches_ = 0;
  bool signalled_ = false;
  bool done_ = false;
  std::optional<base::Error> failure_;
  base::ExitCode exitCode_ = base::ExitCode::kOk;
  base::ClockReading firstReading_ = base::readClock();
  Clock::time_point lastTick_ = Clock::now();
  Clock::time_point nextSample_ = lastTick_;
  Clock::time_point killAt_ = Clock::time_point::max();
  Clock::time_point giveUpAt_ = Clock::time_point::max();
  Clock::duration silence_{0};
};

}  // namespace lockstep::launch::detail
