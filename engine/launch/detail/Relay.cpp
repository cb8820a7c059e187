#include "engine/launch/detail/Relay.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/Priority.h"
#include "engine/experiment/Parse.h"
#include "engine/launch/Obituary.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/RecorderAddress.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kRelayTick = std::chrono::milliseconds(20);
constexpr auto kSampleEvery = std::chrono::milliseconds(100);
/// A tick later than this comes from a pause of this process, which proves nothing of others.
constexpr auto kLongestRelayTick = std::chrono::seconds(1);
constexpr std::size_t kBatchEvents = 16'384;
constexpr std::size_t kMostOutputBytes = 16 << 20;  // of ranks, while the head does not take it
constexpr auto kTerminateGrace = std::chrono::seconds(2);
constexpr auto kRankKillGrace = std::chrono::seconds(2);

}  // namespace

Relay::Relay(const JoinOptions& options, std::filesystem::path program, relay::Endpoint recorder,
             SignalQueue& signals, EventLoop& loop, relay::RelayClient& client)
    : options_(options),
      program_(std::move(program)),
      recorder_(std::move(recorder)),
      signals_(signals),
      loop_(loop),
      client_(client) {}

Relay::~Relay() {
  for (const int fd : client_.fds()) {
    loop_.remove(fd);
  }
  loop_.remove(signals_.fd());
}

base::Result<ExitCode> Relay::run() {
  auto ready = loop_.add(signals_.fd(), [this] { onSignal(); });
  for (const int fd : client_.fds()) {
    if (ready.ok()) {
      ready = loop_.add(fd, [this] { pump(); });
    }
  }
  if (!ready.ok()) {
    return ready.error();
  }
  const auto deadline = Clock::now() + options_.patience;
  sayHello();
  while (!done_ || (anyLiving() && Clock::now() < giveUpAt_)) {
    loop_.waitUntil(Clock::now() + kRelayTick);
    tick();
    if (!welcome_ && !done_ && Clock::now() >= deadline) {
      failure_ = Error{
          ExitCode::kTimeout,
          fmt::format("no recorder answered within {:g} s: {}",
                      std::chrono::duration<double>(options_.patience).count(), client_.trouble()),
          options_.ticket.recorder};
      done_ = true;
    }
  }
  return failure_ ? base::Result<ExitCode>(*failure_) : exitCode_;
}

void Relay::sayHello() {
  relay::Hello hello;
  hello.hostName = trace::hostName();
  hello.hostIdentity = trace::hostIdentity();
  hello.address = relay::addressToward(recorder_);
  hello.pid = getpid();
  const RelayPlace& place = options_.place;
  hello.ranks.assign(place.ranks.begin(), place.ranks.end());
  hello.nodeRank = place.nodeRank;
  hello.nodeSize = place.nodeSize;
  hello.worldSize = place.worldSize;
  hello.environment = hostEnvironment();
  hello.environment[relay::kProcessSpace] = trace::processSpace();
  hello.program = hello.environment["lockstep"];
  queue(std::move(hello));
  sendQueued();
}

void Relay::pump() {
  client_.pump({[this](relay::ToRelay message) { received(std::move(message)); },
                [this] { loseHead("the connection to it broke: it ended, or its host did"); }});
}

void Relay::received(relay::ToRelay message) {
  silence_ = Clock::duration(0);
  std::visit([this](const auto& content) { take(content); }, message);
}

void Relay::take(const relay::Welcome& welcome) {
  welcome_ = welcome;
  if (const auto prepared = prepare(welcome); !prepared.ok()) {
    runFailed(prepared.error());
  }
}

base::Status Relay::prepare(const relay::Welcome& welcome) {
  const auto parsed = experiment::parseText(welcome.experimentToml, "experiment",
                                            std::filesystem::current_path(), {});
  if (!parsed.mistakes.empty()) {
    return Error{ExitCode::kBadInput, parsed.mistakes.front().message(), ""};
  }
  const int count = static_cast<int>(welcome.ranks.size());
  if (auto enough = ensureDescriptors(count); !enough.ok()) {
    return enough;
  }
  auto segments = makeSegments(parsed.experiment, count);
  if (!segments.ok()) {
    return segments.error();
  }
  segments_ = std::move(segments).value();
  RankPlace place = placeOf(welcome, parsed.experiment.processes.threadsPerRank);
  std::vector<LocalRanks::Rank> ranks;
  for (std::size_t i = 0; i < welcome.ranks.size(); ++i) {
    place.rank = welcome.ranks[i];
    place.localRank = options_.place.localRank.value_or(static_cast<int>(i));
    ranks_[place.rank].feed = std::make_unique<relay::SegmentFeed>(place.rank, segments_[i]);
    ranks.push_back({place, &segments_[i]});
  }
  local_ = std::make_unique<LocalRanks>(loop_, program_, welcome.experimentToml, std::move(ranks));
  return {};
}

