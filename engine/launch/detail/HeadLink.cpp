#include "engine/launch/detail/HeadLink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/Try.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

/// A tick later than this comes from a pause of this process, which proves nothing of others.
constexpr auto kLongestRelayTick = std::chrono::seconds(1);
constexpr std::size_t kBatchEvents = 16'384;
constexpr int kLookAgainMs = 5;  // ZeroMQ's descriptors tell of what came since they were asked
constexpr std::size_t kMostOutputBytes = 16 << 20;  // of ranks, while the head does not take it

}  // namespace

base::Result<std::unique_ptr<HeadConnection>> connectToHead(const relay::Ticket& ticket) {
  LOCKSTEP_TRY(relay::encryptionAvailable());
  const auto endpoint = relay::endpointOf(ticket.recorder);
  if (!endpoint.ok()) {
    return endpoint.error().within(ticket.recorderFrom);
  }
  if (auto known = relay::lookUp(endpoint.value()); !known.ok()) {
    return known.error().within(ticket.recorderFrom);
  }
  auto watch = LOCKSTEP_TRY(Watch::create());
  auto client = LOCKSTEP_TRY(relay::RelayClient::connect(ticket));
  return std::unique_ptr<HeadConnection>(
      new HeadConnection{endpoint.value(), std::move(watch), std::move(client)});
}

// Note [What a relay sends]
// All but answers about the clock goes through one queue, in the order in which it happened: that a
// rank has ended must not come before what it wrote. ZeroMQ takes messages until its own queue is
// full; what it does not take stays in outgoing_. The three kinds of load are bounded in three
// ways:
//
//       events    stay in the rings of their segments until outgoing_ is empty, then go in batches
//                 of 16384; a ring that is full meanwhile drops, and counts what it dropped
//       output    16 MiB in outgoing_; beyond that it is left out and its bytes are counted
//       the rest  started, ended, farewell: a few messages a rank, never left out
//
// A Pong goes past the queue, since a clock is measured by how soon an answer comes. The head must
// answer within lostAfterSeconds; its pings are what is heard of it while nothing else happens.

HeadLink::HeadLink(const relay::Ticket& ticket, HeadConnection& connection, std::string limitKey)
    : ticket_(ticket),
      connection_(connection),
      client_(*connection.client),
      limitKey_(std::move(limitKey)) {}

HeadLink::~HeadLink() {
  for (const int fd : client_.fds()) {
    connection_.watch.loop.remove(fd);
  }
}

base::Status HeadLink::start(relay::Hello hello, Listener listener) {
  listener_ = std::move(listener);
  for (const int fd : client_.fds()) {
    LOCKSTEP_TRY(connection_.watch.loop.add(fd, [this] { pump(); }));
  }
  hello.hostName = trace::hostName();
  hello.hostIdentity = trace::hostIdentity();
  hello.address = relay::addressToward(connection_.recorder);
  hello.pid = getpid();
  hello.environment.merge(hostEnvironment());
  hello.environment[relay::kProcessSpace] = trace::processSpace();
  hello.program = hello.environment["lockstep"];
  queue(std::move(hello));
  sendQueued();
  lastTick_ = Clock::now();
  return {};
}

void HeadLink::queue(relay::FromRelay message) {
  if (const auto* output = std::get_if<relay::RankOutput>(&message)) {
    outgoingBytes_ += output->bytes.size();
  }
  outgoing_.push_back(std::move(message));
}

void HeadLink::queueOutput(int rank, bool isError, std::string_view bytes) {
  // Until some of it has been sent. The first lines of a flood say more than those after them, of
  // which only the number of bytes is kept.
  if (outgoingBytes_ + bytes.size() > kMostOutputBytes) {
    outputDropped_[rank] += bytes.size();
    return;
  }
  tellDropped(rank);
  queue(relay::RankOutput{rank, isError, std::string(bytes)});
}

void HeadLink::tellDropped(int rank) {
  if (const std::uint64_t bytes = std::exchange(outputDropped_[rank], 0); bytes > 0) {
    queue(relay::RankOutput{rank, true,
                            fmt::format("[{} bytes of output were left out: they came faster than "
                                        "they could be sent]\n",
                                        bytes)});
  }
}

bool HeadLink::sendQueued() {
  while (!outgoing_.empty() && client_.send(outgoing_.front())) {
    if (const auto* output = std::get_if<relay::RankOutput>(&outgoing_.front())) {
      outgoingBytes_ -= std::min(outgoingBytes_, output->bytes.size());
    }
    outgoing_.pop_front();
  }
  return outgoing_.empty();
}

