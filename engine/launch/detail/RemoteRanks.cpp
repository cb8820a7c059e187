#include "engine/launch/detail/RemoteRanks.h"

#include <signal.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/Clock.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/LauncherCommand.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::int64_t kPingEveryNs = 400'000'000;
constexpr int kMostPumps = 64;
/// A tick later than this comes from a pause of this process, which proves nothing of others.
constexpr auto kLongestTick = std::chrono::seconds(1);
constexpr auto kFarewellPatience = std::chrono::seconds(3);
constexpr auto kLauncherPatience = std::chrono::seconds(5);

ProcessEnd neverStarted() {
  return {static_cast<int>(ExitCode::kInterrupted), 0};
}

}  // namespace

RemoteRanks::RemoteRanks(HeadOptions options, std::unique_ptr<relay::RelayServer> server,
                         EventLoop& loop, std::vector<trace::Segment>& segments,
                         trace::Recorder& recorder)
    : options_(std::move(options)),
      server_(std::move(server)),
      loop_(loop),
      recorder_(recorder),
      ranks_(segments.size()) {
  auto own = std::make_unique<Host>();
  own->info.name = trace::hostName();
  hosts_[trace::hostIdentity()] = std::move(own);
  for (std::size_t rank = 0; rank < segments.size(); ++rank) {
    capture_ = segments[rank].header().captureEnabled.load() != 0;
    // Whether events come is decided where they arise; those that do come are kept.
    segments[rank].header().captureEnabled.store(1);
    auto replay = relay::SegmentReplay::make(segments[rank]);
    LOCKSTEP_CHECK(replay.ok(), "{}", replay.error().message());
    ranks_[rank].replay = std::move(replay).value();
  }
}

RemoteRanks::~RemoteRanks() {
  if (server_ != nullptr && watcher_ != nullptr) {
    for (const int fd : server_->fds()) {
      loop_.remove(fd);
    }
  }
}

base::Status RemoteRanks::start(RankWatcher& watcher) {
  watcher_ = &watcher;
  lastTick_ = Clock::now();
  joinDeadline_ = lastTick_ + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options_.launch.joinSeconds));
  for (const int fd : server_->fds()) {
    if (auto added = loop_.add(fd, [this] { pump(); }); !added.ok()) {
      return added;
    }
  }
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

void RemoteRanks::pump() {
  const relay::RelayServer::Listener listener{
      [this](const Peer& peer, const std::string& address, relay::FromRelay message) {
        received(peer, address, std::move(message));
      },
      [this](const Peer& peer) { disconnected(peer); }};
  // What is left is taken at the next tick: somebody without the token, who makes connections as
  // fast as they are refused, must not keep this thread.
  for (int rounds = 0; rounds < kMostPumps && server_->pump(listener); ++rounds) {
  }
}

void RemoteRanks::received(const Peer& peer, const std::string& address, relay::FromRelay message) {
  if (auto* hello = std::get_if<relay::Hello>(&message)) {
    take(peer, address, std::move(*hello));
    return;
  }
  const auto found = relays_.find(peer);
  if (found == relays_.end() || found->second.lost) {
    return;  // it was refused, or given up: what it still says changes nothing
  }
  found->second.silence = Clock::duration(0);
  std::visit(
      [&](const auto& content) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(content)>, relay::Hello>) {
          take(found->second, content);
        }
      },
      message);
}

void RemoteRanks::take(Relay& relay, const relay::Batch& batch) {
  if (batch.number <= relay.lastBatch) {
    recorder_.addProblem(
        {0, "warning", relay.ranks.front(), 0,
         fmt::format("{} sent batch {} again; it was left out", nameOf(relay), batch.number)});
    return;
  }
  if (batch.number > relay.lastBatch + 1) {
    recorder_.addProblem({0, "warning", relay.ranks.front(), 0,
                          fmt::format("{} batches of events of {} are lost",
                                      batch.number - relay.lastBatch - 1, nameOf(relay))});
  }
  relay.lastBatch = batch.number;
  for (const relay::RankPart& part : batch.ranks) {
    if (owns(relay, part.rank)) {
      Rank& rank = ranks_[static_cast<std::size_t>(part.rank)];
      rank.suspended = part.suspended;
      rank.replay->apply(part, relay.clock, batch.nowTicks);
    }
  }
}

void RemoteRanks::take(Relay& relay, const relay::RankStarted& started) {
  if (!owns(relay, started.rank)) {
    return;
  }
  Life& life = ranks_[static_cast<std::size_t>(started.rank)].life;
  if (life != Life::kAwaited) {
    return;  // it was given up meanwhile, and its end is told
  }
  life = Life::kStarted;
  if (!relay.sameProcesses) {
    recorder_.skipProcessCounters(started.rank);
  }
  watcher_->rankStarted(started.rank, started.pid, relay.host->number);
}

void RemoteRanks::take(Relay& relay, const relay::RankOutput& output) {
  if (owns(relay, output.rank)) {
    watcher_->rankWrote(output.rank, output.isError, output.bytes);
  }
}

