#include "engine/launch/detail/Relay.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/base/NumberText.h"
#include "engine/base/Priority.h"
#include "engine/base/Try.h"
#include "engine/experiment/Parse.h"
#include "engine/launch/Obituary.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/RecorderAddress.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kRelayTick = std::chrono::milliseconds(20);
constexpr auto kSampleEvery = std::chrono::milliseconds(100);
constexpr auto kTerminateGrace = std::chrono::seconds(2);
constexpr auto kRankKillGrace = std::chrono::seconds(2);

}  // namespace

// Note [The end of a relay]
// Its ranks are of no use without the run, so unlike a recorded command they end with it. done_ is
// set once nothing more is expected of the head, and run() returns when no rank lives any more:
//
//       Farewell                        the ranks have ended; those that have not are ended
//       the head is lost, or refuses    SIGTERM, after 2 s SIGKILL, after 2 s more nobody waits
//       a rank cannot be started        RelayFailed to the head, which then bids farewell
//       this process dies               ranks see their parent go (LOCKSTEP_SUPERVISOR_PID)

Relay::Relay(const JoinOptions& options, std::filesystem::path program, HeadConnection& connection)
    : options_(options),
      program_(std::move(program)),
      recorder_(connection.recorder),
      signals_(*connection.watch.signals),
      loop_(connection.watch.loop),
      link_(options.ticket, connection, "launch.lost_after_seconds") {}

Relay::~Relay() {
  loop_.remove(signals_.fd());
}

base::Result<ExitCode> Relay::run() {
  LOCKSTEP_TRY(loop_.add(signals_.fd(), [this] { onSignal(); }));
  const auto received = [this](const relay::ToRelay& message) {
    std::visit([this](const auto& content) { take(content); }, message);
  };
  LOCKSTEP_TRY(link_.start(hello(), {received, [this](const std::string& why) { loseHead(why); }}));
  const auto deadline = Clock::now() + options_.patience;
  // A rank that SIGKILL does not end sits in the kernel: waiting for it would keep the launcher,
  // too.
  while (!done_ || (anyLiving() && Clock::now() < giveUpAt_)) {
    loop_.waitUntil(Clock::now() + kRelayTick);
    tick();
    if (!link_.welcome() && !done_ && Clock::now() >= deadline) {
      failure_ = link_.unanswered(options_.patience);
      done_ = true;
    }
  }
  return failure_ ? base::Result<ExitCode>(*failure_) : exitCode_;
}

relay::Hello Relay::hello() const {
  relay::Hello hello;
  const RelayPlace& place = options_.place;
  hello.ranks.assign(place.ranks.begin(), place.ranks.end());
  hello.nodeRank = place.nodeRank;
  hello.nodeSize = place.nodeSize;
  hello.worldSize = place.worldSize;
  return hello;
}

void Relay::take(const relay::Welcome& welcome) {
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
  LOCKSTEP_TRY(ensureDescriptors(count));
  segments_ = LOCKSTEP_TRY(makeSegments(parsed.experiment, count));
  RankPlace place = placeOf(welcome, parsed.experiment.processes.threadsPerRank);
  std::vector<LocalRanks::Rank> ranks;
  for (std::size_t i = 0; i < welcome.ranks.size(); ++i) {
    place.rank = welcome.ranks[i];
    place.localRank = options_.place.localRank.value_or(static_cast<int>(i));
    ranks_[place.rank] = {};
    link_.addFeed(place.rank, segments_[i]);
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
  // The ranks end with this process, their parent.
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
  failure_ = link_.refused(refusal, saidBy);
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
  link_.queue(relay::RankStarted{rank, pid});
}

void Relay::rankWrote(int rank, bool isError, std::string_view bytes) {
  link_.queueOutput(rank, isError, bytes);
}

void Relay::rankEnded(int rank, const posix::ProcessEnd& end) {
  ranks_[rank].living = false;
  link_.tellDropped(rank);
  link_.flush(rank);  // all that it has left comes before its end
  link_.queue(relay::RankEnded{rank, end.exitCode, end.signal});
  link_.sendQueued();
  // The first that failed: the ranks after it fail because of it.
  if (exitCode_ == ExitCode::kOk) {
    exitCode_ = end.signal != 0 ? ExitCode::kRankKilled : static_cast<ExitCode>(end.exitCode);
  }
}

void Relay::runFailed(const Error& error) {
  failure_ = error;
  link_.queue(relay::RelayFailed{static_cast<std::uint8_t>(error.code), error.message()});
  link_.sendQueued();
  endRanks();
}

void Relay::tick() {
  const auto now = Clock::now();
  link_.tick();
  if (now >= killAt_) {
    killAt_ = Clock::time_point::max();
    for (const auto& [number, rank] : ranks_) {
      local_->send(number, SIGKILL);
    }
  }
  if (now >= nextSample_) {
    nextSample_ = now + kSampleEvery;
    for (auto& [number, rank] : ranks_) {
      // The head cannot look into this host's /proc.
      link_.setSuspended(number, rank.living && local_->isSuspended(number));
      if (rank.living && !link_.welcome()->sameHost) {
        link_.sample(number, rank.pid);
      }
    }
  }
  link_.sendQueued();
  // Before the first rank has started there are no events, only last words that say nothing.
  if (std::any_of(ranks_.begin(), ranks_.end(),
                  [](const auto& rank) { return rank.second.pid != 0; })) {
    link_.sendEvents();
  }
  link_.pump();
}

void Relay::onSignal() {
  while (const auto signal = signals_.next()) {
    if (!link_.welcome()) {
      failure_ = Error{ExitCode::kInterrupted, signalName(*signal) + " before the run began", ""};
      done_ = true;
    } else if (!std::exchange(signalled_, true)) {
      link_.queue(relay::StopAsked{signalName(*signal)});
      link_.sendQueued();
    } else {
      for (const auto& [number, rank] : ranks_) {
        local_->send(number, SIGKILL);
      }
    }
  }
}

void Relay::loseHead(const std::string& why) {
  // A connection that ends after the farewell, or after a refusal, is no loss.
  if (done_) {
    return;
  }
  done_ = true;
  if (failure_) {
    endRanks();
    return;  // it is known why
  }
  if (!link_.welcome()) {
    failure_ =
        Error{ExitCode::kCommFailed, "the recorder ended the connection before the run began",
              options_.ticket.recorder};
    return;
  }
  std::vector<int> here;
  for (const auto& [number, rank] : ranks_) {
    here.push_back(number);
  }
  failure_ = Error{ExitCode::kCommFailed,
                   fmt::format("{}; {} here {} ended{}{}", link_.lostText(why),
                               base::ranksText(here), here.size() == 1 ? "is" : "are",
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
