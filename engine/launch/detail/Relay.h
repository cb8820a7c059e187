#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/posix/EventLoop.h"
#include "engine/launch/Join.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/detail/HeadLink.h"
#include "engine/launch/detail/LocalRanks.h"
#include "engine/relay/RelayClient.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Supervises some ranks for a head elsewhere (Note [The relay's protocol]). One thread, the
/// main one.
class Relay final : private RankWatcher {
 public:
  /// All arguments but the program's path outlive this.
  Relay(const JoinOptions& options, std::filesystem::path program, HeadConnection& connection);
  ~Relay() override;

  base::Result<base::ExitCode> run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Rank {
    std::int64_t pid = 0;
    bool living = false;
  };

  void rankStarted(int rank, std::int64_t pid, int host) override;
  void rankWrote(int rank, bool isError, std::string_view bytes) override;
  void rankEnded(int rank, const posix::ProcessEnd& end) override;
  void rankLost(int /*rank*/, const std::string& /*why*/) override {}
  void allStarted() override {}
  void runFailed(const base::Error& error) override;
  void stopAsked(const std::string& /*who*/) override {}

  void take(const auto& /*not for it*/) {}
  void take(const relay::Welcome& welcome);
  void take(const relay::Refusal& refusal);
  void take(const relay::Start& start);
  void take(const relay::SendSignal& signal);
  void take(const relay::SetCapture& capture);
  void take(const relay::Farewell& farewell);

  base::Status prepare(const relay::Welcome& welcome);
  [[nodiscard]] RankPlace placeOf(const relay::Welcome& welcome, int threads) const;
  [[nodiscard]] relay::Hello hello() const;
  void onSignal();
  void tick();
  void loseHead(const std::string& why);
  void endRanks();
  [[nodiscard]] bool anyLiving() const;

  const JoinOptions& options_;
  const std::filesystem::path program_;
  const relay::Endpoint& recorder_;
  SignalQueue& signals_;
  posix::EventLoop& loop_;

  std::string elsewhere_;
  std::vector<trace::Segment> segments_;
  HeadLink link_;  // ends before the segments
  std::map<int, Rank> ranks_;
  std::unique_ptr<LocalRanks> local_;
  bool signalled_ = false;
  bool done_ = false;
  std::optional<base::Error> failure_;
  base::ExitCode exitCode_ = base::ExitCode::kOk;
  Clock::time_point nextSample_ = Clock::now();
  Clock::time_point killAt_ = Clock::time_point::max();
  Clock::time_point giveUpAt_ = Clock::time_point::max();
};

}  // namespace lockstep::launch::detail