void RemoteRanks::take(Relay& relay, const relay::RankEnded& ended) {
  if (owns(relay, ended.rank)) {
    endRank(ended.rank, {ended.exitCode, ended.signal});
  }
}

void RemoteRanks::take(Relay& relay, const relay::StopAsked& asked) {
  watcher_->stopAsked(fmt::format("{} on {}", asked.who, nameOf(relay)));
}

void RemoteRanks::take(Relay& relay, const relay::RelayFailed& failed) {
  watcher_->runFailed({static_cast<ExitCode>(failed.exitCode), failed.failure, nameOf(relay)});
  abandonAwaited();
}

void RemoteRanks::endRank(int rank, const ProcessEnd& end) {
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

void RemoteRanks::disconnected(const Peer& peer) {
  const auto found = relays_.find(peer);
  if (found == relays_.end()) {
    return;
  }
  found->second.connected = false;
  if (!found->second.lost && !leaving_) {
    lose(found->second, "its connection broke: the relay or its host ended, or the network failed");
  }
}

void RemoteRanks::lose(Relay& relay, const std::string& why) {
  relay.lost = true;
  const std::string text = fmt::format("{} is lost: {}", nameOf(relay), why);
  bool any = false;
  for (const std::int32_t number : relay.ranks) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    if (rank.life != Life::kEnded) {
      rank.life = Life::kEnded;
      any = true;
      watcher_->rankLost(number, text);
    }
  }
  if (any && !started_) {
    watcher_->runFailed({ExitCode::kCommFailed, text, ""});
    abandonAwaited();
  }
}

void RemoteRanks::send(int rank, int signal) {
  Rank& target = ranks_[static_cast<std::size_t>(rank)];
  if (!started_) {
    endRank(rank, neverStarted());
  } else if (target.life != Life::kEnded && !relays_.at(target.relay).lost) {
    server_->send(target.relay, relay::SendSignal{rank, signal});
    pump();
  }
}

bool RemoteRanks::isSuspended(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)].suspended;
}

void RemoteRanks::setCapture(bool enabled) {
  capture_ = enabled;
  for (const auto& [peer, relay] : relays_) {
    server_->send(peer, relay::SetCapture{enabled});
  }
  pump();
}

void RemoteRanks::tick() {
  const auto now = Clock::now();
  const auto sinceTick =
      std::min<Clock::duration>(now - std::exchange(lastTick_, now), kLongestTick);
  const double limit = options_.launch.lostAfterSeconds;
  for (auto& [peer, relay] : relays_) {
    relay.silence += sinceTick;
    if (relay.lost) {
      continue;
    }
    if (std::chrono::duration<double>(relay.silence).count() > limit) {
      lose(relay,
           fmt::format("nothing was heard from it for {:g} s (launch.lost_after_seconds)", limit));
    } else if (base::monotonicNs() - relay.lastPingNs > kPingEveryNs) {
      ping(relay);
    }
  }
  if (!started_ && !leaving_ && now >= joinDeadline_) {
    const std::string said = launcherErrors_.firstWords();
    watcher_->runFailed(
        {ExitCode::kTimeout,
         fmt::format(
             "no relay has come for {} within {:g} s (launch.join_seconds){}",
             rankList(ranksWithoutRelay()), options_.launch.joinSeconds,
             said.empty() ? "" : fmt::format("; {} said: {}", options_.launch.launcher, said)),
         ""});
    abandonAwaited();
  }
  tellOfRefused(false);
  pump();
}

void RemoteRanks::finish() {
  leaving_ = true;
  for (auto& [peer, relay] : relays_) {
    if (!relay.lost) {
      tellClock(relay, true);
      server_->send(peer, relay::Farewell{});
    }
  }
  const auto until = [this](Clock::duration patience, const auto& done) {
    const auto deadline = Clock::now() + patience;
    while (!done() && Clock::now() < deadline) {
      loop_.waitUntil(std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
      pump();
    }
  };
  const auto launcherIsGone = [this] { return !launcher_.has_value(); };
  until(kFarewellPatience, [this] {
    return std::none_of(relays_.begin(), relays_.end(), [](const auto& entry) {
      return entry.second.connected && !entry.second.lost;
    });
  });
  until(kLauncherPatience, launcherIsGone);
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (launcher_) {
      launcher_->send(signal);
      until(kFarewellPatience, launcherIsGone);
    }
  }
  tellOfRefused(true);
}

void RemoteRanks::tellOfRefused(bool last) {
  const std::uint64_t total = server_->refused().total();
  if (total == toldRefused_ || (toldRefused_ != 0 && !last)) {
    return;
  }
  toldRefused_ = total;
  recorder_.addProblem({0, "warning", -1, 0, relay::describe(server_->refused())});
}

bool RemoteRanks::owns(const Relay& relay, int rank) const {
  return std::find(relay.ranks.begin(), relay.ranks.end(), rank) != relay.ranks.end();
}

}  // namespace lockstep::launch::detail
