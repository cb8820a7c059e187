#include "engine/launch/detail/RelayPeers.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "engine/base/Clock.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/launch/detail/RecorderAddress.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::int64_t kPingEveryNs = 400'000'000;
/// Exchanges before the ranks start, while nothing else is on the way.
constexpr int kFirstPings = 64;
constexpr auto kTellDriftEvery = std::chrono::seconds(10);
constexpr int kMostHeadPumps = 64;
/// A tick later than this comes from a pause of this process, which proves nothing of others.
constexpr auto kLongestHeadTick = std::chrono::seconds(1);
constexpr auto kGoingPatience = std::chrono::seconds(3);

base::Status ofThisVersion(const relay::Hello& hello) {
  if (hello.version != relay::kProtocolVersion) {
    return Error{ExitCode::kBadInput,
                 fmt::format("it has Lockstep {} (relay version {}), the run {}; install the same",
                             hello.program, hello.version, relay::kProtocolVersion),
                 ""};
  }
  return {};
}

}  // namespace

bool RelayPeers::Relay::isReady() const {
  return pongs >= kFirstPings;
}

bool RelayPeers::Relay::has(int rank) const {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Note [Clocks of relays]
// Events of other hosts have those hosts' ticks. A relay is asked for its clock by a Ping and
// answers with two readings; the Host's estimator (trace::ClockOffsetEstimator) makes offset and
// drift of many such exchanges. 64 of them come one right after the other as soon as a relay has
// come, while nothing else is on the way: then it is "ready", and ranks may start. From then on
// there is one every 0.4 s, which also proves to either side that the other lives. What is known
// goes into the run file when it is new, when it is a tenth more certain, each 10 s, and at the
// farewell. Relays of one host share a Host, since they read one clock; the recorder's own host is
// there from the start, with number 0.

RelayPeers::RelayPeers(std::unique_ptr<relay::RelayServer> server, posix::EventLoop& loop,
                       Limits limits, Watcher& watcher)
    : server_(std::move(server)), loop_(loop), limits_(std::move(limits)), watcher_(watcher) {
  // A relay on this host reads this host's clock: it needs no offset.
  auto own = std::make_unique<Host>();
  own->info.name = trace::hostName();
  hosts_[trace::hostIdentity()] = std::move(own);
}

RelayPeers::~RelayPeers() {
  for (const int fd : server_->fds()) {
    loop_.remove(fd);
  }
}

base::Status RelayPeers::start() {
  lastTick_ = Clock::now();
  for (const int fd : server_->fds()) {
    LOCKSTEP_TRY(loop_.add(fd, [this] { pump(); }));
  }
  return {};
}

void RelayPeers::recordInto(trace::Recorder& recorder) {
  recorder_ = &recorder;
  for (const auto& what : std::exchange(early_, {})) {
    what(recorder);
  }
}

void RelayPeers::record(std::function<void(trace::Recorder&)> what) {
  if (recorder_ != nullptr) {
    what(*recorder_);
  } else {
    // An observed job has no run file before the first process has attached.
    early_.push_back(std::move(what));
  }
}

void RelayPeers::problem(int rank, std::string text) {
  record([rank, text = std::move(text)](trace::Recorder& recorder) {
    recorder.addProblem({0, "warning", rank, 0, text});
  });
}

void RelayPeers::send(const Relay& relay, const relay::ToRelay& message) {
  server_->send(relay.peer, message);
}

void RelayPeers::sendToAll(const relay::ToRelay& message) {
  for (const auto& [peer, relay] : relays_) {
    if (relay.isLiving()) {
      send(relay, message);
    }
  }
  pump();
}

void RelayPeers::pump() {
  const relay::RelayServer::Listener listener{
      [this](const Peer& peer, const std::string& address, relay::FromRelay message) {
        received(peer, address, std::move(message));
      },
      [this](const Peer& peer) { disconnected(peer); }};
  // What is left is taken at the next tick: somebody without the token, who makes connections as
  // fast as they are refused, must not keep this thread.
  for (int rounds = 0; rounds < kMostHeadPumps && server_->pump(listener); ++rounds) {
  }
}

void RelayPeers::received(const Peer& peer, const std::string& address, relay::FromRelay message) {
  if (auto* hello = std::get_if<relay::Hello>(&message)) {
    take(peer, address, std::move(*hello));
    return;
  }
  const auto found = relays_.find(peer);
  if (found == relays_.end() || found->second.lost) {
    return;  // it was refused, or given up: what it still says changes nothing
  }
  Relay& relay = found->second;
  relay.silence = Clock::duration(0);
  if (const auto* pong = std::get_if<relay::Pong>(&message)) {
    take(relay, *pong);
  } else if (const auto* batch = std::get_if<relay::Batch>(&message)) {
    take(relay, *batch);
  } else {
    watcher_.said(relay, message);
  }
}

void RelayPeers::take(const Peer& peer, const std::string& address, relay::Hello hello) {
  const auto version = ofThisVersion(hello);
  const auto answered =
      leaving_ ? base::Result<relay::Welcome>(Error{ExitCode::kBadInput, "the run has ended", ""})
      : version.ok() ? watcher_.welcome(hello)
                     : base::Result<relay::Welcome>(version.error());
  if (!answered.ok()) {
    const std::string why = answered.error().what;
    const std::string who =
        fmt::format("host {} ({}), process {}", hello.hostName, address, hello.pid);
    server_->send(peer, relay::Refusal{static_cast<std::uint8_t>(ExitCode::kBadInput), why});
    record([text = fmt::format("{} was refused: {}", who, why)](trace::Recorder& recorder) {
      recorder.addLog(-1, text);
    });
    if (!leaving_) {
      watcher_.refused(who, why);
    }
    return;
  }
  relay::Welcome welcome = answered.value();
  Relay& relay = relays_[peer];
  relay.peer = peer;
  relay.ranks = welcome.ranks;
  relay.address = address;
  relay.host = &hostOf(hello, address);
  // A container on this host has the same identity, but other process numbers.
  relay.sameProcesses = relay.host->number == trace::kRecordingHost &&
                        hello.environment[relay::kProcessSpace] == trace::processSpace();
  relay.hello = std::move(hello);
  // Before the welcome is sent: what the relay says next finds its ranks assigned.
  watcher_.came(relay);
  record([text = fmt::format("{} has come, process {}", nameOf(relay), relay.hello.pid)](
             trace::Recorder& recorder) { recorder.addLog(-1, text); });
  welcome.headName = trace::hostName();
  welcome.sameHost = relay.sameProcesses;
  welcome.lostAfterSeconds = limits_.lostAfterSeconds;
  server_->send(peer, welcome);
  ping(relay);
}

RelayPeers::Host& RelayPeers::hostOf(const relay::Hello& hello, const std::string& address) {
  auto& host = hosts_[hello.hostIdentity];
  if (host == nullptr) {
    host = std::make_unique<Host>();
    host->number = static_cast<int>(hosts_.size()) - 1;
    const auto clock = hello.environment.find("clock");
    host->info = {host->number, hello.hostName, address,
                  clock == hello.environment.end() ? "" : clock->second};
    record([info = host->info](trace::Recorder& recorder) { recorder.addHost(info); });
  }
  return *host;
}

void RelayPeers::take(Relay& relay, const relay::Batch& batch) {
  const int rank = relay.ranks.empty() ? -1 : relay.ranks.front();
  if (batch.number <= relay.lastBatch) {
    problem(rank,
            fmt::format("{} sent batch {} again; it was left out", nameOf(relay), batch.number));
    return;
  }
  // One connection keeps the order, so a gap is a loss and nothing late.
  if (batch.number > relay.lastBatch + 1) {
    const auto lost = batch.number - relay.lastBatch - 1;
    problem(rank,
            fmt::format("{} of events of {} lost", base::countedText(lost, "batch", "batches"),
                        nameOf(relay) + (lost == 1 ? " is" : " are")));
  }
  relay.lastBatch = batch.number;
  for (const relay::RankPart& part : batch.ranks) {
    if (relay.has(part.rank)) {
      watcher_.recorded(relay, part, batch.nowTicks);
    }
  }
}

void RelayPeers::ping(Relay& relay) {
  relay.lastPingNs = base::monotonicNs();
  relay.pingsSentNs[++relay.lastPing] = relay.lastPingNs;
  server_->send(relay.peer, relay::Ping{relay.lastPing});
}

void RelayPeers::take(Relay& relay, const relay::Pong& pong) {
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
  // Earlier pings without an answer get none any more: answers come in order.
  relay.pingsSentNs.erase(relay.pingsSentNs.begin(), std::next(sent));
  ++relay.pongs;
  if (!relay.isReady()) {
    ping(relay);
    return;
  }
  tellClock(relay, false);
  watcher_.ready(relay);
}

void RelayPeers::tellClock(const Relay& relay, bool last) {
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
    record([number = host.number, clock = *clock](trace::Recorder& recorder) {
      recorder.updateHostClock(number, clock.calibration, clock.offset);
    });
  }
}

