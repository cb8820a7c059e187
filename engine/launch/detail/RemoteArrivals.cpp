// How relays come to a RemoteRanks, and what their clocks say, until all ranks can start.

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/launch/detail/RemoteRanks.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

/// Exchanges before the ranks start, while nothing else is on the way.
constexpr int kFirstPings = 64;
constexpr auto kTellDriftEvery = std::chrono::seconds(10);

}  // namespace

base::Result<std::vector<std::int32_t>> RemoteRanks::ranksOf(const relay::Hello& hello) const {
  const auto refuse = [](std::string why) {
    return Error{ExitCode::kBadInput, std::move(why), ""};
  };
  const auto isRank = [&](std::int64_t rank) { return rank >= 0 && rank < options_.worldSize; };
  const auto noRank = [&](std::int64_t rank) {
    return fmt::format("it comes for rank {}, and there are ranks 0 to {}", rank,
                       options_.worldSize - 1);
  };
  if (hello.version != relay::kProtocolVersion) {
    return refuse(fmt::format("it has Lockstep {} (relay version {}), the run {}; install the same",
                              hello.program, hello.version, relay::kProtocolVersion));
  }
  if (hello.worldSize && *hello.worldSize != options_.worldSize) {
    return refuse(fmt::format("it was started as one of {} ranks, and processes.world_size is {}",
                              *hello.worldSize, options_.worldSize));
  }
  std::vector<std::int32_t> ranks = hello.ranks;
  if (hello.nodeRank) {
    const int usual = options_.launch.ranksPerNode > 0
                          ? options_.launch.ranksPerNode
                          : options_.worldSize / options_.launch.nnodes;
    if (hello.nodeSize != 0 && hello.nodeSize != usual) {
      return refuse(
          fmt::format("it was started for {} ranks of its host (--nproc-per-node), and "
                      "the run has {} on each",
                      hello.nodeSize, usual));
    }
    const std::int64_t first = std::int64_t{*hello.nodeRank} * usual;
    if (!isRank(first)) {
      return refuse(noRank(first));
    }
    ranks.resize(static_cast<std::size_t>(usual));
    std::iota(ranks.begin(), ranks.end(), static_cast<std::int32_t>(first));
  }
  for (const std::int32_t rank : ranks) {
    if (!isRank(rank)) {
      return refuse(noRank(rank));
    }
    if (const Peer& holder = ranks_[static_cast<std::size_t>(rank)].relay; !holder.empty()) {
      return refuse(
          fmt::format("it comes for rank {}, which {} has", rank, nameOf(relays_.at(holder))));
    }
  }
  return ranks.empty() ? base::Result<std::vector<std::int32_t>>(refuse("it comes for no rank"))
                       : ranks;
}

void RemoteRanks::take(const Peer& peer, const std::string& address, relay::Hello hello) {
  const auto ranks = ranksOf(hello);
  const std::string who =
      fmt::format("host {} ({}), process {}", hello.hostName, address, hello.pid);
  if (!ranks.ok() || leaving_) {
    const std::string why = leaving_ ? "the run has ended" : ranks.error().what;
    server_->send(peer, relay::Refusal{static_cast<std::uint8_t>(ExitCode::kBadInput), why});
    recorder_.addLog(-1, fmt::format("{} was refused: {}", who, why));
    if (!started_ && !leaving_) {
      watcher_->runFailed({ExitCode::kBadInput, why, who});
      abandonAwaited();
    }
    return;
  }
  Relay& relay = relays_[peer];
  relay.peer = peer;
  relay.ranks = ranks.value();
  relay.address = address;
  relay.host = &hostOf(hello, address);
  relay.sameProcesses = relay.host->number == trace::kRecordingHost &&
                        hello.environment[relay::kProcessSpace] == trace::processSpace();
  relay.hello = std::move(hello);
  for (const std::int32_t rank : relay.ranks) {
    ranks_[static_cast<std::size_t>(rank)].relay = peer;
  }
  recorder_.addLog(-1, fmt::format("{} has come, process {}", nameOf(relay), relay.hello.pid));
  relay::Welcome welcome;
  welcome.runId = options_.runId;
  welcome.experimentToml = options_.experimentToml;
  welcome.headName = trace::hostName();
  welcome.worldSize = options_.worldSize;
  welcome.hosts = options_.launch.nnodes;
  welcome.storePort = options_.storePort;
  welcome.storeToken = options_.storeToken;
  welcome.ranks = relay.ranks;
  welcome.sameHost = relay.sameProcesses;
  welcome.lostAfterSeconds = options_.launch.lostAfterSeconds;
  server_->send(peer, welcome);
  ping(relay);
}

