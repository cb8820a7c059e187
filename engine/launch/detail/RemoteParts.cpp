#include "engine/launch/detail/RemoteParts.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr double kLostAfterSeconds = 15;

}  // namespace

RemoteParts::RemoteParts(std::unique_ptr<relay::RelayServer> server, posix::EventLoop& loop,
                         std::string runId, PartWatcher& watcher)
    : runId_(std::move(runId)),
      watcher_(watcher),
      peers_(std::move(server), loop, {kLostAfterSeconds, ""}, *this) {}

base::Result<relay::Welcome> RemoteParts::welcome(const relay::Hello& hello) {
  if (!hello.environment.contains(relay::kObserves)) {
    return Error{ExitCode::kBadInput,
                 "it was started without a command, and this run records those of others: say "
                 "which, as in lockstep join ... -- python train.py",
                 ""};
  }
  relay::Welcome welcome;
  welcome.runId = runId_;
  return welcome;
}

void RemoteParts::ready(Relay& relay) {
  // Each command when its own host is ready: which hosts take part is not known beforehand.
  if (!peers_.isLeaving() && !std::exchange(started_[relay.peer], true)) {
    peers_.send(relay, relay::SetCapture{capture_});
    peers_.send(relay, relay::Start{});
  }
}

void RemoteParts::said(Relay& relay, const relay::FromRelay& message) {
  std::visit([&](const auto& content) { take(relay, content); }, message);
}

void RemoteParts::take(Relay& relay, const relay::RankStarted& started) {
  watcher_.commandStarted(relay.peer, relay.hello.hostName, started.pid);
}

void RemoteParts::take(Relay& relay, const relay::Attach& attach) {
  relay::Attached answer;
  answer.rank = attach.rank;
  Attempt attempt;
  attempt.part = relay.peer;
  attempt.hello = {attach.rank, attach.worldSize};
  attempt.pid = attach.pid;
  attempt.host = relay.host->number;
  attempt.isVisible = relay.sameProcesses;
  if (attach.worldSize < 1 || attach.rank < 0 || attach.rank >= attach.worldSize) {
    answer.refusal = fmt::format("rank {} of {} is none", attach.rank, attach.worldSize);
  } else if (const auto admitted = watcher_.attaches(attempt); !admitted.ok()) {
    answer.refusal = admitted.error().what;
  } else {
    // A process that takes another's place writes into the same segment, whose replay is there.
    answer.step = admitted.value().step;
    if (!relay.has(attach.rank)) {
      relay.ranks.push_back(attach.rank);
      std::sort(relay.ranks.begin(), relay.ranks.end());
      trace::Segment& segment = *admitted.value().segment;
      // Whether events come is decided where they arise; those that do come are kept.
      segment.header().captureEnabled.store(1);
      auto replay = relay::SegmentReplay::make(segment);
      LOCKSTEP_CHECK(replay.ok(), "{}", replay.error().message());
      replays_[attach.rank] = std::move(replay).value();
    }
  }
  peers_.send(relay, answer);
}

void RemoteParts::recorded(Relay& relay, const relay::RankPart& part, std::uint64_t nowTicks) {
  replays_.at(part.rank)->apply(part, relay.clock, nowTicks);
  if (part.suspended) {
    stopped_.insert(part.rank);
  } else {
    stopped_.erase(part.rank);
  }
}

void RemoteParts::take(Relay& relay, const relay::RankOutput& output) {
  watcher_.commandWrote(relay.peer, output.isError, output.bytes);
}

void RemoteParts::take(Relay& relay, const relay::RankEnded& ended) {
  if (relay.has(ended.rank)) {
    watcher_.processEnded(ended.rank);
  }
}

void RemoteParts::take(Relay& relay, const relay::CommandEnded& ended) {
  watcher_.commandEnded(relay.peer, {ended.exitCode, ended.signal});
  peers_.dismiss(relay);
}

void RemoteParts::take(Relay& relay, const relay::RelayFailed& failed) {
  // As a command that wrote the reason and ended with its code: the report has one form for both.
  watcher_.commandStarted(relay.peer, relay.hello.hostName, 0);
  watcher_.commandWrote(relay.peer, true, failed.failure + "\n");
  watcher_.commandEnded(relay.peer, {failed.exitCode, 0});
  peers_.dismiss(relay);
}

void RemoteParts::take(Relay& relay, const relay::StopAsked& asked) {
  watcher_.stopAsked(fmt::format("{} on {}", asked.who, RelayPeers::nameOf(relay)));
}

void RemoteParts::lost(Relay& relay, const std::string& text) {
  watcher_.partLost(relay.peer, text);
}

void RemoteParts::send(int signal) {
  peers_.sendToAll(relay::SendSignal{-1, signal});
}

void RemoteParts::setCapture(bool enabled) {
  capture_ = enabled;
  peers_.sendToAll(relay::SetCapture{enabled});
}

void RemoteParts::requestTrace(std::uint32_t request) {
  peers_.sendToAll(relay::RequestTrace{request});
}

int RemoteParts::living() const {
  const auto& relays = peers_.all();
  return static_cast<int>(std::count_if(relays.begin(), relays.end(),
                                        [](const auto& entry) { return entry.second.isLiving(); }));
}

std::string RemoteParts::livingNames() const {
  std::string text;
  for (const auto& [peer, relay] : peers_.all()) {
    if (relay.isLiving()) {
      text += (text.empty() ? "" : ", ") + RelayPeers::nameOf(relay);
    }
  }
  return text;
}

}  // namespace lockstep::launch::detail