/// One clock places all events of a host, so that the next row moves those before as well.
void RelayPeers::tellRestart(const Relay& relay) {
  Host& host = *relay.host;
  if (host.number == trace::kRecordingHost || std::exchange(host.toldRestart, true)) {
    return;
  }
  problem(relay.ranks.empty() ? -1 : relay.ranks.front(),
          fmt::format("the clock of host {} ({}) was set, or came to run at another rate than this "
                      "host's (by more than 30 ppm): the times of its events before that are known "
                      "less exactly than the stated uncertainty",
                      host.info.name, host.info.address));
}

void RelayPeers::disconnected(const Peer& peer) {
  const auto found = relays_.find(peer);
  if (found == relays_.end()) {
    return;
  }
  Relay& relay = found->second;
  relay.connected = false;
  if (relay.isLiving() && !leaving_) {
    lose(relay, "its connection broke: the relay or its host ended, or the network failed");
  }
}

void RelayPeers::lose(Relay& relay, const std::string& why) {
  relay.lost = true;
  watcher_.lost(relay, fmt::format("{} is lost: {}", nameOf(relay), why));
}

void RelayPeers::tick() {
  const auto now = Clock::now();
  const auto sinceTick =
      std::min<Clock::duration>(now - std::exchange(lastTick_, now), kLongestHeadTick);
  for (auto& [peer, relay] : relays_) {
    relay.silence += sinceTick;
    if (!relay.isLiving()) {
      continue;
    }
    if (std::chrono::duration<double>(relay.silence).count() > limits_.lostAfterSeconds) {
      lose(relay, fmt::format("nothing was heard from it for {:g} s{}", limits_.lostAfterSeconds,
                              limits_.key.empty() ? "" : fmt::format(" ({})", limits_.key)));
    } else if (base::monotonicNs() - relay.lastPingNs > kPingEveryNs) {
      ping(relay);
    }
  }
  tellOfRefused(false);
  pump();
}