RankPlace Relay::placeOf(const relay::Welcome& welcome, int threads) const {
  RankPlace place;
  place.worldSize = welcome.worldSize;
  place.localWorldSize =
      options_.place.localWorldSize.value_or(static_cast<int>(welcome.ranks.size()));
  place.hostRank = options_.place.nodeRank.value_or(0);
  place.hosts = welcome.hosts;
  place.masterAddress = recorder_.host;
  place.masterPort = welcome.storePort;
  place.storeToken = welcome.storeToken;
  place.runId = welcome.runId;
  place.threads = threads;
  place.supervisorPid = getpid();
  place.ownAddress = relay::addressToward(recorder_);
  return place;
}

void Relay::take(const relay::Refusal& refusal) {
  const RelayPlace& place = options_.place;
  const std::string saidBy =
      place.variable.empty()
          ? ""
          : fmt::format(" (the environment says so: {} = {})", place.variable, place.ranks.front());
  failure_ = Error{static_cast<ExitCode>(refusal.exitCode),
                   fmt::format("the head refuses this relay: {}{}", refusal.why, saidBy),
                   options_.ticket.recorder};
  done_ = true;
}

void Relay::take(const relay::Start& start) {
  elsewhere_ = start.elsewhere;
  if (local_ == nullptr) {
    return;
  }
  if (auto started = local_->start(*this); !started.ok()) {
    runFailed(started.error());
  }
  // What this thread still does comes after what the ranks do. They were started before it.
  base::stepBehind();
}

void Relay::take(const relay::Ping& ping) {
  relay::Pong pong;
  pong.receivedNs = base::monotonicNs();
  pong.id = ping.id;
  pong.firstReading = firstReading_;
  pong.reading = base::readClock();
  pong.sentNs = base::monotonicNs();
  // Not behind what waits already, and worth nothing later.
  static_cast<void>(client_.send(pong));
}

void Relay::take(const relay::SendSignal& signal) {
  if (local_ != nullptr && ranks_.contains(signal.rank)) {
    local_->send(signal.rank, signal.signal);
  }
}

void Relay::take(const relay::SetCapture& capture) {
  if (local_ != nullptr) {
    local_->setCapture(capture.enabled);
  }
}

void Relay::take(const relay::Farewell&) {
  done_ = true;
  if (anyLiving()) {
    endRanks();
  }
}

void Relay::rankStarted(int rank, std::int64_t pid, int /*host*/) {
  ranks_[rank].pid = pid;
  ranks_[rank].living = true;
  queue(relay::RankStarted{rank, pid});
}

void Relay::rankWrote(int rank, bool isError, std::string_view bytes) {
  if (outgoingBytes_ + bytes.size() > kMostOutputBytes) {
    ranks_[rank].outputDropped += bytes.size();
    return;
  }
  tellDropped(rank);
  queue(relay::RankOutput{rank, isError, std::string(bytes)}, bytes.size());
}

void Relay::tellDropped(int rank) {
  if (const std::uint64_t bytes = std::exchange(ranks_[rank].outputDropped, 0); bytes > 0) {
    queue(relay::RankOutput{rank, true,
                            fmt::format("[{} bytes of output were left out: they came faster than "
                                        "they could be sent]\n",
                                        bytes)});
  }
}

void Relay::rankEnded(int rank, const ProcessEnd& end) {
  Rank& ended = ranks_[rank];
  ended.living = false;
  tellDropped(rank);
  // All that it has left comes before its end: once more even when nothing is, for its last words.
  do {
    std::size_t most = kBatchEvents;
    relay::Batch batch = nextBatch();
    batch.ranks.push_back(ended.feed->take(most));
    queue(std::move(batch));
  } while (ended.feed->hasMore());
  queue(relay::RankEnded{rank, end.exitCode, end.signal});
  sendQueued();
  if (exitCode_ == ExitCode::kOk) {
    exitCode_ = end.signal != 0 ? ExitCode::kRankKilled : static_cast<ExitCode>(end.exitCode);
  }
}