RemoteRanks::Host& RemoteRanks::hostOf(const relay::Hello& hello, const std::string& address) {
  auto& host = hosts_[hello.hostIdentity];
  if (host == nullptr) {
    host = std::make_unique<Host>();
    host->number = static_cast<int>(hosts_.size()) - 1;
    const auto clock = hello.environment.find("clock");
    host->info = {host->number, hello.hostName, address,
                  clock == hello.environment.end() ? "" : clock->second};
    recorder_.addHost(host->info);
  }
  return *host;
}

void RemoteRanks::ping(Relay& relay) {
  relay.lastPingNs = base::monotonicNs();
  relay.pingsSentNs[++relay.lastPing] = relay.lastPingNs;
  server_->send(relay.peer, relay::Ping{relay.lastPing});
}

void RemoteRanks::take(Relay& relay, const relay::Pong& pong) {
  const std::int64_t nowNs = base::monotonicNs();
  relay.clock = base::calibrate(pong.firstReading, pong.reading);
  const auto sent = relay.pingsSentNs.find(pong.id);
  if (sent == relay.pingsSentNs.end()) {
    return;
  }
  const auto taken = relay.host->estimator.add({sent->second, pong.receivedNs, pong.sentNs, nowNs});
  if (taken == trace::ClockOffsetEstimator::Taken::kStartedAnew) {
    tellRestart(relay);
  }
  relay.pingsSentNs.erase(relay.pingsSentNs.begin(), std::next(sent));
  if (++relay.pongs < kFirstPings) {
    ping(relay);
    return;
  }
  tellClock(relay, false);
  startWhenReady();
}

void RemoteRanks::tellClock(Relay& relay, bool last) {
  Host& host = *relay.host;
  const auto clock = host.estimator.clock(relay.clock);
  if (host.number == trace::kRecordingHost || !clock) {
    return;
  }
  // A row is worth it when it says more: the first, a tighter one, and now and then the drift.
  const auto now = Clock::now();
  const bool tighter = clock->offset.uncertaintyNs * 10 < host.toldUncertaintyNs * 9;
  if (last || host.toldUncertaintyNs == 0 || tighter || now - host.toldAt > kTellDriftEvery) {
    host.toldUncertaintyNs = std::max<std::int64_t>(1, clock->offset.uncertaintyNs);
    host.toldAt = now;
    recorder_.updateHostClock(host.number, clock->calibration, clock->offset);
  }
}

/// One clock places all events of a host, so that the next row moves those before as well.
void RemoteRanks::tellRestart(Relay& relay) {
  Host& host = *relay.host;
  if (host.number == trace::kRecordingHost || std::exchange(host.toldRestart, true)) {
    return;
  }
  recorder_.addProblem(
      {0, "warning", relay.ranks.front(), 0,
       fmt::format("the clock of host {} ({}) was set, or came to run at another rate than this "
                   "host's (by more than 30 ppm): when its events before that were is known less "
                   "exactly than its uncertainty says",
                   host.info.name, host.info.address)});
}

void RemoteRanks::startWhenReady() {
  const bool ready = !started_ && !leaving_ && ranksWithoutRelay().empty() &&
                     std::all_of(relays_.begin(), relays_.end(), [](const auto& entry) {
                       return entry.second.pongs >= kFirstPings;
                     });
  if (!ready) {
    return;
  }
  started_ = true;
  for (auto& [peer, relay] : relays_) {
    server_->send(peer, relay::SetCapture{capture_});
    server_->send(peer, relay::Start{othersThan(relay)});
  }
  watcher_->allStarted();
}

std::string RemoteRanks::nameOf(const Relay& relay) const {
  return fmt::format("host {} ({}) with {}", relay.hello.hostName, relay.address,
                     rankList({relay.ranks.begin(), relay.ranks.end()}));
}

std::string RemoteRanks::othersThan(const Relay& relay) const {
  std::string text;
  for (const auto& [peer, other] : relays_) {
    if (&other != &relay) {
      text += (text.empty() ? "" : ", ") + nameOf(other);
    }
  }
  return text;
}

std::vector<int> RemoteRanks::ranksWithoutRelay() const {
  std::vector<int> absent;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].relay.empty()) {
      absent.push_back(static_cast<int>(rank));
    }
  }
  return absent;
}

}  // namespace lockstep::launch::detail