void RelayPeers::pumpUntil(Clock::duration patience, const std::function<bool()>& done) {
  const auto deadline = Clock::now() + patience;
  while (!done() && Clock::now() < deadline) {
    loop_.waitUntil(std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
    pump();
  }
}

void RelayPeers::dismiss(Relay& relay) {
  if (!relay.lost && !std::exchange(relay.dismissed, true)) {
    tellClock(relay, true);
    server_->send(relay.peer, relay::Farewell{});
  }
}

void RelayPeers::finish() {
  leaving_ = true;
  for (auto& [peer, relay] : relays_) {
    dismiss(relay);
  }
  pumpUntil(kGoingPatience, [this] {
    return std::none_of(relays_.begin(), relays_.end(), [](const auto& entry) {
      return entry.second.connected && !entry.second.lost;
    });
  });
  tellOfRefused(true);
}

void RelayPeers::tellOfRefused(bool last) {
  const std::uint64_t total = server_->refused().total();
  // Told when the first comes and once more at the end, with the sum: a port that is open to a
  // network is knocked at all day.
  if (total == toldRefused_ || (toldRefused_ != 0 && !last)) {
    return;
  }
  toldRefused_ = total;
  problem(-1, relay::describe(server_->refused()));
}

std::string RelayPeers::nameOf(const Relay& relay) {
  const std::string host = fmt::format("host {} ({})", relay.hello.hostName, relay.address);
  return relay.ranks.empty()
             ? host
             : fmt::format("{} with {}", host,
                           base::ranksText({relay.ranks.begin(), relay.ranks.end()}));
}

std::string RelayPeers::othersThan(const Relay& relay) const {
  std::string text;
  for (const auto& [peer, other] : relays_) {
    if (&other != &relay) {
      text += (text.empty() ? "" : ", ") + nameOf(other);
    }
  }
  return text;
}

}  // namespace lockstep::launch::detail