void Relay::runFailed(const Error& error) {
  failure_ = error;
  queue(relay::RelayFailed{static_cast<std::uint8_t>(error.code), error.message()});
  sendQueued();
  endRanks();
}

void Relay::queue(relay::FromRelay message, std::size_t bytes) {
  outgoing_.push_back(std::move(message));
  outgoingBytes_ += bytes;
}

void Relay::sendQueued() {
  while (!outgoing_.empty() && client_.send(outgoing_.front())) {
    if (const auto* output = std::get_if<relay::RankOutput>(&outgoing_.front())) {
      outgoingBytes_ -= std::min(outgoingBytes_, output->bytes.size());
    }
    outgoing_.pop_front();
  }
}

relay::Batch Relay::nextBatch() {
  return {++batches_, base::ticks(), {}};
}

/// Returns whether more waits in the rings and would be taken.
bool Relay::sendBatch() {
  relay::Batch batch = nextBatch();
  std::size_t most = kBatchEvents;
  bool more = false;
  for (auto& [number, rank] : ranks_) {
    batch.ranks.push_back(rank.feed->take(most));
    batch.ranks.back().suspended = rank.suspended;
    more = more || rank.feed->hasMore();
  }
  queue(std::move(batch));
  sendQueued();
  return more && outgoing_.empty();
}

void Relay::tick() {
  const auto now = Clock::now();
  silence_ += std::min<Clock::duration>(now - std::exchange(lastTick_, now), kLongestRelayTick);
  pump();
  if (welcome_ && !done_ &&
      std::chrono::duration<double>(silence_).count() > welcome_->lostAfterSeconds) {
    loseHead(fmt::format("nothing was heard from it for {:g} s (launch.lost_after_seconds)",
                         welcome_->lostAfterSeconds));
  }
  if (now >= killAt_) {
    killAt_ = Clock::time_point::max();
    for (const auto& [number, rank] : ranks_) {
      local_->send(number, SIGKILL);
    }
  }
  if (now >= nextSample_) {
    nextSample_ = now + kSampleEvery;
    for (auto& [number, rank] : ranks_) {
      rank.suspended = rank.living && local_->isSuspended(number);
      if (rank.living && !welcome_->sameHost) {
        rank.feed->sample(rank.pid);
      }
    }
  }
  sendQueued();
  const bool started = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const auto& rank) { return rank.second.pid != 0; });
  while (started && outgoing_.empty() && sendBatch()) {
  }
  pump();
}

void Relay::onSignal() {
  while (const auto signal = signals_.next()) {
    if (!welcome_) {
      failure_ = Error{ExitCode::kInterrupted, signalName(*signal) + " before the run began", ""};
      done_ = true;
    } else if (!std::exchange(signalled_, true)) {
      queue(relay::StopAsked{signalName(*signal)});
      sendQueued();
    } else {
      for (const auto& [number, rank] : ranks_) {
        local_->send(number, SIGKILL);
      }
    }
  }
}

void Relay::loseHead(const std::string& why) {
  if (done_) {
    return;
  }
  done_ = true;
  if (failure_) {
    endRanks();
    return;  // it is known why
  }
  if (!welcome_) {
    failure_ =
        Error{ExitCode::kCommFailed, "the recorder ended the connection before the run began",
              options_.ticket.recorder};
    return;
  }
  std::vector<int> here;
  for (const auto& [number, rank] : ranks_) {
    here.push_back(number);
  }
  failure_ =
      Error{ExitCode::kCommFailed,
            fmt::format("the head of the run, host {} ({}), is lost: {}; {} here {} ended{}{}",
                        welcome_->headName, recorder_.host, why, rankList(here),
                        here.size() == 1 ? "is" : "are",
                        elsewhere_.empty() ? "" : "; lost with it: ", elsewhere_),
            ""};
  endRanks();
}

void Relay::endRanks() {
  const auto now = Clock::now();
  for (const auto& [number, rank] : ranks_) {
    if (rank.living) {
      local_->send(number, SIGTERM);
    }
  }
  killAt_ = now + kTerminateGrace;
  giveUpAt_ = killAt_ + kRankKillGrace;
}

bool Relay::anyLiving() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.second.living; });
}

}  // namespace lockstep::launch::detail