void HeadLink::addFeed(int rank, trace::Segment& segment) {
  feeds_[rank].feed = std::make_unique<relay::SegmentFeed>(rank, segment);
}

relay::Batch HeadLink::nextBatch() {
  return {++batches_, base::ticks(), {}};
}

void HeadLink::flush(int rank) {
  // Into the queue whatever waits there: after it comes the rank's end, and then nobody looks into
  // its rings any more.
  relay::SegmentFeed& feed = *feeds_.at(rank).feed;
  // Once more even when nothing is left, for its last words.
  do {
    std::size_t most = kBatchEvents;
    relay::Batch batch = nextBatch();
    batch.ranks.push_back(feed.take(most));
    queue(std::move(batch));
  } while (feed.hasMore());
}

/// Returns whether more waits in the rings and would be taken.
bool HeadLink::sendBatch() {
  relay::Batch batch = nextBatch();
  std::size_t most = kBatchEvents;
  bool more = false;
  for (auto& [number, rank] : feeds_) {
    batch.ranks.push_back(rank.feed->take(most));
    batch.ranks.back().suspended = rank.suspended;
    more = more || rank.feed->hasMore();
  }
  queue(std::move(batch));
  // False ends the round: what was not taken now will not be taken at once.
  return sendQueued() && more;
}

void HeadLink::sendEvents() {
  while (!feeds_.empty() && sendQueued() && sendBatch()) {
  }
}

void HeadLink::pump() {
  client_.pump({[this](relay::ToRelay message) { received(message); },
                [this] { lose("the connection to it broke: it ended, or its host did"); }});
}

void HeadLink::pumpUntil(std::chrono::milliseconds patience, const std::function<bool()>& done) {
  const auto deadline = Clock::now() + patience;
  std::vector<pollfd> sockets;
  for (const int fd : client_.fds()) {
    sockets.push_back({fd, POLLIN, 0});
  }
  while (true) {
    sendQueued();
    pump();
    if (done() || Clock::now() >= deadline) {
      return;
    }
    poll(sockets.data(), sockets.size(), kLookAgainMs);
  }
}

void HeadLink::received(const relay::ToRelay& message) {
  // Any message proves that the head lives.
  silence_ = Clock::duration(0);
  if (const auto* ping = std::get_if<relay::Ping>(&message)) {
    answer(*ping);
    return;
  }
  if (const auto* welcome = std::get_if<relay::Welcome>(&message)) {
    welcome_ = *welcome;
  }
  listener_.received(message);
}

void HeadLink::answer(const relay::Ping& ping) {
  relay::Pong pong;
  pong.receivedNs = base::monotonicNs();
  pong.id = ping.id;
  pong.firstReading = firstReading_;
  pong.reading = base::readClock();
  pong.sentNs = base::monotonicNs();
  // Past what waits already: an answer that comes late is worth nothing.
  static_cast<void>(client_.send(pong));
}

void HeadLink::tick() {
  const auto now = Clock::now();
  // A process that was stopped for an hour did not listen meanwhile: a tick counts as a second at
  // most.
  silence_ += std::min<Clock::duration>(now - std::exchange(lastTick_, now), kLongestRelayTick);
  pump();
  if (welcome_ && std::chrono::duration<double>(silence_).count() > welcome_->lostAfterSeconds) {
    lose(fmt::format("nothing was heard from it for {:g} s{}", welcome_->lostAfterSeconds,
                     limitKey_.empty() ? "" : fmt::format(" ({})", limitKey_)));
  }
}

void HeadLink::lose(const std::string& why) {
  // Said once, and not at all where its end was expected.
  if (!std::exchange(left_, true)) {
    listener_.lost(why);
  }
}

Error HeadLink::unanswered(std::chrono::milliseconds patience) const {
  return {ExitCode::kTimeout,
          fmt::format("no recorder answered within {:g} s: {}",
                      std::chrono::duration<double>(patience).count(), client_.trouble()),
          ticket_.recorder};
}

Error HeadLink::refused(const relay::Refusal& refusal, const std::string& saidBy) const {
  return {static_cast<ExitCode>(refusal.exitCode),
          fmt::format("the head refuses this relay: {}{}", refusal.why, saidBy), ticket_.recorder};
}

std::string HeadLink::headName() const {
  return fmt::format("host {} ({})", welcome_ ? welcome_->headName : "", connection_.recorder.host);
}

std::string HeadLink::lostText(const std::string& why) const {
  return fmt::format("the head of the run, {}, is lost: {}", headName(), why);
}

}  // namespace lockstep::launch::detail
