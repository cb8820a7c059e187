#include "engine/launch/detail/RemoteRanks.h"

#include <signal.h>

#include <utility>
#include <variant>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/LauncherCommand.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kFarewellPatience = std::chrono::seconds(3);
constexpr auto kLauncherPatience = std::chrono::seconds(5);

// Of a rank that never ran. Whoever gives ranks up has said why before, runFailed or a stop, so
// that no verdict looks at this.
posix::ProcessEnd neverStarted() {
  return {static_cast<int>(ExitCode::kInterrupted), 0};
}

}  // namespace

RemoteRanks::RemoteRanks(HeadOptions options, std::unique_ptr<relay::RelayServer> server,
                         posix::EventLoop& loop, std::vector<trace::Segment>& segments,
                         trace::Recorder& recorder)
    : options_(std::move(options)),
      loop_(loop),
      recorder_(recorder),
      ranks_(segments.size()),
      peers_(std::move(server), loop,
             {options_.launch.lostAfterSeconds, "launch.lost_after_seconds"}, *this) {
  peers_.recordInto(recorder);
  for (std::size_t rank = 0; rank < segments.size(); ++rank) {
    // The experiment's setting, which all segments were made with; relays get it as they start.
    capture_ = segments[rank].header().captureEnabled.load() != 0;
    // Whether events come is decided where they arise; those that do come are kept.
    segments[rank].header().captureEnabled.store(1);
    auto replay = relay::SegmentReplay::make(segments[rank]);
    LOCKSTEP_CHECK(replay.ok(), "{}", replay.error().message());
    ranks_[rank].replay = std::move(replay).value();
  }
}

base::Status RemoteRanks::start(RankWatcher& watcher) {
  watcher_ = &watcher;
  joinDeadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options_.launch.joinSeconds));
  LOCKSTEP_TRY(peers_.start());
  if (options_.launch.launcher == "external") {
    for (const std::string& line :
         joinAdvice(options_.launch, options_.worldSize, options_.ticket.recorder,
                    options_.ticketFile, options_.joinProgram)) {
      recorder_.addLog(-1, line);
      if (options_.announce) {
        options_.announce(line);
      }
    }
    return {};
  }
  return startLauncher();
}

void RemoteRanks::said(Relay& relay, const relay::FromRelay& message) {
  std::visit([&](const auto& content) { take(relay, content); }, message);
}

void RemoteRanks::recorded(Relay& relay, const relay::RankPart& part, std::uint64_t nowTicks) {
  Rank& rank = ranks_[static_cast<std::size_t>(part.rank)];
  rank.suspended = part.suspended;
  rank.replay->apply(part, relay.clock, nowTicks);
}

void RemoteRanks::take(const Relay& relay, const relay::RankStarted& started) {
  if (!relay.has(started.rank)) {
    return;
  }
  Life& life = ranks_[static_cast<std::size_t>(started.rank)].life;
  // A stop, or a failure elsewhere, may have come while the message was on its way.
  if (life != Life::kAwaited) {
    return;  // it was given up meanwhile, and its end reported
  }
  life = Life::kStarted;
  if (!relay.sameProcesses) {
    recorder_.skipProcessCounters(started.rank);
  }
  watcher_->rankStarted(started.rank, started.pid, relay.host->number);
}

void RemoteRanks::take(const Relay& relay, const relay::RankOutput& output) {
  if (relay.has(output.rank)) {
    watcher_->rankWrote(output.rank, output.isError, output.bytes);
  }
}

void RemoteRanks::take(const Relay& relay, const relay::RankEnded& ended) {
  if (relay.has(ended.rank)) {
    endRank(ended.rank, {ended.exitCode, ended.signal});
  }
}

void RemoteRanks::take(const Relay& relay, const relay::StopAsked& asked) {
  watcher_->stopAsked(fmt::format("{} on {}", asked.who, RelayPeers::nameOf(relay)));
}

void RemoteRanks::take(const Relay& relay, const relay::RelayFailed& failed) {
  watcher_->runFailed(
      {static_cast<ExitCode>(failed.exitCode), failed.failure, RelayPeers::nameOf(relay)});
  abandonAwaited();
}

void RemoteRanks::endRank(int rank, const posix::ProcessEnd& end) {
  Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  if (ended.life != Life::kEnded) {
    ended.life = Life::kEnded;
    watcher_->rankEnded(rank, end);
  }
}

void RemoteRanks::abandonAwaited() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (ranks_[static_cast<std::size_t>(rank)].life == Life::kAwaited) {
      endRank(rank, neverStarted());
    }
  }
}

void RemoteRanks::lost(Relay& relay, const std::string& text) {
  bool any = false;
  for (const std::int32_t number : relay.ranks) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    if (rank.life != Life::kEnded) {
      rank.life = Life::kEnded;
      any = true;
      watcher_->rankLost(number, text);
    }
  }
  // A rank that will never come lets the others wait for their time limit.
  if (any && !started_) {
    watcher_->runFailed({ExitCode::kCommFailed, text, ""});
    abandonAwaited();
  }
}

void RemoteRanks::send(int rank, int signal) {
  const Rank& target = ranks_[static_cast<std::size_t>(rank)];
  if (!started_) {
    endRank(rank, neverStarted());
  } else if (target.life != Life::kEnded && !target.relay->lost) {
    peers_.send(*target.relay, relay::SendSignal{rank, signal});
    peers_.pump();
  }
}

bool RemoteRanks::isSuspended(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)].suspended;
}

void RemoteRanks::setCapture(bool enabled) {
  capture_ = enabled;
  peers_.sendToAll(relay::SetCapture{enabled});
}

void RemoteRanks::tick() {
  peers_.tick();
  if (!started_ && Clock::now() >= joinDeadline_) {
    const std::string said = launcherErrors_.firstWords();
    watcher_->runFailed(
        {ExitCode::kTimeout,
         fmt::format(
             "no relay has come for {} within {:g} s (launch.join_seconds){}",
             base::ranksText(ranksWithoutRelay()), options_.launch.joinSeconds,
             said.empty() ? "" : fmt::format("; {} said: {}", options_.launch.launcher, said)),
         ""});
    abandonAwaited();
  }
}

void RemoteRanks::finish() {
  peers_.finish();
  const auto launcherIsGone = [this] { return launcher_ == nullptr; };
  peers_.pumpUntil(kLauncherPatience, launcherIsGone);
  // mpirun and srun end by themselves once their relays have; one that does not is helped along.
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (launcher_) {
      launcher_->process().send(signal);
      peers_.pumpUntil(kFarewellPatience, launcherIsGone);
    }
  }
}

}  // namespace lockstep::launch::detail
