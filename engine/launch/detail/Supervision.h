#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/OutputText.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/Supervisor.h"
#include "engine/launch/Verdict.h"
#include "engine/launch/detail/Ranks.h"
#include "engine/store/Store.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// What a run needs before its first rank starts. The recorder reads the segments and so ends
/// before them; signals are blocked before the recorder's thread starts.
struct Resources {
  std::unique_ptr<SignalQueue> signals;
  std::vector<trace::Segment> segments;
  std::unique_ptr<trace::Recorder> recorder;
  std::unique_ptr<store::Store> store;  ///< the ranks meet in it
  std::uint16_t masterPort = 0;
  std::string storeToken;  ///< that the ranks open with
  std::string runId;
  std::unique_ptr<Ranks> ranks;
};

/// Watches the ranks of one run until the last has ended. One thread, the main one.
class Supervision final : private RankWatcher {
 public:
  using Progress = std::function<void(const LaunchProgress&)>;

  Supervision(const LaunchOptions& options, Resources& resources, posix::EventLoop& loop,
              Progress progress);

  /// Answers one command of the control socket.
  std::string answer(const ControlCommand& command);

  /// Starts the ranks and returns once all have ended and their ends are with the recorder.
  LaunchOutcome run();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What is under way beside training.
  enum class Mode { kTraining, kStopping, kFailing };
  /// What was done to the ranks to end them.
  enum class Pressure { kNone, kTerminated, kKilled, kGivenUp };

  struct RankSlot {
    std::int64_t pid = 0;  ///< 0 until it has started
    bool living = true;    ///< or awaited
    LineSplitter outputLines;
    LineSplitter errorLines;
    LineBudget kept;  ///< of both
    OutputTail errorTail;
    bool training = false;
    bool terminated = false;  ///< SIGTERM was sent by us
    bool killed = false;      ///< SIGKILL was sent by us
    bool suspended = false;   ///< was stopped when it was killed
    std::optional<RankEnd> end;
  };

  void rankStarted(int rank, std::int64_t pid, int host) override;
  void rankWrote(int rank, bool isError, std::string_view bytes) override;
  void rankEnded(int rank, const posix::ProcessEnd& end) override;
  void rankLost(int rank, const std::string& why) override;
  void allStarted() override;
  void runFailed(const base::Error& error) override;
  void stopAsked(const std::string& who) override { stop(who); }

  /// A line that `rank` wrote, below 0 the launcher.
  void keepLine(int rank, std::string_view line);
  void tellLeftOut(int rank);
  LineBudget& budgetOf(int rank);
  void recordEnd(int rank, RankEnd end);
  void onSignal();

  void stop(const std::string& who);
  void fail();
  void terminateAll();
  void killAll();
  void escalate();
  void checkStartup();

  void tick();
  [[nodiscard]] int living() const;
  [[nodiscard]] bool onlySuspendedAreLeft() const;
  [[nodiscard]] TimePoint nextDeadline() const;
  [[nodiscard]] Obituary lastWords(int rank) const;
  [[nodiscard]] std::string describeStartup() const;
  std::string set(const experiment::SettingChange& change);
  LaunchOutcome conclude();

  const LaunchOptions& options_;
  Resources& resources_;
  posix::EventLoop& loop_;
  Progress progress_;
  std::vector<RankSlot> ranks_;
  LineSplitter launcherLines_;
  LineBudget launcherKept_;
  Mode mode_ = Mode::kTraining;
  bool interrupted_ = false;  ///< a signal came
  Pressure pressure_ = Pressure::kNone;
  trace::RunState state_ = trace::RunState::kStarting;
  bool capture_;
  std::string ownFailure_;  ///< a failure that no rank caused
  base::ExitCode ownExitCode_ = base::ExitCode::kOk;
  base::ClockReading startReading_ = base::readClock();
  TimePoint start_ = std::chrono::steady_clock::now();
  TimePoint startupDeadline_ = TimePoint::max();  ///< from when on all have started
  TimePoint pressureDeadline_ = TimePoint::max();
  TimePoint nextTick_ = start_;
  int ended_ = 0;
  std::int64_t changes_ = 0;  ///< of settings, so far
};

}  // namespace lockstep::launch::detail
