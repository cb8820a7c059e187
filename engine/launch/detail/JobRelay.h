#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/launch/Join.h"
#include "engine/launch/detail/HeadLink.h"
#include "engine/launch/detail/JobParts.h"
#include "engine/launch/detail/LocalPart.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Has this host's part of a job for a head elsewhere (Notes [The parts of a job] and [The relay's
/// protocol]). One thread, the main one.
class JobRelay final : private PartWatcher {
 public:
  /// The arguments outlive this.
  JobRelay(const JoinJobOptions& options, HeadConnection& connection);
  ~JobRelay() override;

  base::Result<JoinedJob> run();

 private:
  using Clock = std::chrono::steady_clock;

  void commandStarted(const PartId& part, const std::string& host, std::int64_t pid) override;
  void commandWrote(const PartId& part, bool isError, std::string_view bytes) override;
  void commandEnded(const PartId& part, const posix::ProcessEnd& end) override;
  base::Result<Admission> attaches(const Attempt& attempt) override;
  void processEnded(int rank) override;
  void partLost(const PartId& /*part*/, const std::string& /*text*/) override {}
  void stopAsked(const std::string& /*who*/) override {}

  void take(const auto& /*not for it*/) {}
  void take(const relay::Refusal& refusal);
  void take(const relay::Start& start);
  void take(const relay::SendSignal& signal);
  void take(const relay::SetCapture& capture);
  void take(const relay::Attached& attached);
  void take(const relay::RequestTrace& asked);
  void take(const relay::Farewell& farewell);

  base::Status startCommand();
  base::Result<std::uint32_t> ask(const Attempt& attempt);
  void headLost(const std::string& why);
  void goOnAlone(const std::string& why);
  void fail(base::Error error);
  void onSignal();
  void tick();
  void sayEnd();
  [[nodiscard]] bool isOver() const;

  const JoinJobOptions& options_;
  SignalQueue& signals_;
  posix::EventLoop& loop_;
  std::map<int, trace::Segment> segments_;  // by rank
  HeadLink link_;                           // ends before the segments
  std::unique_ptr<LocalPart> here_;
  std::map<int, std::int64_t> pids_;  // by rank, of those that have not ended
  std::optional<relay::Attached> answer_;
  std::uint32_t traceAsked_ = 0;   // by what came with the answer
  std::optional<posix::ProcessEnd> end_;  // of the command
  std::optional<base::Error> failure_;
  bool capture_ = true;
  bool alone_ = false;  // the head is gone, and the command goes on
  bool signalled_ = false;
  bool toldEnd_ = false;
  bool dismissed_ = false;
  Clock::time_point nextSample_ = Clock::now();
  Clock::time_point lingerUntil_ = Clock::time_point::max();
  Clock::time_point leaveAt_ = Clock::time_point::max();
};

}  // namespace lockstep::launch::detail
